// Package roster reads the list of members that a person uploads: a CSV file with
// one member a row, checked against the columns that a runbook uses. Everything
// that is wrong with a file is reported at once, with its place, and a file with
// anything wrong in it yields no rows.
//
// It knows the CSV format (RFC 4180, UTF-8) and the columns of a runbook, and
// nothing of batches, of HTTP or of where members are kept.
package roster

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// What a file may hold. A field is as long as a cell of a spreadsheet can be; a row
// has to fit, with the parameters made from it, into one message to a worker.
const (
	MaxBytes    = 50 << 20 // of the whole file
	MaxRows     = 100_000
	MaxColumns  = 1_000
	MaxField    = 32_767  // characters
	MaxKey      = 255     // characters
	MaxRow      = 128_000 // bytes, all fields of a row together
	maxProblems = 1_000
)

// Row is one member. It refers to its text in the file and makes its values when they are
// asked for: those of all rows together take a hundred times the file.
type Row struct {
	Line    int // where the row begins, from 1; the header is line 1
	Key     string
	text    []byte
	columns []column
}

// Data makes a value for each column that the runbook uses: a JSON string, or a JSON array
// for the columns it declares as multi-valued.
func (r Row) Data() map[string]json.RawMessage {
	data := map[string]json.RawMessage{}
	record, err := csv.NewReader(bytes.NewReader(r.text)).Read()
	if err != nil {
		panic(err) // Parse has read the same text
	}
	for i, field := range record {
		if c := r.columns[i]; c.name != "" {
			if data[c.name], err = encode(c.format, field); err != nil {
				panic(err) // Parse has made the same value
			}
		}
	}
	return data
}

// Problem is one thing wrong with a file. Line and Column count from 1, Column in
// bytes; 0 means the file, or the line, as a whole.
type Problem struct {
	Line, Column int
	Field        string // the name of the CSV column
	Code         string
	Message      string
}

// The codes of problems.
const (
	CodeEncoding        = "encoding"
	CodeEmpty           = "empty"
	CodeTooLarge        = "too-large"
	CodeTooManyRows     = "too-many-rows"
	CodeTooManyColumns  = "too-many-columns"
	CodeTooManyProblems = "too-many-problems"
	CodeQuote           = "quote"
	CodeDelimiter       = "delimiter"
	CodeMissingColumn   = "missing-column"
	CodeDuplicateColumn = "duplicate-column"
	CodeFieldCount      = "field-count"
	CodeFieldTooLong    = "field-too-long"
	CodeRowTooLong      = "row-too-long"
	CodeCharacter       = "character"
	CodeEmptyKey        = "empty-key"
	CodeDuplicateKey    = "duplicate-key"
	CodeBadKey          = "bad-key"
	CodeBadValue        = "bad-value"
)

// Parse reads src for rb. The warnings are for people: columns that the runbook
// does not use, rows without any value, keys that differ only in case. Rows are
// returned only when there is no problem; they refer to src, which must stay as it is.
func Parse(src []byte, rb *runbook.Runbook) ([]Row, []string, []Problem) {
	p := &parser{rb: rb, lines: map[string]int{}, folded: map[string]string{}}
	text, ok := p.decode(src)
	if ok {
		p.read(text)
	}
	if len(p.problems) > 0 {
		return nil, p.warnings, p.problems
	}
	if p.blank > 0 {
		p.warn("%s without any value passed over", count(p.blank, "row"))
	}
	return p.rows, p.warnings, nil
}

type parser struct {
	rb       *runbook.Runbook
	columns  []column
	rows     []Row
	lines    map[string]int    // key → line
	folded   map[string]string // key in lower case → key
	blank    int
	warnings []string
	problems []Problem
}

// column is a column of the file; one that the runbook does not use has no name.
type column struct {
	name   string
	format string // of a multi-valued column
}

func (p *parser) warn(format string, args ...any) {
	if len(p.warnings) < maxProblems {
		p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
	}
}

func (p *parser) add(pr Problem, format string, args ...any) {
	pr.Message = fmt.Sprintf(format, args...)
	p.problems = append(p.problems, pr)
}

// sparing refuses a line of which the commas alone are too many for any row: taken apart,
// it would fill the memory before it could be refused.
func (p *parser) sparing(text []byte) bool {
	line := 0
	for one := range bytes.Lines(text) {
		line++
		if n := bytes.Count(one, []byte(",")); n > MaxRow+MaxColumns {
			p.add(Problem{Line: line, Code: CodeRowTooLong}, "the line has %d commas; no row can have as many", n)
			return false
		}
	}
	return true
}

