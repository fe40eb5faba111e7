package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// functionsCommand lists the catalogue. It needs no configuration: what is
// listed does not depend on the tenant. Of custom functions it reads the manifests
// only, so that they can be checked where they cannot run.
func functionsCommand(getenv func(string) string) *cobra.Command {
	var output, dir string
	cmd := &cobra.Command{
		Use:   "functions",
		Short: "List the functions of this worker",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			extra := &custom.Set{}
			if dir != "" {
				var err error
				if extra, err = custom.Load(custom.Config{Dir: dir, Own: ownVariables}); err != nil {
					return err
				}
			}
			c, err := offered(&graph.Client{}, &exchange.Client{}, getenv(envNoOp) == "1", extra.Functions()...)
			if err != nil {
				return err
			}
			switch output {
			case "table":
				printTable(cmd.OutOrStdout(), c.Functions())
				return nil
			case "json":
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(c.Functions())
			}
			return fmt.Errorf("--output %s: must be table or json", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	cmd.Flags().StringVar(&dir, "custom-dir", getenv(envCustomDir), "the directory of custom functions")
	return cmd
}

func printTable(w io.Writer, functions []catalog.Function) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"Function", "Parameters (* required)", "Answers", "Permissions"})
	for _, f := range functions {
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
		t.AppendRow(table.Row{f.Name, strings.Join(params, "\n"), strings.Join(fields, "\n"), strings.Join(f.Permissions, "\n")})
		t.AppendSeparator()
	}
	t.Render()
}
