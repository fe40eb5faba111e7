package cli

import (
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func workerCommand(c *console) *cobra.Command {
	g := command.Group("worker", "Show workers, their state and functions, and verify them", listWorkersCommand(c), getWorkerCommand(c))
	g.Long = `Show workers with their state and the functions that they have, and verify workers
that you write.

A worker says when it starts which functions it can be asked for, custom ones included.
Runbooks are checked against them when they are published: each step against those of
the worker that it names.`
	return g
}

func listWorkersCommand(c *console) *cobra.Command {
	var p command.Paging
	list := &cobra.Command{
		Use: "list", Short: "List workers with their state", Args: command.Needs(),
		Long: `List the workers that announced themselves, sent a heartbeat or answered a job, and
those that were never seen while jobs wait for them.

The state is one of:

  alive           a replica has reported within two minutes
  scaled_to_zero  no job waits for it, or it may still be starting
  silent          jobs wait; it sends no heartbeats and has stopped answering
  gone            jobs wait; it ended without a goodbye or did not start in time

Queued are jobs that were sent to the worker and are not known to have started. Jobs in
flight, throttling and the expiry of the credential are as the replicas last reported
them, every 30 seconds.`,
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
		Use: "get <worker>", Short: "Show the state and the functions of a worker", Args: command.Needs("the worker"),
		Long: `Show the state of a worker and of its replicas, and list its functions, as it
announced them when it last started: their parameters, of which those with * are
required, the fields of what they answer, and the permissions that they need.

With --output json it is also a file for matoolkit runbook lint --functions.`,
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
			if c.Format == render.FormatTable {
				for _, line := range render.DescribeWorker(view, c.Env.Now()) {
					c.Notice("%s", render.Printable(line))
				}
			}
			return c.Print(view, c.FunctionTable(view.Functions))
		},
	})
}
