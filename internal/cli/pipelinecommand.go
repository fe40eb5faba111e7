package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// maxItemsFile is how many bytes a file of items can have, as the API takes them.
const maxItemsFile = 8 << 20

func pipelineCommand(c *console) *cobra.Command {
	g := command.Group("pipeline", "Request batches with their items, and get their results", startPipelineCommand(c), pipelineStatusCommand(c), pipelineResultCommand(c),
		routingCommand(c), shadowCommand(c), compareCommand(c), comparisonsCommand(c), shareCommand(c), limitCommand(c), routeCommand(c))
	g.Long = `A runbook with trigger: request has a batch for each request. The request brings the items,
which are the members of the batch, or a function lists them. Its result has the outputs of the on_complete steps.

A pipeline that replaces another orchestrator moves over in steps: shadow compares both, share moves
owners over, and limit returns the share to 0 when requests fail.`
	g.Example = `  matoolkit pipeline start context-bundle --owner octo --items repositories.json --wait
  matoolkit pipeline status context-bundle 42
  matoolkit pipeline result context-bundle --owner octo`
	return g
}

func startPipelineCommand(c *console) *cobra.Command {
	var owner, file string
	var force, wait, shadow bool
	start := &cobra.Command{
		Use: "start <runbook>", Short: "Request a batch", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Starts a batch for the items in a file: a JSON list of objects that have a field for each column
that the runbook uses. If a function lists the items of the runbook, leave --items out.

If the last batch of the owner had the same items, in any order, no batch is started: the
command shows that batch. A batch whose items a function lists ends with the result of that batch.
With --force a batch is started, and all is done, in any case.

With --shadow the batch is only compared with another orchestrator; see matoolkit pipeline shadow.

With --wait the command returns when the batch has ended, with status 1 if it failed. The
command requires the app role Requester, for yourself, or RequesterForAll, Operator or Admin.`,
		Example: `  matoolkit pipeline start context-bundle --owner octo --wait
  matoolkit pipeline start context-bundle --owner octo --items repositories.json
  echo '[{"Repository": "docs"}]' | matoolkit pipeline start context-bundle --owner octo --items - --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if owner == "" {
				return exit.Usagef("--owner is missing: name who the result is for")
			}
			items, err := c.readItems(file)
			if err != nil {
				return err
			}
			request := api.PipelineRequest{Owner: owner, Items: items, Force: force, Shadow: shadow}
			s, err := c.Session()
			if err != nil {
				return err
			}
			b, err := s.Client.StartPipeline(cmd.Context(), args[0], request)
			if err != nil {
				return c.Located(file, err)
			}
			if wait && b.CompletedAt == nil {
				if b, err = c.awaitPipeline(cmd.Context(), s, b); err != nil {
					return err
				}
			}
			return c.printPipeline(b, wait)
		},
	}
	start.Flags().StringVar(&owner, "owner", "", "who the result is for")
	start.Flags().StringVar(&file, "items", "", "the file with the items, or - for standard input; none if a function lists them")
	start.Flags().BoolVar(&force, "force", false, "start a batch also if the items are those of the last one")
	start.Flags().BoolVar(&shadow, "shadow", false, "start the batch only to compare it with another orchestrator")
	start.Flags().BoolVar(&wait, "wait", false, "return when the batch has ended")
	return command.Lists(start)
}

// readItems reads a file with items; no name is no items.
func (c *console) readItems(file string) (items []map[string]json.RawMessage, err error) {
	if file == "" {
		return nil, nil
	}
	text, err := c.ReadFile(file, maxItemsFile)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, &exit.Error{Status: exit.Refused, Text: fmt.Sprintf("%s is no JSON list of objects: %v", render.FileName(file), err), Hint: `Write the items as [{"Repository": "docs"}, …].`}
	}
	if len(items) == 0 {
		return nil, &exit.Error{Status: exit.Refused, Text: render.FileName(file) + " has no items", Hint: "Leave --items out if a function lists the items of the runbook."}
	}
	return items, nil
}

// awaitPipeline reads a batch until it has ended.
func (c *console) awaitPipeline(ctx context.Context, s *command.Session, b api.PipelineBatch) (api.PipelineBatch, error) {
	shown := ""
	for b.CompletedAt == nil {
		if line := progressOf(b); line != shown && c.Human() {
			c.Notice("%s", line)
			shown = line
		}
		if err := c.Env.Wait(ctx, time.Second); err != nil {
			return b, err
		}
		next, err := s.Client.PipelineBatch(ctx, b.Pipeline, b.ID)
		if err != nil {
			return b, err
		}
		b = next
	}
	return b, nil
}

func progressOf(b api.PipelineBatch) string {
	switch {
	case b.Status == api.PipelineListing:
		return fmt.Sprintf("Batch %d is listing its items.", b.ID)
	case b.Items.Total == 0:
		return fmt.Sprintf("Batch %d is %s.", b.ID, b.Status)
	}
	text := fmt.Sprintf("Batch %d is %s: %d of %s succeeded", b.ID, b.Status, b.Items.Succeeded, render.Count(b.Items.Total, "item"))
	if b.Items.Failed > 0 {
		text += fmt.Sprintf(", %d failed", b.Items.Failed)
	}
	return text + "."
}

