// Package render prints the output of commands: tables, CSV, JSON and YAML, progress and
// questions. It uses the wire types of the admin API and no command.
package render

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Printer prints the output of commands as the global options require: results to Stdout,
// everything else to Stderr.
type Printer struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	// Terminal reports whether Stdout is a terminal. Width is its number of columns.
	Terminal bool
	Width    int

	Format  string // one of Formats but name, which sets Quiet
	Quiet   bool
	NoColor bool
	Columns []string // the columns of --columns
	SortBy  string   // the column of --sort, with - in front for descending
}

const envNoColor = "NO_COLOR" // any value switches colours off

func (c *Printer) colored() bool {
	return c.Terminal && !c.NoColor && c.Getenv(envNoColor) == "" && c.Getenv("TERM") != "dumb"
}

// Notice prints a line to Stderr, unless --quiet is set.
func (c *Printer) Notice(format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintf(c.Stderr, format+"\n", args...)
	}
}

// Outcome ends a command that changed something: a sentence on the change and, if there is
// one, the next command.
func (c *Printer) Outcome(next, format string, args ...any) {
	c.Notice("%s", Printable(fmt.Sprintf(format, args...)))
	if next != "" {
		c.NoticeNext(next)
	}
}

// NoticeNext names the command that comes next.
func (c *Printer) NoticeNext(command string) { c.Notice("Next: %s", command) }

// Done prints the result of a command that changed something, and its outcome.
func (c *Printer) Done(v any, t *Sheet, next, format string, args ...any) error {
	if err := c.Print(v, t); err != nil {
		return err
	}
	c.Outcome(next, format, args...)
	return nil
}

// Human reports whether results are printed as tables, not for programs.
func (c *Printer) Human() bool { return c.Format == FormatTable || c.Format == FormatWide }

// Plain reports whether results are printed as tables with everything beside them.
func (c *Printer) Plain() bool { return c.Human() && !c.Quiet }

// Print prints a result: as a document, as CSV, as a table, or with --quiet as the first
// column of the table.
func (c *Printer) Print(v any, t *Sheet) error {
	if c.Structured() {
		return c.Document(v)
	}
	if err := t.choose(c.Columns, c.SortBy); err != nil {
		return err
	}
	if c.Format == FormatCSV {
		return t.csv()
	}
	return t.Print()
}

// Cell formats a value: times in UTC to the second, an empty value as a dash.
func (c *Printer) Cell(v any) string {
	var word string
	switch v := v.(type) {
	case Shown:
		word = v.Text
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

// Printable replaces line ends and other control characters with spaces, so that a text from
// a worker or a file cannot control the terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}

// Stamp formats a time in UTC, to the second.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// status colors a status.
func (c *Printer) status(word string) string {
	if !c.colored() || word == "-" {
		return word
	}
	color := text.FgYellow
	switch word {
	case "completed", "succeeded", "done", "replayed", "alive", "on":
		color = text.FgGreen
	case "failed", "poll_timeout", "gone", "silent":
		color = text.FgRed
	case "pending", "detected", "skipped", "skipped_by_condition", "superseded", "cancelled", "removed", "discarded":
		color = text.Faint
	}
	// Sprint asks go-pretty's own switch for terminals, which knows only the process.
	return color.EscapeSeq() + word + text.Reset.EscapeSeq()
}

// FileName returns a path as messages name it.
func FileName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// Located prints the problems that the API found in a file, in the format of lint. They are
// the reason of a failure, not a result, so they go to Stderr as text with every --output.
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
