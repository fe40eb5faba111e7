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
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
)

// FunctionsFlag gives a command the option --functions, whose value [Functions] reads.
func FunctionsFlag(cmd *cobra.Command, from *string) {
	cmd.Flags().StringVar(from, "functions", "", "a file or directory with the functions that steps can call")
	command.CompleteOption(cmd, "functions", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	})
}

// Functions returns the functions that steps can call: those in a file that worker functions or
// matoolkit worker get wrote, the standard functions with those of a directory of custom
// functions, or without either the standard functions.
func Functions(from string, readFile func(path string, limit int64) ([]byte, error)) ([]signature.Function, error) {
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
	text, err := readFile(from, message.Limit*10)
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
