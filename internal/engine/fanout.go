package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// How a phase comes to its members: page by page, each page whole or not at all, and a
// few pages ahead of those whose members are under way.

// PageSize is how many members one page holds: a run and a member's mark for
// each, and the page's shard, fit into one transactional batch of 100.
const PageSize = 49

// FanOutWindow is how many pages of a phase are begun ahead: page n waits until page
// n-FanOutWindow has yielded, which is when half of its runs have no job in flight for the
// first time. It keeps the jobs of one batch at a worker to some 150 for each step that
// members are at, so that the batches of a worker take turns.
const FanOutWindow = 3

// PageOf is the page, from 1, that a member is on in every phase.
func PageOf(member int) int { return (member-1)/PageSize + 1 }

// YieldsAt is how many of the page's runs have to have yielded for the page to have.
func (s *Shard) YieldsAt() int { return (s.Runs + 1) / 2 }

// HasYielded reports whether the fan-out may come to the page that waits for this one.
func (s *Shard) HasYielded() bool { return s.Yielded >= s.YieldsAt() }

// BrokerRemembers is for how long a broker surely drops a message that it has seen: one
// that was sent longer ago would be delivered again.
const BrokerRemembers = 9 * time.Minute

// pageDue makes the runs of one page of members, with their shard and the members' marks,
// in one write, and starts those whose member is free; they wait in a batch that was paused
// just now. A page that exists is taken up.
func pageDue(s State, b *Batch, e PageDue, now time.Time) (Decision, error) {
	p, ok := b.Phase(e.Phase)
	if !ok || p.Kind != KindPhase || e.Page < 1 || e.Page > b.PageCount() {
		return Decision{}, refuse("batch %d has no page %d in phase execution %d", b.ID, e.Page, e.Phase)
	}
	if b.Gate() == Stopped {
		return Decision{Stale: true}, nil
	}
	if b.joinsBefore(e.Page, e.Phase) {
		return Decision{}, ErrNotYet
	}
	made, err := s.LoadShard(e.Phase, e.Page)
	if err != nil {
		return Decision{}, err
	}
	if made != nil {
		return pageAgain(s, made, now)
	}
	rb, err := s.LoadRunbook(b.Runbook, p.Version)
	if err != nil {
		return Decision{}, err
	}
	members, err := s.LoadPage(e.Page)
	if err != nil {
		return Decision{}, err
	}
	f := &pageMaker{state: s, batch: b, phase: *p, shard: &Shard{Phase: p.ID, Page: e.Page, MadeAt: now}, now: now}
	for _, m := range members {
		if err := f.add(m, rb, !e.Split); err != nil {
			return Decision{}, fmt.Errorf("member %d: %w", m.ID, err)
		}
	}
	return f.decision(), nil
}

// pageMaker is one page of a phase in the making.
type pageMaker struct {
	state  State
	batch  *Batch
	phase  Phase
	shard  *Shard
	now    time.Time
	d      Decision
	failed int
}

// add takes a member into the page.
func (f *pageMaker) add(m *Member, rb *runbook.Runbook, start bool) error {
	if m.Status == MemberFailed {
		// It is written as it is: a retry that brings the member back at this moment loses
		// against the page, or the page against the retry, or else the member would miss
		// the phase.
		f.d.Members = append(f.d.Members, m)
	}
	if m.Status != MemberActive {
		return nil
	}
	f.shard.Runs++
	run, err := NewRun(f.batch, f.phase, m, rb, f.now)
	if err != nil {
		return err
	}
	entered, free := Enter(*m, f.phase.ID)
	switch {
	case !free: // it waits for an earlier phase, and the fan-out does not wait for it
		run.Yielded = true
		f.shard.Yielded++
		f.wait(&run, &entered)
		return nil
	case !start:
		f.wait(&run, &entered)
		f.d.Next = append(f.d.Next, OnRun{run.Phase, run.Member, RunStarted{}})
		return nil
	}
	started, err := begin(f.state, rb, f.batch.Gate(), &run, &entered, f.now)
	if err != nil {
		return err
	}
	f.d.Runs, f.d.Members = append(f.d.Runs, started.Runs...), append(f.d.Members, started.Members...)
	if begun := started.Runs[0]; begun.Status.Terminal() { // nothing could be dispatched, or there was nothing to do
		f.shard.Count(begun.Status)
		if begun.CountsFailure(rb) {
			f.failed++
		}
		return nil
	}
	f.shard.Open++
	if started.Runs[0].Yielded {
		f.shard.Yielded++
	}
	f.d.Messages = append(f.d.Messages, started.Messages...)
	if started.Runs[0].HeldAt != nil {
		f.d.Next = append(f.d.Next, started.Next...)
	}
	return nil
}

