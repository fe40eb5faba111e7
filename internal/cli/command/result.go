package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// What follows is for commands that others add to the root: they print as those of this
// package do.

type consoleKey struct{}

// Attach gives a command the console that it prints to.
func (c *Console) Attach(cmd *cobra.Command) {
	cmd.SetContext(context.WithValue(cmd.Context(), consoleKey{}, c))
}

func consoleOf(cmd *cobra.Command) *Console {
	return cmd.Context().Value(consoleKey{}).(*Console)
}

// Table is a table of a result. A cell is a text, a number, a bool, or a time, which is
// printed in UTC. With --quiet the first column is printed, with --output csv all as
// they are.
type Table struct {
	Head []string
	Rows [][]any
}

// Print prints a result of a command that is being run: as --output says, v as JSON or
// YAML, or the first table as CSV, or all tables with an empty line between them.
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
		if err := c.Print(v, sheet); err != nil || c.Format != render.FormatTable || c.Quiet {
			return err
		}
	}
	return nil
}

// Plain tells whether a result is printed as tables for people, with all that is said
// beside it.
func Plain(cmd *cobra.Command) bool {
	c := consoleOf(cmd)
	return c.Format == render.FormatTable && !c.Quiet
}

// Failed is the end of a command that has printed what went wrong: status ExitFailed.
func Failed() error { return &exit.Error{Status: exit.Failed} }

// Refused is an error of what a command was given to work on: status ExitRefused. What was
// found there is printed before it, a line each.
func Refused(err error, found ...string) error {
	return &exit.Error{Status: exit.Refused, Text: err.Error(), Found: found}
}
