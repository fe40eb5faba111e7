package explore

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/matoolkit/matoolkit/internal/engine/enginetest"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// checkBegin checks the beginning of a job.
func (w *world) checkBegin(e execution, late bool) {
	name := w.jobName(e.job.BatchID, e.job.CorrelationData.StepExecutionID, e.job.JobID)
	for _, other := range w.running {
		if other.owner == e.owner && other.job.BatchID == e.job.BatchID && !w.mayOverlap(other.job, e.job) {
			w.problem("job %s begins while job %s has not ended", name, w.jobName(other.job.BatchID, other.job.CorrelationData.StepExecutionID, other.job.JobID))
		}
	}
	if !w.checkWaits(e.job, "begins") {
		return
	}
	run, index, _ := w.run(e.job.BatchID, e.job.CorrelationData.StepExecutionID)
	w.checkOnce(run.Key, e.job)
	if s := run.Steps[index]; run.AwaitsJob(index, e.job.IDInBatch()) && w.clock.Before(s.VisibleAt()) {
		w.problem("job %s begins before its time", name)
	}
	if w.paused[e.job.BatchID] && !late && w.isPaused(e.job.BatchID) {
		w.problem("job %s begins after the pause of its batch was confirmed", name)
	}
	if w.stopped[e.job.BatchID] && !late && !enginetest.Undoes(&run, index) {
		w.problem("job %s begins after the cancellation of its batch was confirmed", name)
	}
	allowed := 1 + w.runbook.EffectiveRetry(w.definition(&run, index)).MaxRetries + run.Steps[index].PollCount + w.system.budget.deaths
	if n := w.begun[e.job.EffectID]; n >= allowed {
		w.problem("job %s is execution %d of its effect; at most %d are allowed", name, n+1, allowed)
	}
}

// checkWaits checks that the step of a job waits for the job's result.
func (w *world) checkWaits(j message.Job, what string) bool {
	run, index, ok := w.run(j.BatchID, j.CorrelationData.StepExecutionID)
	if ok && (enginetest.AwaitsJob(&run, index, j.IDInBatch()) || resolved(&run.Steps[index], j.IDInBatch()) || lookedInVain(&run, index, j.IDInBatch())) {
		return true
	}
	w.problem("job %s %s, and its step does not wait for it", w.jobName(j.BatchID, j.CorrelationData.StepExecutionID, j.JobID), what)
	return false
}

// lookedInVain reports whether a job only looks for checks that ended with their batch.
func lookedInVain(run *model.Run, index int, jobID string) bool {
	return run.Kind == model.KindCheck && !run.Holds && abandoned(&run.Steps[index], jobID)
}

// resolved reports whether an administrator resolved a step while a job of it was in flight.
func resolved(s *model.Step, jobID string) bool {
	return s.Resolved != nil && abandoned(s, jobID)
}

// abandoned reports whether a step no longer waits for a job.
func abandoned(s *model.Step, jobID string) bool {
	return slices.ContainsFunc(s.Abandoned, func(a model.Abandoned) bool { return a.JobID == jobID })
}

// mayOverlap reports whether two jobs of a member may run at once: one is of checks that the member does
// not wait for, or an administrator has resolved the step of one of them, and neither undoes anything.
func (w *world) mayOverlap(a, b message.Job) bool {
	one := false
	for _, j := range []message.Job{a, b} {
		run, index, ok := w.run(j.BatchID, j.CorrelationData.StepExecutionID)
		if ok && run.Kind == model.KindCheck && !run.Holds {
			return true
		}
		if !ok || enginetest.Undoes(&run, index) {
			return false
		}
		one = one || resolved(&run.Steps[index], j.IDInBatch())
	}
	return one
}

// state is the decoded content of the store.
type state struct {
	batches map[int]*stored
}

// stored is everything that is stored of one batch.
type stored struct {
	batch   *model.Batch
	members map[int]*model.Member
	runs    []*model.Run
	shards  []*model.Shard
}

func (w *world) read() *state {
	documents, err := w.store.Dump(context.Background(), "")
	if err != nil {
		w.problem("%v", err)
	}
	s := &state{batches: map[int]*stored{}}
	of := func(pk string) *stored {
		var id int
		if _, err := fmt.Sscanf(pk, "batch:%d", &id); err != nil {
			return &stored{}
		}
		if s.batches[id] == nil {
			s.batches[id] = &stored{batch: &model.Batch{}, members: map[int]*model.Member{}}
		}
		return s.batches[id]
	}
	for _, d := range documents {
		switch d.Type {
		case "batch":
			of(d.PK).batch = decoded[model.Batch](w, d)
		case "member":
			m := decoded[model.Member](w, d)
			of(d.PK).members[m.ID] = m
		case "run":
			b := of(d.PK)
			b.runs = append(b.runs, decoded[model.Run](w, d))
		case "shard":
			b := of(d.PK)
			b.shards = append(b.shards, decoded[model.Shard](w, d))
		case "unprocessed":
			u := decoded[store.Unprocessable](w, d)
			w.problem("message %s was kept as one that cannot be processed: %s", u.MessageID, u.Reason)
		}
	}
	return s
}