// printPipeline prints a batch. Failing makes that of a failed batch an error.
func (c *console) printPipeline(b api.PipelineBatch, failing bool) error {
	t := c.Table("batch", "runbook", "owner", "status", "items", "succeeded", "failed", "running", "requested", "completed", "error")
	count := func(n int) any {
		if b.Items.Total == 0 { // they are not listed
			return ""
		}
		return n
	}
	t.Row(b.ID, b.Pipeline, b.Owner, string(b.Status), count(b.Items.Total), count(b.Items.Succeeded), count(b.Items.Failed), count(b.Items.Running), b.RequestedAt, b.CompletedAt, b.Error)
	if err := c.Print(b, t); err != nil {
		return err
	}
	for _, d := range b.Detached {
		if d.Error != "" {
			c.Notice("Detached step %s is %s: %s", d.Name, d.Status, d.Error)
		} else {
			c.Notice("Detached step %s is %s.", d.Name, d.Status)
		}
	}
	if b.CachedBatch != 0 {
		c.Notice("Its items are unchanged: it has the result of batch %d.", b.CachedBatch)
	}
	switch {
	case failing && b.Status == api.PipelineFailed:
		return &exit.Error{Status: exit.Failed, Text: fmt.Sprintf("batch %d failed: %s", b.ID, b.Error), Hint: fmt.Sprintf("Show the errors: matoolkit batch errors %d", b.ID)}
	case b.CompletedAt == nil:
		c.NoticeNext(fmt.Sprintf("matoolkit pipeline status %s %d", b.Pipeline, b.ID))
	case b.Status != api.PipelineFailed:
		c.NoticeNext(fmt.Sprintf("matoolkit pipeline result %s %d", b.Pipeline, b.ID))
	}
	return nil
}

func pipelineStatusCommand(c *console) *cobra.Command {
	var wait bool
	show := &cobra.Command{
		Use: "status <runbook> <id>", Short: "Show where a requested batch stands", Args: command.OfRunbook(command.Needs("the runbook", "the number of the batch")),
		Long: `Shows the status of a batch that a request started: queued, listing while a function lists its
items, processing, completed, cached or failed, with the counts of its items. A batch has failed if
its items could not be listed, if no phase completed, or if an administrator cancelled it; its items are also those of matoolkit batch members.

With --wait the command returns when the batch has ended, with status 1 if it failed.`,
		Example: `  matoolkit pipeline status context-bundle 42
  matoolkit pipeline status context-bundle 42 --wait --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := requestedBatch(args[1])
			if err != nil {
				return err
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			b, err := s.Client.PipelineBatch(cmd.Context(), args[0], id)
			if err == nil && wait {
				b, err = c.awaitPipeline(cmd.Context(), s, b)
			}
			if err != nil {
				return err
			}
			return c.printPipeline(b, wait)
		},
	}
	show.Flags().BoolVar(&wait, "wait", false, "return when the batch has ended")
	return command.Lists(show)
}

// requestedBatch reads the number of a batch.
func requestedBatch(arg string) (int, error) {
	id, err := strconv.Atoi(arg)
	if err != nil || id < 1 {
		return 0, exit.Usagef("%q is not the number of a batch: use the number that matoolkit pipeline start shows", arg)
	}
	return id, nil
}

func pipelineResultCommand(c *console) *cobra.Command {
	var owner string
	show := &cobra.Command{
		Use: "result <runbook> [<id>]", Short: "Print the result of a requested batch", Args: command.OfRunbook(cobra.RangeArgs(1, 2)),
		Long: `Prints the outputs of the on_complete steps of a batch that has completed. With --owner and no
number it is the newest batch of the owner that has completed, also while a newer one runs.`,
		Example: `  matoolkit pipeline result context-bundle 42
  matoolkit pipeline result context-bundle --owner octo --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 2) == (owner != "") {
				return exit.Usagef("name a batch by its number, or its owner with --owner")
			}
			id := 0
			if len(args) == 2 {
				var err error
				if id, err = requestedBatch(args[1]); err != nil {
					return err
				}
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			var r api.PipelineResult
			if id > 0 {
				r, err = s.Client.PipelineResult(cmd.Context(), args[0], id)
			} else {
				r, err = s.Client.LatestResult(cmd.Context(), args[0], owner)
			}
			if err != nil {
				return err
			}
			t := c.Table("output", "value")
			for _, name := range slices.Sorted(maps.Keys(r.Outputs)) {
				t.Row(name, string(r.Outputs[name]))
			}
			if c.Human() {
				c.Notice("Batch %d of %s: %d of %s succeeded, completed %s.", r.ID, render.Printable(r.Owner), r.Items.Succeeded, render.Count(r.Items.Total, "item"), render.Stamp(r.CompletedAt))
			}
			return c.Print(r, t)
		},
	}
	show.Flags().StringVar(&owner, "owner", "", "whose newest result to print")
	return command.Lists(show)
}
