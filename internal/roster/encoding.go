package roster

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// decode checks that src is text in UTF-8 and takes off the byte order mark.
func (p *parser) decode(src []byte) ([]byte, bool) {
	at := Problem{Line: 1, Code: CodeEncoding}
	if len(src) > MaxBytes {
		at.Code, at.Line = CodeTooLarge, 0
		p.add(at, "the file has %d bytes; at most %d are allowed", len(src), MaxBytes)
		return nil, false
	}
	if err := csvtext.Foreign(src); err != nil {
		p.add(at, "%v", err)
		return nil, false
	}
	src = bytes.TrimPrefix(src, csvtext.BOM)
	if utf8.Valid(src) {
		return src, true
	}
	i := -1
	for line := range bytes.Lines(src) {
		if i++; utf8.Valid(line) {
			continue
		}
		if len(p.problems) == maxProblems {
			break
		}
		at := Problem{Line: i + 1, Column: invalidAt(line) + 1, Code: CodeEncoding}
		p.add(at, "the line is not in UTF-8; %s", csvtext.SaveAs)
	}
	return nil, false
}

// invalidAt is the offset of the first byte of line that is not UTF-8.
func invalidAt(line []byte) int {
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(line)
}

// encode makes the JSON value of a field: a string, or for a multi-valued column an
// array.
func encode(format, field string) (json.RawMessage, error) {
	if format != "" {
		return runbook.ParseList(format, field)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(field); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