// check checks what must hold in every state, and what must hold in a state in which nothing
// is left to do.
func (w *world) check() {
	s := w.read()
	in := map[string]int{} // the open batch of each person
	for id, b := range s.batches {
		if b.batch.ID == 0 {
			continue // it is being made
		}
		b.checkCounts(w)
		for _, m := range b.members {
			if b.batch.Requested != nil || b.batch.Status.Terminal() || m.Status != model.MemberActive { // several requests may have one item
				continue
			}
			if other := in[m.Key]; other != 0 {
				w.problem("%s is in two open batches, %d and %d", m.Key, min(id, other), max(id, other))
			}
			in[m.Key] = id
		}
	}
	if !w.quiet() {
		return
	}
	ended := true
	for _, b := range s.batches {
		if b.batch.Status.Terminal() {
			b.checkEnd(w)
		} else {
			ended = false
		}
	}
	if ended && w.system.once && !w.taken(s) {
		w.problem("all batches have ended, and a start of the list has none")
	}
	if ended && w.taken(s) {
		w.checkTicksAfterEnd()
		w.checkCalled()
	}
}

// taken reports whether there is a batch for each start of the list: the next tick makes no other.
func (w *world) taken(s *state) bool {
	for _, person := range w.list {
		found := false
		for _, b := range s.batches {
			found = found || b.batch.StartTime != nil && b.batch.StartTime.Equal(person.start)
		}
		if !found {
			return false
		}
	}
	return true
}

// checkOnce checks that no function is called for a person in two batches.
func (w *world) checkOnce(person string, j message.Job) {
	call := j.FunctionName + " of " + person
	if other, ok := w.called[call]; ok && other != j.BatchID && w.system.once {
		w.problem("%s is called in batch %d, and was in batch %d", call, j.BatchID, other)
	}
	w.called[call] = j.BatchID
}

// checkCalled checks that all phases were called for everybody on the list, and no removal steps.
func (w *world) checkCalled() {
	if !w.system.once {
		return
	}
	for _, person := range w.list {
		for _, function := range followedPhases {
			if w.called[function+" of "+person.key] == 0 {
				w.problem("all batches have ended, and %s was not called for %s", function, person.key)
			}
		}
		if batch := w.called["Clean of "+person.key]; batch != 0 {
			w.problem("the removal steps of %s ran in batch %d, and nobody was removed", person.key, batch)
		}
	}
}

// checkCounts checks the counters of the shards against the runs.
func (b *stored) checkCounts(w *world) {
	counted := enginetest.CountRuns(slices.Values(b.runs))
	for _, s := range b.shards {
		c := counted[enginetest.Place{Phase: s.Phase, Page: s.Page}]
		c.Phase, c.Page = s.Phase, s.Page
		if !enginetest.SameCount(*s, c) {
			w.problem("the shard of phase execution %d is %+v; counted %+v", s.Phase, *s, c)
		}
	}
}

// atRest reports whether every batch has ended, or waits for the administrator.
func (w *world) atRest() bool {
	for _, b := range w.read().batches {
		held := b.batch.RemovalHold != nil && b.batch.RemovalHold.Confirmed == nil
		if b.batch.ID != 0 && !b.batch.Status.Terminal() && !b.batch.Manual && b.batch.Paused == nil && !held || b.batch.HasOpenDetached() {
			return false
		}
	}
	return true
}

// checkEnd checks a batch that has ended, in a state in which nothing is left to do.
func (b *stored) checkEnd(w *world) {
	for _, run := range b.runs {
		for _, problem := range enginetest.Unfinished(run) {
			w.problem("the batch has ended; member %d in %s: %s", run.Member, run.PhaseName, problem)
		}
		for i := range run.Steps {
			w.checkAnswer(run, i)
		}
	}
	counted := enginetest.CountRuns(slices.Values(b.runs))
	for _, p := range b.batch.Phases {
		if !p.Status.Terminal() {
			w.problem("the batch has ended, and phase %s is %s", p.Name, p.Status)
		}
		c := total(counted, p.ID)
		if p.Kind == model.KindPhase && (p.Succeeded != c.Succeeded || p.Failed != c.Failed || p.Cancelled != c.Cancelled) {
			w.problem("the batch has ended; phase %s counts %d, %d and %d runs that succeeded, failed and were cancelled; there are %d, %d and %d",
				p.Name, p.Succeeded, p.Failed, p.Cancelled, c.Succeeded, c.Failed, c.Cancelled)
		}
	}
	for _, m := range b.members {
		b.checkMember(w, m)
	}
}

// total is the sum of the counts of all pages of a phase execution: late members have pages of their own.
func total(counted map[enginetest.Place]model.Shard, phase int) (sum model.Shard) {
	for at, c := range counted {
		if at.Phase == phase {
			sum.Succeeded += c.Succeeded
			sum.Failed += c.Failed
			sum.Cancelled += c.Cancelled
		}
	}
	return sum
}

