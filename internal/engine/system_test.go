package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// place is a run: a phase execution and a member, 0 for init.
type place struct{ phase, member int }

type happening struct {
	at    place
	event engine.Event
}

// system is a whole batch in memory: the engine's decisions are applied at once,
// and what is random (which member, which answer, what comes again) is picked.
type system struct {
	fail    func(format string, args ...any)
	pick    func(n int) int // from 0 to n-1
	rb      *runbook.Runbook
	now     time.Time
	batch   engine.Batch
	members map[int]engine.Member
	runs    map[place]engine.Run
	shards  map[int]engine.Shard
	jobs    map[string]bool
	past    []happening
	passed  map[string]bool // transitions, such as "step: pending --> dispatched"
}

func newSystem(rb *runbook.Runbook, pick func(n int) int, fail func(string, ...any)) *system {
	s := &system{
		fail: fail, pick: pick, rb: rb, now: now, members: map[int]engine.Member{}, runs: map[place]engine.Run{},
		shards: map[int]engine.Shard{}, jobs: map[string]bool{}, passed: map[string]bool{},
	}
	var start *time.Time
	if pick(2) == 0 {
		at := now
		start = &at
	}
	n := 1 + pick(3)
	s.batch = engine.NewBatch(42, rb, 3, n, start, "ada", now)
	s.entered("batch", string(s.batch.Status))
	for i := 1; i <= n; i++ {
		m := engine.Member{ID: i, Page: 1, Status: engine.MemberActive, Data: map[string]json.RawMessage{"Upn": json.RawMessage(`"u"`)}}
		if pick(2) == 0 { // without it "verify" needs what "create" gives
			m.Data["UserId"] = json.RawMessage(`"u"`)
		}
		if pick(5) > 0 { // without it the first step cannot be resolved
			m.Data["Kind"] = json.RawMessage(`"User"`)
		}
		s.members[i] = m
	}
	return s
}

func (s *system) entered(kind, status string) { s.passed[kind+": [*] --> "+status] = true }

func (s *system) moved(kind string, from, to any) {
	if from != to {
		s.passed[fmt.Sprintf("%s: %v --> %v", kind, from, to)] = true
	}
}

func (s *system) setBatch(b *engine.Batch) {
	if b == nil {
		return
	}
	s.moved("batch", s.batch.Status, b.Status)
	for i, p := range b.Phases {
		s.moved("phase", s.batch.Phases[i].Status, p.Status)
		if s.batch.Phases[i].Status.Terminal() && p.Status != s.batch.Phases[i].Status {
			s.fail("phase %s left %s", p.Name, s.batch.Phases[i].Status)
		}
	}
	s.batch = *b
}

func (s *system) batchEvent(e engine.Event) engine.Decision {
	d, err := engine.Decide(engine.State{Batch: &s.batch}, e, s.now)
	if err != nil {
		return d // a refusal
	}
	s.setBatch(d.Batch)
	s.announce(d.Effects)
	return d
}

// announce carries out announcements, of which some are lost.
func (s *system) announce(effects []engine.Effect) {
	for _, e := range effects {
		if a, ok := e.(engine.Announce); ok && s.pick(4) > 0 {
			s.due(a.Phase)
		}
	}
}

// due is the handler of phase-due and of batch-init.
func (s *system) due(phase int) {
	d := s.batchEvent(engine.PhaseDue{Phase: phase})
	p, _ := s.batch.Phase(phase)
	if d.Stale {
		return
	}
	if p.Kind == engine.KindInit {
		if _, ok := s.runs[place{phase, 0}]; !ok {
			s.create(place{phase, 0}, nil)
		}
		s.runEvent(place{phase, 0}, engine.RunStarted{})
		s.batchEvent(engine.PhaseWalked{Phase: phase})
		return
	}
	var free []place
	shard := engine.Shard{Phase: phase, Page: 1}
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		m := s.members[id]
		if m.Status != engine.MemberActive {
			continue
		}
		entered, starts := engine.Enter(m, phase)
		s.create(place{phase, id}, &m)
		s.members[id] = entered
		shard.Open++
		shard.Runs++
		if starts {
			free = append(free, place{phase, id})
		}
	}
	s.shards[phase] = shard
	if shard.Open == 0 {
		s.closeShard(phase)
	}
	for _, at := range free {
		s.runEvent(at, engine.RunStarted{})
	}
	s.batchEvent(engine.PhaseWalked{Phase: phase, Pages: 1})
}

