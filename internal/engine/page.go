package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// How a phase comes to its members: page by page, each page whole or not at all, and a
// few pages ahead of those whose members are under way.

// onPageDue makes the runs of one page of members, with their shard and the members' marks,
// in one write, and starts those whose member is free; they wait in a batch that was paused
// just now. A page that exists is taken up.
func onPageDue(s model.State, b *model.Batch, e model.PageDue, now time.Time) (model.Decision, error) {
	p, ok := b.Phase(e.Phase)
	if !ok || p.Kind != model.KindPhase || e.Page < 1 || e.Page > b.PageCount() {
		return model.Decision{}, model.Refusef("batch %d has no page %d in phase execution %d", b.ID, e.Page, e.Phase)
	}
	if b.DispatchMode() == model.Cancelled {
		return model.Decision{Stale: true}, nil
	}
	if joinsBefore(b, e.Page, e.Phase) {
		return model.Decision{}, model.ErrNotYet
	}
	made, err := s.LoadShard(e.Phase, e.Page)
	if err != nil {
		return model.Decision{}, err
	}
	if made != nil {
		return repeatPage(s, made, now)
	}
	rb, err := s.LoadRunbook(b.Runbook, p.Version)
	if err != nil {
		return model.Decision{}, err
	}
	members, err := s.LoadPage(e.Page)
	if err != nil {
		return model.Decision{}, err
	}
	claims := claimed{State: s, entries: map[string]*model.CacheEntry{}}
	f := &pageMaker{state: claims, claims: claims, batch: b, phase: *p, shard: &model.Shard{Phase: p.ID, Page: e.Page, MadeAt: now}, now: now}
	for _, m := range members {
		if err := f.add(m, rb, !e.Split); err != nil {
			return model.Decision{}, fmt.Errorf("member %d: %w", m.ID, err)
		}
	}
	return f.decision(), nil
}

// pageMaker is one page of a phase in the making.
type pageMaker struct {
	state  model.State
	claims claimed // of the page, which state has, too
	batch  *model.Batch
	phase  model.Phase
	shard  *model.Shard
	now    time.Time
	d      model.Decision
	failed int
}

// add takes a member into the page.
func (f *pageMaker) add(m *model.Member, rb *runbook.Runbook, start bool) error {
	if m.Status == model.MemberFailed {
		// It is written as it is: a retry that brings the member back at this moment loses
		// against the page, or the page against the retry, or else the member would miss
		// the phase.
		f.d.Members = append(f.d.Members, m)
	}
	if m.Status != model.MemberActive {
		return nil
	}
	if m.Skips(&f.phase) {
		f.shard.Carried++
		return nil
	}
	f.shard.Runs++
	run, err := runstate.New(f.batch, f.phase, m, rb, f.now)
	if err != nil {
		return err
	}
	entered, free := runstate.Enter(*m, f.phase.ID)
	switch {
	case !free: // it waits for an earlier phase, and the fan-out does not wait for it
		run.Yielded = true
		f.shard.Yielded++
		f.wait(&run, &entered)
		return nil
	case !start:
		f.wait(&run, &entered)
		f.d.Next = append(f.d.Next, model.OnRun{Phase: run.Phase, Member: run.Member, RunEvent: model.RunStarted{}})
		return nil
	}
	started, err := runstate.Begin(f.state, rb, f.batch.DispatchMode(), &run, &entered, f.now)
	if err != nil {
		return err
	}
	f.d.Runs, f.d.Members = append(f.d.Runs, started.Runs...), append(f.d.Members, started.Members...)
	f.d.Claims = append(f.d.Claims, started.Claims...)
	f.claims.add(started.Claims)
	if begun := started.Runs[0]; begun.Status.Terminal() { // nothing could be dispatched, or there was nothing to do
		f.shard.Count(begun.Status)
		if runstate.CountsFailure(begun, rb) {
			f.failed++
		}
		return nil
	}
	f.shard.Open++
	if started.Runs[0].Yielded {
		f.shard.Yielded++
	}
	f.d.Messages = append(f.d.Messages, started.Messages...)
	if started.Runs[0].PausedAt != nil {
		f.d.Next = append(f.d.Next, started.Next...)
	}
	return nil
}

// claimed is a state with the entries of the cache that a decision claims for several runs: of two that do
// the same work, the second waits.
type claimed struct {
	model.State
	entries map[string]*model.CacheEntry
}

func (c claimed) add(entries []*model.CacheEntry) {
	for _, e := range entries {
		c.entries[e.ID] = e
	}
}

// LoadCacheEntry returns an entry with the claims of the decision.
func (c claimed) LoadCacheEntry(id string) (*model.CacheEntry, error) {
	if e, ok := c.entries[id]; ok {
		return e, nil
	}
	return c.State.LoadCacheEntry(id)
}

// wait takes a run into the page that is not started with it.
func (f *pageMaker) wait(run *model.Run, m *model.Member) {
	f.d.Runs, f.d.Members = append(f.d.Runs, run), append(f.d.Members, m)
	f.shard.Open++
}

