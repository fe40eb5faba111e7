package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
)

func lintCommand(c *console) *cobra.Command {
	var strict bool
	var from string
	cmd := &cobra.Command{
		Use: "lint <file>...", Short: "Check runbooks without publishing them",
		Long: `Checks runbooks on this machine. Nothing is sent anywhere.

Steps are checked against the standard functions of this version. An unknown function, an
unknown parameter, a missing required parameter, and values and output_params that do not
fit are warnings, because a worker can have functions of its own. A check that calls a
function that does not only read is an error. With --functions steps are checked against
one of these:

  a file       written by worker functions --output json or matoolkit worker get --output
               json: against these functions only
  a directory  of custom functions: against the functions in its manifests as well

Findings are printed as file:line:column, on a terminal in color. For a runbook without
errors the command also lists the columns that its members need. In pipelines these formats
of --output show the findings at their lines:

  sarif   for code scanning (SARIF 2.1.0)
  github  annotations of GitHub Actions
  azure   annotations of Azure Pipelines

The exit status is 1 when there are errors, or
with --strict also when there are warnings. The file name - stands for standard input.`,
		Example: `  matoolkit runbook lint moves.yaml
  matoolkit runbook lint --strict runbooks/*.yaml
  matoolkit runbook lint runbooks/*.yaml --output json
  matoolkit runbook lint runbooks/*.yaml --output github
  matoolkit runbook lint --functions ./functions moves.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("the file is missing: %s", command.UsageLine(cmd))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			functions, err := Functions(from, c.ReadFile)
			if err != nil {
				return err
			}
			found := []render.Finding{}
			failed := false
			for _, path := range args {
				src, err := c.ReadFile(path, 2*runbook.MaxBytes)
				if err != nil {
					return err
				}
				rb, diagnostics := runbook.Read(src)
				if rb != nil {
					known := lint.Catalogs{Standard: functions}
					diagnostics = lint.Join(diagnostics, slices.Concat(lint.Check(src, rb, known), lint.ReadOnly(src, rb, known)))
				}
				failed = failed || diagnostics.HasErrors() || strict && len(diagnostics) > 0
				for _, d := range diagnostics {
					found = append(found, render.Finding{File: render.FileName(path), Diagnostic: d})
				}
				if c.Human() {
					c.PrintDiagnostics(c.Env.Stdout, path, diagnostics)
					if len(diagnostics) == 0 {
						c.Notice("%s: no errors, no warnings", render.FileName(path))
					}
					if !diagnostics.HasErrors() {
						c.Notice("%s: %s", render.FileName(path), neededColumns(rb))
					}
				}
			}
			if !c.Human() {
				if err := c.PrintFindings(found); err != nil {
					return err
				}
			}
			if failed {
				return &exit.Error{Status: exit.Failed}
			}
			return nil
		},
	}
	FunctionsFlag(cmd, &from)
	cmd.Flags().BoolVar(&strict, "strict", false, "fail on warnings as well")
	return command.AlsoPrints(command.Lists(cmd), render.FindingFormats...)
}

// neededColumns says which columns a runbook needs, from where, and which it uses where there are any: a
// query also gives the start of the batch.
func neededColumns(rb *runbook.Runbook) string {
	var columns, optional []string
	for _, name := range rb.Columns() {
		if rb.Optional(name) {
			optional = append(optional, name)
		} else {
			columns = append(columns, name)
		}
	}
	can := ""
	if len(optional) > 0 {
		can = "; it can have " + columnsText(optional)
	}
	if rb.DataSource.Connection == "" {
		return "each member needs " + columnsText(columns) + can
	}
	if start := rb.DataSource.BatchTimeColumn; start != "" && !slices.Contains(columns, start) {
		columns = slices.Sorted(slices.Values(append(slices.Clone(columns), start)))
	}
	return "the data source has to return " + columnsText(columns) + can
}

// columnsText names columns.
func columnsText(names []string) string {
	if len(names) == 1 {
		return "the column " + render.Printable(names[0])
	}
	return "the columns " + render.Printable(strings.Join(names, ", "))
}
