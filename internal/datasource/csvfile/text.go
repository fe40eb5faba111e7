package csvfile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/humanize"
)

// maxRecord limits the size of a row in bytes, so that an unclosed quotation mark
// does not fill the memory with the rest of the file.
const maxRecord = 1 << 20

// text reads CSV row by row. Its errors name the place.
type text struct {
	in  *bufio.Reader
	csv *csv.Reader
	raw *gauge
	// expected are columns that the header should name; they decide between several delimiters.
	expected []string
	// line is where the row read last began, from 1; 0 before the header.
	line int
}

func newText(body io.Reader, expected []string) *text {
	g := &gauge{r: body}
	return &text{in: bufio.NewReader(g), raw: g, expected: expected}
}

// read makes the reader of the rows, from the header on, by the delimiter of the header.
func (t *text) read() error {
	head, err := t.head()
	if err != nil {
		return t.broken(err)
	}
	delimiter, err := csvtext.Detect(func() io.Reader { return bytes.NewReader(head) }, csvtext.Expected(t.expected))
	var ambiguous *csvtext.AmbiguousError
	if errors.As(err, &ambiguous) {
		return fmt.Errorf("%s; put names that contain one of them into quotation marks", ambiguous.Cause())
	}
	if err != nil {
		return err
	}
	t.csv = csv.NewReader(io.MultiReader(bytes.NewReader(head), t.in))
	t.csv.Comma, t.csv.FieldsPerRecord, t.csv.ReuseRecord = delimiter.Rune, -1, true
	return nil
}

// head returns the text up to the line end of the header, which is the first one that no quotation marks
// enclose. It waits for no byte after it: a server may send the rows later.
func (t *text) head() ([]byte, error) {
	var head []byte
	quoted, blank := false, true
	for {
		c, err := t.in.ReadByte()
		if err == io.EOF {
			return head, nil
		}
		if err != nil {
			return nil, err
		}
		head = append(head, c)
		switch c {
		case '"':
			quoted, blank = !quoted, false
		case '\r':
		case '\n':
			if !quoted && !blank {
				return head, nil
			}
		default:
			blank = false
		}
	}
}

// gauge refuses to read more than maxRecord bytes for one row.
type gauge struct {
	r io.Reader
	n int // since the row began, give or take what is buffered
}

var errRecord = fmt.Errorf("more than %d bytes", maxRecord)

func (g *gauge) Read(p []byte) (int, error) {
	if g.n > maxRecord {
		return 0, errRecord
	}
	n, err := g.r.Read(p)
	g.n += n
	return n, err
}

// header reads the names of the columns.
func (t *text) header() ([]string, error) {
	if err := t.sniff(); err != nil {
		return nil, err
	}
	if err := t.read(); err != nil {
		return nil, err
	}
	names, err := t.record()
	if err == io.EOF {
		return nil, errors.New("the file is empty; its first line must name the columns")
	}
	if err != nil {
		return nil, err
	}
	columns := make([]string, len(names))
	for i, name := range names {
		if strings.ContainsFunc(name, unicode.IsControl) {
			return nil, fmt.Errorf("line 1: the name of column %d contains a control character", i+1)
		}
		columns[i] = strings.Clone(name)
	}
	return columns, nil
}

// sniff refuses a file that does not begin as UTF-8 text, and skips the byte order
// mark.
func (t *text) sniff() error {
	start, err := t.in.Peek(4)
	if err != nil && err != io.EOF {
		return t.broken(err)
	}
	if err := csvtext.Foreign(start); err != nil {
		return err
	}
	if bytes.HasPrefix(start, csvtext.BOM) {
		_, err = t.in.Discard(len(csvtext.BOM))
		return err
	}
	return nil
}

// row reads the next row that has a value, which must have n fields. They are good
// until the next call. After the last row it gives io.EOF.
func (t *text) row(n int) ([]string, error) {
	for {
		fields, err := t.record()
		if err != nil {
			return nil, err
		}
		if len(fields) != n {
			return nil, fmt.Errorf("line %d: %s where the header has %d", t.line, humanize.Count(len(fields), "field"), n)
		}
		// Spreadsheets leave rows without any value.
		if strings.Join(fields, "") != "" {
			return fields, nil
		}
	}
}

func (t *text) record() ([]string, error) {
	t.raw.n = 0
	fields, err := t.csv.Read()
	var syntax *csv.ParseError
	switch {
	case errors.As(err, &syntax):
		return nil, explain(syntax)
	case err == io.EOF:
		return nil, io.EOF
	case err != nil:
		return nil, t.broken(err)
	}
	t.line, _ = t.csv.FieldPos(0)
	for i, f := range fields {
		line, column := t.csv.FieldPos(i)
		if !utf8.ValidString(f) {
			return nil, fmt.Errorf("line %d, column %d: the field is not in UTF-8; %s", line, column, csvtext.SaveAs)
		}
		if r, found := csvtext.Control(f); found {
			return nil, fmt.Errorf("line %d, column %d: the control character %U is not allowed", line, column, r)
		}
	}
	return fields, nil
}

// broken explains why the row that comes now could not be read to its end.
func (t *text) broken(err error) error {
	if errors.Is(err, errRecord) {
		return fmt.Errorf("%s has more than %d bytes; look for a quotation mark that is not closed", t.next(), maxRecord)
	}
	return fmt.Errorf("the file ends early, in %s: %w", t.next(), err)
}

// next says which row comes now.
func (t *text) next() string {
	if t.line == 0 {
		return "the header"
	}
	return fmt.Sprintf("the row after line %d", t.line)
}

// explain says what encoding/csv could not read.
func explain(e *csv.ParseError) error {
	line, column, message := csvtext.Fault(e)
	if column == 0 {
		return fmt.Errorf("line %d: %s; is the file complete?", line, message)
	}
	return fmt.Errorf("line %d, column %d: %s", line, column, message)
}
