package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
)

func workerCommand(c *console) *cobra.Command {
	g := group("worker", "Show workers, their state and functions, and verify them", listWorkersCommand(c), getWorkerCommand(c))
	g.Long = `Show workers with their state and the functions that they have, and verify workers
that you write.

A worker says when it starts which functions it can be asked for, custom ones included.
Runbooks are checked against them when they are published: each step against those of
the worker that it names.`
	return g
}

func listWorkersCommand(c *console) *cobra.Command {
	var p paging
	list := &cobra.Command{
		Use: "list", Short: "List workers with their state", Args: needs(),
		Long: `List the workers that announced themselves, sent a heartbeat or answered a job.

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
			s, err := c.session()
			if err != nil {
				return err
			}
			page, err := collect(cmd.Context(), p, api.ListOptions{}, s.Client.Workers)
			if err != nil {
				return err
			}
			t := c.table("worker", "state", "queued", "in flight", "oldest job", "throttled until", "credential expires", "seen", "replicas", "version", "functions")
			for _, v := range page.Items {
				t.row(v.ID, v.State, v.JobsQueued, v.JobsInFlight, age(v.OldestJobAt, c.env.Now()), v.ThrottledUntil, v.CredentialExpiresAt, v.LastSeenAt, aliveReplicas(v), v.Version, v.FunctionCount)
			}
			return c.printPage(page, len(page.Items), page.Continuation, t)
		},
	}
	p.flags(list)
	return list
}

func getWorkerCommand(c *console) *cobra.Command {
	return lists(&cobra.Command{
		Use: "get <worker>", Short: "Show the state and the functions of a worker", Args: needs("the worker"),
		Long: `Show the state of a worker and of its replicas, and list its functions, as it
announced them when it last started: their parameters, of which those with * are
required, the fields of what they answer, and the permissions that they need.

With --output json it is also a file for matoolkit runbook lint --functions.`,
		Example: `  matoolkit worker get worker-01
  matoolkit worker get worker-01 --output json > functions.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.session()
			if err != nil {
				return err
			}
			view, err := s.Client.Worker(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if c.format == formatTable {
				for _, line := range describeWorker(view, c.env.Now()) {
					c.notice("%s", printable(line))
				}
			}
			return c.print(view, c.functionTable(view.Functions))
		},
	})
}

// age is for how long something has gone on; empty for nothing.
func age(since *time.Time, now time.Time) string {
	if since == nil {
		return ""
	}
	return round(max(now.Sub(*since), 0))
}

func aliveReplicas(v api.Worker) (n int) {
	for _, r := range v.Replicas {
		if r.State == "alive" {
			n++
		}
	}
	return n
}

// describeWorker says in lines how a worker and its replicas are.
func describeWorker(v api.Worker, now time.Time) []string {
	head := strings.TrimSpace(v.ID+" "+v.Version) + " is " + strings.ReplaceAll(string(v.State), "_", " ")
	if v.LastSeenAt != nil {
		head += ", last seen on " + stamp(*v.LastSeenAt)
	}
	head += fmt.Sprintf(": %s queued, %d in flight", count(v.JobsQueued, "job"), v.JobsInFlight)
	if v.OldestJobAt != nil {
		head += ", the oldest for " + age(v.OldestJobAt, now)
	}
	lines := []string{head + "."}
	if v.StartedAt != nil {
		lines = append(lines, fmt.Sprintf("It announced %s on %s.", count(v.FunctionCount, "function"), stamp(*v.StartedAt)))
	} else {
		lines = append(lines, "It has not announced its functions.")
	}
	if v.ThrottledUntil != nil {
		lines = append(lines, "It is throttled until "+stamp(*v.ThrottledUntil)+".")
	}
	if v.CredentialExpiresAt != nil {
		lines = append(lines, "Its credential expires on "+stamp(*v.CredentialExpiresAt)+".")
	}
	if v.Problem != "" {
		lines = append(lines, "Its jobs do not arrive: "+v.Problem+".")
	}
	for _, r := range v.Replicas {
		lines = append(lines, fmt.Sprintf("Replica %s is %s: %d of %d jobs, last seen on %s.", r.ID, r.State, r.JobsInFlight, r.MaxParallelism, stamp(r.LastSeenAt)))
	}
	return lines
}

func (c *console) functionTable(functions []api.Function) *sheet {
	t := c.table("function", "parameters", "answers", "permissions")
	for _, f := range functions {
		var params, fields []string
		for _, p := range f.Params {
			mark := ""
			if p.Required {
				mark = "*"
			}
			if p.Secret {
				mark += " (secret)"
			}
			params = append(params, strings.TrimSpace(fmt.Sprintf("%s%s %s", p.Name, mark, p.Type)))
		}
		for _, r := range f.Result {
			fields = append(fields, r.Name)
		}
		if len(fields) == 0 {
			fields = []string{"true"}
		}
		t.row(f.Name, strings.Join(params, ", "), strings.Join(fields, ", "), strings.Join(f.Permissions, ", "))
	}
	return t
}
