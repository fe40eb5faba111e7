package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/local/system"
)

// localCommand runs the whole system on this machine.
func localCommand() *cobra.Command {
	c := command.Group("local", "Run Azure and a Microsoft 365 tenant on this machine",
		command.Verbatim(upCommand()), command.Verbatim(envCommand()), clockCommand(), tickCommand(), command.Verbatim(demoCommand()), command.Verbatim(demoMoveCommand()), command.Verbatim(demoScalerCommand()), command.Verbatim(demoPipelineCommand()), command.Shows(benchCommand()))
	c.Long = `Runs everything that matoolkit needs on this machine, on loopback only: Service Bus, Cosmos
DB, Blob Storage, the Functions host with the real handler, Entra ID, and a tenant with Graph
and Exchange.
Nothing leaves the machine.

To try it, use three terminals: the system, a worker, and matoolkit as in Azure.`
	c.Example = `  matoolkit local demo                                           a complete migration
  matoolkit local up --auto-approve                              first terminal
  eval "$(matoolkit local env --for worker --wait)" && bin/worker   second terminal
  eval "$(matoolkit local env)" && matoolkit auth login             third terminal`
	completed(c)
	return c
}

// completed sets the completion of the commands.
func completed(group *cobra.Command) {
	for _, c := range group.Commands() {
		c.ValidArgsFunction = cobra.NoFileCompletions
		for option, choices := range map[string][]cobra.Completion{
			"parts": {string(system.ServiceBus), string(system.Cosmos), string(system.Identity), string(system.Host)},
			"for":   {"cli", "worker", "handler", "func"},
		} {
			if c.Flags().Lookup(option) == nil {
				continue
			}
			if err := c.RegisterFlagCompletionFunc(option, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)); err != nil {
				panic(err) // the option exists
			}
		}
	}
}

// word quotes a path for a shell if it needs quotes.
func word(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == "" {
		return path
	}
	return quoted(path)
}

// quoted quotes a text for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