func (p *parser) read(text []byte) {
	if !p.sparing(text) {
		return
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	r.ReuseRecord = true

	header, err := r.Read()
	switch {
	case errors.Is(err, io.EOF):
		p.add(Problem{Line: 1, Code: CodeEmpty}, "the file is empty; its first line has to name the columns")
		return
	case err != nil:
		p.syntax(err)
		return
	}
	if !p.header(r, header) {
		return
	}
	for {
		began := r.InputOffset()
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if len(p.problems) >= maxProblems {
			p.add(Problem{Code: CodeTooManyProblems}, "more than %d problems; the rest of the file was not read", maxProblems)
			return
		}
		if err != nil {
			p.syntax(err)
			continue
		}
		line, _ := r.FieldPos(0)
		if len(p.rows) == MaxRows {
			p.add(Problem{Line: line, Code: CodeTooManyRows}, "more than %d members; split the file into several batches", MaxRows)
			return
		}
		p.record(r, line, record, text[began:r.InputOffset()])
	}
	if len(p.rows) == 0 && len(p.problems) == 0 {
		p.add(Problem{Line: 1, Code: CodeEmpty}, "the file has a header and no members")
	}
}

// syntax reports what encoding/csv could not read. Reading goes on with the line
// after.
func (p *parser) syntax(err error) {
	var e *csv.ParseError
	if !errors.As(err, &e) {
		p.add(Problem{Code: CodeQuote}, "%v", err)
		return
	}
	line, column, message := csvtext.Fault(e)
	p.add(Problem{Line: line, Column: column, Code: CodeQuote}, "%s", message)
}

func (p *parser) record(r *csv.Reader, line int, record []string, text []byte) {
	if !slices.ContainsFunc(record, func(field string) bool { return field != "" }) {
		p.blank++
		return
	}
	before := len(p.problems)
	if len(record) != len(p.columns) {
		p.add(Problem{Line: line, Code: CodeFieldCount}, "%s where the header has %d", count(len(record), "field"), len(p.columns))
		return
	}
	row := Row{Line: line, text: text, columns: p.columns}
	size := 0
	for i, field := range record {
		size += len(field)
		c := p.columns[i]
		if c.name == "" {
			continue
		}
		fieldLine, col := r.FieldPos(i)
		at := Problem{Line: fieldLine, Column: col, Field: c.name}
		if !p.characters(at, field) {
			continue
		}
		if c.name == p.rb.DataSource.PrimaryKey {
			row.Key = p.key(at, line, field)
		}
		if c.format == "" {
			continue // any text is a value
		}
		if _, err := encode(c.format, field); err != nil {
			at.Code = CodeBadValue
			p.add(at, "column %s: %v", c.name, err)
		}
	}
	if size > MaxRow {
		p.add(Problem{Line: line, Code: CodeRowTooLong}, "the row has %d bytes; at most %d are allowed", size, MaxRow)
	}
	if len(p.problems) == before {
		row.Key = strings.Clone(row.Key)
		p.rows = append(p.rows, row)
	}
}

// characters refuses what no cell of a list of people holds: a field beyond the
// limit and control characters other than tab and line ends.
func (p *parser) characters(at Problem, field string) bool {
	if n := utf8.RuneCountInString(field); n > MaxField {
		at.Code = CodeFieldTooLong
		p.add(at, "column %s: %d characters; at most %d are allowed", at.Field, n, MaxField)
		return false
	}
	if r, found := csvtext.Control(field); found {
		at.Code = CodeCharacter
		p.add(at, "column %s: the control character %U is not allowed", at.Field, r)
		return false
	}
	return true
}

func (p *parser) key(at Problem, line int, key string) string {
	switch trimmed := strings.TrimSpace(key); {
	case trimmed == "":
		at.Code = CodeEmptyKey
		p.add(at, "column %s is empty; it has to name the member", at.Field)
		return ""
	case trimmed != key:
		at.Code = CodeBadKey
		p.add(at, "column %s: %q has spaces around it", at.Field, short(key))
		return ""
	case utf8.RuneCountInString(key) > MaxKey:
		at.Code = CodeBadKey
		p.add(at, "column %s: a key of %d characters; at most %d are allowed", at.Field, utf8.RuneCountInString(key), MaxKey)
		return ""
	}
	if first, ok := p.lines[key]; ok {
		at.Code = CodeDuplicateKey
		p.add(at, "column %s: %q is on line %d and again on line %d", at.Field, short(key), first, line)
		return ""
	}
	key = strings.Clone(key)
	p.lines[key] = line
	fold := strings.ToLower(key)
	if other, ok := p.folded[fold]; ok {
		p.warn("lines %d and %d: the keys %q and %q differ only in case and are taken as two members", p.lines[other], line, short(other), short(key))
	} else {
		p.folded[fold] = key
	}
	return key
}

func short(s string) string {
	if utf8.RuneCountInString(s) <= 60 {
		return s
	}
	return string([]rune(s)[:60]) + "…"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