func (s *system) create(at place, m *engine.Member) {
	run, err := engine.NewRun(&s.batch, s.batch.Phases[at.phase-1], m, s.rb, s.now)
	if err != nil {
		s.fail("%v", err)
	}
	if _, twice := s.runs[at]; twice {
		s.fail("a second run at %v", at)
	}
	for later := at.phase + 1; later <= len(s.batch.Phases); later++ {
		if _, overtaken := s.runs[place{later, at.member}]; overtaken {
			s.fail("member %d enters phase %d after phase %d", at.member, at.phase, later)
		}
	}
	s.runs[at] = run
}

func (s *system) closeShard(phase int) {
	p, c := &s.batch.Phases[phase-1], s.shards[phase]
	p.ShardsClosed++
	p.Succeeded, p.Failed, p.Cancelled = p.Succeeded+c.Succeeded, p.Failed+c.Failed, p.Cancelled+c.Cancelled
	s.batchEvent(engine.PhaseCounted{Phase: phase})
}

// runEvent decides and carries out. An event on an ended run must change nothing.
func (s *system) runEvent(at place, e engine.Event) {
	before := s.runs[at]
	member := s.members[at.member]
	state := engine.State{Run: &before, Batch: &s.batch, Runbook: s.rb}
	if at.member > 0 {
		state.Member = &member
	}
	copied := before
	copied.Steps = slices.Clone(before.Steps)
	d, err := engine.Decide(state, e, s.now)
	if err != nil {
		s.fail("%T at %v: %v", e, at, err)
	}
	if !reflect.DeepEqual(copied, before) {
		s.fail("%T changed the run it was given", e)
	}
	s.past = append(s.past, happening{at, e})
	if d.Stale || d.Repeated {
		if d.Run != nil || d.Member != nil || d.Batch != nil || d.Stale && len(d.Effects) > 0 {
			s.fail("an event that is out of date changed something: %+v", d)
		}
		return
	}
	if before.Status.Terminal() {
		s.fail("%T changed a run that has ended", e)
	}
	s.moved("run", before.Status, d.Run.Status)
	for i, step := range d.Run.Steps {
		s.moved("step", before.Steps[i].Status, step.Status)
	}
	s.runs[at] = *d.Run
	if d.Member != nil {
		s.moved("member", member.Status, d.Member.Status)
		s.members[at.member] = *d.Member
	}
	s.setBatch(d.Batch)
	s.check(at)
	s.effects(at, d.Effects)
}

func (s *system) effects(at place, effects []engine.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case engine.Dispatch:
			id := s.runs[at].Steps[e.Step].JobID
			if s.jobs[id] || id == "" {
				s.fail("job id %q was used before", id)
			}
			s.jobs[id] = true
		case engine.Count:
			shard := s.shards[at.phase]
			shard.Open--
			shard.Count(e.Outcome)
			s.shards[at.phase] = shard
			if shard.Open == 0 {
				s.closeShard(at.phase)
			}
		case engine.StartNext:
			s.runEvent(place{e.Phase, at.member}, engine.RunStarted{})
		}
	}
	s.announce(effects)
}

// check holds the invariants of a run.
func (s *system) check(at place) {
	run := s.runs[at]
	want := 0
	if run.Status == engine.RunRunning {
		want = 1
	}
	if got := run.Outstanding(); len(got) != want {
		s.fail("a run that is %s waits for %v", run.Status, got)
	}
	for i, step := range run.Steps {
		begun := step.Status == engine.StepDispatched || step.Status == engine.StepPolling || step.RetryAfter != nil
		switch {
		case run.Status.Terminal() && !step.Status.Terminal():
			s.fail("a run that is %s has a step that is %s", run.Status, step.Status)
		case begun && i != run.Current:
			s.fail("step %d is in hand beside step %d", i, run.Current)
		case i < run.Current && step.Status != engine.StepSucceeded:
			s.fail("step %d is %s before the one in hand", i, step.Status)
		}
	}
}

