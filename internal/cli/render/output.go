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

	"github.com/matoolkit/matoolkit/internal/report"
)

// How a result can be printed, as --output names it.
const (
	FormatTable = "table"
	formatJSON  = "json"
	formatYAML  = "yaml"
	FormatCSV   = "csv"
)

// Formats are all formats of --output.
var Formats = []string{FormatTable, formatJSON, formatYAML, FormatCSV}

// Structured tells whether the result is printed for programs, with all that it has.
func (c *Printer) Structured() bool { return c.Format == formatJSON || c.Format == formatYAML }

// Document prints a result as a JSON or as a YAML document, with the same names.
func (c *Printer) Document(v any) error {
	if c.Format != formatYAML {
		e := json.NewEncoder(c.Stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
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

// yamlNode makes YAML of the next JSON value, in the order that it has. Going by way of
// JSON keeps the names, and what somebody else's JSON holds, as they are there.
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
			// Of an object the names come as values do, each before its own.
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
		// The encoder writes a literal text wrongly that begins with white space.
		case older(v), strings.ContainsAny(v, "\u2028\u2029"), v != "" && strings.Contains("\n\r\t ", v[:1]):
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

// older tells of text that programs of YAML 1.1, of which there are many, take for
// something else: the encoder quotes only what is something else in YAML 1.2.
func older(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "=", "<<":
		return true
	}
	return s != "" && strings.Contains(s, ":") && strings.Trim(s, "+-0123456789_:.") == "" // base 60
}

// csv prints the table as CSV: all its columns, with the values as they are in place of
// what people are shown of them, and nothing for none.
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

// rawValue is a value as programs read it: a time as RFC 3339 has it. A text is made
// harmless as in a report, so that what a file or a worker says is never run on the
// machine of whoever opens the list.
func rawValue(v any) string {
	switch v := v.(type) {
	case *time.Time:
		if v == nil {
			return ""
		}
		return rawValue(*v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case int, int64, float64, bool:
		return fmt.Sprint(v)
	}
	return report.Harmless(fmt.Sprint(v))
}
