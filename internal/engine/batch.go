package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// NewBatch makes a batch with its phase executions, all pending. A nil start is a
// manual batch: its phases have no due time. The init sequence, where the runbook
// has one, is the first execution.
func NewBatch(id int, rb *runbook.Runbook, version, members int, start *time.Time, by string, now time.Time) Batch {
	b := Batch{
		ID: id, Runbook: rb.Name, Version: version, Status: BatchActive, Manual: start == nil,
		CreatedBy: by, StartTime: start, DetectedAt: now.UTC(), Members: members, Pages: PageOf(members),
	}
	if len(rb.Init) > 0 {
		b.Status = BatchDetected
		b.addInit(version)
	}
	b.addPhases(rb, version)
	return b
}

func (b *Batch) addInit(version int) {
	b.Phases = append(b.Phases, Phase{ID: len(b.Phases) + 1, Kind: KindInit, Name: "init", Version: version, Status: PhasePending})
}

// addPhases adds an execution of each of the runbook's phases, and takes over the
// quiet hours in which none of them begins. A manual batch has none: whoever advances
// it says when.
func (b *Batch) addPhases(rb *runbook.Runbook, version int) {
	b.Secrets = b.Secrets || len(rb.Secret) > 0
	if !b.Manual {
		b.Quiet = rb.QuietHours
	}
	for _, p := range rb.Phases {
		execution := Phase{
			ID: len(b.Phases) + 1, Kind: KindPhase, Name: p.Name, Version: version,
			OffsetMinutes: p.Offset.Minutes(), Status: PhasePending,
			Approval: p.Approval, RequireSuccess: p.RequireSuccess, OnComplete: len(p.OnComplete) > 0, StopWhen: p.StopWhen,
		}
		if !b.Manual {
			due := p.Offset.DueAt(*b.StartTime)
			execution.DueAt = &due
		}
		b.Phases = append(b.Phases, execution)
	}
}

// Phase finds a phase execution by its id, which is its place.
func (b *Batch) Phase(id int) (*Phase, bool) {
	if id < 1 || id > len(b.Phases) {
		return nil, false
	}
	return &b.Phases[id-1], true
}

// Remaining names the phases that have not been dispatched, in order.
func (b *Batch) Remaining() []string {
	var names []string
	for _, p := range b.Phases {
		if p.Status == PhasePending {
			names = append(names, p.Name)
		}
	}
	return names
}

// hasEnded tells whether nothing more begins in the batch.
func (b *Batch) hasEnded() bool { return b.Status.Terminal() || b.Status == BatchCancelling }

// refuseEnded refuses what a batch that has ended, or is being cancelled, does not allow.
func (b *Batch) refuseEnded(consequence string) error {
	switch {
	case b.Status == BatchCancelling:
		return refuse("batch %d is being cancelled: %s", b.ID, consequence)
	case b.Status.Terminal():
		return refuse("batch %d has ended (%s): %s", b.ID, b.Status, consequence)
	}
	return refuse("batch %d was cancelled: %s", b.ID, consequence)
}

func (b *Batch) clone() *Batch {
	c := *b
	c.Phases = slices.Clone(b.Phases)
	return &c
}

// changed is the decision that the batch changes, with the messages that follow.
func changed(b *Batch, messages ...Message) Decision {
	return Decision{Writes: Writes{Batch: b}, Messages: messages}
}

// followUp is what follows from a decision that is stored.
type followUp struct {
	Messages []Message
	Next     []Event
}

// then adds what follows from the decision.
func (d *Decision) then(f followUp) {
	d.Messages, d.Next = append(d.Messages, f.Messages...), append(d.Next, f.Next...)
}

// Next names the phase that an advance would start: the first that has not begun.
// It is empty where none is left.
func (b *Batch) Next() string {
	for _, p := range b.Phases {
		if p.Status == PhasePending {
			return p.Name
		}
	}
	return ""
}

