// Package cli is the commands of matoolkit that an administrator gives to the admin
// API: what they take, what they print and how they exit.
//
// It knows the API by its client only, and nothing of stores and queues; of workers only
// how their functions are declared.
package cli

import (
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/buildinfo"
	"github.com/matoolkit/matoolkit/internal/cli/batches"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

// console is what all commands share, with how the commands of this package run.
type console struct{ *command.Console }

// NewRoot makes the matoolkit command. The caller may add commands to it.
func NewRoot(env command.Environment) *cobra.Command {
	env = env.Complete()
	c := &console{&command.Console{
		Printer: &render.Printer{
			Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr, Getenv: env.Getenv, Now: env.Now, Terminal: env.Terminal, Width: env.Width,
		},
		Env: env, Options: map[string]*string{},
	}}
	root := &cobra.Command{
		Use:   "matoolkit",
		Short: "Run Microsoft 365 tenant migrations in batches",
		Long: `matoolkit publishes runbooks, creates batches of members from CSV files or of what a
query finds, sends them through the phases of their runbook and shows where everyone
stands.

First time:
  matoolkit config set api-url https://my-api.azurewebsites.net
  matoolkit config set tenant-id 00000000-0000-0000-0000-000000000000
  matoolkit config set client-id 00000000-0000-0000-0000-000000000000
  matoolkit auth login

A migration:
  matoolkit runbook lint moves.yaml           check the runbook here
  matoolkit runbook publish moves.yaml        make it the active version
  matoolkit template download moves           an empty CSV with its columns
  matoolkit batch create moves members.csv    a batch of the members in it
  matoolkit batch advance 42 --wait           start the next phase and follow it
  matoolkit batch watch 42                    follow it

A migration that follows your data:
  matoolkit query preview moves               what would be made of the data now
  matoolkit automation enable moves           batches are made, and people join and leave
  matoolkit automation status moves           how it goes, and what is wrong with the data
  matoolkit batch removals 42                 who would be removed, and waits for you

When something goes wrong:
  matoolkit batch members 42 --status failed  who failed, where and why
  matoolkit batch retry 42                    let them try again
  matoolkit batch pause 42                    stop for a while; resume goes on
  matoolkit batch cancel 42                   end it for good

The Tab key completes runbooks, batches and more once your shell is told to:
  matoolkit completion --help

For programs, with --output:
  json, yaml  everything that there is to a result, with the same names in both
  csv         a list's columns, with times as 2026-01-02T03:04:05.678Z and nothing for none;
              what a spreadsheet would take for a formula begins with an apostrophe

Exit status:
  0  done              3  not signed in, or not allowed
  1  failed            4  there is no such thing
  2  wrong usage       5  refused: invalid input, or the state does not allow it
130  interrupted       6  the API cannot be reached, try again`,
		Version:           buildinfo.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { c.Attach(cmd); return c.Check(cmd) },
	}
	root.SetIn(c.Env.Stdin)
	root.SetOut(c.Env.Stdout)
	root.SetErr(c.Env.Stderr)
	root.SetVersionTemplate("matoolkit {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.Usage(err) })

	flags := root.PersistentFlags()
	for _, s := range settings.Definitions {
		c.Options[s.Key] = flags.String(s.Key, "", s.Help)
	}
	flags.StringVarP(&c.Format, "output", "o", render.FormatTable, "print as table, json, yaml or, of lists, csv")
	flags.BoolVarP(&c.Quiet, "quiet", "q", false, "print only names and numbers, one a line, and no notices")
	flags.BoolVar(&c.NoColor, "no-color", false, "print without colours (so does NO_COLOR)")
	flags.SortFlags = false

	root.AddCommand(authCommand(c), configCommand(c), runbookCommand(c), queryCommand(c), automationCommand(c), templateCommand(c), batches.Command(c.Console), messagesCommand(c), workerCommand(c), auditCommand(c), completionCommand(c))
	c.Complete(root)
	command.CompleteOption(root, "output", command.Fixed(render.Formats...))
	command.CompleteOption(root, "auth", command.Fixed(settings.AuthMethods...))
	command.CompleteOption(root, "token-store", command.Fixed(settings.StoreAuto, settings.StoreSystem, settings.StoreFile))
	return root
}
