package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// console is what the commands share: the environment, the options that all have,
// and how things are printed. Results go to Stdout, everything else to Stderr.
type console struct {
	env     Environment
	options map[string]*string // of settings, by key
	format  string
	quiet   bool
	noColor bool
}

func (c *console) check(cmd *cobra.Command) error {
	if err := c.checkFormat(cmd); err != nil {
		return err
	}
	for key, value := range c.options {
		if err := checkSetting(key, *value); err != nil {
			return usagef("--%s: %s", key, strings.TrimPrefix(err.Error(), key+" "))
		}
	}
	for _, option := range []string{"status", "topic", "sort"} {
		if err := checkChoice(cmd, option); err != nil {
			return err
		}
	}
	return nil
}

// checkChoice holds an option of a list to what the Tab key gives for it.
func checkChoice(cmd *cobra.Command, option string) error {
	flag := cmd.Flags().Lookup(option)
	complete, there := cmd.GetFlagCompletionFunc(option)
	if flag == nil || !there || flag.Value.String() == "" {
		return nil
	}
	all, _ := complete(cmd, nil, "")
	if slices.ContainsFunc(all, func(word string) bool { return strings.EqualFold(word, flag.Value.String()) }) {
		return nil // in another case the API says whether it can be meant
	}
	fields := slices.DeleteFunc(all, func(word string) bool { return strings.HasPrefix(word, "-") })
	words := oneOf(fields)
	if option == "sort" {
		words += ", with - in front the other way round"
	}
	return usagef("--%s is %q; it can be %s", option, flag.Value.String(), words)
}

func (c *console) colored() bool {
	return c.env.Terminal && !c.noColor && c.env.Getenv("NO_COLOR") == "" && c.env.Getenv("TERM") != "dumb"
}

// notice tells something beside the result.
func (c *console) notice(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintf(c.env.Stderr, format+"\n", args...)
	}
}

// print prints a result: as a document, as CSV, as a table, or quietly the table's
// first column.
func (c *console) print(v any, t *sheet) error {
	switch {
	case c.structured():
		return c.document(v)
	case c.format == formatCSV:
		return t.csv()
	}
	return t.print()
}

// sheet is a table in the making.
type sheet struct {
	c     *console
	head  []string
	rows  [][]string
	raw   [][]any  // as they were given
	minor []string // columns that give way before others do where there is no room
	data  bool     // somebody else's columns: they are shown as they are named, all of them
}

func (c *console) table(head ...string) *sheet { return &sheet{c: c, head: head} }

func (s *sheet) row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = s.c.cell(cell)
	}
	s.rows, s.raw = append(s.rows, row), append(s.raw, cells)
}

// cell words a value: times in UTC to the second, nothing as a dash.
func (c *console) cell(v any) string {
	var word string
	switch v := v.(type) {
	case *time.Time:
		if v != nil {
			word = stamp(*v)
		}
	case time.Time:
		word = stamp(v)
	case bool:
		word = map[bool]string{true: "yes", false: "no"}[v]
	default:
		word = fmt.Sprint(v)
	}
	if word == "" {
		return "-"
	}
	return printable(word)
}

// printable takes line ends and other control characters out of words that may come
// from a worker or from a file, so that they cannot steer the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func (s *sheet) print() error {
	out := s.c.env.Stdout
	if s.c.quiet {
		for _, row := range s.rows {
			if _, err := fmt.Fprintln(out, row[0]); err != nil {
				return err
			}
		}
		return nil
	}
	w := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatUpper
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Box.UnfinishedRow = "…"
	fits := false
	if s.data {
		style.Format.Header = text.FormatDefault
	} else if s.c.env.Terminal {
		s.dropEmpty()
		fits = s.fit(s.c.env.Width)
	}
	if s.c.env.Terminal && !fits {
		style.Size.WidthMax = s.c.env.Width // rows are cut
	}
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	head := make(table.Row, len(s.head))
	for i, h := range s.head {
		head[i] = h
	}
	w.AppendHeader(head)
	for _, row := range s.rows {
		cells := make(table.Row, len(row))
		for i, cell := range row {
			cells[i] = cell
			if s.head[i] == "status" && !s.data {
				cells[i] = s.c.status(cell)
			}
		}
		w.AppendRow(cells)
	}
	_, err := fmt.Fprintln(out, w.Render())
	return err
}

// dropEmpty takes out the columns that say nothing, to leave room for those that do.
func (s *sheet) dropEmpty() {
	if len(s.rows) == 0 {
		return
	}
	for i := len(s.head) - 1; i > 0; i-- {
		if slices.ContainsFunc(s.rows, func(row []string) bool { return row[i] != "-" }) {
			continue
		}
		s.remove(i)
	}
}

// status colours a status word by what it means for the reader.
func (c *console) status(word string) string {
	if !c.colored() || word == "-" {
		return word
	}
	color := text.FgYellow
	switch word {
	case "completed", "succeeded", "replayed":
		color = text.FgGreen
	case "failed", "poll_timeout":
		color = text.FgRed
	case "pending", "detected", "skipped", "superseded", "cancelled", "removed", "discarded":
		color = text.Faint
	}
	// Sprint asks go-pretty's own switch for terminals, which knows only the process.
	return color.EscapeSeq() + word + text.Reset.EscapeSeq()
}

// readFile reads a file named on the command line, or Stdin for "-".
func (c *console) readFile(path string, limit int64) ([]byte, error) {
	r := c.env.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, usage(err)
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		err = fmt.Errorf("%s: %w", name(path), err)
		if path != "-" { // a folder, which can be opened
			err = usage(err)
		}
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &exit{status: ExitRefused, text: fmt.Sprintf("%s is larger than %d bytes", name(path), limit)}
	}
	return data, nil
}

func name(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// located prints the problems that the API found in a file, as compilers do and as lint
// does. They tell why a command failed, and so are never its result: they go to Stderr,
// as text, whatever --output is.
func (c *console) located(path string, err error) error {
	var e *apiclient.Error
	if !errors.As(err, &e) || len(e.Problems) == 0 {
		return err
	}
	for _, p := range e.Problems {
		fmt.Fprintln(c.env.Stderr, printable(problemLine(path, p)))
	}
	return err
}

func problemLine(path string, p api.InputProblem) string {
	line := name(path)
	if p.Line > 0 {
		line += fmt.Sprintf(":%d", p.Line)
		if p.Column > 0 {
			line += fmt.Sprintf(":%d", p.Column)
		}
	}
	severity := p.Severity
	if severity == "" {
		severity = string(runbook.SeverityError)
	}
	line += ": " + severity + ": "
	// Of a CSV file the message names the column.
	if p.Field != "" && !strings.HasPrefix(p.Message, "column "+p.Field) {
		line += p.Field + ": "
	}
	line += p.Message
	if p.Code != "" {
		line += " [" + p.Code + "]"
	}
	return line
}
