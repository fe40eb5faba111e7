package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// checkBatch refuses an argument that is neither the number nor the name of a batch.
func checkBatch(arg string) error {
	if n, err := strconv.Atoi(arg); err == nil && n < 1 || strings.TrimSpace(arg) == "" {
		return exit.Usagef("invalid batch %q: give the number or the name of a batch, as matoolkit batch list shows it", arg)
	}
	return nil
}

// OnBatch opens a session for a command on a batch, and finds the batch by the number or the name.
func (c *Console) OnBatch(ctx context.Context, arg string) (*Session, int, error) {
	if err := checkBatch(arg); err != nil {
		return nil, 0, err
	}
	s, err := c.Session()
	if err != nil {
		return nil, 0, err
	}
	id, err := findBatch(ctx, s.Client, arg)
	return s, id, err
}

// findBatch gives the number of a batch that is given by its number, or by a name that no other batch
// has.
func findBatch(ctx context.Context, client *apiclient.Client, arg string) (int, error) {
	if err := checkBatch(arg); err != nil {
		return 0, err
	}
	if id, err := strconv.Atoi(arg); err == nil {
		return id, nil
	}
	const most = 20 // that the error names
	page, err := client.Batches(ctx, api.ListOptions{Name: strings.TrimSpace(arg), Limit: most})
	if err != nil {
		return 0, err
	}
	switch len(page.Items) {
	case 0:
		return 0, &exit.Error{Status: exit.NotFound, Text: fmt.Sprintf("no batch has the name %q", arg), Hint: "List the batches: matoolkit batch list"}
	case 1:
		return page.Items[0].ID, nil
	}
	var numbers []string
	for _, b := range page.Items {
		numbers = append(numbers, strconv.Itoa(b.ID))
	}
	also := ""
	if page.Continuation != "" {
		also = " and others"
	}
	return 0, &exit.Error{Status: exit.Refused, Text: fmt.Sprintf("several batches have the name %q: %s%s; give the number", arg, strings.Join(numbers, ", "), also)}
}

// ReasonFlag adds the option --reason.
func ReasonFlag(cmd *cobra.Command, why *string) {
	cmd.Flags().StringVar(why, "reason", "", "the reason, for the audit record")
}

// RevisionFlag adds the option --revision of held removals.
func RevisionFlag(cmd *cobra.Command, revision *string) {
	cmd.Flags().StringVar(revision, "revision", "", "fail if the held removals differ from this revision of matoolkit batch removals")
}
