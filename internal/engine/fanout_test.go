package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

// fannedOut is a dispatched phase of a batch of so many pages, which has made as many as
// there are shards: true is a page that has yielded.
func fannedOut(t *testing.T, pages int, yielded ...bool) model.MemoryState {
	t.Helper()
	rb := parse(t)
	b := engine.NewBatch(42, rb, 3, pages*model.PageSize, nil, "ada", now)
	p, _ := b.Phase(2)
	p.Status, p.DispatchedAt = model.PhaseDispatched, &now
	s := model.MemoryState{Batch: &b, Runbook: rb}
	for i, yielded := range yielded {
		shard := &model.Shard{Phase: 2, Page: i + 1, MadeAt: now, Sent: true, Runs: 4, Open: 4}
		if yielded {
			shard.Yielded = 2
		}
		s.Shards = append(s.Shards, shard)
	}
	return s
}

func TestPageThatYieldsAnnouncesTheFirstPageThatMayBeBegun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pages   int
		yielded []bool
		page    int
		again   bool
		want    []model.Message
	}{
		"the page that waits for it": {6, []bool{true, false, false}, 1, false, []model.Message{model.Announce{Phase: 2, Page: 4, FanOut: "yielded"}}},
		"again":                      {6, []bool{true, false, false}, 1, true, []model.Message{model.Announce{Phase: 2, Page: 4, FanOut: "yielded"}}},
		"an earlier page, whose announcement was lost":  {6, []bool{true, true, false}, 2, false, []model.Message{model.Announce{Phase: 2, Page: 4, FanOut: "yield-2"}}},
		"no earlier page where the window is closed":    {6, []bool{false, true, false}, 2, false, nil},
		"no lost page again, for its announcement does": {6, []bool{true, true, false}, 2, true, nil},
		"the last page that was made":                   {6, []bool{true, true, true}, 3, false, []model.Message{model.Announce{Phase: 2, Page: 4, FanOut: "yield-3"}}},
		"no page behind the last one":                   {3, []bool{true, true, true}, 3, false, nil},
		"no page behind the last one early":             {3, []bool{true, true, true}, 1, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := engine.Decide(fannedOut(t, c.pages, c.yielded...), model.ShardCounted{Phase: 2, Page: c.page, Yields: !c.again, Again: c.again}, now)
			if err != nil || !slices.Equal(d.Messages, c.want) {
				t.Fatalf("got %v, %v, want %v", d.Messages, err, c.want)
			}
		})
	}
}

// A phase that is announced again goes on at the last page that was made: the jobs of the
// pages before it would not be sent.
func TestPageThatYieldsAnnouncesNothingWhileJobsOfTheLastPageAreUnsent(t *testing.T) {
	t.Parallel()
	for page, yielded := range map[int][]bool{1: {true, false, false}, 2: {true, true, false}, 3: {true, true, true}} {
		s := fannedOut(t, 6, yielded...)
		s.Shards[2].Sent = false
		d, err := engine.Decide(s, model.ShardCounted{Phase: 2, Page: page, Yields: true}, now)
		if err != nil || !d.Stale || len(d.Messages) > 0 {
			t.Fatalf("page %d: %+v, %v", page, d, err)
		}
	}
}

func TestPageThatYieldsAnnouncesNothingWhereItsPhaseHasBeenFannedOut(t *testing.T) {
	t.Parallel()
	s := fannedOut(t, 6, true, false, false)
	p, _ := s.Batch.Phase(2)
	p.FannedOut = true
	d, err := engine.Decide(s, model.ShardCounted{Phase: 2, Page: 1, Yields: true}, now)
	if err != nil || !d.Stale || len(d.Messages) > 0 {
		t.Fatalf("%+v, %v", d, err)
	}
}

