package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Report is the result of a run.
type Report struct {
	Tables  []Table  `json:"tables"`
	Targets []Target `json:"targets"`
	Notes   []string `json:"notes"`
}

// Table is one part of the report.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

// decimal is a number that is printed with a number of digits after the point.
type decimal struct {
	value  float64
	digits int
}

func (d decimal) String() string { return strconv.FormatFloat(d.value, 'f', d.digits, 64) }

// rounded is the number with the digits that are printed.
func (d decimal) rounded() float64 {
	v, err := strconv.ParseFloat(d.String(), 64)
	if err != nil {
		panic(err) // it is a number
	}
	return v
}

// MarshalJSON writes the number with the digits that are printed.
func (d decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

var _ json.Marshaler = decimal{}

func whole(v float64) decimal { return decimal{v, 0} }
func one(v float64) decimal   { return decimal{v, 1} }
func two(v float64) decimal   { return decimal{v, 2} }

// add adds a table to the report and prints it.
func (c Config) add(t Table) {
	if c.report != nil {
		c.report.Tables = append(c.report.Tables, t)
	}
	t.print(c.Out)
}

// note adds a sentence to the report and prints it.
func (c Config) note(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	if c.report != nil {
		c.report.Notes = append(c.report.Notes, text)
	}
	fmt.Fprintln(c.Out, text)
}

// progress prints a line on the terminal, beside the result.
func (c Config) progress(format string, values ...any) {
	if c.Log != nil {
		fmt.Fprintf(c.Log, "%s %s; load average %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, values...), loadAverage())
	}
}

func (t Table) print(out io.Writer) {
	w := table.NewWriter()
	w.SetOutputMirror(out)
	head := make(table.Row, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = c
	}
	w.AppendHeader(head)
	for _, row := range t.Rows {
		w.AppendRow(row)
	}
	fmt.Fprintf(out, "\n%s\n", t.Name)
	w.Render()
}

// loadAverage is the number of tasks that wanted a processor in the last minute, with those of others
// on this machine; empty where the system does not say.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg") // Linux has it
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
