package roster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

const saveAs = `save it as "CSV UTF-8 (comma delimited)" in Excel, or as UTF-8 in a text editor`

// decode checks that src is text in UTF-8 and takes off the byte order mark.
func (p *parser) decode(src []byte) ([]byte, bool) {
	at := Problem{Line: 1, Code: CodeEncoding}
	switch {
	case len(src) > MaxBytes:
		at.Code, at.Line = CodeTooLarge, 0
		p.add(at, "the file has %d bytes; at most %d are allowed", len(src), MaxBytes)
		return nil, false
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")):
		p.add(at, "the file is in UTF-16; %s", saveAs)
		return nil, false
	case bytes.HasPrefix(src, []byte("PK\x03\x04")), bytes.HasPrefix(src, []byte("\xd0\xcf\x11\xe0")):
		p.add(at, `the file is a workbook, not CSV; save it as "CSV UTF-8 (comma delimited)"`)
		return nil, false
	}
	src = bytes.TrimPrefix(src, bom)
	if utf8.Valid(src) {
		return src, true
	}
	for i, line := range bytes.Split(src, []byte("\n")) {
		if utf8.Valid(line) {
			continue
		}
		if len(p.problems) == maxProblems {
			break
		}
		at := Problem{Line: i + 1, Column: invalidAt(line) + 1, Code: CodeEncoding}
		p.add(at, "the line is not in UTF-8; %s", saveAs)
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
// array. The parts of a delimited list are trimmed and empty ones dropped; an empty
// field is an empty array.
func encode(format, field string) (json.RawMessage, error) {
	var value any
	switch format {
	case "":
		value = field
	case "semicolon_delimited":
		value = split(field, ";")
	case "comma_delimited":
		value = split(field, ",")
	case "json_array":
		return jsonArray(field)
	default:
		return nil, fmt.Errorf("the runbook gives it the format %q, which is none of semicolon_delimited, comma_delimited and json_array", format)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func split(field, sep string) []string {
	parts := []string{}
	for part := range strings.SplitSeq(field, sep) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func jsonArray(field string) (json.RawMessage, error) {
	if strings.TrimSpace(field) == "" {
		return json.RawMessage("[]"), nil
	}
	var elements []json.RawMessage
	if err := json.Unmarshal([]byte(field), &elements); err != nil || elements == nil {
		return nil, fmt.Errorf("%q is not a JSON array", short(field))
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(field)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