// A page that is sent owes its runs nothing. The run was paused by another message, which was
// about its start, or by the end of its member's earlier run. A release by the message of the page
// would keep the task of the resumed batch from sending the job, and the page would not send it
// once the broker has forgotten it.
func TestPageThatIsSentLeavesItsRunsToTheirOwnMessages(t *testing.T) {
	t.Parallel()
	later := now.Add(time.Minute)
	for name, run := range map[string]model.Run{
		"paused":                {Status: model.RunWaiting, PausedAt: &later},
		"waiting":               {Status: model.RunWaiting},
		"ended as it started":   {Status: model.RunFailed},
		"released and not sent": {Status: model.RunRunning, Task: "rev-4", Steps: []model.Step{{Status: model.StepDispatched, DispatchedAt: &later}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fannedOut(t, 1, false)
			run.Batch, run.Phase, run.Member, run.Page, run.LastEvent = 42, 2, 1, 1, runstate.EventStart
			s.Runs = []*model.Run{&run}
			d, err := engine.Decide(s, model.PageDue{Phase: 2, Page: 1}, later)
			if err != nil || !d.Repeated || len(d.Messages) > 0 || !slices.Equal(d.Next, []model.Event{model.ShardCounted{Phase: 2, Page: 1, Again: true}}) {
				t.Fatalf("%+v, %v", d, err)
			}
		})
	}
}

// A page that comes again before it is sent does each of its runs once, however often it comes:
// what it has started is then sent with one message, and what waits for others is left out.
func TestPageThatIsNotSentTakesUpWhatItOwes(t *testing.T) {
	t.Parallel()
	earlier := now.Add(-time.Minute)
	start := model.OnRun{Phase: 2, Member: 1, RunEvent: model.RunStarted{}}
	for name, c := range map[string]struct {
		run    model.Run
		member model.Member
		paused bool
		want   []model.Event
		sends  int
	}{
		"a run that was not started":      {run: model.Run{Status: model.RunWaiting}, member: model.Member{OpenPhase: 2}, want: []model.Event{start}},
		"a run whose member is elsewhere": {run: model.Run{Status: model.RunWaiting}, member: model.Member{OpenPhase: 3, Queue: []int{2}}},
		"a job": {
			run:   model.Run{Status: model.RunRunning, LastEvent: runstate.EventStart, Steps: []model.Step{{Status: model.StepDispatched, DispatchedAt: &earlier}}},
			sends: 1,
		},
		"a run that has gone on": {run: model.Run{Status: model.RunRunning, LastEvent: "result:a", Steps: []model.Step{{Status: model.StepDispatched, DispatchedAt: &earlier}}}},
		"a run that was paused": {
			run:  model.Run{Status: model.RunWaiting, LastEvent: runstate.EventStart, PausedAt: &earlier},
			want: []model.Event{model.OnRun{Phase: 2, Member: 1, RunEvent: model.RunReleased{}}},
		},
		"a run that is paused":      {run: model.Run{Status: model.RunWaiting, LastEvent: runstate.EventStart, PausedAt: &earlier}, paused: true},
		"a run that failed":         {run: model.Run{Status: model.RunFailed, LastEvent: runstate.EventStart}, want: []model.Event{model.FailureCounted{Phase: 2}}},
		"a run that failed later":   {run: model.Run{Status: model.RunFailed, LastEvent: "result:a"}},
		"the member's next run":     {run: model.Run{Status: model.RunCancelled, LastEvent: runstate.EventStart, Next: 3}, member: model.Member{OpenPhase: 3}, want: []model.Event{model.OnRun{Phase: 3, Member: 1, RunEvent: model.RunStarted{}}}},
		"a next run that has ended": {run: model.Run{Status: model.RunCancelled, LastEvent: runstate.EventStart, Next: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fannedOut(t, 1, false)
			s.Shards[0].Sent = false
			if c.paused {
				s.Batch.Paused = &model.Attribution{By: "ada", At: earlier}
			}
			c.run.Batch, c.run.Phase, c.run.Member, c.run.Page, c.run.Kind, c.run.PhaseName = 42, 2, 1, 1, model.KindPhase, s.Batch.Phases[1].Name
			c.member.ID, c.member.Page = 1, 1
			s.Runs, s.Members = []*model.Run{&c.run}, []*model.Member{&c.member}
			d, err := engine.Decide(s, model.PageResumed{Phase: 2, Page: 1}, now)
			want := append(slices.Clone(c.want), model.PageSent{Phase: 2, Page: 1}, model.ShardCounted{Phase: 2, Page: 1, Again: true})
			if err != nil || !slices.Equal(d.Next, want) || len(d.Messages) != c.sends {
				t.Fatalf("%+v, %v", d, err)
			}
		})
	}
}