// checkAnswer checks the end of a step against what the worker answered last.
func (w *world) checkAnswer(run *model.Run, index int) {
	s := run.Steps[index]
	if c := s.Cached; c != nil && c.At != nil {
		w.checkCached(run, index)
		return
	}
	ok, answered := w.ended[message.Job{JobID: run.JobID(index), BatchID: run.Batch}.ID()]
	switch {
	case s.Status == model.StepSucceeded && !ok:
		w.problem("step %d of member %d succeeded; its worker answered: %v, with success: %v", index, run.Member, answered, ok)
	case s.Status == model.StepFailed && ok && !w.system.deadlines:
		w.problem("step %d of member %d failed, and its worker answered with success", index, run.Member)
	}
}

// checkCached checks that the result of a step from the cache is that of a step which has succeeded.
func (w *world) checkCached(run *model.Run, index int) {
	c := run.Steps[index].Cached
	holder, err := store.Read[model.Run](context.Background(), w.store, store.RunKey(c.Batch, c.Phase, c.Member))
	if err != nil || c.Step >= len(holder.Doc.Steps) || holder.Doc.Steps[c.Step].Status != model.StepSucceeded {
		w.problem("step %d of member %d in batch %d is from the cache, and %+v has not succeeded: %v", index, run.Member, run.Batch, *c, err)
	}
}

// isPaused reports whether a batch is paused: its end ends the pause, too.
func (w *world) isPaused(batch int) bool {
	b, err := store.Read[model.Batch](context.Background(), w.store, store.BatchKey(batch))
	return err == nil && b.Doc.Paused != nil
}

// checkMember: everybody is accounted for.
func (b *stored) checkMember(w *world, m *model.Member) {
	unchecked := b.batch.Cancelled != nil && m.OpenPhase == model.CheckPhase && // the batch was cancelled before the checks began
		!slices.ContainsFunc(b.runs, func(r *model.Run) bool { return r.Member == m.ID && r.Phase == model.CheckPhase })
	if m.OpenPhase != 0 && !unchecked || len(m.Queue) > 0 || m.Leaving && m.Removal != 0 {
		w.problem("the batch has ended, and %s is in phase execution %d, with %v to come; leaving: %v", m.Key, m.OpenPhase, m.Queue, m.Leaving)
	}
	failed, removal := false, model.RunStatus("")
	for _, run := range b.runs {
		if run.Member != m.ID {
			continue
		}
		if run.Kind == model.KindRemoval {
			removal = run.Status
			continue
		}
		failed = failed || run.FailsMember()
		if run.Kind == model.KindCheck && !run.Holds { // it ends with the batch
			continue
		}
		if run.Status == model.RunCancelled && m.Status == model.MemberActive && b.batch.Cancelled == nil {
			w.problem("%s takes part to the end, and the run in %s is cancelled: %s", m.Key, run.PhaseName, run.Error)
		}
	}
	switch {
	case m.Status == model.MemberRemoved && m.Removal != 0 && removal != model.RunSucceeded && removal != model.RunFailed:
		w.problem("%s was removed, and the removal steps are %q", m.Key, removal)
	case m.Status == model.MemberActive && failed, m.Status == model.MemberFailed && !failed:
		w.problem("%s is %s, and some run failed: %v", m.Key, m.Status, failed)
	case m.Status == model.MemberActive && b.batch.Cancelled == nil:
		for _, p := range b.batch.Phases {
			took := slices.ContainsFunc(b.runs, func(r *model.Run) bool { return r.Member == m.ID && r.Phase == p.ID })
			if p.Kind == model.KindPhase && p.DispatchedAt != nil && !took && !m.Skips(&p) {
				w.problem("%s takes part to the end, and has no run in %s", m.Key, p.Name)
			}
		}
	}
}

// checkTicksAfterEnd: ticks find nothing to do. The first of them may bring the summary of a
// batch up to date, which two writers had in the wrong order.
func (w *world) checkTicksAfterEnd() {
	c := w.clone()
	before, versions := c.bus.Accepted(), c.store.Versions()
	for i := range 2 {
		c.clock = c.clock.Add(3 * tickInterval)
		c.invoke(invocation{what: "a tick after the end", command: -1}, nil, 0, 0)
		if i == 0 {
			versions = c.store.Versions()
		}
	}
	w.problems = append(w.problems, c.problems...)
	for id, b := range w.read().batches {
		summary, err := store.Read[store.BatchSummary](context.Background(), c.store, store.EntryKey(id))
		if want := store.SummaryOf(b.batch); err != nil || !reflect.DeepEqual(summary.Doc, want) {
			w.problem("the list of batches has %+v, want %+v: %v", summary.Doc, want, err)
		}
	}
	if n := c.bus.Accepted() - before; n > 0 {
		w.problem("after the end, ticks still send %d messages", n)
	}
	if n := c.store.Versions() - versions; n > 0 && w.list == nil { // a sync writes what it found
		w.problem("after the end, every tick writes %d documents", n)
	}
}
