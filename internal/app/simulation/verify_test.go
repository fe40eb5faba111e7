package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine/enginetest"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
)

// documents is everything that the store has of the batch.
type documents struct {
	batch   model.Batch
	members map[string]model.Member // by key
	runs    map[[2]int]model.Run    // by phase and member
	shards  map[[2]int]model.Shard  // by phase and page
}

func (w *world) read(ctx context.Context) (*documents, error) {
	d := &documents{members: map[string]model.Member{}, runs: map[[2]int]model.Run{}, shards: map[[2]int]model.Shard{}}
	items, err := w.store.Dump(ctx, store.BatchPartition(w.batch))
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		var err error
		switch i.Type {
		case "batch":
			err = json.Unmarshal(i.Doc, &d.batch)
		case "member":
			var m model.Member
			err = json.Unmarshal(i.Doc, &m)
			if _, twice := d.members[m.Key]; twice {
				w.problem("member %s is there twice", m.Key)
			}
			d.members[m.Key] = m
		case "run":
			var r model.Run
			err = json.Unmarshal(i.Doc, &r)
			d.runs[[2]int{r.Phase, r.Member}] = r
		case "shard":
			var s model.Shard
			err = json.Unmarshal(i.Doc, &s)
			d.shards[[2]int{s.Phase, s.Page}] = s
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", i.ID, err)
		}
	}
	return d, nil
}

// verify compares the stored documents with the oracle and with each other.
func (w *world) verify(ctx context.Context) {
	d, err := w.read(ctx)
	if err != nil {
		w.problem("reading what is stored: %v", err)
		return
	}
	w.decideSteps(d)
	want := w.worker.expected
	cancelled := d.batch.Status == model.BatchCancelled
	if cancelled && !w.stopped {
		w.problem("the batch is cancelled, and nobody asked for that")
	}
	counted := w.count(d)
	w.verifyCounts(d, counted)
	w.verifyBatchRuns(d, want)
	for _, p := range w.plan.everybody() {
		w.verifyMember(d, want, p)
	}
	if !cancelled {
		w.verifyStatus(d, want)
	}
	for _, p := range d.batch.Phases {
		if p.SecondApprover && p.Approved != nil && p.Approved.By == d.batch.CreatedBy {
			w.problem("phase %s was approved by the person who requested it", p.Name)
		}
	}
	w.verifyBroker(ctx)
	w.verifyList(ctx) // the ticks just now have listed what a process that died did not
}

// decidePhases tells the oracle which phases a new version of the runbook skipped.
func (w *world) decidePhases() {
	if w.versions == 1 {
		return
	}
	b, err := store.Read[model.Batch](context.Background(), w.store, store.BatchKey(w.batch))
	if err != nil {
		w.problem("%v", err)
		return
	}
	begun := map[string]bool{}
	for _, p := range b.Doc.Phases {
		begun[p.Name] = begun[p.Name] || p.DispatchedAt != nil
	}
	for _, p := range b.Doc.Phases {
		if p.Status == model.PhaseSkipped && !begun[p.Name] {
			w.plan.decided[p.Name] = skipped
		}
	}
	w.worker.expected = w.plan.outcome(w.batch, w.worker.rounds)
}

// decideSteps tells the oracle how those steps with a short deadline ended which no
// later job told of.
func (w *world) decideSteps(d *documents) {
	w.decidePhases()
	for again := true; again; {
		again = false
		for key, end := range w.worker.expected.members {
			for _, p := range w.begun(d) {
				run, ok := d.runs[[2]int{p.ID, d.members[key].ID}]
				want := end.runs[p.Name]
				if !ok || p.Kind != model.KindPhase || want == nil {
					continue
				}
				for i, s := range want.steps {
					if i >= len(run.Steps) {
						break
					}
					if status := run.Steps[i].Status; s.status == undecided && (status == model.StepSucceeded || status == model.StepFailed) {
						w.plan.decided[s.decision] = string(status)
						again = true
					}
				}
			}
		}
		if again {
			w.worker.expected = w.plan.outcome(w.batch, w.worker.rounds)
		}
	}
}

// begun are the executions that a new version of the runbook did not do away with. Those
// that init kept from beginning, when it failed, give way to the ones of a version that has
// an init of its own.
func (w *world) begun(d *documents) []model.Phase {
	newest := 0
	for _, p := range d.batch.Phases {
		if p.Kind == model.KindInit {
			newest = p.Version
		}
	}
	return slices.DeleteFunc(slices.Clone(d.batch.Phases), func(p model.Phase) bool {
		if w.versions == 1 || p.DispatchedAt != nil {
			return false
		}
		return p.Status == model.PhaseSuperseded || p.Status == model.PhaseSkipped || p.Status == model.PhaseCancelled && p.Version < newest
	})
}