// Current returns the phase execution that was started last; nil if there is none.
func (b *Batch) Current() *Phase {
	for i := len(b.Phases) - 1; i >= 0; i-- {
		if p := &b.Phases[i]; p.Name == b.CurrentPhase && p.Kind != KindRemoval && p.DispatchedAt != nil {
			return p
		}
	}
	return nil
}

// advance starts the phase of a manual batch that the caller names: the init sequence
// first, then each phase in order, one at a time. It starts that phase once. Asked again
// while that is the phase the batch was advanced to last, it repeats the first answer,
// because the first answer may have been lost: it never starts the phase after it.
func advance(b *Batch, phase string, now time.Time) (Decision, error) {
	current := b.Current()
	repeats := current != nil && current.Name == phase
	switch {
	case b.Cancelled != nil:
		return Decision{}, b.refuseEnded("it cannot be advanced")
	case !b.Manual:
		return Decision{}, refuse("batch %d follows its schedule: only a manual batch is advanced by hand", b.ID)
	case repeats && (current.Status == PhaseDispatched || b.Next() != phase):
		d := Decision{Repeated: true}
		if current.Status == PhaseDispatched && !current.Walked && b.Paused == nil {
			d.Messages = []Message{Announce{Phase: current.ID, Page: 1}}
		}
		return d, nil
	case b.hasEnded():
		return Decision{}, b.refuseEnded("it cannot be advanced")
	case b.Paused != nil:
		return Decision{}, refuse("batch %d is paused by %s: resume it first", b.ID, b.Paused.By)
	}
	p, err := b.toAdvance(phase)
	if err != nil {
		return Decision{}, err
	}
	if b.StartTime == nil {
		b.StartTime = &now
	}
	dispatch(b, p, now)
	return changed(b, Announce{Phase: p.ID, Page: 1}), nil
}

// toAdvance finds the phase that an advance starts, which has to be the next one and ready.
func (b *Batch) toAdvance(phase string) (*Phase, error) {
	for i := range b.Phases {
		p := &b.Phases[i]
		switch {
		case p.Status.Terminal() || p.Kind == KindRemoval:
			continue
		case p.Status == PhaseDispatched:
			return nil, refuse("batch %d is still in phase %q: it can be advanced when %s", b.ID, p.Name, underWay(*p))
		case p.Name != phase:
			return nil, refuse("phase %q is not the next one of batch %d: the next phase is %q%s", phase, b.ID, p.Name, b.lastPhase())
		}
		if reason := b.gateBefore(p); reason != "" {
			return nil, refuse("batch %d cannot be advanced to phase %q: %s", b.ID, p.Name, reason)
		}
		return p, nil
	}
	return nil, refuse("batch %d has no phase left to advance to", b.ID)
}

// lastPhase says to which phase the batch was advanced last; empty where to none.
func (b *Batch) lastPhase() string {
	if b.CurrentPhase == "" {
		return ""
	}
	return fmt.Sprintf(", the last one that was started is %q", b.CurrentPhase)
}

func underWay(p Phase) string {
	switch {
	case p.Kind == KindInit:
		return "its init steps have ended"
	case p.Merge == RunRunning:
		return "its on_complete steps have ended"
	}
	return "all its members have ended there"
}

