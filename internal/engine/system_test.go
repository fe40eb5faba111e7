package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// place is a run: a phase execution and a member, 0 for a run without one.
type place struct{ phase, member int }

// sheet is a shard: a phase execution and a page of members.
type sheet struct{ phase, page int }

// letter is a message on its way. It can be delivered more than once.
type letter struct {
	name    string
	at      time.Time
	deliver func()
}

// system is a whole batch in memory: the engine's decisions are stored at once,
// what follows from them is put into the mail, and what is random (which letter
// comes next and how often, what a worker answers, what an administrator does) is
// picked.
type system struct {
	fail     func(format string, args ...any)
	pick     func(n int) int // from 0 to n-1
	runbooks map[int]*runbook.Runbook
	now      time.Time
	batch    engine.Batch
	members  map[int]engine.Member
	runs     map[place]engine.Run
	shards   map[sheet]engine.Shard
	jobs     map[string]bool
	flights  map[string]flight    // by job id: what a worker has begun
	expiry   map[string]time.Time // by job id: when it expires
	resolved map[string]bool      // by job id: an administrator no longer waited for it
	mail     []letter
	past     []letter // delivered, to come again
	passed   map[string]bool
	foreseen map[string]bool // what was foreseen of new versions, by kind
	pure     bool            // every decision is checked to change nothing that it is given
	patient  bool            // workers succeed, and nobody intervenes
	tasks    int
}

// flight is a job that a worker has begun, or refused.
type flight struct {
	member  int
	phase   int
	removes bool
	undoes  bool
	expires time.Time // the worker ends it by then
	ended   bool
}

// awaits tells whether a job must not begin before another has ended, although nobody
// waits for that any more: what it undoes.
func (f flight) awaits(other flight) bool {
	return f.undoes && !other.undoes && (f.removes || f.phase == other.phase)
}

func newSystem(runbooks map[int]*runbook.Runbook, pick func(n int) int, fail func(string, ...any)) *system {
	s := &system{
		fail: fail, pick: pick, runbooks: runbooks, now: now, members: map[int]engine.Member{}, runs: map[place]engine.Run{},
		shards: map[sheet]engine.Shard{}, jobs: map[string]bool{}, flights: map[string]flight{}, expiry: map[string]time.Time{}, resolved: map[string]bool{}, passed: map[string]bool{}, foreseen: map[string]bool{},
	}
	var start *time.Time
	if pick(2) == 0 {
		at := now
		start = &at
	}
	version := s.begun()
	n := 1 + pick(3)
	if start != nil && pick(2) == 0 {
		s.batch = engine.NewDetected(42, runbooks[version], version, *start, now)
		for range 1 + pick(2) {
			s.post("fill", s.now, s.fill)
		}
	} else {
		s.batch = engine.NewBatch(42, runbooks[version], version, n, start, "ada", now)
		for i := 1; i <= n; i++ {
			s.addMember(i, 1)
		}
	}
	s.passed["batch: [*] --> "+string(s.batch.Status)] = true
	s.post("first announcement", s.now, func() { s.announce(engine.NextDue(&s.batch, s.now)) })
	return s
}

func (s *system) addMember(id, page int) {
	m := engine.Member{ID: id, Page: page, Status: engine.MemberActive, Data: map[string]json.RawMessage{"Upn": json.RawMessage(`"u"`)}}
	if s.pick(2) == 0 { // without it "verify" needs what "create" gives
		m.Data["UserId"] = json.RawMessage(`"u"`)
	}
	if s.pick(6) > 0 { // without it a step cannot be resolved
		m.Data["Kind"] = json.RawMessage(`"User"`)
	}
	s.members[id] = m
}

func (s *system) post(name string, at time.Time, deliver func()) {
	s.mail = append(s.mail, letter{name, at, deliver})
}

func (s *system) moved(kind string, from, to any) {
	if from != to {
		s.passed[fmt.Sprintf("%s: %v --> %v", kind, from, to)] = true
	}
}

