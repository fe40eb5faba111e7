package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// This file has all calls of the product's use cases.

// ada is the administrator.
var ada = audit.Caller{Name: "ada"}

// newApp starts a process of the handler, with empty caches.
func newApp(w *world, s store.Store, b bus.Sender, now func() time.Time, newID func() string) *app.App {
	return app.New(app.Config{Store: s, Bus: b, Now: now, NewID: newID, Log: slog.New(slog.DiscardHandler), Sources: w.sources(), WorkerStartup: time.Nanosecond})
}

// tickInterval is how often the scheduler ticks.
const tickInterval = model.TickInterval

func tick(ctx context.Context, a *app.App) error { return a.Tick(ctx) }

// command is something that an administrator does once, at any moment.
type command struct {
	name string
	run  func(ctx context.Context, a *app.App) error
	// Batches: which one the command cancels, which one it pauses, and of which it ends the pause.
	cancels, pauses, ends int
}

func removes(batch, member int) command {
	return command{name: fmt.Sprintf("remove member %d of batch %d", member, batch), run: func(ctx context.Context, a *app.App) error {
		_, err := a.RemoveMember(ctx, ada, batch, member, "")
		return err
	}}
}

func cancels(batch int) command {
	return command{name: fmt.Sprintf("cancel batch %d", batch), run: func(ctx context.Context, a *app.App) error {
		_, err := a.Cancel(ctx, ada, batch, "")
		return err
	}, cancels: batch, ends: batch}
}

func pauses(batch int) command {
	return command{name: fmt.Sprintf("pause batch %d", batch), run: func(ctx context.Context, a *app.App) error {
		_, err := a.Pause(ctx, ada, batch, "")
		return err
	}, pauses: batch}
}

func resumes(batch int) command {
	return command{name: fmt.Sprintf("resume batch %d", batch), run: func(ctx context.Context, a *app.App) error {
		_, err := a.Resume(ctx, ada, batch, "")
		return err
	}, ends: batch}
}

func retries(batch int) command {
	return command{name: fmt.Sprintf("retry the failed members of batch %d", batch), run: func(ctx context.Context, a *app.App) error {
		_, err := a.Repair(ctx, ada, batch, api.Repair{Selection: api.Selection{}})
		return err
	}}
}

// retriesBy retries the failed members by the active version, and from a step on.
func retriesBy(batch int, version, from string) command {
	return command{name: fmt.Sprintf("retry the failed members of batch %d by version %q from step %q", batch, version, from), run: func(ctx context.Context, a *app.App) error {
		_, err := a.Repair(ctx, ada, batch, api.Repair{Version: version, From: from})
		return err
	}}
}

// corrects gives a member another value in a column that the steps use.
func corrects(batch, member int) command {
	return command{name: fmt.Sprintf("correct member %d of batch %d", member, batch), run: func(ctx context.Context, a *app.App) error {
		_, err := a.CorrectMember(ctx, ada, batch, member, api.CorrectionRequest{Data: map[string]json.RawMessage{"Name": json.RawMessage(`"corrected"`)}}, "")
		return err
	}}
}

// reschedules moves the phases of a batch that have not started to two minutes later.
func reschedules(batch int) command {
	return command{name: fmt.Sprintf("reschedule batch %d", batch), run: func(ctx context.Context, a *app.App) error {
		_, err := a.Reschedule(ctx, ada, batch, epoch.Add(2*time.Minute).Format(time.RFC3339), "", false)
		return err
	}}
}

// checks makes the checks of the members.
func checks(batch int) command {
	return command{name: fmt.Sprintf("check the members of batch %d", batch), run: func(ctx context.Context, a *app.App) error {
		_, err := a.Check(ctx, ada, batch, 0, "")
		return err
	}}
}

// skips skips the first step of a member in a phase execution.
func skips(batch, phase, member int) command {
	return command{name: fmt.Sprintf("skip the first step of member %d in phase %d of batch %d", member, phase, batch), run: func(ctx context.Context, a *app.App) error {
		_, err := a.SkipStep(ctx, ada, batch, model.StepID(phase, member, 0), "")
		return err
	}}
}

