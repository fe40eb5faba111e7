package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// completionCommand replaces cobra's own command, whose help is a page for each shell.
func completionCommand(c *console) *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
	}
	return command.Verbatim(&cobra.Command{
		Use: "completion <shell>", Short: "Print a script that completes commands with the Tab key", Args: command.Needs("the shell: bash, zsh, fish or powershell"),
		Long: `Prints a script for a shell. The Tab key then completes commands and options, and what the
admin API knows: names of runbooks, batches with their runbook and status, and the phases,
members and failed steps of a batch. Values of the API are missing when you are not signed
in or the API does not answer within two seconds.

The script for bash needs the package bash-completion. For this session:
  bash        source <(matoolkit completion bash)
  zsh         source <(matoolkit completion zsh)
  fish        matoolkit completion fish | source
  powershell  matoolkit completion powershell | Out-String | Invoke-Expression

For every new session:
  bash        matoolkit completion bash > ~/.local/share/bash-completion/completions/matoolkit
              (create the directory if it does not exist)
  zsh         matoolkit completion zsh > "${fpath[1]}/_matoolkit"
              (needs in ~/.zshrc: autoload -U compinit; compinit)
  fish        matoolkit completion fish > ~/.config/fish/completions/matoolkit.fish
  powershell  add the line for this session to the file that $PROFILE names`,
		Example: `  source <(matoolkit completion bash)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			script, ok := shells[args[0]]
			if !ok {
				return exit.Usagef("unknown shell %q: use bash, zsh, fish or powershell", args[0])
			}
			return script(cmd.Root(), c.Env.Stdout)
		},
	})
}
