package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/store"
)

// documents is everything that the store has of the batch.
type documents struct {
	batch   engine.Batch
	members map[int]engine.Member
	runs    map[[2]int]engine.Run // by phase and member
	shards  map[[2]int]engine.Shard
	raw     map[string]string // by id, to see whether anything changed
}

func (w *world) read(ctx context.Context) (*documents, error) {
	d := &documents{members: map[int]engine.Member{}, runs: map[[2]int]engine.Run{}, shards: map[[2]int]engine.Shard{}, raw: map[string]string{}}
	items, err := store.All[json.RawMessage](ctx, w.store, store.BatchPartition(w.batch), "SELECT * FROM c ORDER BY c.id")
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		d.raw[i.ID] = string(i.Doc)
		var err error
		switch i.Type {
		case "batch":
			err = json.Unmarshal(i.Doc, &d.batch)
		case "member":
			var m engine.Member
			err = json.Unmarshal(i.Doc, &m)
			d.members[m.ID] = m
		case "run":
			var r engine.Run
			err = json.Unmarshal(i.Doc, &r)
			d.runs[[2]int{r.Phase, r.Member}] = r
		case "shard":
			var s engine.Shard
			err = json.Unmarshal(i.Doc, &s)
			d.shards[[2]int{s.Phase, s.Page}] = s
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", i.ID, err)
		}
	}
	return d, nil
}

// verify holds what is stored against the oracle and against itself.
func (w *world) verify(ctx context.Context) {
	d, err := w.read(ctx)
	if err != nil {
		w.problem("reading what is stored: %v", err)
		return
	}
	want := w.worker.expected
	if string(d.batch.Status) != want.status {
		w.problem("the batch is %s (%s), want %s", d.batch.Status, d.batch.Error, want.status)
	}
	for _, missing := range w.worker.finished() {
		w.problem("the worker never got the next job of %s", missing)
	}
	w.verifyPhases(d, want)
	w.verifyMembers(d, want)
	w.verifyCounts(d)
	w.verifyBroker(ctx)
	w.verifyList(ctx) // the ticks just now have put right what two writers had in the wrong order
}

func (w *world) verifyPhases(d *documents, want *outcome) {
	for _, p := range d.batch.Phases {
		if p.Kind == engine.KindInit {
			w.verifyRun(d.runs[[2]int{p.ID, 0}], want.init, "init")
			if string(p.Status) != map[string]string{"succeeded": "completed", "failed": "failed"}[want.init.status] {
				w.problem("init is %s, its run must be %s", p.Status, want.init.status)
			}
			continue
		}
		end := want.phases[p.Name]
		if string(p.Status) != end.status || p.Succeeded != end.succeeded || p.Failed != end.failed {
			w.problem("phase %q: %s with %d succeeded and %d failed, want %+v", p.Name, p.Status, p.Succeeded, p.Failed, end)
		}
	}
}

func (w *world) verifyMembers(d *documents, want *outcome) {
	if len(d.members) != len(w.plan.members) {
		w.problem("%d members are stored, of %d", len(d.members), len(w.plan.members))
	}
	for _, p := range w.plan.members {
		m, end := d.members[p.id], want.members[p.id]
		who := fmt.Sprintf("member %d", p.id)
		if string(m.Status) != end.status {
			w.problem("%s is %s (%s), want %s", who, m.Status, m.Error, end.status)
		}
		if m.OpenPhase != 0 || len(m.Queue) != 0 {
			w.problem("%s is still in phase %d, with %v to come", who, m.OpenPhase, m.Queue)
		}
		data := map[string]any{}
		for variable, raw := range m.WorkerData {
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				w.problem("%s: %s: %v", who, variable, err)
			}
			data[variable] = v
		}
		if len(data)+len(end.data) > 0 && !reflect.DeepEqual(data, end.data) {
			w.problem("%s has the outputs %v, want %v", who, data, end.data)
		}
		for _, phase := range d.batch.Phases {
			if phase.Kind != engine.KindPhase {
				continue
			}
			run, ok := d.runs[[2]int{phase.ID, p.id}]
			what := fmt.Sprintf("%s in %s", who, phase.Name)
			switch wanted := end.runs[phase.Name]; {
			case wanted != nil && !ok:
				w.problem("%s: there is no run", what)
			case wanted != nil:
				w.verifyRun(run, wanted, what)
			case ok:
				w.verifyRun(run, never(run), what)
			}
		}
	}
}

// never is a run that ended before its first step was dispatched.
func never(run engine.Run) *runEnd {
	end := &runEnd{status: "cancelled"}
	for range run.Steps {
		end.steps = append(end.steps, stepEnd{status: "cancelled"})
	}
	return end
}

