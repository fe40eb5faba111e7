package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Age returns the time since a moment; empty without one.
func Age(since *time.Time, now time.Time) string {
	if since == nil {
		return ""
	}
	return round(max(now.Sub(*since), 0))
}

// AliveReplicas counts the replicas that are alive.
func AliveReplicas(v api.Worker) (n int) {
	for _, r := range v.Replicas {
		if r.State == "alive" {
			n++
		}
	}
	return n
}

// DescribeWorker describes a worker and its replicas, one line each.
func DescribeWorker(v api.Worker, now time.Time) []string {
	head := strings.TrimSpace(v.ID+" "+v.Version) + " is " + strings.ReplaceAll(string(v.State), "_", " ")
	if v.LastSeenAt != nil {
		head += ", last seen on " + Stamp(*v.LastSeenAt)
	} else if v.StartedAt == nil {
		head += ", never seen"
	}
	head += fmt.Sprintf(": %s queued, %d in flight", Count(v.JobsQueued, "job"), v.JobsInFlight)
	if v.LastSeenAt == nil && v.OldestQueuedAt != nil {
		head += ", jobs queued since " + Stamp(*v.OldestQueuedAt)
	}
	if v.OldestJobAt != nil {
		head += ", the oldest " + Age(v.OldestJobAt, now)
	}
	lines := []string{head + "."}
	if v.StartedAt != nil {
		lines = append(lines, fmt.Sprintf("It announced %s on %s.", Count(v.FunctionCount, "function"), Stamp(*v.StartedAt)))
	} else {
		lines = append(lines, "It has not announced its functions.")
	}
	if v.ThrottledUntil != nil {
		lines = append(lines, "It is throttled until "+Stamp(*v.ThrottledUntil)+".")
	}
	if v.CredentialExpiresAt != nil {
		lines = append(lines, "Its credential expires on "+Stamp(*v.CredentialExpiresAt)+".")
	}
	if v.Problem != "" {
		lines = append(lines, "Its jobs are not delivered: "+v.Problem+".")
	}
	for _, r := range v.Replicas {
		lines = append(lines, fmt.Sprintf("Replica %s is %s: %d of %d jobs, last seen on %s.", r.ID, r.State, r.JobsInFlight, r.MaxParallelism, Stamp(r.LastSeenAt)))
	}
	return lines
}

// FunctionTable returns the table of the functions of a worker.
func (c *Printer) FunctionTable(functions []api.Function) *Sheet {
	t := c.Table("function", "parameters", "results", "permissions")
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
		t.Row(f.Name, strings.Join(params, ", "), strings.Join(fields, ", "), strings.Join(f.Permissions, ", "))
	}
	return t
}
