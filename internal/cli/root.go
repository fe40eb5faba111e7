// Package cli has the commands of matoolkit with which an administrator uses the admin API:
// their arguments, their output and their exit status.
//
// It uses the API through its client only. It imports no store, no queue, and of the workers
// only the declarations of their functions.
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

// console is the console that all commands share, with the commands of this package as methods.
type console struct{ *command.Console }

// rootExample is a migration from the first sign-in to its end.
const rootExample = `  matoolkit config set api-url https://my-api.azurewebsites.net    first time only
  matoolkit auth login
  matoolkit runbook publish moves.yaml
  matoolkit batch create moves members.csv
  matoolkit batch advance 42 --wait           start the next phase and follow it
  matoolkit batch members 42 --status failed  show failed members and their errors
  matoolkit batch retry 42                    retry them
  matoolkit query preview moves               preview batches from a data source`

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
		Long: `matoolkit publishes runbooks, creates batches of members from CSV files or from the query
of a runbook, runs their phases and shows the progress of every member.

Output formats (--output):
  table       columns that fit the terminal (default)
  wide        all columns, in full
  json, yaml  all fields, with the same names in both
  csv         all columns; times as 2026-01-02T03:04:05.678Z; cells that a spreadsheet would
              read as a formula begin with an apostrophe
  name        only the names or numbers, one a line

Exit status:
  0    success
  1    failure
  2    wrong usage
  3    not signed in, or not allowed
  4    not found
  5    refused: invalid input, or the state does not allow it
  6    the API is not reachable; try again
  130  interrupted`,
		Example:           rootExample,
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
	flags.StringVarP(&c.Format, "output", "o", render.FormatTable, "output format: "+render.OneOf(render.Formats))
	flags.BoolVarP(&c.Quiet, "quiet", "q", false, "print only names or numbers, one a line, and no notices")
	flags.BoolVar(&c.NoColor, "no-color", false, "print without colors (as the variable NO_COLOR does)")
	flags.SortFlags, root.Flags().SortFlags = false, false

	root.AddCommand(authCommand(c), meCommand(c), summaryCommand(c), configCommand(c), runbookCommand(c), queryCommand(c), automationCommand(c), templateCommand(c))
	root.AddCommand(batches.Commands(c.Console)...)
	root.AddCommand(messagesCommand(c), workerCommand(c), pipelineCommand(c), tenantCommand(c), scalerCommand(c), notificationCommand(c), auditCommand(c), completionCommand(c), programVersionCommand(c))
	command.AddAliases(root)
	command.UseHelp(root, c.Env)
	c.Complete(root)
	command.CompleteOption(root, "output", command.Fixed(render.Formats...))
	command.CompleteOption(root, "auth", command.Fixed(settings.AuthMethods...))
	command.CompleteOption(root, "token-store", command.Fixed(settings.StoreAuto, settings.StoreSystem, settings.StoreFile))
	return root
}