func (w *world) verifyRun(run engine.Run, want *runEnd, what string) {
	if string(run.Status) != want.status {
		w.problem("%s: the run is %s (%s), want %s", what, run.Status, run.Error, want.status)
	}
	if run.WakeAt != nil || run.DeadlineAt != nil || run.HeldAt != nil {
		w.problem("%s: the run has ended and still waits: %v %v %v", what, run.WakeAt, run.DeadlineAt, run.HeldAt)
	}
	if len(run.Steps) != len(want.steps) {
		w.problem("%s: the run has %d steps, want %d", what, len(run.Steps), len(want.steps))
		return
	}
	for i, s := range run.Steps {
		end := want.steps[i]
		if string(s.Status) != end.status {
			w.problem("%s: step %d is %s (%s), want %s", what, i, s.Status, s.Error, end.status)
			continue
		}
		if s.RetryCount != end.retries || end.polls >= 0 && s.PollCount != end.polls {
			w.problem("%s: step %d has %d retries and %d polls, want %d and %d", what, i, s.RetryCount, s.PollCount, end.retries, end.polls)
		}
		if end.status == "succeeded" && string(s.Result) != end.result {
			w.problem("%s: step %d has the result %s, want %s", what, i, s.Result, end.result)
		}
	}
}

// verifyCounts counts the runs again.
func (w *world) verifyCounts(d *documents) {
	counted := map[[2]int]engine.Shard{}
	for _, key := range slices.SortedFunc(maps.Keys(d.runs), func(a, b [2]int) int { return a[0]*1000 + a[1] - b[0]*1000 - b[1] }) {
		run := d.runs[key]
		if run.Member == 0 {
			continue
		}
		at := [2]int{run.Phase, run.Page}
		s := counted[at]
		s.Phase, s.Page, s.Reported = run.Phase, run.Page, true
		s.Runs++
		switch run.Status {
		case engine.RunSucceeded:
			s.Succeeded++
		case engine.RunFailed:
			s.Failed++
		case engine.RunCancelled:
			s.Cancelled++
		default:
			w.problem("the run of member %d in execution %d is %s", run.Member, run.Phase, run.Status)
			s.Open++
		}
		counted[at] = s
	}
	for _, p := range d.batch.Phases {
		if p.Kind != engine.KindPhase || p.Status == engine.PhasePending {
			continue
		}
		var sum engine.Phase
		for page := 1; page <= engine.PageOf(len(w.plan.members)); page++ {
			at := [2]int{p.ID, page}
			want, ok := counted[at]
			if !ok { // nobody was left on the page
				want = engine.Shard{Phase: p.ID, Page: page, Reported: true}
			}
			if got := d.shards[at]; got != want {
				w.problem("shard of page %d in phase %q: %+v, counted %+v", page, p.Name, got, want)
			}
			sum.Succeeded += want.Succeeded
			sum.Failed += want.Failed
			sum.Cancelled += want.Cancelled
			sum.Shards++
		}
		if !p.Walked || p.Shards != sum.Shards || p.ShardsClosed != sum.Shards ||
			p.Succeeded != sum.Succeeded || p.Failed != sum.Failed || p.Cancelled != sum.Cancelled {
			w.problem("phase %q says %+v, counted %+v", p.Name, p, sum)
		}
	}
}

// verifyList compares the batch with its line in the list of batches.
func (w *world) verifyList(ctx context.Context) {
	view, err := w.app.Batch(ctx, w.batch)
	if err != nil {
		w.problem("%v", err)
		return
	}
	page, err := w.app.Batches(ctx, app.ListOptions{})
	if err != nil {
		w.problem("%v", err)
		return
	}
	if len(page.Items) != 1 || !reflect.DeepEqual(page.Items[0], view) {
		w.problem("the list of batches has %+v, the batch is %+v", page.Items, view)
	}
}

// verifyBroker sees to it that nothing is left over, and that two more ticks find
// nothing to do.
func (w *world) verifyBroker(ctx context.Context) {
	kept, err := store.All[app.Unprocessed](ctx, w.store, store.PartitionUnprocessed, "SELECT * FROM c")
	if err != nil {
		w.problem("%v", err)
	}
	for _, u := range kept {
		w.problem("message %s was kept as one that cannot be processed: %s", u.Doc.MessageID, u.Doc.Reason)
	}
	before := w.broker.accepted
	for range 2 {
		w.advance(3 * app.TickInterval)
		if err := w.app.Tick(ctx); err != nil {
			w.problem("a tick after the end: %v", err)
		}
	}
	if w.broker.accepted != before || len(w.broker.messages) > 0 {
		w.problem("after the end the tick still sent %d messages", w.broker.accepted-before)
	}
	if w.plan.chaos.calm {
		for id, n := range w.worker.executed {
			if n != 1 {
				w.problem("without a fault job %s was done %d times", id, n)
			}
		}
	}
}
