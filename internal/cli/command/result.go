package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// These functions are for commands that other packages add to the root, so that they print as
// the commands of this package do.

type consoleKey struct{}

// Attach stores the console in the context of a command.
func (c *Console) Attach(cmd *cobra.Command) {
	cmd.SetContext(context.WithValue(cmd.Context(), consoleKey{}, c))
}

func consoleOf(cmd *cobra.Command) *Console {
	return cmd.Context().Value(consoleKey{}).(*Console)
}

// Table is a table of a result. A cell is a text, a number, a bool, or a time, which is
// printed in UTC. With --quiet the first column is printed.
type Table struct {
	Head []string
	Rows [][]any
}

// Print prints the result of a command in the format of --output: v as JSON or YAML, the first
// table as CSV, or all tables with an empty line between them.
func Print(cmd *cobra.Command, v any, tables ...Table) error {
	c := consoleOf(cmd)
	for i, t := range tables {
		sheet := c.Table(t.Head...)
		for _, row := range t.Rows {
			sheet.Row(row...)
		}
		if i > 0 {
			if _, err := fmt.Fprintln(c.Env.Stdout); err != nil {
				return err
			}
		}
		if i > 0 {
			err := sheet.Print()
			if err != nil {
				return err
			}
			continue
		}
		if err := c.Print(v, sheet); err != nil || !c.Plain() || len(c.Columns) > 0 {
			return err
		}
	}
	return nil
}

// OnBatch opens a session, and finds a batch by its number or name.
func OnBatch(cmd *cobra.Command, arg string) (*Session, int, error) {
	return consoleOf(cmd).OnBatch(cmd.Context(), arg)
}

// ReadFile reads a file of at most limit bytes; "-" is standard input.
func ReadFile(cmd *cobra.Command) func(path string, limit int64) ([]byte, error) {
	return consoleOf(cmd).ReadFile
}

// Plain reports whether results are printed as tables with everything beside them.
func Plain(cmd *cobra.Command) bool { return consoleOf(cmd).Plain() }

// QuietTable reports whether tables are printed with nothing beside them.
func QuietTable(cmd *cobra.Command) bool {
	return cmd.Flag("quiet").Value.String() == "true" && cmd.Flag("output").Value.String() == "table"
}

// Failed returns the error of a command that has printed its failure: status exit.Failed.
func Failed() error { return &exit.Error{Status: exit.Failed} }

// Refused returns the error of a command with invalid input: status exit.Refused. The findings
// are printed before it, one a line.
func Refused(err error, found ...string) error {
	return &exit.Error{Status: exit.Refused, Text: err.Error(), Found: found}
}
