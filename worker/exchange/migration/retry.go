package migration

import (
	"context"
	"slices"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// startBatch reads first: a delivery that comes again finds the moves under way.
func (c *functions) startBatch(ctx context.Context, p catalog.Params) (any, error) {
	name := p.String("BatchName")
	have, err := c.batch(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case catalog.JobOf(ctx).SentBefore(have.created()):
		return nil, anotherBatch(name)
	case session.Has([]string{"Corrupted", "Removing"}, have.Status):
		return nil, conflict("the migration batch " + name + " is " + have.Status + ", and cannot be started: remove it with Remove-ExchangeMigrationBatch, and create another one")
	case session.Has([]string{"Stopping"}, have.Status):
		return nil, conflict("the migration batch " + name + " is Stopping: retry the step when it is Stopped")
	}
	people, err := c.people(ctx, name)
	if err != nil {
		return nil, err
	}
	failed := slices.ContainsFunc(people, func(u migrationUser) bool { return session.Has(failedStates, u.Status) })
	if !failed && !session.Has([]string{"Created", "Stopped", "Failed"}, have.Status) {
		return true, nil
	}
	if err := c.Invoke(ctx, "Start-MigrationBatch", map[string]any{"Identity": name, "Confirm": false}, nil); err != nil {
		return nil, err
	}
	return true, nil
}

// setUser does not read back: no page names a property that shows what it writes.
func (c *functions) setUser(ctx context.Context, p catalog.Params) (any, error) {
	email, approve := p.String("EmailAddress"), p.Bool("ApproveSkippedItems", false)
	change := map[string]any{"Identity": email, "Confirm": false}
	if approve {
		change["ApproveSkippedItems"] = true
	}
	if p.Has("CompleteAfter") {
		at, err := after(p, "CompleteAfter")
		if err != nil {
			return nil, err
		}
		change["CompleteAfter"] = at
	}
	if !approve && !p.Has("CompleteAfter") {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "nothing to change: give CompleteAfter, or ApproveSkippedItems: true"}
	}
	u, err := c.person(ctx, p.String("BatchName"), email)
	if err != nil {
		return nil, err
	}
	if session.Has(movedStates, u.Status) {
		return true, nil
	}
	if err := c.Invoke(ctx, "Set-MigrationUser", change, nil); err != nil {
		return nil, err
	}
	return true, nil
}
