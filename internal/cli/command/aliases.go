package command

import (
	"github.com/spf13/cobra"
)

// aliasesOf are the other names of commands, by their name: those of kubectl, git and az that
// users try. Groups have their plural or singular.
var aliasesOf = map[string][]string{
	"list": {"ls"}, "get": {"show", "describe"}, "lint": {"validate", "check"}, "delete": {"deactivate"}, "cancel": {"abort"},
	"batch": {"batches"}, "member": {"members"}, "step": {"steps"}, "runbook": {"runbooks"}, "worker": {"workers"}, "messages": {"message"},
}

// AddAliases gives a command and its subcommands their aliases.
func AddAliases(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		AddAliases(child)
	}
	if !cmd.HasParent() {
		return
	}
	for _, alias := range aliasesOf[cmd.Name()] {
		if other, _, err := cmd.Parent().Find([]string{alias}); err != nil || other == cmd.Parent() {
			cmd.Aliases = append(cmd.Aliases, alias)
		}
	}
	if cmd.Name() == "show" { // of settings
		cmd.Aliases = append(cmd.Aliases, "list", "ls", "get")
	}
}
