// Package csvtext knows the CSV that is read here (RFC 4180 with commas, in UTF-8),
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
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return fmt.Errorf("the file is in UTF-16; %s", SaveAs)
	case bytes.HasPrefix(start, []byte("PK\x03\x04")), bytes.HasPrefix(start, []byte("\xd0\xcf\x11\xe0")):
		return errors.New(`the file is a workbook, not CSV; save it as "CSV UTF-8 (comma delimited)"`)
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		return errors.New("the file is compressed; decompress it")
	}
	return nil
}

// Separated is why a header is not separated by commas, or nil where it may be.
func Separated(header []string) error {
	if len(header) != 1 {
		return nil
	}
	for _, d := range []struct{ sep, name string }{{";", "semicolons"}, {"\t", "tabs"}, {"|", "bars"}} {
		if strings.Contains(header[0], d.sep) {
			return fmt.Errorf(`the fields are separated by %s; save the file as "CSV UTF-8 (comma delimited)"`, d.name)
		}
	}
	return nil
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
	return e.Line, e.Column, `a quotation mark that is not followed by a comma or the end of the line; write a mark inside a quoted field as ""`
}
