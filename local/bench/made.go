package bench

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
)

// made records the changes that the API confirmed to the writers.
type made struct {
	versions map[string]int // of each runbook
	batches  []int          // each completed
}

// consistent compares the stored state with the changes that the API confirmed.
func consistent(ctx context.Context, client *apiclient.Client, big, members int, m made) error {
	seen, err := everyone(ctx, client, big)
	if err != nil {
		return err
	}
	if len(seen) != members {
		return fmt.Errorf("batch %d has %d members, want %d", big, len(seen), members)
	}
	listed := map[int]api.Batch{}
	err = each(func(o api.ListOptions) (api.Page[api.Batch], error) { return client.Batches(ctx, o) }, func(b api.Batch) error {
		if _, twice := listed[b.ID]; twice {
			return fmt.Errorf("batch %d is listed twice", b.ID)
		}
		listed[b.ID] = b
		return nil
	})
	if err != nil {
		return err
	}
	if len(listed) != 1+len(m.batches) {
		return fmt.Errorf("%d batches are listed, want %d", len(listed), 1+len(m.batches))
	}
	for name, want := range m.versions {
		n := 0
		err := each(func(o api.ListOptions) (api.Page[api.RunbookVersion], error) { return client.Versions(ctx, name, o) }, func(api.RunbookVersion) error {
			n++
			return nil
		})
		if want > 0 && (err != nil || n != want) {
			return fmt.Errorf("runbook %s has %d versions, want %d; %w", name, n, want, err)
		}
	}
	for _, id := range m.batches {
		if err := verifyBatch(ctx, client, listed[id], id); err != nil {
			return fmt.Errorf("batch %d: %w", id, err)
		}
	}
	return nil
}

// verifyBatch holds a writer's batch against what its writer did with it.
func verifyBatch(ctx context.Context, client *apiclient.Client, b api.Batch, id int) error {
	if b.ID != id || b.Status != "completed" || b.Paused != nil {
		return fmt.Errorf("the list shows it as %+v", b)
	}
	seen, err := everyone(ctx, client, id)
	if err != nil {
		return err
	}
	stayed := 0
	for _, status := range seen {
		if status == "done" {
			stayed++
		}
	}
	if len(seen) != brought+joined || stayed != brought+joined-left {
		return fmt.Errorf("%d members, %d of them done", len(seen), stayed)
	}
	phases, err := client.Phases(ctx, id)
	if err != nil {
		return err
	}
	if p := phases.Items[0]; p.Succeeded != brought+joined-left || p.Failed+p.Cancelled+p.Running+p.Waiting != 0 {
		return fmt.Errorf("its phase is %+v", p)
	}
	records := map[string]int{}
	err = each(func(o api.ListOptions) (api.Page[api.AuditRecord], error) {
		return client.BatchAudit(ctx, id, api.AuditFilter{}, o)
	}, func(a api.AuditRecord) error {
		records[a.Action]++
		return nil
	})
	if err != nil {
		return err
	}
	for _, action := range []string{"create", "pause", "add_members", "remove_member", "resume", "advance"} {
		if records[action] != 1 {
			return fmt.Errorf("the audit log has %s %d times: %v", action, records[action], records)
		}
	}
	return nil
}

// everyone are the statuses of all members of a batch by their keys.
func everyone(ctx context.Context, client *apiclient.Client, batch int) (map[string]string, error) {
	seen := map[string]string{}
	err := each(func(o api.ListOptions) (api.Page[api.Member], error) { return client.Members(ctx, batch, o) }, func(m api.Member) error {
		if _, twice := seen[m.Key]; twice {
			return fmt.Errorf("%s is in batch %d twice", m.Key, batch)
		}
		seen[m.Key] = m.Status
		return nil
	})
	return seen, err
}

// each goes through all pages of a list.
func each[V any](ask func(api.ListOptions) (api.Page[V], error), do func(V) error) error {
	o := api.ListOptions{Limit: 1000}
	for {
		page, err := ask(o)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := do(item); err != nil {
				return err
			}
		}
		if o.Continuation = page.Continuation; o.Continuation == "" {
			return nil
		}
	}
}
