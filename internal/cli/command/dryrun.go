package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// inForm are the options that the command after a dry run does not need.
var inForm = []string{"dry-run", "output", "columns"}

// InEarnest is the command that was given, without --dry-run and the form of its output. If the command
// has the option --reason and needs one, a missing reason takes its place.
func InEarnest(cmd *cobra.Command, needsReason bool) string {
	words := []string{cmd.CommandPath()}
	for _, arg := range cmd.Flags().Args() {
		words = append(words, render.ShellWord(arg))
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if slices.Contains(inForm, flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if flag.Value.Type() == "bool" && value == "true" {
				words = append(words, "--"+flag.Name)
			} else {
				words = append(words, "--"+flag.Name, render.ShellWord(value))
			}
		}
	})
	if reason := cmd.Flags().Lookup("reason"); needsReason && reason != nil && strings.TrimSpace(reason.Value.String()) == "" {
		words = append(words, "--reason REASON")
	}
	return strings.Join(words, " ")
}

// DryRun prints the effect of an action, which is not taken, and the command that takes it.
func (c *Console) DryRun(cmd *cobra.Command, view api.Preview, needsReason bool) error {
	if err := c.Print(view, c.PreviewTable(view)); err != nil {
		return err
	}
	c.NoticeDryRun(view)
	c.NoticeNext(InEarnest(cmd, needsReason))
	return nil
}
