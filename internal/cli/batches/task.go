package batches

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func taskCommand(c *runner) *cobra.Command {
	var wait bool
	task := &cobra.Command{
		Use: "task <id> <task>", Short: "Show the progress of a retry, skip, mark-done, removal or move of many members", Args: command.Needs("the id", "the task"),
		Long: `Shows how many members a retry, skip-step, mark-done, remove-member or move has done, and which
members it left as they are. The output of these commands with --output json has the task.

With --wait the command shows the progress until the task ends. The exit status is 1 when
members were left as they are, or the batch was cancelled before the last member.`,
		Example: `  matoolkit batch task 42 3gk2hq7rmxw5vbnt
  matoolkit batch task 42 3gk2hq7rmxw5vbnt --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if args[1] == "" {
				return exit.Usagef("the task is missing: %s", command.UsageLine(cmd))
			}
			if wait {
				return c.followTask(cmd.Context(), s.Client, id, args[1])
			}
			view, err := s.Client.Task(cmd.Context(), id, args[1])
			if err != nil {
				return err
			}
			return c.Print(view, c.TaskTable(view))
		},
	}
	task.Flags().BoolVar(&wait, "wait", false, "show the progress until the task ends")
	return task
}

// The interval between two reads of a task, at first and at most.
const (
	taskInterval    = 250 * time.Millisecond
	maxTaskInterval = 2 * time.Second
)

// followTask shows the progress of a task until it ends. It continues after outages of the API.
func (c *runner) followTask(ctx context.Context, client *apiclient.Client, batch int, id string) error {
	var last api.Task
	for pause, first := taskInterval, true; ; pause = min(pause*3/2, maxTaskInterval) {
		view, err := client.Task(ctx, batch, id)
		switch {
		case err != nil && !outage(err):
			return err
		case err == nil && view.Terminal():
			return c.taskEnded(view)
		case err == nil && (first || view.Finished+view.RefusedCount != last.Finished+last.RefusedCount):
			c.Notice("%s", render.TaskWords(view))
			last, first, pause = view, false, taskInterval
		}
		if err := command.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// taskEnded prints a task that has ended.
func (c *runner) taskEnded(view api.Task) error {
	for _, m := range view.Refused {
		c.Notice("  %s: %s", c.Cell(render.Person(m.Key, m.Display)), render.Printable(m.Reason))
	}
	if err := c.Done(view, c.TaskTable(view), fmt.Sprintf("matoolkit batch watch %d", view.BatchID), "%s", render.TaskWords(view)); err != nil {
		return err
	}
	if view.RefusedCount > 0 || view.Status == api.TaskCancelled {
		return &exit.Error{Status: exit.Failed}
	}
	return nil
}
