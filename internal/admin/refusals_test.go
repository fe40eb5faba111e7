package admin_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/admin"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	busmemory "github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/workers"
)

const twoPhases = `
name: move
data_source: {type: csv, primary_key: upn}
phases:
  - name: create
    offset: T-1d
    steps:
      - {name: new, worker_id: w1, function: New, output_params: {UserId: id}}
  - name: cut-over
    offset: T-0
    approval: required
    steps:
      - {name: move, worker_id: w1, function: Move}
`

var (
	ada  = audit.Caller{Name: "ada"}
	dawn = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
)

// world is an Admin over the drivers in memory, with batch 1 of two members: the first phase is
// dispatched, and step new of member 1 has a job.
type world struct {
	admin  *admin.Admin
	store  *memory.Store
	broker *busmemory.Broker
}

// documents is the initial state, which a test changes before storing it.
type documents struct {
	batch   model.Batch
	members []model.Member
	run     model.Run // of member 1 in the first phase
}

// newStepID is the execution id of step new of member 1.
const newStepID = 1_0000001_000

func newWorld(t *testing.T, change func(*documents)) *world {
	t.Helper()
	now := func() time.Time { return dawn }
	s := memory.New(memory.Config{})
	broker, err := busmemory.New(busmemory.Config{Now: now, Topics: busmemory.Deployment("w1")})
	if err != nil {
		t.Fatal(err)
	}
	storeBatch(t, s, change)
	return &world{admin: newAdmin(s, broker.Client(nil), now), store: s, broker: broker}
}

