package cli

import (
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func workerCommand(c *console) *cobra.Command {
	g := command.Group("worker", "Show workers and their functions, and verify workers", listWorkersCommand(c), getWorkerCommand(c))
	g.Long = `When a worker starts it announces its functions, custom functions included. The API checks
each step of a runbook against the functions of the worker that the step names.`
	g.Example = `  matoolkit worker list
  matoolkit worker get worker-01`
	return g
}

func listWorkersCommand(c *console) *cobra.Command {
	var p command.Paging
	list := &cobra.Command{
		Use: "list", Short: "List workers with their health", Args: command.Needs(),
		Long: `Lists the workers that announced themselves, sent a heartbeat or answered a job, and the
workers that were never seen while jobs wait for them. The state is one of these:

  alive           a replica sent a heartbeat within two minutes
  scaled_to_zero  no job waits, or the worker may still be starting
  silent          jobs wait; the worker sends no heartbeats and does not answer
  gone            jobs wait; the worker stopped without notice or did not start in time

Queued jobs were sent to the worker and have not started as far as is known. Jobs in flight,
throttling and the expiry of the credential are those of the last heartbeats, every 30
seconds.`,
		Example: `  matoolkit worker list
  matoolkit worker list --output json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			page, err := command.Collect(cmd.Context(), p, api.ListOptions{}, s.Client.Workers)
			if err != nil {
				return err
			}
			t := c.Table("worker", "state", "queued", "in flight", "oldest job", "throttled until", "credential expires", "seen", "replicas", "version", "functions")
			for _, v := range page.Items {
				t.Row(v.ID, v.State, v.JobsQueued, v.JobsInFlight, render.Age(v.OldestJobAt, c.Env.Now()), v.ThrottledUntil, v.CredentialExpiresAt, v.LastSeenAt, render.AliveReplicas(v), v.Version, v.FunctionCount)
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, t)
		},
	}
	p.Flags(list)
	return list
}

func getWorkerCommand(c *console) *cobra.Command {
	return command.Lists(&cobra.Command{
		Use: "get <worker>", Short: "Show the health and the functions of a worker", Args: command.Needs("the worker"),
		Long: `Shows the state of a worker and its replicas, and its functions as it announced them when it
started: parameters (required ones with *), result fields and required permissions.

The output of --output json is a file for matoolkit runbook lint --functions.`,
		Example: `  matoolkit worker get worker-01
  matoolkit worker get worker-01 --output json > functions.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.Worker(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if c.Human() {
				for _, line := range render.DescribeWorker(view, c.Env.Now()) {
					c.Notice("%s", render.Printable(line))
				}
			}
			return c.Print(view, c.FunctionTable(view.Functions))
		},
	})
}