// wait takes a run into the page that is not started with it.
func (f *pageMaker) wait(run *Run, m *Member) {
	f.d.Runs, f.d.Members = append(f.d.Runs, run), append(f.d.Members, m)
	f.shard.Open++
}

func (f *pageMaker) decision() Decision {
	d := f.d
	d.Shards = []*Shard{f.shard}
	if f.shard.Open < f.shard.Runs {
		// Where the batch is cancelled at this moment, they may have ended for what they were
		// kept from bringing along: the write must not overtake it.
		d.Batch = f.batch.clone()
		d.Batch.Phases[f.phase.ID-1].FailedSoFar += f.failed
	}
	if f.failed > 0 {
		d.Next = append([]Event{FailureCounted{Phase: f.phase.ID}}, d.Next...)
	}
	if f.shard.Open > 0 {
		d.Next = append(d.Next, PageSent{Phase: f.phase.ID, Page: f.shard.Page})
	} else {
		d.Next = append(d.Next, ShardCounted{Phase: f.phase.ID, Page: f.shard.Page, Again: true})
	}
	return d
}

// pageResumed takes up a page, where it exists.
func pageResumed(s State, e PageResumed, now time.Time) (Decision, error) {
	made, err := s.LoadShard(e.Phase, e.Page)
	if err != nil || made == nil {
		return Decision{Stale: true}, err
	}
	return pageAgain(s, made, now)
}

// pageAgain takes up a page whose runs exist: each is started, or what it owes since its
// start is sent again, where it has not gone further. A job that was surely sent, and
// longer ago than the broker remembers, is let be: a worker might do it twice.
func pageAgain(s State, made *Shard, now time.Time) (Decision, error) {
	runs, err := s.LoadPageRuns(made.Phase, made.Page)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Repeated: true}
	for _, run := range runs {
		if run.Status == RunWaiting || run.Status.Terminal() || run.HeldAt != nil {
			d.Next = append(d.Next, OnRun{run.Phase, run.Member, RunStarted{}})
			continue
		}
		sent := run.Steps[run.Current].DispatchedAt
		if run.LastEvent != eventStart || made.Sent && sent != nil && now.Sub(*sent) > BrokerRemembers {
			continue
		}
		d.Messages = append(d.Messages, run.owed(now)...) // of all of them at once: one by one it could take longer than a message may
	}
	if !made.Sent {
		d.Next = append(d.Next, PageSent{Phase: made.Phase, Page: made.Page})
	}
	d.Next = append(d.Next, ShardCounted{Phase: made.Phase, Page: made.Page, Again: true})
	return d, nil
}

// pageBegun announces the page after one that was begun, where the window allows it, and
// ends the fan-out after the last page.
func pageBegun(s State, b *Batch, e PageBegun) (Decision, error) {
	if e.Page >= b.PageCount() {
		return Decision{Repeated: true, Next: []Event{PhaseWalked{Phase: e.Phase, Pages: e.Page}}}, nil
	}
	if open, err := windowOpen(s, e.Phase, e.Page+1); err != nil || !open {
		return Decision{Stale: true}, err // the page that yields announces it
	}
	return Decision{Repeated: true, Messages: []Message{Announce{Phase: e.Phase, Page: e.Page + 1, Again: e.Again}}}, nil
}