// storeBatch stores the runbook and batch 1.
func storeBatch(t *testing.T, s store.Store, change func(*documents)) {
	t.Helper()
	rb, diagnostics := runbook.Parse([]byte(twoPhases))
	if rb == nil {
		t.Fatal(diagnostics.Err())
	}
	d := &documents{batch: engine.NewBatch(1, rb, 1, 2, nil, "ada", dawn)}
	d.batch.Status, d.batch.CurrentPhase = model.BatchActive, "create"
	first := &d.batch.Phases[0]
	first.Status, first.DispatchedAt, first.FannedOut, first.Shards = model.PhaseDispatched, &dawn, true, 1
	for id := 1; id <= 2; id++ {
		d.members = append(d.members, model.Member{ID: id, Page: 1, Key: fmt.Sprintf("u%d@contoso.com", id), Status: model.MemberActive, OpenPhase: 1, AddedAt: dawn})
	}
	var err error
	if d.run, err = runstate.New(&d.batch, *first, &d.members[0], rb, dawn); err != nil {
		t.Fatal(err)
	}
	step := &d.run.Steps[0]
	d.run.Status, step.Status, step.Job, step.DispatchedAt, step.Attempts = model.RunRunning, model.StepDispatched, "attempt-1", &dawn, 1
	if change != nil {
		change(d)
	}
	version := store.RunbookVersion{Name: "move", Version: 1, YAML: twoPhases}
	head := store.RunbookHead{Name: "move", Latest: 1, Active: 1}
	for _, writes := range []store.Writes{
		{store.Create(store.VersionKey("move", 1), version), store.Create(store.RunbookKey("move"), head)},
		{
			store.Create(store.BatchKey(1), d.batch), store.Create(store.MemberKey(1, 1), d.members[0]), store.Create(store.MemberKey(1, 2), d.members[1]),
			store.Create(store.RunKey(1, 1, 1), d.run), store.Create(store.ShardKey(1, 1, 1), model.Shard{Phase: 1, Page: 1, Runs: 1, Open: 1}),
		},
	} {
		if _, err := s.Apply(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
	}
}

func newAdmin(s store.Store, sender bus.Sender, now func() time.Time) *admin.Admin {
	ids := 0
	newID := func() string { ids++; return fmt.Sprintf("%016d", ids) }
	log := slog.New(slog.DiscardHandler)
	records := audit.New(audit.Config{Store: s, Now: now, NewID: newID})
	known := workers.New(workers.Config{Store: s, Now: now, Log: log})
	reader := runbookstore.New(runbookstore.Config{Store: s, Now: now, Log: log, Functions: known.Functions})
	sealer := sealing.New(sealing.Config{Store: s, Runbooks: reader})
	apply := applier.New(applier.Config{Store: s, Bus: sender, Now: now, Log: log, Audit: records, Runbooks: reader, Sealer: sealer})
	members := membership.New(membership.Config{
		Store: s, Bus: sender, Now: now, NewID: newID, Log: log, Applier: apply, Audit: records, Runbooks: reader, Sealer: sealer,
		Idempotency: idempotency.New(idempotency.Config{Store: s, Sealer: sealer}),
	})
	return admin.New(admin.Config{
		Store: s, Bus: sender, Now: now, NewID: newID, Log: log, Applier: apply, Audit: records, Runbooks: reader, Sealer: sealer, Workers: known, Members: members,
	})
}

// TestRefusals pins which requests of an administrator are refused in which state, with the code and
// the reason. A refused request writes nothing and sends nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	ended := func(d *documents) { d.batch.Status = model.BatchCompleted }
	cancelling := func(d *documents) {
		d.batch.Status, d.batch.Cancelled = model.BatchCancelling, &model.Attribution{By: "grace"}
	}
	paused := func(d *documents) { d.batch.Paused = &model.Attribution{By: "grace"} }
	scheduled := func(d *documents) { d.batch.Manual = false }
	createEnded := func(d *documents) { d.batch.Phases[0].Status, d.batch.Phases[0].Succeeded = model.PhaseCompleted, 2 }
	failed := func(d *documents) { d.members[1].Status, d.members[1].FailedIn = model.MemberFailed, "create" }
	stepDone := func(d *documents) { d.run.Steps[0].Status, d.run.Status = model.StepSucceeded, model.RunSucceeded }
	advance := func(phase string, tags ...string) func(*testing.T, *admin.Admin) error {
		return func(t *testing.T, a *admin.Admin) error {
			_, err := a.Advance(t.Context(), ada, 1, phase, tags...)
			return err
		}
	}
	on := func(batch int, command func(*admin.Admin, *testing.T, int) error) func(*testing.T, *admin.Admin) error {
		return func(t *testing.T, a *admin.Admin) error { return command(a, t, batch) }
	}
	pause := func(a *admin.Admin, t *testing.T, batch int) error {
		_, err := a.Pause(t.Context(), ada, batch, "")
		return err
	}
	resume := func(a *admin.Admin, t *testing.T, batch int) error {
		_, err := a.Resume(t.Context(), ada, batch, "")
		return err
	}
	cancel := func(a *admin.Admin, t *testing.T, batch int) error {
		_, err := a.Cancel(t.Context(), ada, batch, "")
		return err
	}
	approve := func(phase string) func(*testing.T, *admin.Admin) error {
		return func(t *testing.T, a *admin.Admin) error {
			_, err := a.Approve(t.Context(), ada, 1, phase, "")
			return err
		}
	}
	retry := func(which api.Selection) func(*testing.T, *admin.Admin) error {
		return func(t *testing.T, a *admin.Admin) error {
			_, err := a.Repair(t.Context(), ada, 1, api.Repair{Selection: which})
			return err
		}
	}
	skip := func(step int64) func(*testing.T, *admin.Admin) error {
		return func(t *testing.T, a *admin.Admin) error {
			_, err := a.SkipStep(t.Context(), ada, 1, step, "")
			return err
		}
	}
	done := func(result string) func(*testing.T, *admin.Admin) error {
		return func(t *testing.T, a *admin.Admin) error {
			_, err := a.MarkStepDone(t.Context(), ada, 1, newStepID, json.RawMessage(result), "")
			return err
		}
	}
	audits := func(f api.AuditFilter) func(*testing.T, *admin.Admin) error {
		return func(t *testing.T, a *admin.Admin) error {
			_, err := a.BatchAudit(t.Context(), 1, f, api.ListOptions{})
			return err
		}
	}
	for name, tt := range map[string]struct {
		state func(*documents)
		do    func(*testing.T, *admin.Admin) error
		code  api.Code
		says  string
		mends bool // sends the message that looks after a resolved step, which is harmless
	}{
		"pause: no batch":    {do: on(9, pause), code: api.CodeNotFound, says: "there is no batch 9"},
		"pause: ended":       {state: ended, do: on(1, pause), code: api.CodeConflict, says: "has ended (completed)"},
		"pause: cancelling":  {state: cancelling, do: on(1, pause), code: api.CodeConflict, says: "is being cancelled"},
		"resume: ended":      {state: ended, do: on(1, resume), code: api.CodeConflict, says: "has ended"},
		"resume: cancelling": {state: cancelling, do: on(1, resume), code: api.CodeConflict, says: "is being cancelled"},
		"cancel: ended":      {state: ended, do: on(1, cancel), code: api.CodeConflict, says: "has ended"},
		"cancel: a reason too long": {do: func(t *testing.T, a *admin.Admin) error {
			_, err := a.Cancel(t.Context(), ada, 1, strings.Repeat("x", api.MaxReason+1))
			return err
		}, code: api.CodeInvalid, says: "the reason has"},
		"advance: no batch": {do: func(t *testing.T, a *admin.Admin) error {
			_, err := a.Advance(t.Context(), ada, 9, "create")
			return err
		}, code: api.CodeNotFound, says: "there is no batch 9"},
		"advance: scheduled":         {state: scheduled, do: advance("cut-over"), code: api.CodeConflict, says: "follows its schedule"},
		"advance: still in a phase":  {do: advance("cut-over"), code: api.CodeConflict, says: `still in phase "create"`},
		"advance: not the next":      {state: createEnded, do: advance("verify"), code: api.CodeConflict, says: `the next phase is "cut-over"`},
		"advance: at a gate":         {state: createEnded, do: advance("cut-over"), code: api.CodeConflict, says: "approval"},
		"advance: paused":            {state: func(d *documents) { createEnded(d); paused(d) }, do: advance("cut-over"), code: api.CodeConflict, says: "paused by grace"},
		"advance: ended":             {state: func(d *documents) { createEnded(d); ended(d) }, do: advance("cut-over"), code: api.CodeConflict, says: "has ended"},
		"advance: the batch changed": {state: func(d *documents) { createEnded(d); d.batch.Phases[1].Approved = &model.Attribution{By: "grace"} }, do: advance("cut-over", `"old"`), code: api.CodeChanged, says: "has changed"},
		"approve: no such phase":     {do: approve("verify"), code: api.CodeNotFound, says: `no phase "verify"`},
		"approve: begun":             {do: approve("create"), code: api.CodeConflict, says: "nothing to approve"},
		"approve: no gate": {
			state: func(d *documents) { d.batch.Phases[1].Approval = false }, do: approve("cut-over"), code: api.CodeConflict, says: "has no gate",
		},
		"retry: nothing failed":         {do: retry(api.Selection{}), code: api.CodeConflict, says: "there is nothing to retry"},
		"retry: no member":              {do: retry(api.Selection{Members: []int{9}}), code: api.CodeNotFound, says: "has no member 9"},
		"retry: the member is active":   {state: failed, do: retry(api.Selection{Members: []int{1}}), code: api.CodeConflict, says: "has not failed: it is active"},
		"retry: none in the phase":      {state: failed, do: retry(api.Selection{Phase: "cut-over"}), code: api.CodeConflict, says: "there is nothing to retry"},
		"retry: cancelling":             {state: func(d *documents) { failed(d); cancelling(d) }, do: retry(api.Selection{}), code: api.CodeConflict, says: "batch 1 is cancelling"},
		"skip: no such id":              {do: skip(-1), code: api.CodeNotFound, says: "has no step -1"},
		"skip: no such step":            {do: skip(newStepID + 1), code: api.CodeNotFound, says: "has no step", mends: true},
		"skip: no such run":             {do: skip(2_0000001_000), code: api.CodeNotFound, says: "has no step", mends: true},
		"skip: the step has ended":      {state: stepDone, do: skip(newStepID), code: api.CodeConflict, says: "only a step that has not ended", mends: true},
		"done: not JSON":                {do: done(`{"id":`), code: api.CodeInvalid, says: "the result is not JSON"},
		"done: an output is missing":    {do: done(`{"name":"x"}`), code: api.CodeConflict, says: "cannot be marked done", mends: true},
		"done: not complete":            {do: done(`{"complete":false,"id":"7"}`), code: api.CodeConflict, says: `"complete": false`, mends: true},
		"done: no result":               {do: done(""), code: api.CodeConflict, says: "cannot be marked done", mends: true},
		"audit: unknown action":         {do: audits(api.AuditFilter{Action: "destroy"}), code: api.CodeInvalid, says: `"destroy"`},
		"audit: ends before it begins":  {do: audits(api.AuditFilter{From: dawn, To: dawn.Add(-time.Hour)}), code: api.CodeInvalid, says: "2026-03-01T08:00:00Z"},
		"audit: ends as it begins":      {do: audits(api.AuditFilter{From: dawn, To: dawn}), code: api.CodeInvalid, says: "2026-03-01T08:00:00Z"},
		"audit: a year that has no day": {do: audits(api.AuditFilter{From: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}), code: api.CodeInvalid, says: "12000"},
		"steps: no such phase": {
			do: func(t *testing.T, a *admin.Admin) error {
				_, err := a.Steps(t.Context(), ada, 1, api.ListOptions{Phase: "verify"})
				return err
			}, code: api.CodeInvalid, says: "it has create, cut-over",
		},
		"batches: no such order": {
			do: func(t *testing.T, a *admin.Admin) error {
				_, err := a.Batches(t.Context(), api.ListOptions{Sort: "colour"})
				return err
			}, code: api.CodeInvalid, says: `"colour"`,
		},
		"runbook audit: no such runbook": {
			do: func(t *testing.T, a *admin.Admin) error {
				_, err := a.RunbookAudit(t.Context(), "none", api.AuditFilter{}, api.ListOptions{})
				return err
			}, code: api.CodeNotFound, says: `"none"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.state)
			versions := w.store.Versions()
			err := tt.do(t, w.admin)
			if err == nil {
				t.Fatal("not refused")
			}
			e := problem.Explain(err)
			if e.Code != tt.code || !strings.Contains(e.Message, tt.says) {
				t.Errorf("refused with %q: %v; want %q with %q", e.Code, e, tt.code, tt.says)
			}
			if written := w.store.Versions() - versions; written != 0 {
				t.Errorf("the refused request wrote %d documents", written)
			}
			sent, err := w.broker.Messages(message.TopicOrchestratorEvents, message.SubscriptionOrchestrator)
			if err != nil || len(sent) > 0 && !tt.mends || len(sent) > 1 {
				t.Errorf("the refused request sent %d messages (%v)", len(sent), err)
			}
		})
	}
}

// TestRefusedAdvanceNamesThePhases checks what a caller needs for the next try.
func TestRefusedAdvanceNamesThePhases(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.admin.Advance(t.Context(), ada, 1, "cut-over")
	if e := problem.Explain(err); e.CurrentPhase != "create" || e.NextPhase != "cut-over" {
		t.Errorf("current phase %q, next phase %q", e.CurrentPhase, e.NextPhase)
	}
}

// TestRepeatedCommandsAreNotRefused checks that a command whose effect the batch has already answers
// as the first time and changes nothing.
func TestRepeatedCommandsAreNotRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		state func(*documents)
		do    func(*testing.T, *admin.Admin) error
	}{
		"pause a paused batch": {
			func(d *documents) { d.batch.Paused = &model.Attribution{By: "ada"} },
			func(t *testing.T, a *admin.Admin) error { _, err := a.Pause(t.Context(), ada, 1, ""); return err },
		},
		"resume a running batch": {nil, func(t *testing.T, a *admin.Admin) error { _, err := a.Resume(t.Context(), ada, 1, ""); return err }},
		"cancel a batch that is being cancelled": {
			func(d *documents) {
				d.batch.Status, d.batch.Cancelled = model.BatchCancelling, &model.Attribution{By: "ada"}
			},
			func(t *testing.T, a *admin.Admin) error { _, err := a.Cancel(t.Context(), ada, 1, ""); return err },
		},
		"advance to the phase that runs": {nil, func(t *testing.T, a *admin.Admin) error {
			_, err := a.Advance(t.Context(), ada, 1, "create")
			return err
		}},
		"approve an approved phase": {
			func(d *documents) { d.batch.Phases[1].Approved = &model.Attribution{By: "ada"} },
			func(t *testing.T, a *admin.Admin) error {
				_, err := a.Approve(t.Context(), ada, 1, "CUT-OVER", "")
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.state)
			before, err := store.Read[model.Batch](t.Context(), w.store, store.BatchKey(1))
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.do(t, w.admin); err != nil {
				t.Fatal(err)
			}
			after, err := store.Read[model.Batch](t.Context(), w.store, store.BatchKey(1))
			if err != nil || after.ETag != before.ETag {
				t.Errorf("the batch was written (%v)", err)
			}
		})
	}
}