// decide takes a decision, twice where purity is checked.
func (s *system) decide(state engine.State, e engine.Event) (engine.Decision, error) {
	if !s.pure {
		return engine.Decide(state, e, s.now)
	}
	before := encode(state)
	d, err := engine.Decide(state, e, s.now)
	first := encode(d)
	if again, _ := engine.Decide(state, e, s.now); encode(again) != first {
		s.fail("%T is decided in two ways: %s, then %s", e, first, encode(again))
	}
	if after := encode(state); after != before {
		s.fail("%T changed what it was decided on: before %s, after %s", e, before, after)
	}
	if d.Stale && (d.Repeated || len(d.Effects) > 0) || (d.Stale || d.Repeated) && (d.Batch != nil || d.Run != nil || d.Member != nil || len(d.Runs)+len(d.Shards) > 0) {
		s.fail("%T is out of date and changed something: %s", e, first)
	}
	return d, err
}

func encode(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs
	}
	return string(out)
}

func (s *system) setBatch(b *engine.Batch) {
	if b == nil {
		return
	}
	s.moved("batch", s.batch.Status, b.Status)
	if begun := b.Status != engine.BatchDetected || len(b.Joining) > 0 || len(s.runs) > 0; b.Filling && begun {
		s.fail("the batch is being filled, and is %s, with %d runs, joining %v", b.Status, len(s.runs), b.Joining)
	}
	for _, j := range b.Joining {
		if len(j.Phases) == 0 {
			s.fail("page %d is to catch up on nothing", j.Page)
		}
	}
	for i, p := range b.Phases {
		before := engine.PhasePending
		if i < len(s.batch.Phases) {
			before = s.batch.Phases[i].Status
		}
		s.moved("phase", before, p.Status)
		if before == engine.PhasePending && p.Status == engine.PhaseDispatched {
			s.begins(b, p)
		}
	}
	s.batch = *b
}

// begins checks that a phase begins when it may.
func (s *system) begins(b *engine.Batch, p engine.Phase) {
	if b.Manual || p.Kind != engine.KindPhase {
		return
	}
	if end, quiet := s.runbooks[b.Version].QuietHours.Until(s.now); quiet {
		s.fail("phase %d begins at %s, in quiet hours until %s", p.ID, s.now, end)
	}
	if p.DueAt.After(s.now) {
		s.fail("phase %d begins at %s, and is due at %s", p.ID, s.now, p.DueAt)
	}
}

func (s *system) setMember(m *engine.Member) {
	if m != nil {
		s.moved("member", s.members[m.ID].Status, m.Status)
		s.members[m.ID] = *m
	}
}

func (s *system) setRun(at place, next *engine.Run) {
	before, known := s.runs[at]
	if !known {
		before = engine.Run{Status: engine.RunWaiting}
	}
	s.moved("run", before.Status, next.Status)
	for i, step := range next.Steps {
		from := engine.StepPending
		if i < len(before.Steps) {
			from = before.Steps[i].Status
		}
		s.moved("step", from, step.Status)
	}
	s.runs[at] = *next
	s.check(at)
}

// batchEvent decides, stores and mails what follows; a refusal changes nothing.
func (s *system) batchEvent(e engine.Event) engine.Decision {
	d, err := s.decide(engine.State{Batch: &s.batch, Runbook: s.runbooks[s.batch.Version]}, e)
	return s.batchDecision(d, err, e)
}

func (s *system) batchDecision(d engine.Decision, err error, e engine.Event) engine.Decision {
	var refusal *engine.Refusal
	if err != nil && !errors.As(err, &refusal) && !errors.Is(err, engine.ErrNotYet) {
		s.fail("%T: %v", e, err)
	}
	if err != nil {
		return engine.Decision{}
	}
	s.setBatch(d.Batch)
	s.setMember(d.Member)
	for _, r := range d.Runs {
		s.setRun(place{r.Phase, r.Member}, r)
	}
	for _, shard := range d.Shards {
		s.shards[sheet{shard.Phase, shard.Page}] = *shard
	}
	s.announce(d.Effects)
	return d
}

// announce mails what follows from a decision on the batch.
func (s *system) announce(effects []engine.Effect) {
	for _, e := range effects {
		var deliver func()
		switch e := e.(type) {
		case engine.Announce:
			deliver = func() { s.due(e.Phase, 1) }
		case engine.WalkOn:
			deliver = func() { s.due(e.Phase, e.Page) }
		case engine.Merge:
			deliver = func() { s.merge(e.Phase) }
		case engine.CatchUp:
			deliver = func() { s.catchUp(e.Page) }
		case engine.Release:
			deliver = s.release
		case engine.Stop:
			deliver = s.stop
		default:
			continue
		}
		s.post(fmt.Sprintf("%T", e), s.now, deliver)
	}
}

