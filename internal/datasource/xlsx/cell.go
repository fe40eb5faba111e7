package xlsx

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// cell is a cell that has a value.
type cell struct {
	row, column int     // from 0
	kind        string  // the attribute t
	style       int     // the attribute s
	raw         string  // as stored
	text        *string // of a cell with text
	formula     bool
	stored      bool // it has a value
}

// row reads the next row. It has no cell without a value. After the last row it gives io.EOF, once the sheet has
// ended as it should.
func (s *Sheet) row() ([]cell, error) {
	for {
		token, err := s.xml.Token()
		if err == io.EOF { // the decoder has seen the end of the root
			return nil, io.EOF
		}
		if err != nil {
			return nil, s.broken(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "row" {
			continue
		}
		cells, err := s.cells(start)
		if err != nil {
			return nil, err
		}
		return cells, nil
	}
}

func (s *Sheet) broken(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the sheet %q cannot be read to its end: %w", s.name, err)
}

// cells reads the cells of a row.
func (s *Sheet) cells(row xml.StartElement) ([]cell, error) {
	number, _ := strconv.Atoi(attribute(row, "r"))
	var cells []cell
	next := 0 // the column of a cell without a name
	for {
		token, err := s.xml.Token()
		if err != nil {
			return nil, s.broken(err)
		}
		switch t := token.(type) {
		case xml.EndElement:
			return cells, nil
		case xml.StartElement:
			if t.Name.Local != "c" {
				if err := s.xml.Skip(); err != nil {
					return nil, s.broken(err)
				}
				continue
			}
			c := cell{row: number - 1, column: next, kind: attribute(t, "t")}
			c.style, _ = strconv.Atoi(attribute(t, "s"))
			if name := attribute(t, "r"); name != "" {
				if c.column, err = columnOf(name); err != nil {
					return nil, s.broken(err)
				}
			}
			next = c.column + 1
			if err := s.read(&c); err != nil {
				return nil, err
			}
			if !c.blank() {
				cells = append(cells, c)
			}
		}
	}
}

// read reads the content of a cell.
func (s *Sheet) read(c *cell) error {
	for {
		token, err := s.xml.Token()
		if err != nil {
			return s.broken(err)
		}
		switch t := token.(type) {
		case xml.EndElement:
			return s.share(c)
		case xml.StartElement:
			switch t.Name.Local {
			case "v":
				c.stored = true
				c.raw, err = s.characters()
			case "is":
				var text string
				text, err = richText(s.xml)
				c.stored, c.text = true, &text
			case "f":
				c.formula = true
				err = s.xml.Skip()
			default:
				err = s.xml.Skip()
			}
			if err != nil {
				return s.broken(err)
			}
		}
	}
}

// characters are the text up to the end of an element.
func (s *Sheet) characters() (string, error) {
	var text strings.Builder
	for {
		token, err := s.xml.Token()
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.CharData:
			text.Write(t)
			if text.Len() > maxCell {
				return "", errTooLarge
			}
		case xml.EndElement:
			return text.String(), nil
		case xml.StartElement:
			return "", errors.New("a value has elements in it")
		}
	}
}

// share finds the text of a cell with text.
func (s *Sheet) share(c *cell) error {
	if !c.stored {
		return nil
	}
	switch c.kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(c.raw))
		if err != nil || i < 0 || i >= len(s.book.texts) {
			return s.at(*c, errors.New("the text is not in the file"))
		}
		c.text = &s.book.texts[i]
	case "str":
		text := unescape(c.raw)
		c.text = &text
	}
	return nil
}

// blank tells whether a cell has nothing but a format.
func (c cell) blank() bool {
	switch {
	case c.text != nil:
		return *c.text == "" && !c.formula
	case c.stored:
		return c.raw == ""
	}
	return !c.formula
}

// json is the JSON of the value.
func (c cell) json(b *book) (json.RawMessage, error) {
	raw := strings.TrimSpace(c.raw)
	switch {
	case c.text != nil:
		return jsonText(*c.text)
	case !c.stored:
		return nil, errors.New("the formula has no stored value: open the file in Excel and save it")
	}
	switch c.kind {
	case "b":
		return datasource.Value(raw == "1" || raw == "true")
	case "e":
		return nil, fmt.Errorf("it has the error %s: correct it, or the formula", short(raw))
	case "d":
		return jsonText(raw)
	case "", "n":
		if c.style >= 0 && c.style < len(b.formats) && b.formats[c.style] != noDate {
			return b.formats[c.style].json(raw, b.date1904)
		}
		return datasource.Decimal(raw)
	}
	return nil, fmt.Errorf("a cell of the type %q is not supported", short(c.kind))
}

// name is the name of the cell, such as B2.
func (c cell) name() string {
	name := ""
	for n := c.column + 1; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return fmt.Sprintf("%s%d", name, c.row+1)
}

var cellName = regexp.MustCompile(`^([A-Z]{1,3})[0-9]+$`)

// columnOf is the column of a cell by its name, from 0.
func columnOf(name string) (int, error) {
	m := cellName.FindStringSubmatch(name)
	if m == nil {
		return 0, fmt.Errorf("%q is not the name of a cell", short(name))
	}
	n := 0
	for _, letter := range m[1] {
		n = n*26 + int(letter-'A') + 1
	}
	return n - 1, nil
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

var escape = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// unescape resolves the characters that XML cannot hold: _x000D_ is a carriage return.
func unescape(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escape.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.ParseUint(s[2:6], 16, 16)
		if err != nil || n >= 0xD800 && n < 0xE000 {
			return s
		}
		return string(rune(n))
	})
}

// short is at most the first 60 bytes of s.
func short(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
