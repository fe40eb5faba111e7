package runbook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/storable"
)

// ParseList reads the text of a multi-valued column and gives its list as a JSON
// array. The parts of a delimited list are trimmed, and empty ones dropped. The
// elements of a json_array may be any JSON. Text that is empty or blank is an empty
// list.
//
// The result is compact, and the same for the same list however it was spaced,
// escaped or ordered: the fields of an object are sorted by name. A number with more
// digits than the store keeps is text.
func ParseList(format, text string) (json.RawMessage, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%q is not UTF-8", clip(text))
	}
	var list any
	var err error
	switch format {
	case FormatSemicolonDelimited:
		list = split(text, ";")
	case FormatCommaDelimited:
		list = split(text, ",")
	case FormatJSONArray:
		list, err = elements(text)
	default:
		err = fmt.Errorf("the runbook has the invalid format %q; use one of %s", clip(format), strings.Join(columnFormats, ", "))
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(list); err != nil {
		return nil, err
	}
	return storable.JSON(bytes.TrimSpace(b.Bytes()))
}

func split(text, separator string) []string {
	parts := []string{}
	for part := range strings.SplitSeq(text, separator) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func elements(text string) ([]any, error) {
	if strings.TrimSpace(text) == "" {
		return []any{}, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var list []any
	if err := d.Decode(&list); err != nil || list == nil {
		return nil, fmt.Errorf("%q is not a JSON array", clip(text))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%q has text after the JSON array", clip(text))
	}
	return list, nil
}
