package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// completionCommand stands in for cobra's own, whose help is a page for each shell.
func completionCommand(c *console) *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
	}
	return command.Verbatim(&cobra.Command{
		Use: "completion <shell>", Short: "Let the Tab key complete commands, runbooks and batches", Args: command.Needs("the shell: bash, zsh, fish or powershell"),
		Long: `Let the Tab key complete commands and options, and what the admin API knows: the names of
runbooks, the numbers of batches with their runbook and status, the phases, members and
failed steps of a batch. Where nobody is signed in, or the API does not answer within two
seconds, there is nothing to choose from and the shell goes on as without.

The command prints a script for a shell, which has to read it. That for bash needs the
package bash-completion. For this session only:
  bash        source <(matoolkit completion bash)
  zsh         source <(matoolkit completion zsh)
  fish        matoolkit completion fish | source
  powershell  matoolkit completion powershell | Out-String | Invoke-Expression

For every session from the next on:
  bash        matoolkit completion bash > ~/.local/share/bash-completion/completions/matoolkit
              (make the directory if there is none)
  zsh         matoolkit completion zsh > "${fpath[1]}/_matoolkit"
              (it takes these in ~/.zshrc: autoload -U compinit; compinit)
  fish        matoolkit completion fish > ~/.config/fish/completions/matoolkit.fish
  powershell  add the line for this session to the file that $PROFILE names

Then give it a try:
  matoolkit batch get <Tab>`,
		Example: `  source <(matoolkit completion bash)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			script, ok := shells[args[0]]
			if !ok {
				return exit.Usagef("%q is no shell that can complete; there are bash, zsh, fish and powershell", args[0])
			}
			return script(cmd.Root(), c.Env.Stdout)
		},
	})
}