// next lets a run that waits for something have it. A patient worker succeeds.
func (s *system) next(at place, patient bool) {
	run := s.runs[at]
	for _, e := range run.Outstanding() {
		switch e := e.(type) {
		case engine.Dispatch:
			result := engine.StepResult{Step: e.Step, JobID: run.Steps[e.Step].JobID, OK: true, Result: json.RawMessage(`{"complete":true,"data":{"id":1}}`)}
			if !patient {
				polls := run.Steps[e.Step].PollInterval > 0
				switch chance := s.pick(6); {
				case chance == 0:
					result.OK, result.Error = false, "no"
				case chance == 1, chance < 5 && polls:
					result.Result = json.RawMessage(`{"complete":false}`)
				}
			}
			s.runEvent(at, result)
		case engine.Poll:
			s.now = later(s.now, e.At)
			s.runEvent(at, engine.PollDue{Step: e.Step, Count: run.Steps[e.Step].PollCount + 1})
		case engine.Retry:
			s.now = later(s.now, e.At)
			s.runEvent(at, engine.RetryDue{Step: e.Step, Count: run.Steps[e.Step].RetryCount})
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *system) places() []place {
	return slices.SortedFunc(maps.Keys(s.runs), func(a, b place) int {
		return (a.phase-b.phase)*1000 + a.member - b.member
	})
}

// live is the whole batch: random happenings first, then whatever is left.
func (s *system) live() {
	for range 60 {
		switch places := s.places(); s.pick(6) {
		case 0:
			s.batchEvent(engine.Advanced{})
		case 1:
			if s.batch.StartTime != nil {
				s.due(1 + s.pick(len(s.batch.Phases)))
			}
		case 2:
			if len(s.past) > 0 {
				h := s.past[s.pick(len(s.past))]
				s.runEvent(h.at, h.event)
			}
		default:
			if len(places) > 0 {
				s.next(places[s.pick(len(places))], false)
			}
		}
	}
	for round := 0; !s.batch.Status.Terminal(); round++ {
		if round > 200 {
			s.fail("the batch does not end: %+v", s.batch)
		}
		for _, at := range s.places() {
			s.next(at, true)
		}
		if s.batch.Manual {
			s.batchEvent(engine.Advanced{})
			continue
		}
		s.now = s.now.Add(24 * time.Hour)
		for _, p := range s.batch.Phases {
			if p.Status == engine.PhasePending || p.Status == engine.PhaseDispatched && !p.Walked {
				s.due(p.ID)
			}
		}
	}
	s.tally()
}

// tally checks the counts of a batch that has ended against its runs.
func (s *system) tally() {
	s.moved("batch", s.batch.Status, "[*]")
	for _, p := range s.batch.Phases {
		if p.Kind == engine.KindInit || !p.Status.Terminal() { // init failed
			continue
		}
		var c engine.Shard
		for at, run := range s.runs {
			if at.phase != p.ID {
				continue
			}
			if !run.Status.Terminal() {
				s.fail("phase %s is %s with a run that is %s", p.Name, p.Status, run.Status)
			}
			c.Count(run.Status)
		}
		if p.Succeeded != c.Succeeded || p.Failed != c.Failed || p.Cancelled != c.Cancelled {
			s.fail("phase %s counts %d, %d, %d; its runs %+v", p.Name, p.Succeeded, p.Failed, p.Cancelled, c)
		}
	}
	for id, m := range s.members {
		if m.OpenPhase != 0 || len(m.Queue) > 0 {
			s.fail("member %d is still in phase %d, with %v to come", id, m.OpenPhase, m.Queue)
		}
	}
	for _, h := range s.past { // whatever comes now changes nothing
		before := s.runs[h.at]
		s.runEvent(h.at, h.event)
		if !reflect.DeepEqual(before, s.runs[h.at]) {
			s.fail("%T changed a run after the end", h.event)
		}
	}
}
