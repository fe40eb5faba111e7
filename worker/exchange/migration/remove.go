package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

var (
	// idle are the statuses in which a batch does not run: Exchange removes it.
	idle = []string{"Created", "Stopped", "Completed", "CompletedWithErrors", "Failed", "Corrupted"}
	// moving are the statuses of a mailbox that is about to leave its source.
	moving = []string{"Completing", "CompletionSynced"}
)

// removeBatch stops a batch that runs and removes it once it has stopped. Exchange decides whether the stop comes before
// the completion: a batch that has stopped moves no mailbox any more, even if a completion was asked for a moment ago.
func (c *functions) removeBatch(ctx context.Context, p catalog.Params) (any, error) {
	name := p.String("BatchName")
	have, err := c.batch(ctx, name)
	switch {
	case session.Missing(err):
		return true, nil
	case err != nil:
		return nil, err
	case catalog.JobOf(ctx).SentBefore(have.created()):
		return true, nil
	}
	if err := c.stop(ctx, name, have); err != nil && !session.Missing(err) {
		return nil, err
	}
	if err := c.Invoke(ctx, "Remove-MigrationBatch", map[string]any{"Identity": name, "Confirm": false}, nil); err != nil && !session.Missing(err) {
		return nil, err
	}
	_, err = session.Until(ctx, c.Session, "the migration batch is still there", func(have []migrationBatch) bool {
		return !slices.ContainsFunc(have, func(b migrationBatch) bool { return !strings.EqualFold(b.Status, "Removing") })
	}, func(ctx context.Context) (have []migrationBatch, err error) {
		err = c.Look(ctx, "Get-MigrationBatch", name, &have)
		return have, err
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}

// stop stops a batch unless it is idle, and waits until it is. It fails while a mailbox is being moved, and if there is no
// such batch any more.
func (c *functions) stop(ctx context.Context, name string, have migrationBatch) error {
	if err := c.unlessMoving(ctx, name, have); err != nil || session.Has(idle, have.Status) || strings.EqualFold(have.Status, "Removing") {
		return err
	}
	var refused error
	if !strings.EqualFold(have.Status, "Stopping") {
		refused = c.Invoke(ctx, "Stop-MigrationBatch", map[string]any{"Identity": name, "Confirm": false}, nil)
		var f *catalog.Failure
		if refused != nil && (!errors.As(refused, &f) || f.Throttled) {
			return refused
		}
	}
	have, err := session.Until(ctx, c.Session, "the migration batch "+name+" is being stopped", func(b migrationBatch) bool {
		return refused != nil || session.Has(idle, b.Status) || session.Has(moving, b.Status) || strings.EqualFold(b.Status, "Removing")
	}, func(ctx context.Context) (migrationBatch, error) { return c.batch(ctx, name) })
	if err != nil {
		return err
	}
	if err := c.unlessMoving(ctx, name, have); err != nil {
		return err
	}
	if refused != nil && !session.Has(idle, have.Status) { // Exchange stops no batch that has just ended
		return refused
	}
	return nil
}

// unlessMoving fails if a batch, or one of its people, is being moved.
func (c *functions) unlessMoving(ctx context.Context, name string, have migrationBatch) error {
	const wait = "wait until the move has ended; its mailbox is in this tenant then"
	if session.Has(moving, have.Status) {
		return conflict(fmt.Sprintf("the migration batch %s is %s: %s", name, have.Status, wait))
	}
	people, err := c.people(ctx, name)
	if err != nil {
		return err
	}
	for _, u := range people {
		if session.Has(moving, u.Status) {
			return conflict(fmt.Sprintf("the move of %s in the migration batch %s is %s: %s", u.EmailAddress, name, u.Status, wait))
		}
	}
	return nil
}

// removeUser takes a person out of a batch.
func (c *functions) removeUser(ctx context.Context, p catalog.Params) (any, error) {
	batch, email := p.String("BatchName"), p.String("EmailAddress")
	u, err := c.person(ctx, batch, email)
	switch {
	case session.Missing(err), err != nil && catalog.JobOf(ctx).Redelivered && u.BatchId != "":
		return true, nil // another delivery took the person out, and a step put the person in another batch since
	case err != nil:
		return nil, err
	case session.Has(moving, u.Status):
		return nil, conflict(fmt.Sprintf("the move of %s is %s: wait until it has ended; the mailbox is in this tenant then", email, u.Status))
	}
	if err := c.Invoke(ctx, "Remove-MigrationUser", map[string]any{"Identity": email, "Confirm": false}, nil); err != nil && !session.Missing(err) {
		return nil, err
	}
	_, err = session.Until(ctx, c.Session, email+" is still in the migration batch", func(have []migrationUser) bool {
		return !slices.ContainsFunc(have, func(u migrationUser) bool {
			return strings.EqualFold(u.BatchId, batch) && !strings.EqualFold(u.Status, "Removing")
		})
	}, func(ctx context.Context) (have []migrationUser, err error) {
		err = c.Look(ctx, "Get-MigrationUser", email, &have)
		return have, err
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}
