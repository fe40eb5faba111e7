// Package membercsv reads member CSVs: uploaded files with one member in each row, checked against the
// columns that a runbook uses and the parameters that take them. It reports all problems of a file at once, each with its place; a file with
// a problem yields no rows.
//
// It knows the CSV format (RFC 4180 with several delimiters, UTF-8) and the columns of a runbook, and nothing of batches, of HTTP
// or of the store.
package membercsv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
)

// The limits of a file. A field has the limit of a cell of a spreadsheet.
const (
	MaxBytes    = 50 << 20 // of the whole file
	MaxRows     = 100_000
	MaxColumns  = 1_000
	MaxField    = 32_767         // characters
	MaxKey      = runbook.MaxKey // characters
	MaxRow      = runbook.MaxRow // bytes, all fields of a row together
	MaxKeys     = 8 << 20        // bytes, all keys together: they stay in memory
	maxProblems = 1_000

	// maxText is how many bytes of a file are read for one row at most. A row of MaxRow bytes takes
	// twice as many where all of them are quotation marks.
	maxText = 512 << 10
)

// File is a member CSV. It is read several times, and must not change. A *bytes.Reader implements it, and
// an *io.SectionReader of a file on disk.
type File interface {
	io.ReaderAt
	Size() int64
}

// Row is one member. It refers to its text in the file, and Data parses the values: those of all rows
// together take a hundred times the size of the file.
type Row struct {
	Line   int // where the row begins, from 1; the header is line 1
	Key    string
	at     int64
	length int
	from   *origin
}

// origin has the file and the columns of its rows.
type origin struct {
	file      File
	delimiter rune
	columns   []column
}

// Data gives a value for each column that the runbook uses, and for the others as far as
// runbook.KeepRow keeps them: a JSON string, or a JSON array for a column that the runbook declares as
// multi-valued. It fails where the file cannot be read.
func (r Row) Data() (map[string]json.RawMessage, error) {
	text := make([]byte, r.length)
	if _, err := r.from.file.ReadAt(text, r.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, unread(err)
	}
	reader := csv.NewReader(bytes.NewReader(text))
	reader.Comma = r.from.delimiter
	record, err := reader.Read()
	if err == nil && len(record) != len(r.from.columns) {
		err = csv.ErrFieldCount
	}
	if err != nil { // the text has changed since Read
		return nil, unread(fmt.Errorf("line %d: %w", r.Line, err))
	}
	data := make(map[string]json.RawMessage, len(record))
	var others []runbook.RowColumn
	for i, field := range record {
		c := r.from.columns[i]
		if c.name == "" {
			continue
		}
		value, err := encode(c.format, field)
		switch {
		case !c.unused && err != nil:
			return nil, unread(fmt.Errorf("line %d: %w", r.Line, err))
		case !c.unused:
			data[c.name] = value
		case err == nil && storableText(field):
			others = append(others, runbook.RowColumn{Name: c.name, Value: value})
		}
	}
	return runbook.KeepRow(data, others), nil
}

// storableText reports whether a field of a column that the runbook does not use can be kept.
func storableText(field string) bool {
	_, control := csvtext.Control(field)
	return !control && utf8.RuneCountInString(field) <= MaxField
}

func unread(err error) error { return fmt.Errorf("read the member CSV: %w", err) }

// Problem is a problem of a file. Line and Column count from 1, Column in bytes; 0 stands for the whole
// file, or the whole line.
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

// Options says how a file is read. The zero value detects the delimiter and accepts any value.
type Options struct {
	Delimiter string // the name of a delimiter; empty: the header decides
	Rules     lint.ColumnRules
	// SomeColumns accepts a file for members who exist: it needs no column but the key, and has any
	// other. Whether the members have these columns is for the caller to check.
	SomeColumns bool
}

// Members is the content of a file. It has rows only if there is no problem; they refer to the file. The
// warnings are for people: columns that the runbook does not use, rows without a value, keys that differ
// only in case.
type Members struct {
	Rows      []Row
	Delimiter string // by its name
	Warnings  []string
	Problems  []Problem
	// Lines are the lines of all keys that could be read, also of rows with a problem; nil if there is
	// no problem.
	Lines map[string]int
}

