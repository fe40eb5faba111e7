package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/report"
)

// How a result can be printed, as --output names it.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatYAML  = "yaml"
	formatCSV   = "csv"
)

var formats = []string{formatTable, formatJSON, formatYAML, formatCSV}

// listing marks a command as one whose result is a list, which can be printed as CSV.
const listing = "listing"

// lists marks a command so and returns it.
func lists(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[listing] = "yes"
	return cmd
}

// verbatim marks a command that prints what there is no other way to print: a script, or
// what is going on.
const verbatim = "verbatim"

// Verbatim marks a command as one that prints no result, so that --output is refused, and
// returns it.
func Verbatim(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[verbatim] = "yes"
	return cmd
}

// checkFormat refuses a format that there is not, or that the command has no use for,
// before anything is done: what has been changed cannot be taken back for want of a way
// to print it.
func (c *console) checkFormat(cmd *cobra.Command) error {
	if !slices.Contains(formats, c.format) {
		return usagef("--output is %q; it can be table, json, yaml or csv", c.format)
	}
	if c.format != formatTable && cmd.Annotations[verbatim] != "" {
		return usagef("%s prints no result; leave --output out", cmd.CommandPath())
	}
	if c.format == formatCSV && cmd.Annotations[listing] == "" {
		if cmd.Flags().Lookup("format") != nil { // of what it writes, which is another matter
			return usagef("--output csv is for lists; what %s writes is chosen with --format csv", cmd.CommandPath())
		}
		return usagef("--output csv is for lists, and %s prints none; give json or yaml", cmd.CommandPath())
	}
	return nil
}

// structured tells whether the result is printed for programs, with all that it has.
func (c *console) structured() bool { return c.format == formatJSON || c.format == formatYAML }

// document prints a result as a JSON or as a YAML document, with the same names.
func (c *console) document(v any) error {
	if c.format != formatYAML {
		e := json.NewEncoder(c.env.Stdout)
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
	e := yaml.NewEncoder(c.env.Stdout)
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
func (s *sheet) csv() error {
	w := csv.NewWriter(s.c.env.Stdout)
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
