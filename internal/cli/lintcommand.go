package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// finding is a diagnostic with the file it is about.
type finding struct {
	File string `json:"file"`
	runbook.Diagnostic
}

func lintCommand(c *console) *cobra.Command {
	var strict bool
	lint := &cobra.Command{
		Use: "lint <file>...", Short: "Check runbooks without publishing them",
		Long: `Check runbooks without publishing them. Nothing is sent anywhere.

Steps are checked against the functions that come with the workers of this version: a
function that is none of them, a parameter that a function does not have, and one that
it needs and is not given are warnings, for a worker may have functions of its own.

Everything that is found is printed as file:line:column. The exit status is 1 when
there are errors, and with --strict also when there are warnings; otherwise 0. A file
named - is standard input.`,
		Example: `  matoolkit runbook lint moves.yaml
  matoolkit runbook lint --strict runbooks/*.yaml
  matoolkit runbook lint runbooks/*.yaml --output json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("the file is missing: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			functions := workerFunctions()
			found := []finding{}
			failed := false
			for _, path := range args {
				src, err := c.readFile(path, 2*runbook.MaxBytes)
				if err != nil {
					return err
				}
				rb, diagnostics := runbook.Parse(src)
				if !diagnostics.HasErrors() {
					diagnostics = slices.Concat(diagnostics, app.CheckFunctions(src, rb, functions))
				}
				failed = failed || diagnostics.HasErrors() || strict && len(diagnostics) > 0
				for _, d := range diagnostics {
					found = append(found, finding{File: name(path), Diagnostic: d})
				}
				if c.format == formatTable {
					c.printDiagnostics(c.env.Stdout, path, diagnostics)
					if len(diagnostics) == 0 {
						c.notice("%s: no errors, no warnings", name(path))
					}
				}
			}
			if c.format != formatTable {
				if err := c.print(found, c.findingTable(found)); err != nil {
					return err
				}
			}
			if failed {
				return &exit{status: ExitFailed}
			}
			return nil
		},
	}
	lint.Flags().BoolVar(&strict, "strict", false, "fail on warnings too")
	return lists(lint)
}

func (c *console) findingTable(found []finding) *sheet {
	t := c.table("file", "line", "column", "severity", "code", "path", "message")
	for _, f := range found {
		t.row(f.File, f.Line, f.Column, f.Severity, f.Code, f.Path, f.Message)
	}
	return t
}

// workerFunctions are those that every worker of this version has. They are a list in
// the program: nothing of a worker is run, and nobody is asked.
func workerFunctions() []app.Function {
	var known []app.Function
	for _, f := range catalog.Standard() {
		function := app.Function{Name: f.Name}
		for _, p := range f.Params {
			function.Params = append(function.Params, app.Parameter{Name: p.Name, Required: p.Required})
		}
		known = append(known, function)
	}
	return known
}