// Parse calls Read with a file in memory, without options.
func Parse(src []byte, rb *runbook.Runbook) ([]Row, []string, []Problem) {
	m, err := Read(bytes.NewReader(src), rb, Options{})
	if err != nil {
		panic(err) // reading from memory does not fail
	}
	return m.Rows, m.Warnings, m.Problems
}

// Read reads a file for rb. It does not keep the text or the values of a row. It fails where the file
// cannot be read.
func Read(file File, rb *runbook.Runbook, o Options) (Members, error) {
	p := &parser{rb: rb, options: o, file: file, lines: map[string]int{}, seed: maphash.MakeSeed(), folded: map[uint64]string{}}
	begin, ok, err := p.decode()
	if ok && err == nil {
		ok, err = p.detect(begin)
	}
	if ok && err == nil {
		err = p.read(begin)
	}
	if err != nil {
		return Members{}, unread(err)
	}
	m := Members{Delimiter: p.delimiter.Name, Warnings: p.warnings, Problems: p.problems}
	if len(p.problems) > 0 {
		m.Lines = p.lines
		return m, nil
	}
	if p.blank > 0 {
		p.warn("%s without any value ignored", count(p.blank, "row"))
	}
	m.Rows, m.Warnings = p.rows, p.warnings
	return m, nil
}

type parser struct {
	rb        *runbook.Runbook
	options   Options
	file      File
	delimiter csvtext.Delimiter
	columns   []column
	from      *origin
	rows      []Row
	keys      int            // bytes of all keys
	lines     map[string]int // key → line
	seed      maphash.Seed
	folded    map[uint64]string // hash of the key in lower case → key
	blank     int
	warnings  []string
	problems  []Problem
}

// column is a column of the file. It has no name where it is not kept.
type column struct {
	name   string
	format string // of a multi-valued column
	unused bool   // by the runbook
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

// errEndless says that a row does not end within maxText bytes.
var errEndless = errors.New("a row does not end")

// bounded fails with errEndless after left bytes.
type bounded struct {
	io.Reader
	left int
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errEndless
	}
	n, err := b.Reader.Read(into)
	b.left -= n
	return n, err
}

// read reads the header and the rows, from the offset at which the text begins.
func (p *parser) read(begin int64) error {
	text := &bounded{io.NewSectionReader(p.file, begin, p.file.Size()-begin), maxText}
	r := csv.NewReader(bufio.NewReaderSize(text, bufferSize))
	r.Comma = p.delimiter.Rune
	r.FieldsPerRecord = -1
	r.ReuseRecord = true

	header, err := r.Read()
	switch {
	case errors.Is(err, io.EOF):
		p.add(Problem{Line: 1, Code: CodeEmpty}, "the file is empty; its first line must name the columns")
		return nil
	case err != nil:
		return p.syntax(err, begin)
	}
	if !p.header(r, header) {
		return nil
	}
	p.from = &origin{p.file, p.delimiter.Rune, p.columns}
	for {
		began := begin + r.InputOffset()
		text.left = maxText
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if len(p.problems) >= maxProblems {
			p.add(Problem{Code: CodeTooManyProblems}, "more than %d problems; the rest of the file was not read", maxProblems)
			return nil
		}
		if err != nil {
			if fault := p.syntax(err, began); fault != nil || errors.Is(err, errEndless) {
				return fault
			}
			continue
		}
		line, _ := r.FieldPos(0)
		if len(p.rows) == MaxRows {
			p.add(Problem{Line: line, Code: CodeTooManyRows}, "more than %d members; split the file into several batches", MaxRows)
			return nil
		}
		p.record(r, line, record, began, int(begin+r.InputOffset()-began))
		if p.keys > MaxKeys {
			p.add(Problem{Line: line, Code: CodeTooLarge}, "the keys up to this line have more than %d bytes; split the file into several batches", MaxKeys)
			return nil
		}
	}
	if len(p.rows) == 0 && len(p.problems) == 0 {
		p.add(Problem{Line: 1, Code: CodeEmpty}, "the file has a header and no members")
	}
	return nil
}

