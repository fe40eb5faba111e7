package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
)

func lintCommand(c *console) *cobra.Command {
	var strict bool
	var from string
	cmd := &cobra.Command{
		Use: "lint <file>...", Short: "Check runbooks without publishing them",
		Long: `Checks runbooks on this machine. Nothing is sent anywhere.

Steps are checked against the standard functions of this version. An unknown function, an
unknown parameter, a missing required parameter, and values and output_params that do not
fit are warnings, because a worker can have functions of its own. With --functions steps
are checked against one of these:

  a file       written by worker functions --output json or matoolkit worker get --output
               json: against these functions only
  a directory  of custom functions: against the functions in its manifests as well

Findings are printed as file:line:column. The exit status is 1 when there are errors, or
with --strict also when there are warnings. The file name - stands for standard input.`,
		Example: `  matoolkit runbook lint moves.yaml
  matoolkit runbook lint --strict runbooks/*.yaml
  matoolkit runbook lint runbooks/*.yaml --output json
  matoolkit runbook lint --functions ./functions moves.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("the file is missing: %s", command.UsageLine(cmd))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			functions, err := c.lintFunctions(from)
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
				rb, diagnostics := runbook.Parse(src)
				if !diagnostics.HasErrors() {
					diagnostics = slices.Concat(diagnostics, lint.Check(src, rb, lint.Catalogs{Standard: functions}))
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
				}
			}
			if !c.Human() {
				if err := c.Print(found, c.FindingTable(found)); err != nil {
					return err
				}
			}
			if failed {
				return &exit.Error{Status: exit.Failed}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "functions", "", "a file or directory with the functions that steps can call")
	command.CompleteOption(cmd, "functions", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	})
	cmd.Flags().BoolVar(&strict, "strict", false, "fail on warnings as well")
	return command.Lists(cmd)
}

// lintFunctions returns the functions that steps can call.
func (c *console) lintFunctions(from string) ([]signature.Function, error) {
	if from == "" {
		return catalog.Signatures(catalog.Standard()), nil
	}
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		set, err := custom.Load(custom.Config{Dir: from}) // without Getenv only manifests are read
		if err != nil {
			return nil, &exit.Error{Status: exit.Refused, Text: fmt.Sprintf("%s:\n%v", from, err)}
		}
		return catalog.Signatures(slices.Concat(catalog.Standard(), set.Functions())), nil
	}
	text, err := c.ReadFile(from, message.Limit*10)
	if err != nil {
		return nil, err
	}
	functions, err := printedFunctions(text)
	if err != nil {
		return nil, &exit.Error{Status: exit.Refused, Text: fmt.Sprintf("%s: %v", render.FileName(from), err), Hint: "Write the file with: worker functions --output json"}
	}
	return functions, nil
}

// printedFunctions parses JSON output of a command: a list of functions, or a worker with such
// a list. It ignores unknown fields of a function.
func printedFunctions(text []byte) ([]signature.Function, error) {
	var functions []signature.Function
	if err := json.Unmarshal(text, &functions); err != nil {
		var worker struct{ Functions []signature.Function }
		if json.Unmarshal(text, &worker) != nil {
			return nil, fmt.Errorf("not a JSON list of functions: %w", err)
		}
		functions = worker.Functions
	}
	if len(functions) == 0 {
		return nil, errors.New("the list of functions is empty")
	}
	for i, f := range functions {
		if f.Name == "" {
			return nil, fmt.Errorf("function %d has no name", i+1)
		}
	}
	return functions, nil
}