// shardCounted does what the count of a run in its shard brings about: a page that has
// yielded lets the fan-out go on, and one whose runs have all ended reports to its phase,
// once.
func shardCounted(s State, e ShardCounted) (Decision, error) {
	shard, err := s.LoadShard(e.Phase, e.Page)
	if err != nil {
		return Decision{}, err
	}
	if shard == nil {
		return Decision{}, fmt.Errorf("engine: phase execution %d has no page %d", e.Phase, e.Page)
	}
	var d Decision
	if e.Again && shard.HasYielded() || e.Yields && shard.Yielded == shard.YieldsAt() {
		if d.Messages, err = announceYielded(s, e); err != nil {
			return Decision{}, err
		}
	}
	if shard.Open > 0 {
		d.Stale = len(d.Messages) == 0
		return d, nil
	}
	d.Repeated = shard.Reported
	if !shard.Reported {
		done := *shard
		done.Reported = true
		d.Shards = []*Shard{&done}
		d.Counts = []Count{CountShard{Phase: done.Phase, Succeeded: done.Succeeded, Failed: done.Failed, Cancelled: done.Cancelled}}
	}
	d.Next = []Event{PhaseCounted{Phase: shard.Phase}}
	return d, nil
}

// announceYielded announces the page that waits for this one to yield. Where the page before
// that one is yet to be begun, pageBegun finds the yield: it was stored before the batch is
// read here, and the page is stored before that one. But then a page between the two is due,
// or its announcement was lost: the page behind the last one that was made is announced,
// where the window allows it.
func announceYielded(s State, e ShardCounted) ([]Message, error) {
	b, err := s.LoadBatch()
	if err != nil {
		return nil, err
	}
	if p, ok := b.Phase(e.Phase); !ok || p.Status != PhaseDispatched || p.Walked {
		return nil, nil
	}
	waits := e.Page + FanOutWindow
	next, unsent, err := behindLastMade(s, e, min(waits, b.PageCount()+1))
	switch {
	case err != nil:
		return nil, err
	case unsent: // the message that sends its jobs comes again, and pageBegun follows
		return nil, nil
	case next > b.PageCount():
		return nil, nil
	case next == waits:
		return []Message{Announce{Phase: e.Phase, Page: next, Again: "yielded"}}, nil
	case e.Again: // pageBegun follows, or the tick
		return nil, nil
	}
	if open, err := windowOpen(s, e.Phase, next); err != nil || !open {
		return nil, err
	}
	return []Message{Announce{Phase: e.Phase, Page: next, Again: fmt.Sprintf("yield-%d", e.Page)}}, nil
}

// behindLastMade is the page behind the last one that is made, of those from the page that was
// counted, which is, to the one before most. It stops at a page whose jobs are not all sent.
func behindLastMade(s State, e ShardCounted, most int) (next int, unsent bool, err error) {
	for next = most; ; next-- {
		made, err := s.LoadShard(e.Phase, next-1)
		switch {
		case err != nil:
			return 0, false, err
		case made != nil && !made.Sent && made.Open > 0:
			return next, true, nil
		case made != nil || next == e.Page+1:
			return next, false, nil
		}
	}
}

// windowOpen reports whether a page of a phase may be begun: the page that it waits for has
// yielded, or there is none. A page that late members made has no shard in an earlier phase.
func windowOpen(s State, phase, page int) (bool, error) {
	before := page - FanOutWindow
	if before < 1 {
		return true, nil
	}
	shard, err := s.LoadShard(phase, before)
	return err == nil && (shard == nil || shard.HasYielded()), err
}

// catchUpDue brings a page of late members, phase by phase in their order, to where the
// others are. A page that has caught up is left as it is.
func catchUpDue(b *Batch, e CatchUpDue) Decision {
	for _, j := range b.Joining {
		if j.Page != e.Page || b.Gate() != Open { // resuming the batch comes back to it
			continue
		}
		d := Decision{Repeated: true}
		for _, phase := range j.Phases {
			d.Next = append(d.Next, PageDue{Phase: phase, Page: e.Page})
		}
		d.Next = append(d.Next, PageCaughtUp(e))
		return d
	}
	return Decision{Stale: true}
}