// due is the handler of batch-init and of one page of phase-due.
func (s *system) due(phase, page int) {
	if s.batch.Gate() == engine.Stopped {
		s.stop()
		return
	}
	d := s.batchEvent(engine.PhaseDue{Phase: phase})
	p, _ := s.batch.Phase(phase)
	if d.Stale || p.Status != engine.PhaseDispatched {
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
	s.catchUp(page) // members enter the phases in their order
	pages := s.batch.PageCount()
	s.walk(phase, page)
	if page < pages {
		s.post("phase-due", s.now, func() { s.due(phase, page+1) })
		return
	}
	s.batchEvent(engine.PhaseWalked{Phase: phase, Pages: pages})
}

// walk makes the runs of one page of a phase, once, and has them started.
func (s *system) walk(phase, page int) {
	at := sheet{phase, page}
	if _, made := s.shards[at]; !made {
		shard := engine.Shard{Phase: phase, Page: page}
		for _, id := range slices.Sorted(maps.Keys(s.members)) {
			m := s.members[id]
			if m.Page != page || m.Status != engine.MemberActive {
				continue
			}
			s.create(place{phase, id}, &m)
			s.members[id], _ = engine.Enter(m, phase)
			shard.Open++
			shard.Runs++
		}
		s.shards[at] = shard
	}
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		if m := s.members[id]; m.Page == page && m.OpenPhase == phase {
			s.post("start", s.now, func() { s.runEvent(place{phase, id}, engine.RunStarted{}) })
		}
	}
	s.closeShard(at)
}

func (s *system) create(at place, m *engine.Member) {
	p := s.batch.Phases[at.phase-1]
	run, err := engine.NewRun(&s.batch, p, m, s.runbooks[p.Version], s.now)
	if err != nil {
		s.fail("%v", err)
	}
	if _, twice := s.runs[at]; twice {
		s.fail("a second run at %v", at)
	}
	for _, q := range s.batch.Phases[at.phase:] {
		if _, overtaken := s.runs[place{q.ID, at.member}]; overtaken && at.member > 0 && q.Version == p.Version && q.Kind == p.Kind {
			s.fail("member %d enters phase %d after phase %d", at.member, at.phase, q.ID)
		}
	}
	s.runs[at] = run
}

// closeShard reports an empty shard to its phase, once.
func (s *system) closeShard(at sheet) {
	shard := s.shards[at]
	if shard.Open > 0 {
		return
	}
	if !shard.Reported {
		shard.Reported = true
		s.shards[at] = shard
		s.batch.Phases = slices.Clone(s.batch.Phases)
		p := &s.batch.Phases[at.phase-1]
		p.ShardsClosed++
		p.Succeeded, p.Failed, p.Cancelled = p.Succeeded+shard.Succeeded, p.Failed+shard.Failed, p.Cancelled+shard.Cancelled
	}
	s.post("phase counted", s.now, func() { s.batchEvent(engine.PhaseCounted{Phase: at.phase}) })
}

// catchUp makes the runs of a page of late members, wherever the others have one.
func (s *system) catchUp(page int) {
	at := slices.IndexFunc(s.batch.Joining, func(j engine.Join) bool { return j.Page == page })
	if at < 0 || s.batch.Gate() != engine.Open {
		return
	}
	for _, phase := range s.batch.Joining[at].Phases {
		s.walk(phase, page)
	}
	s.batchEvent(engine.PageCaughtUp{Page: page})
}

func (s *system) merge(phase int) {
	if p := s.batch.Phases[phase-1]; p.Merge != engine.RunRunning || s.batch.Gate() == engine.Stopped {
		return
	}
	if _, ok := s.runs[place{phase, 0}]; !ok {
		s.create(place{phase, 0}, nil)
	}
	s.runEvent(place{phase, 0}, engine.RunStarted{})
}

// removal sets going what the removal of a member asks for.
func (s *system) removal(member int) {
	m := s.members[member]
	if m.Leaving {
		m.Leaving = false
		if m.Removal != 0 {
			s.create(place{m.Removal, member}, &m)
			m, _ = engine.Enter(m, m.Removal)
		}
		s.members[member] = m
	}
	if m.OpenPhase == 0 {
		return
	}
	at := place{m.OpenPhase, member}
	if s.runs[at].Kind == engine.KindRemoval {
		s.runEvent(at, engine.RunStarted{})
		return
	}
	s.runEvent(at, engine.RunStopped{Reason: "the member was removed"})
}

