package bench

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/app"
)

// made is what the writers were told is done.
type made struct {
	versions map[string]int // of each runbook
	batches  []int          // each completed
}

// consistent holds what is there against what the writers were told.
func consistent(ctx context.Context, api *apiclient.Client, big, members int, m made) error {
	seen, err := everyone(ctx, api, big)
	if err != nil {
		return err
	}
	if len(seen) != members {
		return fmt.Errorf("batch %d has %d members, want %d", big, len(seen), members)
	}
	listed := map[int]app.BatchView{}
	err = each(func(o app.ListOptions) (app.Page[app.BatchView], error) { return api.Batches(ctx, o) }, func(b app.BatchView) error {
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
		err := each(func(o app.ListOptions) (app.Page[app.VersionView], error) { return api.Versions(ctx, name, o) }, func(app.VersionView) error {
			n++
			return nil
		})
		if want > 0 && (err != nil || n != want) {
			return fmt.Errorf("runbook %s has %d versions, want %d; %w", name, n, want, err)
		}
	}
	for _, id := range m.batches {
		if err := asTold(ctx, api, listed[id], id); err != nil {
			return fmt.Errorf("batch %d: %w", id, err)
		}
	}
	return nil
}

// asTold holds a writer's batch against what its writer did with it.
func asTold(ctx context.Context, api *apiclient.Client, b app.BatchView, id int) error {
	if b.ID != id || b.Status != "completed" || b.Paused != nil {
		return fmt.Errorf("it is listed as %+v", b)
	}
	seen, err := everyone(ctx, api, id)
	if err != nil {
		return err
	}
	stayed := 0
	for _, status := range seen {
		if status == "active" {
			stayed++
		}
	}
	if len(seen) != brought+joined || stayed != brought+joined-left {
		return fmt.Errorf("%d members, %d of them active", len(seen), stayed)
	}
	phases, err := api.Phases(ctx, id)
	if err != nil {
		return err
	}
	if p := phases.Items[0]; p.Succeeded != brought+joined-left || p.Failed+p.Cancelled+p.Running+p.Waiting != 0 {
		return fmt.Errorf("its phase stands at %+v", p)
	}
	trail := map[string]int{}
	err = each(func(o app.ListOptions) (app.Page[app.AuditView], error) {
		return api.BatchAudit(ctx, id, app.AuditFilter{}, o)
	}, func(a app.AuditView) error {
		trail[a.Action]++
		return nil
	})
	if err != nil {
		return err
	}
	for _, action := range []string{"create", "pause", "add-members", "remove-member", "resume", "advance"} {
		if trail[action] != 1 {
			return fmt.Errorf("its trail has %s %d times: %v", action, trail[action], trail)
		}
	}
	return nil
}

// everyone are the statuses of all members of a batch by their keys.
func everyone(ctx context.Context, api *apiclient.Client, batch int) (map[string]string, error) {
	seen := map[string]string{}
	err := each(func(o app.ListOptions) (app.Page[app.MemberView], error) { return api.Members(ctx, batch, o) }, func(m app.MemberView) error {
		if _, twice := seen[m.Key]; twice {
			return fmt.Errorf("%s is in batch %d twice", m.Key, batch)
		}
		seen[m.Key] = m.Status
		return nil
	})
	return seen, err
}

// each goes through all pages of a list.
func each[V any](ask func(app.ListOptions) (app.Page[V], error), do func(V) error) error {
	o := app.ListOptions{Limit: 1000}
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