// inits returns the expected end of each init execution. One without a begun job, because the
// batch was cancelled, ends like the one before it.
func (w *world) inits(d *documents, want *outcome) map[int]*runEnd {
	ends := map[int]*runEnd{}
	for _, p := range w.begun(d) {
		switch n := len(ends); {
		case p.Kind != model.KindInit:
		case n < len(want.inits):
			ends[p.ID] = want.inits[n]
		case d.batch.Cancelled != nil:
			ends[p.ID] = want.init
		default:
			w.problem("init was begun in %d executions, want %d", n+1, len(want.inits))
		}
	}
	return ends
}

// verifyStatus derives the statuses of the phases and of the batch from the runs.
func (w *world) verifyStatus(d *documents, want *outcome) {
	status, inits := model.BatchFailed, w.inits(d, want)
	for _, p := range w.begun(d) {
		wanted := model.PhaseFailed
		switch {
		case p.Kind == model.KindInit && inits[p.ID] != nil && inits[p.ID].status == "succeeded", p.Kind == model.KindRemoval:
			wanted = model.PhaseCompleted
		case p.Kind == model.KindPhase && want.init != nil && want.init.status == "failed":
			wanted = model.PhaseCancelled
		case p.Kind == model.KindPhase && p.Succeeded > 0 && (want.onCompletes[p.Name] == nil || want.onCompletes[p.Name].status == "succeeded"):
			wanted, status = model.PhaseCompleted, model.BatchCompleted
		}
		if p.Status != wanted {
			w.problem("phase %q is %s (%s), want %s", p.Name, p.Status, p.Reason, wanted)
		}
	}
	if d.batch.Status != status {
		w.problem("the batch is %s (%s), want %s", d.batch.Status, d.batch.Error, status)
	}
	if d.batch.Paused != nil || len(d.batch.Joining) > 0 {
		w.problem("the batch has ended, and is paused or waits for members: %+v", d.batch)
	}
}

// verifyBatchRuns is about init and on_complete.
func (w *world) verifyBatchRuns(d *documents, want *outcome) {
	inits := w.inits(d, want)
	for _, p := range w.begun(d) {
		run, ok := d.runs[[2]int{p.ID, 0}]
		wanted, what := inits[p.ID], "init"
		if p.Kind != model.KindInit {
			wanted, what = want.onCompletes[p.Name], "complete/"+p.Name
		}
		interrupted := d.batch.Cancelled != nil
		switch {
		case ok && wanted == nil:
			w.problem("%s: there is a run", what)
		case ok && interrupted:
			w.verifyCut(run, wanted, what)
		case ok:
			w.verifyRun(run, wanted, what)
			if !w.worker.through(what) {
				w.problem("%s: the worker did not get all jobs", what)
			}
		case p.Kind != model.KindRemoval && wanted != nil && !interrupted && (p.Kind == model.KindInit || p.Succeeded+p.Failed+p.Cancelled > 0):
			w.problem("%s: there is no run", what)
		}
	}
}

func (w *world) verifyMember(d *documents, want *outcome, p *person) {
	m, ok := d.members[p.key]
	if !ok {
		if !strings.HasPrefix(p.key, "late") {
			w.problem("%s is not stored", p.key)
		}
		return
	}
	w.verifyChecks(d, want, m)
	end := want.members[p.key]
	// A member without removal steps may stay marked as leaving if the batch ended first.
	initFailed := want.init != nil && want.init.status == "failed"
	_, checked := d.runs[[2]int{model.CheckPhase, m.ID}]
	removed := m.Status == model.MemberRemoved && !checked                                             // the last of the batch, before a lost message could ask for the checks
	inChecks := m.OpenPhase == model.CheckPhase && (d.batch.Cancelled != nil || initFailed || removed) // which had not begun
	if m.OpenPhase != 0 && !inChecks || len(m.Queue) != 0 || m.Leaving && m.Removal != 0 {
		w.problem("%s is still in phase %d, with %v to come; leaving: %v", p.key, m.OpenPhase, m.Queue, m.Leaving)
	}
	interrupted := m.Status == model.MemberRemoved || d.batch.Cancelled != nil
	if m.Status == model.MemberRemoved {
		w.verifyRemoval(d, want, m)
	}
	for _, phase := range w.begun(d) {
		if phase.Kind != model.KindPhase {
			continue
		}
		run, ok := d.runs[[2]int{phase.ID, m.ID}]
		what := fmt.Sprintf("%s in %s", p.key, phase.Name)
		switch wanted := end.runs[phase.Name]; {
		case wanted != nil && !ok && !interrupted:
			w.problem("%s: there is no run", what)
		case wanted != nil && ok && interrupted:
			w.verifyCut(run, wanted, what)
		case wanted != nil && ok:
			w.verifyRun(run, wanted, what)
		case ok:
			w.verifyRun(run, never(run), what)
		}
	}
	if interrupted {
		return
	}
	if q := want.sequences[p.key]; q != nil && !w.worker.through(p.key) {
		w.problem("%s: the worker got %d jobs of %d", p.key, w.worker.at[p.key], len(q.jobs))
	}
	failedCheck := initFailed && m.Status == model.MemberFailed && m.FailedIn == runbook.ChecksName && w.plan.keptOut(want.checks[p.key])
	if string(m.Status) != end.status && !failedCheck {
		w.problem("%s is %s (%s), want %s", p.key, m.Status, m.Error, end.status)
	}
	data := map[string]any{}
	for variable, raw := range m.WorkerData {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			w.problem("%s: %s: %v", p.key, variable, err)
		}
		data[variable] = v
	}
	if len(data)+len(end.data) > 0 && !reflect.DeepEqual(data, end.data) {
		w.problem("%s has the outputs %v, want %v", p.key, data, end.data)
	}
}

