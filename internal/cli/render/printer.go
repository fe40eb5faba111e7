// Package render prints what the command line shows: tables, CSV, JSON and YAML, progress
// and questions. It knows the wire types of the admin API and no command.
package render

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Printer prints what commands have to say, as the options that all commands have demand:
// results to Stdout, everything else to Stderr.
type Printer struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	// Terminal tells that Stdout is a terminal, Width how many columns it has.
	Terminal bool
	Width    int

	Format  string // one of formats
	Quiet   bool
	NoColor bool
}

const envNoColor = "NO_COLOR" // any value switches colours off

func (c *Printer) colored() bool {
	return c.Terminal && !c.NoColor && c.Getenv(envNoColor) == "" && c.Getenv("TERM") != "dumb"
}

// Notice tells something beside the result.
func (c *Printer) Notice(format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintf(c.Stderr, format+"\n", args...)
	}
}

// Print prints a result: as a document, as CSV, as a table, or quietly the table's
// first column.
func (c *Printer) Print(v any, t *Sheet) error {
	switch {
	case c.Structured():
		return c.Document(v)
	case c.Format == FormatCSV:
		return t.csv()
	}
	return t.Print()
}

// Sheet is a table in the making.
type Sheet struct {
	c     *Printer
	head  []string
	rows  [][]string
	raw   [][]any  // as they were given
	minor []string // columns that give way before others do where there is no room
	data  bool     // somebody else's columns: they are shown as they are named, all of them
}

// Table makes an empty table with these columns.
func (c *Printer) Table(head ...string) *Sheet { return &Sheet{c: c, head: head} }

// Row adds a row.
func (s *Sheet) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = s.c.Cell(cell)
	}
	s.rows, s.raw = append(s.rows, row), append(s.raw, cells)
}

// Cell words a value: times in UTC to the second, nothing as a dash.
func (c *Printer) Cell(v any) string {
	var word string
	switch v := v.(type) {
	case *time.Time:
		if v != nil {
			word = Stamp(*v)
		}
	case time.Time:
		word = Stamp(v)
	case bool:
		word = map[bool]string{true: "yes", false: "no"}[v]
	default:
		word = fmt.Sprint(v)
	}
	if word == "" {
		return "-"
	}
	return Printable(word)
}

// Printable takes line ends and other control characters out of words that may come
// from a worker or from a file, so that they cannot steer the terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}

// Stamp is a time in UTC, to the second.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// Print prints the table, or with --quiet its first column.
func (s *Sheet) Print() error {
	out := s.c.Stdout
	if s.c.Quiet {
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
	} else if s.c.Terminal {
		s.dropEmpty()
		fits = s.fit(s.c.Width)
	}
	if s.c.Terminal && !fits {
		style.Size.WidthMax = s.c.Width // rows are cut
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
func (s *Sheet) dropEmpty() {
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
func (c *Printer) status(word string) string {
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

// FileName is a path as messages name it.
func FileName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// Located prints the problems that the API found in a file, as compilers do and as lint
// does. They tell why a command failed, and so are never its result: they go to Stderr,
// as text, whatever --output is.
func (c *Printer) Located(path string, err error) error {
	var e *apiclient.Error
	if !errors.As(err, &e) || len(e.Problems) == 0 {
		return err
	}
	for _, p := range e.Problems {
		fmt.Fprintln(c.Stderr, Printable(problemLine(path, p)))
	}
	return err
}

func problemLine(path string, p api.InputProblem) string {
	line := FileName(path)
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