// The process that paused the run released it and died: only the task that releases the batch's
// runs still comes, perhaps hours later.
func TestReleaseSendsWhatTheProcessThatPausedTheRunOwes(t *testing.T) {
	t.Parallel()
	paused := func(t *testing.T) *person {
		t.Helper()
		p := enter(t, 2, `{"Upn":"ann@x","Kind":"User"}`)
		p.batch.ReleaseRevision = 4
		p.mode = model.Paused
		wantOutcome(t, p.on(model.RunStarted{}), released())
		p.mode = model.Running
		return p
	}
	p := paused(t)
	wantOutcome(t, p.on(model.RunReleased{}), model.Dispatch{Step: 0})
	for _, mode := range []model.DispatchMode{model.Running, model.Paused} {
		p.mode = mode
		p.after(time.Hour)
		d := p.on(model.RunReleased{Task: "rev-4"})
		wantOutcome(t, d, model.Dispatch{Step: 0})
		if !d.Repeated {
			t.Fatalf("%+v", d)
		}
	}
	p.nothing(model.RunReleased{Task: "rev-5"}) // of the next resumption

	p = paused(t)
	p.on(model.RunReleased{Task: "rev-3"})
	p.nothing(model.RunReleased{Task: "rev-4"}) // the message of rev-3 comes again
}

// The deadline of a job that is sent late leaves its worker time to answer that it expired.
func TestDeadlineOfAJobThatMayBeSentOnlyNowIsPutOff(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func(p *person) time.Duration{
		"long after it":  func(*person) time.Duration { return time.Hour },
		"just before it": func(p *person) time.Duration { return p.timeout() + time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dated(t)
			answer := model.StepResult{Step: 0, JobID: p.jobID(), OK: true, Result: []byte(`{"id":1}`)}
			p.on(answer)
			p.after(late(p))
			at := p.at.Add(p.timeout())
			d := p.on(answer)
			wantOutcome(t, d, model.Dispatch{Step: 1}, model.Deadline{Step: 1, At: at})
			if !d.Repeated || !p.run.DeadlineAt.Equal(at) {
				t.Fatalf("%+v, the deadline is %s", d, p.run.DeadlineAt)
			}
			p.early(p.overdue(), at.Sub(p.at)) // a message of the time before
		})
	}
}

// A phase can have several announcements of one page: one of the page before it, and one of each page
// that yields before its own is made.
func TestPageThatComesAgainDoesNotRepeatTheFanOutOfThePagesBehindIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		yielded []bool
		want    []model.Message
	}{
		"the page behind it is not made": {[]bool{true, false, false}, []model.Message{model.Announce{Phase: 2, Page: 4, FanOut: "yield-1"}}},
		"it is made":                     {[]bool{true, false, false, false}, nil},
		"and so are others":              {[]bool{true, true, true, false, false}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := engine.Decide(fannedOut(t, 6, c.yielded...), model.PageFannedOut{Phase: 2, Page: 3, FanOut: "yield-1"}, now)
			if err != nil || !slices.Equal(d.Messages, c.want) || d.Stale != (c.want == nil) {
				t.Fatalf("got %+v, %v, want %v", d, err, c.want)
			}
		})
	}
}
