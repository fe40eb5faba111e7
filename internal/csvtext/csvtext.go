// Package csvtext knows the CSV that is read here (RFC 4180, in UTF-8),
// what people's programs write in its place, and how to tell them so. It knows nothing
// of what the columns mean.
//
// The functions are pure and safe for concurrent use.
package csvtext

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// SaveAs is the advice for a file in another encoding.
const SaveAs = `save it as "CSV UTF-8 (comma delimited)" in Excel, or as UTF-8 in a text editor`

// BOM is the byte order mark of UTF-8, with which a file may begin. It is read-only.
var BOM = []byte("\xef\xbb\xbf")

// Foreign is why a file that begins with start (4 bytes of it are enough) is not CSV in
// UTF-8, or nil where the beginning does not say.
func Foreign(start []byte) error {
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")),
		len(start) > 1 && (start[0] == 0) != (start[1] == 0): // a Latin letter, without a mark
		return fmt.Errorf("the file is in UTF-16; %s", SaveAs)
	case bytes.HasPrefix(start, []byte("PK\x03\x04")), bytes.HasPrefix(start, []byte("\xd0\xcf\x11\xe0")):
		return errors.New(`the file is a workbook, not CSV; save it as "CSV UTF-8 (comma delimited)"`)
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		return errors.New("the file is compressed; decompress it")
	}
	return nil
}

// Delimiter separates the fields of a row.
type Delimiter struct {
	Rune rune
	Name string // in options
	many string
}

// The delimiters of the files that people's programs write.
var (
	Comma     = Delimiter{',', "comma", "commas"}
	Semicolon = Delimiter{';', "semicolon", "semicolons"}
	Tab       = Delimiter{'\t', "tab", "tabs"}
	Bar       = Delimiter{'|', "bar", "bars"}
)

// Delimiters are all delimiters.
var Delimiters = [...]Delimiter{Comma, Semicolon, Tab, Bar}

// DelimiterNames are the names of all delimiters.
func DelimiterNames() []string {
	var names []string
	for _, d := range Delimiters {
		names = append(names, d.Name)
	}
	return names
}

// DelimiterOf returns the delimiter of a name.
func DelimiterOf(name string) (Delimiter, bool) {
	i := slices.IndexFunc(Delimiters[:], func(d Delimiter) bool { return d.Name == name })
	if i < 0 {
		return Delimiter{}, false
	}
	return Delimiters[i], true
}

// AmbiguousError says that a header can be read with several delimiters.
type AmbiguousError struct{ Delimiters []Delimiter }

func (e *AmbiguousError) Error() string {
	var names []string
	for _, d := range e.Delimiters {
		names = append(names, d.Name)
	}
	return fmt.Sprintf("%s; set delimiter (--delimiter) to %s", e.Cause(), strings.Join(names, " or "))
}

// Cause is the error without advice.
func (e *AmbiguousError) Cause() string {
	var many []string
	for _, d := range e.Delimiters {
		many = append(many, d.many)
	}
	return "the columns of the header may be separated by " + strings.Join(many, " or ")
}

// Detect returns the delimiter of a header, the first row of a text. expected counts the columns of a
// header that are expected ones, which decides between several delimiters. Without any of them in the
// header, the delimiter is the comma. It fails with an *AmbiguousError, or as the text does.
func Detect(text func() io.Reader, expected func(names []string) int) (Delimiter, error) {
	var fits []Delimiter
	best := 0
	for _, d := range Delimiters {
		names, err := readHeader(text(), d)
		if err != nil {
			return Delimiter{}, err
		}
		if len(names) < 2 {
			continue
		}
		switch n := expected(names); {
		case len(fits) == 0 || n > best:
			fits, best = []Delimiter{d}, n
		case n == best:
			fits = append(fits, d)
		}
	}
	switch len(fits) {
	case 0:
		return Comma, nil
	case 1:
		return fits[0], nil
	}
	return Delimiter{}, &AmbiguousError{fits}
}

// Expected returns a count for Detect: how many different names of a header are among those expected, in
// any case and without spaces around them.
func Expected(columns []string) func(names []string) int {
	fold := func(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
	wanted := map[string]bool{}
	for _, c := range columns {
		wanted[fold(c)] = true
	}
	return func(names []string) int {
		found := map[string]bool{}
		for _, name := range names {
			if name = fold(name); wanted[name] {
				found[name] = true
			}
		}
		return len(found)
	}
}

// readHeader reads the first row with a delimiter; none where it is malformed.
func readHeader(text io.Reader, d Delimiter) ([]string, error) {
	r := csv.NewReader(text)
	r.Comma = d.Rune
	names, err := r.Read()
	var malformed *csv.ParseError
	if errors.Is(err, io.EOF) || errors.As(err, &malformed) {
		return nil, nil
	}
	return names, err
}

// Control finds a control character other than tab and line ends, which no cell of a
// list of people holds.
func Control(s string) (rune, bool) {
	for _, r := range s {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			return r, true
		}
	}
	return 0, false
}

// Fault returns the place and text of an error of encoding/csv: the line and the
// column in bytes, from 1. Column 0 means the whole line.
func Fault(e *csv.ParseError) (line, column int, message string) {
	switch {
	case errors.Is(e.Err, csv.ErrBareQuote):
		return e.Line, e.Column, `a quotation mark inside a field that does not begin with one; write the field as "…" and the mark as ""`
	case e.Line != e.StartLine:
		return e.StartLine, 0, fmt.Sprintf("a field that begins with a quotation mark is not closed properly; the error shows on line %d", e.Line)
	}
	return e.Line, e.Column, `a quotation mark that is not followed by a delimiter or the end of the line; write a mark inside a quoted field as ""`
}