// verifyRemoval: the removal steps of a member were all run.
func (w *world) verifyRemoval(d *documents, want *outcome, m model.Member) {
	wanted, found := want.removals[m.Key], false
	for _, p := range d.batch.Phases {
		run, ok := d.runs[[2]int{p.ID, m.ID}]
		if p.Kind != model.KindRemoval || !ok {
			continue
		}
		if found || wanted == nil {
			w.problem("%s was removed; there are more runs of the removal steps than there must be", m.Key)
			return
		}
		found = true
		w.verifyRun(run, wanted, m.Key+" on its removal")
		if !w.worker.through(m.Key + "/removal") {
			w.problem("%s: the worker did not get all jobs of the removal", m.Key)
		}
	}
	if wanted != nil && !found {
		w.problem("%s was removed, and there is no run of the removal steps", m.Key)
	}
}

// never is a run that ended before its first step was dispatched.
func never(run model.Run) *runEnd {
	end := &runEnd{status: "cancelled"}
	for range run.Steps {
		end.steps = append(end.steps, stepEnd{status: "cancelled"})
	}
	return end
}

func (w *world) verifyRun(run model.Run, want *runEnd, what string) {
	if string(run.Status) != want.status {
		w.problem("%s: the run is %s (%s), want %s", what, run.Status, run.Error, want.status)
	}
	w.verifyOver(run, what)
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
		if end.decision != "" {
			w.verifyTries(s, end, fmt.Sprintf("%s: step %d", what, i))
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

// verifyTries: a step with a short deadline failed for what became of jobs that were
// begun, and not for those that its worker did not take. Only two things may have failed one
// of those: its worker was gone; or the result after which it was to be sent was put back, and
// other processes judged its deadline. The step has a record of each.
func (w *world) verifyTries(s model.Step, end stepEnd, what string) {
	allowed := end.allowed
	tries := w.worker.tries[end.decision]
	failed := len(tries)
	for _, a := range s.Abandoned {
		job := message.Job{JobID: a.JobID, BatchID: w.batch}
		sent := w.broker.sent[job.ID()]
		unsent := w.broker.requeued && (sent == nil || !sent.at.Before(a.Until))
		if (w.worker.absent || unsent) && !tries[job.ID()] {
			failed++
		}
	}
	if s.Status != model.StepFailed || failed >= allowed {
		return
	}
	w.problem("%s: failed after %d of %d tries were begun: %s", what, len(tries), allowed, s.Error)
}

// verifyCut verifies a run that may have been cut short: its steps are a prefix of
// the oracle's.
func (w *world) verifyCut(run model.Run, want *runEnd, what string) {
	if run.Status != model.RunCancelled {
		if w.retries == 0 { // or it may have been cut short in a round that the worker never saw
			w.verifyRun(run, want, what)
		}
		return
	}
	w.verifyOver(run, what)
	over := false
	for i, s := range run.Steps {
		switch {
		case s.Status == model.StepCancelled:
			over = true
		case over && s.Rollback == "":
			w.problem("%s: step %d is %s, after one that was cancelled", what, i, s.Status)
		case i < len(want.steps) && s.Status == model.StepSucceeded && want.steps[i].status == "succeeded" && string(s.Result) != want.steps[i].result && w.retries == 0:
			w.problem("%s: step %d has the result %s, want %s", what, i, s.Result, want.steps[i].result)
		}
	}
}

// verifyOver: a run that has ended waits for nothing.
func (w *world) verifyOver(run model.Run, what string) {
	for _, problem := range enginetest.Unfinished(&run) {
		w.problem("%s: %s", what, problem)
	}
}

// count counts the members' runs again, by phase and page. All must have ended.
func (w *world) count(d *documents) map[[2]int]model.Shard {
	counted := map[[2]int]model.Shard{}
	for at, s := range enginetest.CountRuns(func(yield func(*model.Run) bool) {
		for _, run := range d.runs {
			if run.Kind != model.KindCheck && !yield(&run) {
				return
			}
		}
	}) {
		if s.Open > 0 {
			w.problem("on page %d of execution %d %d runs have not ended", at.Page, at.Phase, s.Open)
		}
		counted[[2]int{at.Phase, at.Page}] = s
	}
	return counted
}

func (w *world) verifyCounts(d *documents, counted map[[2]int]model.Shard) {
	for _, p := range w.begun(d) {
		var sum model.Phase
		if p.Kind == model.KindInit {
			continue
		}
		for _, at := range slices.SortedFunc(maps.Keys(counted), func(a, b [2]int) int { return a[1] - b[1] }) {
			if s := counted[at]; at[0] == p.ID {
				sum.Succeeded += s.Succeeded
				sum.Failed += s.Failed
				sum.Cancelled += s.Cancelled
				sum.Open += s.Open
				if got := d.shards[at]; p.Kind == model.KindPhase && !same(got, s) {
					w.problem("shard of page %d in phase %q: %+v, counted %+v", at[1], p.Name, got, s)
				}
			}
		}
		if p.Succeeded != sum.Succeeded || p.Failed != sum.Failed || p.Cancelled != sum.Cancelled || p.Open != sum.Open {
			w.problem("phase %q says %+v, counted %+v", p.Name, p, sum)
		}
		if p.Kind != model.KindPhase || d.batch.Cancelled != nil || p.Status == model.PhaseCancelled {
			continue
		}
		if pages := d.batch.PageCount(); !p.FannedOut || p.Shards != pages || p.ShardsClosed != pages {
			w.problem("phase %q says %+v, the batch has %d pages", p.Name, p, pages)
		}
	}
	for at, s := range d.shards {
		want, ok := counted[at]
		if !ok { // nobody was left on the page
			want = model.Shard{Phase: at[0], Page: at[1], Reported: true}
		}
		if !same(s, want) {
			w.problem("shard %v is %+v, counted %+v", at, s, want)
		}
	}
}

// same tells whether two shards count the same, and have reported it or not.
func same(a, b model.Shard) bool { return enginetest.SameCount(a, b) && a.Reported == b.Reported }

// verifyList compares the batch with its line in the list of batches.
func (w *world) verifyList(ctx context.Context) {
	view, err := w.app.Batch(ctx, ada, w.batch)
	if err != nil {
		w.problem("%v", err)
		return
	}
	page, err := w.app.Batches(ctx, api.ListOptions{})
	if err != nil {
		w.problem("%v", err)
		return
	}
	view.ETag, view.Checks, view.Actions = "", nil, nil // which no list has
	if len(page.Items) != 1 || !reflect.DeepEqual(page.Items[0], view) {
		w.problem("the list of batches has %+v, the batch is %+v", page.Items, view)
	}
}

// verifyBroker sees to it that nothing is left over, and that two more ticks find
// nothing to do.
func (w *world) verifyBroker(ctx context.Context) {
	w.verifyUnprocessable(ctx)
	before := w.broker.accepted
	for range 2 {
		w.advance(3 * model.TickInterval)
		if err := w.app.Tick(ctx); err != nil {
			w.problem("a tick after the end: %v", err)
		}
	}
	if w.broker.accepted != before || len(w.broker.messages) > 0 {
		w.problem("after the end the tick still sent %d messages", w.broker.accepted-before)
	}
	if !w.repeated && len(w.plan.acts) == 0 {
		for id, n := range w.broker.sent {
			if n.times != 1 {
				w.problem("nothing was delivered twice, and job %s was sent %d times", id, n.times)
			}
		}
	}
}

// verifyUnprocessable: no message was kept as one that cannot be processed, but the entries of
// groups that cannot be read, each once.
func (w *world) verifyUnprocessable(ctx context.Context) {
	messages, err := storetest.All[store.Unprocessable](ctx, w.store, store.PartitionUnprocessable, "unprocessed")
	if err != nil {
		w.problem("%v", err)
	}
	for _, u := range messages {
		first, _, _ := strings.Cut(u.Doc.MessageID, message.RequeueMark) // after an outage it comes alone
		if n, odd := w.worker.groups.odd[first]; odd {
			w.worker.groups.odd[first] = n + 1
			continue
		}
		w.problem("message %s was kept as one that cannot be processed: %s", u.Doc.MessageID, u.Doc.Reason)
	}
	for id, n := range w.worker.groups.odd {
		if n != 1 {
			w.problem("the entry %s cannot be read; it was kept %d times", id, n)
		}
	}
}
