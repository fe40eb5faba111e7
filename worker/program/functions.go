package program

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
)

// functionsCommand lists the catalogue. It needs no configuration: the list
// does not depend on the tenant. It only reads the manifests of custom functions,
// so that they can be checked where they cannot run.
func functionsCommand(c Command) *cobra.Command {
	var output, dir string
	cmd := &cobra.Command{
		Use:   "functions",
		Short: "List the functions of this worker",
		Example: "  " + c.Name + ` functions
  ` + c.Name + ` functions --output csv > functions.csv
  ` + c.Name + ` functions --custom-dir ./functions --output yaml`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if !slices.Contains(formats, output) {
				return fmt.Errorf("--output: unknown format %q: use %s", output, strings.Join(formats, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			extra := &custom.Set{}
			if dir != "" {
				var err error
				if extra, err = custom.Load(custom.Config{Dir: dir, Own: c.Own}); err != nil {
					return err
				}
			}
			offered, err := c.Declared(extra.Functions())
			if err != nil {
				return err
			}
			return printFunctions(cmd.OutOrStdout(), output, offered.Functions())
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "output format: "+strings.Join(formats, ", "))
	cmd.Flags().StringVar(&dir, "custom-dir", c.Getenv(EnvCustomDir), "directory of custom functions")
	return cmd
}

// formats are how a list can be printed, as matoolkit prints its own.
var formats = []string{"table", "json", "yaml", "csv"}

func printFunctions(w io.Writer, format string, functions []catalog.Function) error {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(functions)
	case "yaml":
		return printYAML(w, functions)
	case "csv":
		return printCSV(w, functions)
	}
	printTable(w, functions)
	return nil
}

// printYAML prints what JSON has, with the same names and in the same order: JSON is YAML
// in another style.
func printYAML(w io.Writer, functions []catalog.Function) error {
	text, err := json.Marshal(functions)
	if err != nil {
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return err
	}
	plain(&document)
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	return errors.Join(e.Encode(&document), e.Close())
}

// plain takes the style of JSON away where there is something to show.
func plain(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode || len(n.Content) > 0 {
		n.Style = 0
	}
	for _, child := range n.Content {
		plain(child)
	}
}

// printCSV prints a function a row; of several words in a cell each has a line.
func printCSV(w io.Writer, functions []catalog.Function) error {
	rows := [][]string{{"function", "parameters", "answers", "permissions"}}
	for _, f := range functions {
		rows = append(rows, cells(f))
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func printTable(w io.Writer, functions []catalog.Function) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"Function", "Parameters (* required)", "Answers", "Permissions"})
	for _, f := range functions {
		var row table.Row
		for _, cell := range cells(f) {
			row = append(row, cell)
		}
		t.AppendRow(row)
		t.AppendSeparator()
	}
	t.Render()
}

// cells returns the table cells of a function.
func cells(f catalog.Function) []string {
	var params, fields []string
	for _, p := range f.Params {
		mark := ""
		if p.Required {
			mark = "*"
		}
		params = append(params, fmt.Sprintf("%s%s %s", p.Name, mark, p.Type))
	}
	for _, field := range f.Result {
		fields = append(fields, field.Name)
	}
	if len(fields) == 0 {
		fields = []string{"true"}
	}
	return []string{f.Name, strings.Join(params, "\n"), strings.Join(fields, "\n"), strings.Join(f.Permissions, "\n")}
}