func (f *pageMaker) decision() model.Decision {
	d := f.d
	d.Shards = []*model.Shard{f.shard}
	if f.shard.Open < f.shard.Runs {
		// Where the batch is cancelled at this moment, they may have ended for what they were
		// kept from bringing along: the write must not overtake it.
		d.Batch = f.batch.Clone()
		d.Batch.Phases[f.phase.ID-1].FailedSoFar += f.failed
	}
	if f.failed > 0 {
		d.Next = append([]model.Event{model.FailureCounted{Phase: f.phase.ID}}, d.Next...)
	}
	if f.shard.Open > 0 {
		d.Next = append(d.Next, model.PageSent{Phase: f.phase.ID, Page: f.shard.Page})
	} else {
		d.Next = append(d.Next, model.ShardCounted{Phase: f.phase.ID, Page: f.shard.Page, Again: true})
	}
	return d
}

// onPageResumed takes up a page, where it exists.
func onPageResumed(s model.State, e model.PageResumed, now time.Time) (model.Decision, error) {
	made, err := s.LoadShard(e.Phase, e.Page)
	if err != nil || made == nil {
		return model.Decision{Stale: true}, err
	}
	return repeatPage(s, made, now)
}

// repeatPage takes up a page whose runs exist: it repeats what their starts brought about, until
// the page is sent. A page that is sent owes its runs nothing: what they owe since then, they owe
// to the messages that they came on with.
func repeatPage(s model.State, made *model.Shard, now time.Time) (model.Decision, error) {
	d := model.Decision{Repeated: true}
	if !made.Sent {
		if err := repeatStarts(&d, s, made, now); err != nil {
			return model.Decision{}, err
		}
		d.Next = append(d.Next, model.PageSent{Phase: made.Phase, Page: made.Page})
	}
	d.Next = append(d.Next, model.ShardCounted{Phase: made.Phase, Page: made.Page, Again: true})
	return d, nil
}

// repeatStarts starts the runs of a page that were not started, releases those that were paused as
// they started, and sends again what the others owe since their start. It leaves out a run that
// has gone further, and one whose event would change nothing. So each event changes its run, and
// a page that outlasts its invocation has less to do with each try.
func repeatStarts(d *model.Decision, s model.State, made *model.Shard, now time.Time) error {
	runs, err := s.LoadPageRuns(made.Phase, made.Page)
	if err != nil {
		return err
	}
	members, err := s.LoadPage(made.Page) // after the runs: one that enters the phase now is started by the message that leads it there
	if err != nil {
		return err
	}
	mode, err := s.LoadDispatchMode()
	if err != nil {
		return err
	}
	openPhase := map[int]int{}
	for _, m := range members {
		openPhase[m.ID] = m.OpenPhase
	}
	failed := false
	for _, run := range runs {
		if err := repeatStart(d, s, run, openPhase[run.Member], mode, now); err != nil {
			return err
		}
		failed = failed || run.LastEvent == runstate.EventStart && run.Status == model.RunFailed
	}
	if failed {
		d.Next = append([]model.Event{model.FailureCounted{Phase: made.Phase}}, d.Next...)
	}
	return nil
}

// repeatStart adds to a decision what the start of one run asks for, as repeatStarts says. OpenPhase is
// the phase that the member is in.
func repeatStart(d *model.Decision, s model.State, run *model.Run, openPhase int, mode model.DispatchMode, now time.Time) error {
	started := run.LastEvent == runstate.EventStart
	at := model.OnRun{Phase: run.Phase, Member: run.Member}
	switch {
	case run.PausedAt != nil:
		if started && mode != model.Paused { // else the resumption releases it
			at.RunEvent = model.RunReleased{}
			d.Next = append(d.Next, at)
		}
	case run.Status == model.RunWaiting:
		if openPhase == run.Phase {
			at.RunEvent = model.RunStarted{}
			d.Next = append(d.Next, at)
		}
	case !started:
	case run.Status.Terminal():
		if run.Next != 0 && openPhase == run.Next {
			at.Phase, at.RunEvent = run.Next, model.RunStarted{}
			d.Next = append(d.Next, at)
		}
	case runstate.SentLate(run, now):
		at.RunEvent = model.RunStarted{}
		d.Next = append(d.Next, at)
	default:
		rb, err := s.LoadRunbook(run.Runbook, run.Version)
		if err != nil {
			return err
		}
		messages, err := runstate.Outstanding(run, rb)
		if err != nil {
			return err
		}
		d.Messages = append(d.Messages, messages...) // of all runs at once
	}
	return nil
}

// onPageFannedOut announces the page after one, where the window allows it, and
// ends the fan-out after the last page. Where the page after it is made, the message that made it goes
// on: several announcements of one page, each of which went on to the last page, would be so many
// fan-outs of the phase.
func onPageFannedOut(s model.State, b *model.Batch, e model.PageFannedOut, now time.Time) (model.Decision, error) {
	if e.Page >= b.PageCount() {
		return endFanOut(b, e, now), nil
	}
	if made, err := s.LoadShard(e.Phase, e.Page+1); err != nil || made != nil {
		return model.Decision{Stale: true}, err
	}
	if open, _, err := FanOutWindowOpen(s, e.Phase, e.Page+1); err != nil || !open {
		return model.Decision{Stale: true}, err // the page that yields announces it
	}
	return model.Decision{Messages: []model.Message{model.Announce{Phase: e.Phase, Page: e.Page + 1, FanOut: e.FanOut}}}, nil
}