func (s *system) release() {
	if s.batch.Gate() == engine.Paused {
		return
	}
	for _, at := range s.places() {
		s.runEvent(at, engine.RunReleased{Task: "release"})
	}
}

func (s *system) stop() {
	if s.batch.Gate() != engine.Stopped {
		return
	}
	open := false
	for _, at := range s.places() {
		if !s.runs[at].Status.Terminal() {
			open = true
			s.runEvent(at, engine.RunStopped{Reason: "the batch is cancelled"})
		}
	}
	for _, at := range s.sheets() {
		s.closeShard(at)
	}
	if !open {
		s.batchEvent(engine.BatchDrained{})
	}
}

// gate is what a handler takes its batch to allow: it may be behind by a moment
// where it has seen the batch open.
func (s *system) gate() engine.Gate {
	if !s.patient && s.pick(8) == 0 {
		return engine.Open
	}
	return s.batch.Gate()
}

// runEvent decides, stores and mails what follows.
func (s *system) runEvent(at place, e engine.Event) {
	before, ok := s.runs[at]
	if !ok {
		s.fail("%T at %v, which is not", e, at)
	}
	state := engine.State{Run: &before, Batch: &s.batch, Runbook: s.runbooks[before.Version], Gate: s.gate()}
	if at.member > 0 {
		member := s.members[at.member]
		state.Member = &member
	}
	d, err := s.decide(state, e)
	var refusal *engine.Refusal
	if errors.As(err, &refusal) {
		return
	}
	if err != nil {
		s.fail("%T at %v: %v", e, at, err)
	}
	switch {
	case d.Stale:
		return
	case d.Repeated && before.Status.Terminal():
		s.ended(at)
		return
	case d.Repeated:
		s.effects(at, d.Effects, true)
		return
	case before.Status.Terminal() && (d.Member != nil || d.Batch != nil || d.Run.Status != before.Status || len(d.Effects) > 0):
		s.fail("%T changed a run that has ended", e)
	}
	if r, ok := e.(engine.StepResolved); ok {
		s.resolved[before.Steps[r.Step].JobID] = true
	}
	s.setMember(d.Member)
	s.setBatch(d.Batch)
	s.setRun(at, d.Run)
	s.effects(at, d.Effects, false)
	if d.Run.Status.Terminal() && !before.Status.Terminal() {
		s.ended(at)
	}
}

// ended mails what follows from the end of a run, also when its event comes again.
func (s *system) ended(at place) {
	run := s.runs[at]
	if run.Next != 0 {
		s.post("start", s.now, func() { s.runEvent(place{run.Next, at.member}, engine.RunStarted{}) })
	}
	if at.member == 0 || run.Kind == engine.KindRemoval {
		s.post("phase counted", s.now, func() { s.batchEvent(engine.PhaseCounted{Phase: at.phase}) })
		return
	}
	s.post("close shard", s.now, func() { s.closeShard(sheet{at.phase, run.Page}) })
}

func (s *system) effects(at place, effects []engine.Effect, repeated bool) {
	run := s.runs[at]
	for _, e := range effects {
		switch e := e.(type) {
		case engine.Dispatch:
			id := run.Steps[e.Step].JobID
			if s.batch.Status.Terminal() {
				s.fail("job %s is dispatched for a batch that is %s", id, s.batch.Status)
			}
			if s.jobs[id] != repeated || id == "" {
				s.fail("job id %q: used before: %t, repeated: %t", id, s.jobs[id], repeated)
			}
			s.jobs[id] = true
			s.expiry[id] = run.Steps[e.Step].DispatchedAt.Add(run.Steps[e.Step].Timeout)
			s.post("job", s.now, func() { s.work(at, e.Step, id) })
		case engine.Poll:
			count := run.Steps[e.Step].PollCount + 1
			s.post("poll", e.At, func() { s.runEvent(at, engine.PollDue{Step: e.Step, Count: count}) })
		case engine.Retry:
			count := run.Steps[e.Step].RetryCount
			s.post("retry", e.At, func() { s.runEvent(at, engine.RetryDue{Step: e.Step, Count: count}) })
		case engine.Deadline:
			id := run.Steps[e.Step].JobID
			s.post("deadline", e.At, func() { s.deadline(at, e.Step, id) })
		case engine.Hold:
			s.post("release", s.now, func() {
				if s.batch.Gate() != engine.Paused {
					s.runEvent(at, engine.RunReleased{Task: "resumed"})
				}
			})
		case engine.Count:
			key := sheet{at.phase, run.Page}
			shard := s.shards[key]
			shard.Open--
			shard.Count(e.Outcome)
			s.shards[key] = shard
		case engine.Leave:
			s.batch.Phases = slices.Clone(s.batch.Phases)
			p := &s.batch.Phases[at.phase-1]
			p.Open--
			switch e.Outcome {
			case engine.RunSucceeded:
				p.Succeeded++
			case engine.RunFailed:
				p.Failed++
			default:
				p.Cancelled++
			}
		}
	}
	s.announce(effects)
}

