package bench

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/message"
)

// protocols measures what the ways of a step other than success cost, for each event
// that the handler is given: a worker's result, or a check that falls due.
func protocols(ctx context.Context, c Config) error {
	t := Table{Name: "Retries, polls, rollbacks and removals", Columns: []string{
		"protocol", "members", "events", "seconds", "CPU ms/event", "reads/event", "writes/event", "sent/event",
	}}
	for _, p := range []struct {
		name string
		load load
	}{
		{"retry: 1 failure, 4 retries", failing(c.ProtocolMembers, "retry: {max_retries: 4, interval: 1s}")},
		{"poll: 4 polls, then timeout", polling(c.ProtocolMembers)},
		{"rollback: 1 failure, 4 rollback steps", failing(c.ProtocolMembers, "on_failure: undo")},
		{"removal: 1 step, 4 removal steps", leaving(c.ProtocolMembers)},
		{"cancel: all members polling", cancelled(c.ProtocolMembers)},
	} {
		r, err := measure(ctx, c, p.load)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		results := r.stats.ServiceBus.Entities[message.TopicWorkerResults].Sent
		events := float64(results + r.stats.ServiceBus.Entities[message.TopicOrchestratorEvents].Sent)
		t.Rows = append(t.Rows, []any{
			p.name, p.load.members, int(events), one(r.elapsed.Seconds()), two(r.cpu().Seconds() * 1000 / events),
			two(float64(r.stats.reads()) / events), two(float64(r.stats.writes()) / events), two(float64(r.stats.sent()-results) / events),
		})
	}
	c.add(t)
	return nil
}

const head = "name: bench\ndata_source: {type: csv, primary_key: Upn}\n"

// call is a step of the function that does nothing.
func call(name, answer, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf("{name: %s, worker_id: worker-01, function: No-Op, params: {Value: \"{{Name}}\", Answer: %q}%s}", name, answer, more)
}

func four(prefix string) string {
	text := ""
	for i := range 4 {
		text += "    - " + call(fmt.Sprintf("%s-%d", prefix, i+1), "true", "") + "\n"
	}
	return text
}

func failing(members int, more string) load {
	return load{
		members: members, drive: advanceOnce,
		runbook: head + "phases:\n  - name: only\n    offset: T-0\n    steps:\n    - " + call("fails", "failure", more) + "\nrollbacks:\n  undo:\n" + four("back"),
	}
}

func polling(members int) load {
	return load{
		members: members, drive: advanceOnce,
		runbook: head + "phases:\n  - name: only\n    offset: T-0\n    steps:\n    - " + call("polls", "incomplete", "poll: {interval: 1s, timeout: 4s}") + "\n",
	}
}

// cancelled is a batch that is cancelled while all members poll.
func cancelled(members int) load {
	return load{
		members: members,
		runbook: head + "phases:\n  - name: only\n    offset: T-0\n    steps:\n    - " + call("polls", "incomplete", "poll: {interval: 1h, timeout: 4h}") + "\n",
		drive: func(ctx context.Context, client *apiclient.Client, batch int) error {
			if _, err := client.Advance(ctx, batch, "only", ""); err != nil {
				return err
			}
			polling := func(api.Batch) bool {
				steps, err := client.Steps(ctx, batch, api.ListOptions{Limit: 1, Statuses: []string{"queued"}})
				phases, err2 := client.Phases(ctx, batch)
				return err == nil && err2 == nil && phases.Items[0].Running == members && len(steps.Items) == 0
			}
			if err := await(ctx, client, batch, polling); err != nil {
				return err
			}
			if _, err := client.Cancel(ctx, batch, ""); err != nil {
				return err
			}
			return await(ctx, client, batch, func(b api.Batch) bool { return b.CompletedAt != nil })
		},
	}
}

// leaving is a batch whose members are all removed between two phases.
func leaving(members int) load {
	phases := ""
	for _, name := range []string{"first", "second"} {
		phases += "  - name: " + name + "\n    offset: T-0\n    steps:\n    - " + call("step", "true", "") + "\n"
	}
	return load{
		members: members, succeed: members,
		runbook: head + "phases:\n" + phases + "on_member_removed:\n" + four("leave"),
		drive: func(ctx context.Context, client *apiclient.Client, batch int) error {
			ended := func(phase string) func(api.Batch) bool {
				return func(api.Batch) bool {
					phases, err := client.Phases(ctx, batch)
					for _, p := range phases.Items {
						if err == nil && p.Name == phase {
							return p.CompletedAt != nil || p.Kind == "removal" && p.Succeeded == members
						}
					}
					return false
				}
			}
			if _, err := client.Advance(ctx, batch, "first", ""); err != nil {
				return err
			}
			if err := await(ctx, client, batch, ended("first")); err != nil {
				return err
			}
			for id := range members {
				if _, err := client.RemoveMember(ctx, batch, fmt.Sprint(id+1), ""); err != nil {
					return err
				}
			}
			return await(ctx, client, batch, ended("on_member_removed"))
		},
	}
}