// phaseDue dispatches a phase whose time has come. While the batch is being filled,
// the init sequence runs, an earlier phase that is due has not reached all members, the
// batch is paused, a gate is closed or it is quiet, it stays pending: what it waits for
// announces it in the end (see NextDue), but for the end of quiet hours, which nothing
// tells but the clock (see StartsAt).
func phaseDue(b *Batch, e PhaseDue, now time.Time) (Decision, error) {
	p, ok := b.Phase(e.Phase)
	page := max(e.Page, 1)
	switch {
	case !ok || p.Kind == KindRemoval:
		return Decision{}, refuse("batch %d has no phase execution %d", b.ID, e.Phase)
	case b.Filling, b.Gate() != Open:
		return Decision{Stale: true}, nil
	case p.Kind == KindPhase && page > b.PageCount()+FanOutWindow:
		return Decision{}, refuse("batch %d has %d pages of members, not %d", b.ID, b.PageCount(), page)
	case p.Kind == KindPhase && page > max(1, b.PageCount()): // one of the last pages has yielded
		return Decision{Stale: true}, nil
	case p.Status == PhaseDispatched && !p.Walked:
		return Decision{Repeated: true, Next: b.fanOut(p, page, e.Again)}, nil
	case !b.ready(p):
		return Decision{Stale: true}, nil
	}
	if reason := b.waits(p, now); reason != "" {
		if reason == p.Reason {
			return Decision{Stale: true}, nil
		}
		p.Reason = reason
		return changed(b), nil
	}
	dispatch(b, p, now)
	d := changed(b)
	d.Next = b.fanOut(p, page, e.Again)
	return d, nil
}

// ready reports whether the batch has come to a phase, which is pending: no init sequence of an
// earlier version runs, and no phase before it has still to reach all members.
func (b *Batch) ready(p *Phase) bool {
	switch {
	case p.Status != PhasePending, b.Status.Terminal():
		return false
	case p.Kind == KindInit:
		return b.Status == BatchDetected
	}
	return b.Status == BatchActive && !held(b, p)
}

// fanOut gives the events that bring a dispatched phase to a page of members, or the init
// sequence to its run. Late members enter the phases in their order. From its start on the
// run of an init sequence sees to itself: announcing init again would send a slow first
// step to the worker a second time.
func (b *Batch) fanOut(p *Phase, page int, again string) []Event {
	if p.Kind == KindInit {
		return []Event{startSequence(p.ID), PhaseWalked{Phase: p.ID}}
	}
	var next []Event
	if b.joins(page) {
		next = append(next, CatchUpDue{Page: page})
	}
	return append(next, PageDue{Phase: p.ID, Page: page}, PageBegun{Phase: p.ID, Page: page, Again: again})
}

func dispatch(b *Batch, p *Phase, now time.Time) {
	p.Status, p.DispatchedAt, p.Reason = PhaseDispatched, &now, ""
	if p.Kind == KindInit {
		b.Status, b.InitDispatchedAt = BatchInitDispatched, &now
	}
	b.CurrentPhase = p.Name
}

// walked closes the walk of a phase over the pages of members, unless pages were
// added behind it meanwhile.
func walked(b *Batch, e PhaseWalked, now time.Time) Decision {
	p, ok := b.Phase(e.Phase)
	switch {
	case !ok || p.Status != PhaseDispatched:
		return Decision{Stale: true}
	case p.Walked:
		return b.awaited(e.Phase, now)
	}
	if p.Kind == KindPhase && e.Pages < b.PageCount() {
		return Decision{Messages: []Message{Announce{Phase: p.ID, Page: e.Pages + 1}}}
	}
	p.Walked, p.Shards = true, e.Pages
	_, f := settle(b, now)
	d := changed(b)
	d.then(f)
	return d
}

// counted ends what the count of a shard, or of a removal run, ends.
func counted(b *Batch, e PhaseCounted, now time.Time) Decision {
	if settled, f := settle(b, now); settled {
		d := changed(b)
		d.then(f)
		return d
	}
	return b.awaited(e.Phase, now)
}

// awaited asks again for what follows from the end of a phase's members, where it was cut
// short.
func (b *Batch) awaited(phase int, now time.Time) Decision {
	d := Decision{Repeated: true, Messages: NextDue(b, now)}
	if p, ok := b.Phase(phase); ok && p.Merge == RunRunning && p.Status == PhaseDispatched {
		d.Next = startMerge(phase)
	}
	return d
}