func (s *system) deadline(at place, step int, job string) {
	s.runEvent(at, engine.DeadlineDue{Step: step, JobID: job, Queued: !s.patient && s.pick(4) == 0})
}

// work has a worker take a job and answer it. A patient worker succeeds. A job goes on
// until its result is delivered for the first time, or until it expires.
func (s *system) work(at place, step int, job string) {
	result := engine.StepResult{Step: step, JobID: job, OK: true, Result: json.RawMessage(`{"complete":true,"data":{"id":1}}`)}
	if !s.patient {
		polls := s.runs[at].Steps[step].PollInterval > 0
		switch chance := s.pick(8); {
		case chance < 2:
			result.OK, result.Error, result.RetryAfter = false, "no", time.Duration(s.pick(3))*time.Minute
		case chance == 2 && s.pick(2) == 0:
			result.OK, result.Error, result.Revoked = false, "revoked", true
		case chance == 2:
			result.OK, result.Error, result.Expired = false, "expired", true
		case chance == 3, chance < 7 && polls:
			result.Result = json.RawMessage(`{"complete":false}`)
		}
	}
	if !s.begin(at, step, job, result.Expired || result.Revoked) {
		result = engine.StepResult{Step: step, JobID: job, Error: "expired", Expired: true}
	}
	if !s.patient && !s.flights[job].ended && s.pick(6) == 0 { // its replica lost the lock, and another one refuses the job
		revoked := s.pick(2) == 0
		s.post("refusal", s.now, func() {
			s.runEvent(at, engine.StepResult{Step: step, JobID: job, Error: "not begun here", Expired: !revoked, Revoked: revoked, Redelivered: true})
		})
	}
	s.post("result", s.now, func() {
		if f := s.flights[job]; !f.ended {
			f.ended = true
			s.flights[job] = f
		}
		s.runEvent(at, result)
	})
}

// begin has a worker begin a job, unless it refuses it, and tells whether it may: a job
// that has expired it may not.
func (s *system) begin(at place, step int, job string, refuses bool) bool {
	if _, again := s.flights[job]; again {
		return true
	}
	run := s.runs[at]
	of := run.Steps[step]
	removes := run.Kind == engine.KindRemoval
	f := flight{member: at.member, phase: at.phase, removes: removes, undoes: removes || of.Rollback != "", ended: refuses}
	if at.member == 0 {
		f.member = -at.phase
	}
	waits := of.JobID == job && of.Status == engine.StepDispatched
	if waits {
		f.expires = of.DispatchedAt.Add(of.Timeout)
	}
	if !waits || refuses || !s.now.Before(f.expires) {
		// What was resolved may be begun all the same, and run.
		if !waits && !refuses && !s.resolved[job] && s.now.Before(s.expiry[job]) {
			s.fail("job %s is begun, and its step does not wait for it: %s", job, encode(of))
		}
		f.ended = true
		s.flights[job] = f
		return refuses
	}
	for id, other := range s.flights {
		if other.member == f.member && !other.ended && s.now.Before(other.expires) && (f.awaits(other) || !s.resolved[id]) {
			s.fail("job %s of member %d begins (it undoes: %t) while %s is in flight", job, at.member, f.undoes, id)
		}
	}
	s.flights[job] = f
	return true
}

func (s *system) places() []place {
	return slices.SortedFunc(maps.Keys(s.runs), func(a, b place) int {
		return (a.phase-b.phase)*1000 + a.member - b.member
	})
}

func (s *system) sheets() []sheet {
	return slices.SortedFunc(maps.Keys(s.shards), func(a, b sheet) int {
		return (a.phase-b.phase)*1000 + a.page - b.page
	})
}
