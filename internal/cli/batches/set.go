package batches

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// details are the options with the name, the note and the owner of a batch.
type details struct{ name, note, owner string }

func (d *details) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.name, "name", "", "what people call the batch")
	cmd.Flags().StringVar(&d.note, "note", "", "a note on the batch")
	cmd.Flags().StringVar(&d.owner, "owner", "", "who answers for the batch")
}

// given returns the options that are given.
func (d *details) given(cmd *cobra.Command) (given api.BatchDetails) {
	for _, f := range []struct {
		option string
		text   *string
		to     **string
	}{{"name", &d.name, &given.Name}, {"note", &d.note, &given.Note}, {"owner", &d.owner, &given.Owner}} {
		if cmd.Flags().Changed(f.option) {
			*f.to = f.text
		}
	}
	return given
}

func setBatchCommand(c *runner) *cobra.Command {
	var d details
	var why string
	set := &cobra.Command{
		Use: "set <id>", Short: "Change the name, the note or the owner of a batch", Args: command.Needs("the id"),
		Long: `Changes the name, the note or the owner of a batch, also after its end. An empty text
removes it.

Commands find a batch by its name, in any case, where no other batch has the same. A batch
from a data source without a name is shown with its runbook and its start.`,
		Example: `  matoolkit batch set 42 --name "Wave 3" --owner ada@contoso.com
  matoolkit batch set "wave 3" --note "finance moves last"
  matoolkit batch set 42 --note ""`,
		RunE: func(cmd *cobra.Command, args []string) error {
			given := d.given(cmd)
			if given == (api.BatchDetails{}) {
				return exit.Usagef("nothing to change: give --name, --note or --owner")
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			view, err := s.Client.UpdateBatch(cmd.Context(), id, given, why, "")
			if err != nil {
				return err
			}
			return c.Done(view, c.BatchTable(view), fmt.Sprintf("matoolkit batch get %d", id), "Changed batch %d.", id)
		},
	}
	d.flags(set)
	command.ReasonFlag(set, &why)
	return set
}