// syntax reports an error of encoding/csv in a row that begins at an offset. It returns errors that are
// not of the text.
func (p *parser) syntax(err error, began int64) error {
	var e *csv.ParseError
	switch {
	case errors.As(err, &e):
		line, column, message := csvtext.Fault(e)
		p.add(Problem{Line: line, Column: column, Code: CodeQuote}, "%s", message)
		return nil
	case errors.Is(err, errEndless):
		line, err := p.lineAt(began)
		p.add(Problem{Line: line, Code: CodeRowTooLong}, "no row ends within %d bytes from this line; close the field that begins with a quotation mark, or remove the empty lines", maxText)
		return err
	}
	return err
}

// lineAt gives the number of the line at an offset.
func (p *parser) lineAt(offset int64) (int, error) {
	text := bufio.NewReaderSize(io.NewSectionReader(p.file, 0, offset), bufferSize)
	for line := 1; ; {
		switch _, err := text.ReadSlice('\n'); {
		case err == nil:
			line++
		case errors.Is(err, io.EOF):
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// record checks one record and adds its row.
func (p *parser) record(r *csv.Reader, line int, record []string, began int64, length int) {
	if !slices.ContainsFunc(record, func(field string) bool { return field != "" }) {
		p.blank++
		return
	}
	before := len(p.problems)
	if len(record) != len(p.columns) {
		p.add(Problem{Line: line, Code: CodeFieldCount}, "%s where the header has %d", count(len(record), "field"), len(p.columns))
		return
	}
	row := Row{Line: line, at: began, length: length, from: p.from}
	size := 0
	for i, field := range record {
		size += len(field)
		c := p.columns[i]
		if c.name == "" || c.unused {
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
		p.value(at, c, field)
	}
	if size > MaxRow {
		p.add(Problem{Line: line, Code: CodeRowTooLong}, "the row has %d bytes; at most %d are allowed", size, MaxRow)
	}
	if len(p.problems) == before {
		p.rows = append(p.rows, row)
	}
}

// value reports a field that is no value of its column, or that makes a step fail.
func (p *parser) value(at Problem, c column, field string) {
	at.Code = CodeBadValue
	var value any = field
	if c.format != "" {
		list, err := encode(c.format, field)
		if err == nil {
			err = json.Unmarshal(list, &value)
		}
		if err != nil {
			p.add(at, "column %s: %v", c.name, err)
			return
		}
	}
	if fault := p.options.Rules.Check(c.name, value); fault != "" {
		p.add(at, "%s", fault)
	}
}

// characters reports a field that is longer than the limit, and control characters other than tab and
// line ends.
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

// key checks a key and gives it; empty where it has a problem.
func (p *parser) key(at Problem, line int, key string) string {
	switch trimmed := strings.TrimSpace(key); {
	case trimmed == "":
		at.Code = CodeEmptyKey
		p.add(at, "column %s is empty; it must identify the member", at.Field)
		return ""
	case trimmed != key:
		at.Code = CodeBadKey
		p.add(at, "column %s: %q has spaces around it", at.Field, short(key))
		return ""
	case utf8.RuneCountInString(key) > MaxKey:
		at.Code = CodeBadKey
		p.add(at, "column %s: the key has %d characters; at most %d are allowed", at.Field, utf8.RuneCountInString(key), MaxKey)
		return ""
	}
	if first, ok := p.lines[key]; ok {
		at.Code = CodeDuplicateKey
		p.add(at, "column %s: %q is on line %d and again on line %d", at.Field, short(key), first, line)
		return ""
	}
	key = strings.Clone(key)
	p.keys += len(key)
	p.lines[key] = line
	lower := strings.ToLower(key)
	fold := maphash.String(p.seed, lower)
	if other, ok := p.folded[fold]; ok && strings.ToLower(other) == lower {
		p.warn("lines %d and %d: the keys %q and %q differ only in case and count as two members", p.lines[other], line, short(other), short(key))
	} else {
		p.folded[fold] = key
	}
	return key
}

func short(s string) string { return humanize.Clip(s, 60) }

func count(n int, what string) string { return humanize.Count(n, what) }