// startMerge starts the on_complete steps of a phase, and notes that their first job is sent.
func startMerge(phase int) []Event { return []Event{startSequence(phase), SequenceSent{Phase: phase}} }

// sequenceSent notes that the first job of on_complete steps is sent. Until then the tick
// starts them again: what led to the end of a phase need not come again, for example where
// the last member was removed.
func (b *Batch) sequenceSent(e SequenceSent) Decision {
	p, ok := b.Phase(e.Phase)
	if !ok || p.Merge != RunRunning || p.MergeSent {
		return Decision{Stale: true}
	}
	p.MergeSent = true
	return changed(b)
}

// startSequence starts the init sequence, or the on_complete steps of a phase.
func startSequence(phase int) Event { return OnRun{Phase: phase, RunEvent: RunStarted{}} }

// settle ends the phases whose runs have all ended and the batch whose phases
// have. It tells whether anything changed, and what follows.
func settle(b *Batch, now time.Time) (changed bool, f followUp) {
	if b.Status == BatchCancelling { // it ends when no run is open
		return false, followUp{}
	}
	if b.trip(now) { // before the phase ends and the next one begins
		changed, f.Messages = true, b.Revocation()
	}
	for i := range b.Phases {
		p := &b.Phases[i]
		if p.Kind != KindPhase || p.Status != PhaseDispatched || !p.Walked || p.ShardsClosed < p.Shards || p.Merge == RunRunning {
			continue
		}
		changed = true
		if p.OnComplete && p.Merge == "" && p.Succeeded+p.Failed+p.Cancelled > 0 {
			p.Merge = RunRunning
			p.Counts = &Counts{Members: p.Succeeded + p.Failed + p.Cancelled, Succeeded: p.Succeeded, Failed: p.Failed, Cancelled: p.Cancelled}
			f.Next = append(f.Next, startMerge(p.ID)...)
			continue
		}
		p.complete(now)
	}
	changed = settleBatch(b, now) || changed
	changed = hold(b, now) || changed
	f.Messages = append(f.Messages, NextDue(b, now)...)
	return changed, f
}

// complete ends a phase whose members have all ended.
func (p *Phase) complete(now time.Time) {
	p.CompletedAt = &now
	p.Status = PhaseFailed
	switch {
	case p.Merge == RunFailed: // whose end told the reason
	case p.Succeeded > 0:
		p.Status = PhaseCompleted
	case p.Failed == 0:
		p.Reason = "no active member was left to take part"
	}
}

func settleBatch(b *Batch, now time.Time) bool {
	if b.Status != BatchActive || len(b.Joining) > 0 || slices.ContainsFunc(b.Phases, keepsBatchOpen) {
		return false
	}
	b.Ended, b.CompletedAt, b.Status, b.Paused, b.Held, b.Error = true, &now, BatchFailed, nil, nil, b.failure()
	b.StoppedBy = 0
	if b.Error == "" {
		b.Status = BatchCompleted
	}
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Kind == KindRemoval && !p.Status.Terminal() {
			p.Status, p.CompletedAt = PhaseCompleted, &now
		}
	}
	return true
}

// keepsBatchOpen reports whether a batch with this phase execution has not ended.
func keepsBatchOpen(p Phase) bool {
	if p.Kind == KindRemoval {
		return p.Open > 0
	}
	return !p.Status.Terminal()
}

// failure says why a batch has failed whose phases have all ended; empty where it has not: a
// phase completed.
func (b *Batch) failure() string {
	if reason := b.initFailure(); reason != "" {
		return reason
	}
	var failed []string
	for _, p := range b.Phases {
		switch {
		case p.Kind == KindPhase && p.Status == PhaseCompleted:
			return ""
		case p.Kind != KindRemoval && p.Status == PhaseFailed:
			failed = append(failed, p.Name)
		}
	}
	if len(failed) == 0 {
		return "no phase completed"
	}
	return "no phase completed; failed: " + strings.Join(failed, ", ")
}
