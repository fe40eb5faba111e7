package command

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// BatchID parses the number of a batch.
func BatchID(arg string) (int, error) {
	id, err := strconv.Atoi(arg)
	if err != nil || id < 1 {
		return 0, exit.Usagef("invalid batch %q: give a number that matoolkit batch list shows", arg)
	}
	return id, nil
}

// OnBatch opens a session for a command that names a batch first.
func (c *Console) OnBatch(arg string) (*Session, int, error) {
	id, err := BatchID(arg)
	if err != nil {
		return nil, 0, err
	}
	s, err := c.Session()
	return s, id, err
}

// ReasonFlag adds the option --reason.
func ReasonFlag(cmd *cobra.Command, why *string) {
	cmd.Flags().StringVar(why, "reason", "", "the reason, for the audit record")
}

// RevisionFlag adds the option --revision of held removals.
func RevisionFlag(cmd *cobra.Command, revision *string) {
	cmd.Flags().StringVar(revision, "revision", "", "fail if the held removals differ from this revision of matoolkit batch removals")
}