// reschedulesTo moves the start of a batch to the one that its data source has.
func reschedulesTo(batch int, start time.Time) command {
	return command{name: fmt.Sprintf("reschedule batch %d to %s", batch, at(start)), run: func(ctx context.Context, a *app.App) error {
		_, err := a.Reschedule(ctx, ada, batch, start.Format(time.RFC3339), "", false)
		return err
	}}
}

// automates turns the automation of the runbook on.
func automates() command {
	return command{name: "turn the automation on", run: func(ctx context.Context, a *app.App) error {
		_, err := a.SetAutomation(ctx, ada, runbookName, true)
		return err
	}}
}

// moves lets the held members of a batch move with what they have finished.
func moves(batch int) command {
	return decides("move", batch, func(ctx context.Context, a *app.App, revision string) error {
		_, err := a.MoveMembers(ctx, ada, batch, revision, "")
		return err
	})
}

// confirms lets the held members of a batch be removed.
func confirms(batch int) command {
	return decides("remove", batch, func(ctx context.Context, a *app.App, revision string) error {
		_, err := a.ConfirmRemovals(ctx, ada, batch, revision, "")
		return err
	})
}

// decides answers the held removals of a batch.
func decides(what string, batch int, answer func(ctx context.Context, a *app.App, revision string) error) command {
	return command{name: fmt.Sprintf("%s the held members of batch %d", what, batch), run: func(ctx context.Context, a *app.App) error {
		held, err := a.HeldRemovals(ctx, ada, batch, api.ListOptions{})
		if err != nil {
			return err
		}
		return answer(ctx, a, held.Revision)
	}}
}

func publishes(version int, text string) command {
	return command{name: fmt.Sprintf("publish version %d", version), run: func(ctx context.Context, a *app.App) error {
		_, err := a.PublishRunbook(ctx, ada, "", []byte(text), api.PublishOptions{})
		var e *problem.Error
		if errors.As(err, &e) && len(e.Problems) > 0 {
			return fmt.Errorf("%w: %+v", err, e.Problems)
		}
		return err
	}}
}

func creates(people ...string) command {
	return command{name: "create a batch of " + strings.Join(people, ", "), run: func(ctx context.Context, a *app.App) error {
		_, err := a.CreateBatch(ctx, ada, runbookName, csv(people))
		return err
	}}
}

func adds(batch int, people ...string) command {
	return command{name: fmt.Sprintf("add %s to batch %d", strings.Join(people, ", "), batch), run: func(ctx context.Context, a *app.App) error {
		_, err := a.AddMembers(ctx, ada, batch, csv(people))
		return err
	}}
}

func csv(people []string) []byte { return []byte("Upn\n" + strings.Join(people, "\n") + "\n") }

// refused reports whether a command was answered although it was not carried out: the state
// does not allow it.
func refused(err error) bool {
	switch problem.CodeOf(err) {
	case api.CodeConflict, api.CodeNotFound, api.CodeInvalid:
		return true
	}
	return false
}

// theBatch is the number of the batch that a system begins with.
const theBatch = 7

// writeBatch stores a batch that follows a schedule, as its creation would.
func writeBatch(ctx context.Context, s store.Store, text string, people []string, start, now time.Time) error {
	rb, diagnostics := runbook.Parse([]byte(text))
	if rb == nil {
		return diagnostics.Err()
	}
	b := engine.NewBatch(theBatch, rb, 1, len(people), &start, "ada", now)
	writes := store.Writes{}
	first := 0
	if rb.HoldsMembers() {
		first = model.CheckPhase
	}
	for i, person := range people {
		writes = append(writes, store.Create(store.MemberKey(b.ID, i+1), model.Member{
			ID: i + 1, Page: model.PageOf(i + 1), Key: person, Status: model.MemberActive, OpenPhase: first, AddedAt: now,
			Data: map[string]json.RawMessage{"Upn": json.RawMessage(fmt.Sprintf("%q", person))},
		}))
	}
	if _, err := s.Apply(ctx, append(writes, store.Create(store.BatchKey(b.ID), b))); err != nil {
		return err
	}
	entry := store.BatchSummary{ID: b.ID, RunbookName: b.Runbook, Status: model.BatchDetected, Creating: true}
	_, err := s.Apply(ctx, store.Writes{store.Create(store.EntryKey(b.ID), entry)})
	return err
}
