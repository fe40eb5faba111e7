package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/apijson"
	"github.com/matoolkit/matoolkit/internal/report"
)

// The formats of --output.
const (
	FormatTable = "table"
	FormatWide  = "wide"
	FormatName  = "name"
	formatJSON  = "json"
	formatYAML  = "yaml"
	FormatCSV   = "csv"
)

// Formats are all formats of --output.
var Formats = []string{FormatTable, FormatWide, formatJSON, formatYAML, FormatCSV, FormatName}

// Structured reports whether results are printed as JSON or YAML, with all their fields.
func (c *Printer) Structured() bool { return c.Format == formatJSON || c.Format == formatYAML }

// Document prints a result as JSON or YAML, with the same names.
func (c *Printer) Document(v any) error {
	text, err := apijson.MarshalReadable(v)
	if err != nil {
		return err
	}
	if c.Format != formatYAML {
		_, err := c.Stdout.Write(append(text, '\n'))
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	node, err := yamlNode(d)
	if err != nil {
		return err
	}
	e := yaml.NewEncoder(c.Stdout)
	e.SetIndent(2)
	return errors.Join(e.Encode(node), e.Close())
}

// yamlNode converts the next JSON value to YAML in the same order. The conversion from JSON
// keeps the names of fields, and embedded JSON as it is.
func yamlNode(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.MappingNode}
		if v == '[' {
			node.Kind = yaml.SequenceNode
		}
		for d.More() {
			// The names of an object are values as well, each before its own value.
			child, err := yamlNode(d)
			if err != nil {
				return nil, err
			}
			if v == '{' && len(node.Content)%2 == 0 && child.Style == yaml.LiteralStyle {
				child.Style = yaml.DoubleQuotedStyle
			}
			node.Content = append(node.Content, child)
		}
		if len(node.Content) == 0 {
			node.Style = yaml.FlowStyle
		}
		_, err := d.Token()
		return node, err
	case string:
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
		switch {
		// The encoder writes a literal text that begins with white space wrongly.
		case older(v), strings.ContainsAny(v, "\u2028\u2029"), v != "" && strings.ContainsRune("\n\r\t ", rune(v[0])):
			node.Style = yaml.DoubleQuotedStyle
		case strings.Contains(v, "\n"):
			node.Style = yaml.LiteralStyle
		}
		return node, nil
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(token)}, nil // a number, true or false
}

// older reports whether a YAML 1.1 parser reads a text as another type. The encoder quotes
// only for YAML 1.2.
func older(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "=", "<<":
		return true
	}
	return s != "" && strings.Contains(s, ":") && strings.Trim(s, "+-0123456789_:.") == "" // base 60
}

// csv prints all columns of the table as CSV, with the values instead of their texts, and
// empty cells for missing values.
func (s *Sheet) csv() error {
	w := csv.NewWriter(s.c.Stdout)
	if err := w.Write(s.head); err != nil {
		return err
	}
	for _, row := range s.raw {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = rawValue(v)
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// rawValue formats a value for programs, a time as in JSON. As in a report, a text never
// starts as a formula: a spreadsheet would run the formula of a file or a worker.
func rawValue(v any) string {
	switch v := v.(type) {
	case Shown:
		return rawValue(v.Value)
	case *time.Time:
		if v == nil {
			return ""
		}
		return rawValue(*v)
	case time.Time:
		return v.UTC().Format(apijson.TimeLayout)
	case int, int64, float64, bool:
		return fmt.Sprint(v)
	}
	return report.Harmless(fmt.Sprint(v))
}
