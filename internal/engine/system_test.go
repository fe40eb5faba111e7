package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
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

// system is a whole batch in memory: it stores the engine's decisions at once,
// puts their messages into the mail, and draws the random parts (order and
// number of deliveries, answers of workers, requests of administrators).
type system struct {
	fail     func(format string, args ...any)
	pick     func(n int) int // from 0 to n-1
	runbooks map[int]*runbook.Runbook
	now      time.Time
	batch    model.Batch
	members  map[int]model.Member
	runs     map[place]model.Run
	shards   map[sheet]model.Shard
	jobs     map[string]bool      // the ids of what was sent
	flights  map[string]flight    // by job id: what a worker has begun
	expiry   map[string]time.Time // by job id: when it expires
	decided  map[string]time.Time // by job id: when it was decided on
	revoked  time.Time            // the worker begins no job that was decided on until then
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

// awaits reports whether a job must not begin before another job of the member has ended,
// although no run waits for that job any more: the one undoes what the other does.
func (f flight) awaits(other flight) bool {
	if other.undoes {
		return !f.undoes
	}
	return f.undoes && (f.removes || f.phase == other.phase)
}

func newSystem(runbooks map[int]*runbook.Runbook, pick func(n int) int, fail func(string, ...any)) *system {
	s := &system{
		fail: fail, pick: pick, runbooks: runbooks, now: now, members: map[int]model.Member{}, runs: map[place]model.Run{},
		shards: map[sheet]model.Shard{}, jobs: map[string]bool{}, flights: map[string]flight{}, expiry: map[string]time.Time{}, decided: map[string]time.Time{}, resolved: map[string]bool{}, passed: map[string]bool{}, foreseen: map[string]bool{},
	}
	var start *time.Time
	if pick(2) == 0 {
		at := now
		start = &at
	}
	version := s.begun()
	n := 1 + pick(3)
	switch {
	case pick(6) == 0:
		s.create(model.BatchCreated{ID: 42, Version: firstRequested + pick(len(requested)), At: now, Requested: &model.Requested{KeepSeconds: 3600}})
	case start != nil && pick(2) == 0:
		s.create(model.BatchCreated{ID: 42, Version: version, Start: start, At: now})
		for range 1 + pick(2) {
			s.post("fill", s.now, s.fill)
		}
	default:
		if start == nil {
			s.create(model.BatchCreated{ID: 42, Version: version, Members: n, By: "ada", At: now})
		} else {
			s.batch = engine.NewBatch(42, runbooks[version], version, n, start, "ada", now)
		}
		for i := 1; i <= n; i++ {
			s.addMember(i, 1)
		}
	}
	s.batch.Secrets = true // so that SecretsDue erases what members have
	s.passed["batch: [*] --> "+string(s.batch.Status)] = true
	s.post("first announcement", s.now, func() {
		for _, m := range engine.NextDue(&s.batch, s.now) {
			s.send(m, false)
		}
	})
	return s
}

func (s *system) create(e model.BatchCreated) {
	d, err := engine.Decide(model.MemoryState{Runbooks: s.runbooks}, e, now)
	if err != nil {
		s.fail("%#v: %v", e, err)
	}
	s.batch = *d.Batch
}

func (s *system) addMember(id, page int) {
	m := model.Member{ID: id, Page: page, Status: model.MemberActive, Data: map[string]json.RawMessage{"Upn": json.RawMessage(`"u"`)}}
	if s.pick(2) == 0 { // without it "verify" needs what "create" gives
		m.Data["UserId"] = json.RawMessage(`"u"`)
	}
	if s.pick(6) > 0 { // without it a step cannot be resolved
		m.Data["Kind"] = json.RawMessage(`"User"`)
	}
	if s.pick(3) == 0 {
		m.Data["Password"] = model.Seal("sealed")
	}
	s.members[id] = m
}

func (s *system) post(name string, at time.Time, deliver func()) {
	s.mail = append(s.mail, letter{name, at, deliver})
}

func (s *system) noteTransition(kind string, from, to any) {
	if from != to {
		s.passed[fmt.Sprintf("%s: %v --> %v", kind, from, to)] = true
	}
}

func encode(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs
	}
	return string(out)
}

func (s *system) setBatch(b *model.Batch) {
	if b == nil {
		return
	}
	s.noteTransition("batch", s.batch.Status, b.Status)
	calls := 0 // that list the items
	if b.IsListing() && b.ListingPhase().DispatchedAt != nil && len(s.runs) > 0 {
		calls = 1
	}
	if begun := b.Status != model.BatchDetected || len(b.Joining) > 0 || len(s.runs) > calls; b.Filling && begun {
		s.fail("the batch is being filled, and is %s, with %d runs, joining %v", b.Status, len(s.runs), b.Joining)
	}
	if b.Requested != nil && b.Requested.CachedBatch != 0 && len(s.members) > 0 {
		s.fail("the batch has the result of batch %d, and %d members", b.Requested.CachedBatch, len(s.members))
	}
	for _, j := range b.Joining {
		if len(j.Phases) == 0 {
			s.fail("page %d is to catch up on nothing", j.Page)
		}
	}
	for i, p := range b.Phases {
		before := model.PhasePending
		if i < len(s.batch.Phases) {
			before = s.batch.Phases[i].Status
		}
		s.noteTransition("phase", before, p.Status)
		if before == model.PhasePending && p.Status == model.PhaseDispatched {
			s.begins(b, p)
		}
	}
	s.batch = *b
}

// begins checks that a phase begins when it may.
func (s *system) begins(b *model.Batch, p model.Phase) {
	if b.Manual || p.Kind != model.KindPhase {
		return
	}
	if end, quiet := s.runbooks[b.Version].QuietHours.Until(s.now); quiet {
		s.fail("phase %d begins at %s, in quiet hours until %s", p.ID, s.now, end)
	}
	if p.DueAt.After(s.now) {
		s.fail("phase %d begins at %s, and is due at %s", p.ID, s.now, p.DueAt)
	}
}

func (s *system) setMember(m *model.Member) {
	if m != nil {
		s.noteTransition("member", s.members[m.ID].Status, m.Status)
		s.members[m.ID] = *m
	}
}

func (s *system) setRun(at place, next *model.Run) {
	before, known := s.runs[at]
	if !known {
		before = model.Run{Status: model.RunWaiting}
		s.enters(at)
	}
	s.noteTransition("run", before.Status, next.Status)
	for i, step := range next.Steps {
		from := model.StepPending
		if i < len(before.Steps) {
			from = before.Steps[i].Status
		}
		s.noteTransition("step", from, step.Status)
	}
	s.runs[at] = *next
	s.check(at)
}

// enters checks that a run is made in the order of its member's phases.
func (s *system) enters(at place) {
	p := s.batch.Phases[at.phase-1]
	for _, q := range s.batch.Phases[at.phase:] {
		if _, overtaken := s.runs[place{q.ID, at.member}]; overtaken && at.member > 0 && q.Version == p.Version && q.Kind == p.Kind {
			s.fail("member %d enters phase %d after phase %d", at.member, at.phase, q.ID)
		}
	}
}

// view is the state of a system for one decision. It may have the batch's dispatch mode from a
// moment ago, when the batch was open.
type view struct {
	*system
	mode model.DispatchMode
}

func (s *system) view() view {
	if !s.patient && s.pick(8) == 0 {
		return view{s, model.Running}
	}
	return view{s, s.batch.DispatchMode()}
}

func (v view) LoadBatch() (*model.Batch, error) {
	b := v.batch
	return &b, nil
}

func (v view) LoadDispatchMode() (model.DispatchMode, error) { return v.mode, nil }

func (v view) LoadRun(phase, member int) (*model.Run, error) {
	run, ok := v.runs[place{phase, member}]
	if !ok {
		return nil, nil
	}
	return &run, nil
}

func (v view) LoadBatchToWrite() (*model.Batch, error)             { return v.LoadBatch() }
func (v view) LoadMemberToWrite(member int) (*model.Member, error) { return v.LoadMember(member) }

func (v view) LoadMember(member int) (*model.Member, error) {
	m, ok := v.members[member]
	if !ok {
		return nil, fmt.Errorf("there is no member %d", member)
	}
	return &m, nil
}

func (v view) runsWhere(is func(*model.Run) bool) ([]*model.Run, error) {
	var all []*model.Run
	for _, at := range v.places() {
		if run := v.runs[at]; is(&run) {
			all = append(all, &run)
		}
	}
	return all, nil
}

func (v view) LoadRunsOf(member int) ([]*model.Run, error) {
	return v.runsWhere(func(r *model.Run) bool { return r.Member == member })
}

func (v view) LoadPageRuns(phase, page int) ([]*model.Run, error) {
	return v.runsWhere(func(r *model.Run) bool { return r.Phase == phase && r.Page == page })
}

func (v view) LoadPage(page int) ([]*model.Member, error) {
	var all []*model.Member
	for _, id := range slices.Sorted(maps.Keys(v.members)) {
		if m := v.members[id]; m.Page == page {
			all = append(all, &m)
		}
	}
	return all, nil
}

func (v view) LoadCacheEntry(string) (*model.CacheEntry, error) { return nil, nil }

func (v view) LoadHolder(*model.CacheEntry) (*model.Run, error) { return nil, nil }

func (v view) LoadOutputs(phase int) (string, error) { return fmt.Sprintf("outputs/1/%d", phase), nil }

func (v view) LoadShard(phase, page int) (*model.Shard, error) {
	shard, ok := v.shards[sheet{phase, page}]
	if !ok {
		return nil, nil
	}
	return &shard, nil
}

func (v view) LoadRunbook(_ string, version int) (*runbook.Runbook, error) {
	return v.runbooks[version], nil
}

// text is all that a decision may read.
func (s *system) text() string {
	var all []any
	for _, at := range s.places() {
		all = append(all, s.runs[at])
	}
	for _, at := range s.sheets() {
		all = append(all, s.shards[at])
	}
	return encode(append(all, s.batch, s.members))
}

// decide takes a decision, twice where purity is checked.
func (s *system) decide(e model.Event) (model.Decision, error) {
	state := s.view()
	if !s.pure {
		return engine.Decide(state, e, s.now)
	}
	before := s.text()
	d, err := engine.Decide(state, e, s.now)
	first := encode(d)
	if again, _ := engine.Decide(state, e, s.now); encode(again) != first {
		s.fail("%T is decided in two ways: %s, then %s", e, first, encode(again))
	}
	if after := s.text(); after != before {
		s.fail("%T changed what it was decided on: before %s, after %s", e, before, after)
	}
	return d, err
}

// comesAgain reports whether an event arrives by a message, which is redelivered until
// processed. A request of an administrator arrives once.
func comesAgain(e model.Event) bool {
	switch e := e.(type) {
	case model.MemberRetried, model.SequenceRetried:
		return false
	case model.OnRun:
		_, resolved := e.RunEvent.(model.StepResolved)
		return !resolved
	}
	return true
}

// event decides, stores and mails what follows; a refusal changes nothing.
func (s *system) event(e model.Event) model.Decision {
	d, err := s.decideAndStore(e)
	if err == nil {
		s.goOn(e, d.Next)
	}
	return d
}

// onlyPutsOff reports whether writes change nothing but the deadline of a job in flight.
func (s *system) onlyPutsOff(w model.Writes) bool {
	if w.Empty() {
		return true
	}
	if len(w.Runs) != 1 {
		return false
	}
	is := w.Runs[0].Clone()
	was := s.runs[place{is.Phase, is.Member}]
	is.DeadlineAt, is.Steps[is.Current].QueuedUntil = was.DeadlineAt, was.Steps[was.Current].QueuedUntil
	return reflect.DeepEqual(model.Writes{Runs: []*model.Run{is}}, model.Writes{Runs: []*model.Run{&was}}) && len(w.Members)+len(w.Shards)+len(w.Counts) == 0 && w.Batch == nil
}

func (s *system) decideAndStore(e model.Event) (model.Decision, error) {
	d, err := s.decide(e)
	var refusal *model.Refusal
	if err != nil && !errors.As(err, &refusal) && !errors.Is(err, model.ErrNotYet) {
		s.fail("%#v: %v", e, err)
	}
	if err != nil {
		return model.Decision{}, err
	}
	if d.Stale && (d.Repeated || len(d.Messages)+len(d.Next) > 0) || d.Stale && !d.Empty() || d.Repeated && !s.onlyPutsOff(d.Writes) {
		s.fail("%T is out of date and changed something: %s", e, encode(d))
	}
	if on, ok := e.(model.OnRun); ok {
		s.checkEnded(on, d)
	}
	s.store(d.Writes)
	for _, m := range d.Messages {
		s.send(m, d.Repeated)
	}
	return d, nil
}

// resume decides the events that follow from a decision, in their order, each with what
// follows from it. Between any two of them other handlers do their work, or the process
// dies: then the event that they follow from comes again.
func (s *system) goOn(first model.Event, rest []model.Event) {
	switch {
	case len(rest) == 0:
	case !s.patient && comesAgain(first) && s.pick(30) == 0:
		s.post(fmt.Sprintf("%T again", first), s.now, func() { s.event(first) })
	default:
		s.post(fmt.Sprintf("%T", rest[0]), s.now, func() {
			d, err := s.decideAndStore(rest[0])
			if errors.Is(err, model.ErrNotYet) && comesAgain(first) {
				s.post(fmt.Sprintf("%T put back", first), s.now.Add(5*time.Second), func() { s.event(first) })
				return
			}
			s.goOn(first, append(slices.Clone(d.Next), rest[1:]...))
		})
	}
}

// checkEnded fails where an event changes a run that has ended, other than by a late
// result.
func (s *system) checkEnded(on model.OnRun, d model.Decision) {
	before, ok := s.runs[place{on.Phase, on.Member}]
	if !ok {
		return
	}
	if before.Status.Terminal() && !d.Repeated && !d.Empty() && (d.Batch != nil || len(d.Members)+len(d.Counts)+len(d.Messages)+len(d.Next) > 0 || d.Runs[0].Status != before.Status) {
		s.fail("%T changed a run that has ended", on.RunEvent)
	}
	if r, ok := on.RunEvent.(model.StepResolved); ok && !d.Empty() {
		s.resolved[before.JobID(r.Step)] = true
	}
}

// store carries out the writes of a decision.
func (s *system) store(w model.Writes) {
	for _, m := range w.Members {
		s.setMember(m)
	}
	s.setBatch(w.Batch)
	for _, shard := range w.Shards {
		s.shards[sheet{shard.Phase, shard.Page}] = *shard
	}
	for _, run := range w.Runs {
		s.setRun(place{run.Phase, run.Member}, run)
	}
	s.batch.Phases = slices.Clone(s.batch.Phases)
	for _, c := range w.Counts {
		s.count(c)
	}
}

func (s *system) count(c model.Count) {
	switch c := c.(type) {
	case model.CountRun:
		key := sheet{c.Phase, c.Page}
		shard := s.shards[key]
		if c.Yields {
			shard.Yielded++
		}
		if c.Outcome != "" {
			shard.Open--
			add(c.Outcome, &shard.Succeeded, &shard.Failed, &shard.Cancelled)
		}
		s.shards[key] = shard
	case model.CountShard:
		p := &s.batch.Phases[c.Phase-1]
		p.ShardsClosed++
		p.Succeeded, p.Failed, p.Cancelled = p.Succeeded+c.Succeeded, p.Failed+c.Failed, p.Cancelled+c.Cancelled
	case model.CountFailures:
		s.batch.Phases[c.Phase-1].FailedSoFar += c.Failed
	case model.CountCheckFailure:
		s.batch.FailedChecks++
	case model.CountRemoval:
		p := &s.batch.Phases[c.Phase-1]
		p.Open--
		add(c.Outcome, &p.Succeeded, &p.Failed, &p.Cancelled)
	case model.MarkSent:
		key := sheet{c.Phase, c.Page}
		shard := s.shards[key]
		shard.Sent = true
		s.shards[key] = shard
	default:
		s.fail("nothing counts %T", c)
	}
}

func add(outcome model.RunStatus, succeeded, failed, cancelled *int) {
	switch outcome {
	case model.RunSucceeded:
		*succeeded++
	case model.RunFailed:
		*failed++
	default:
		*cancelled++
	}
}

// send mails a message that follows from a decision.
func (s *system) send(m model.Message, repeated bool) {
	at := s.now
	var deliver func()
	switch m := m.(type) {
	case model.Dispatch:
		run := place{m.Run.Phase, m.Run.Member}
		job := m.Run.JobID(m.Step)
		s.noteDispatched(job, m.Run.Steps[m.Step], m.Definition.Timeout, repeated)
		if m.At.After(at) {
			at = m.At
		}
		deliver = func() { s.work(run, m.Step, job) }
	case model.Poll:
		count := m.Run.Steps[m.Step].PollCount + 1
		at, deliver = m.At, func() { s.onRun(m.Run, model.PollDue{Step: m.Step, Count: count}) }
	case model.Retry:
		count := m.Run.Steps[m.Step].RetryCount
		at, deliver = m.At, func() { s.onRun(m.Run, model.RetryDue{Step: m.Step, Count: count}) }
	case model.Deadline:
		run, id := place{m.Run.Phase, m.Run.Member}, m.Run.JobID(m.Step)
		at, deliver = m.At, func() { s.deadline(run, m.Step, id) }
	case model.Announce:
		deliver = func() { s.due(m) }
	case model.CatchUp:
		id := fmt.Sprintf("catch-up %d at revision %d", m.Page, s.batch.Revision)
		if s.jobs[id] { // the broker drops it
			return
		}
		s.jobs[id] = true
		deliver = func() { s.event(model.CatchUpDue{Page: m.Page}) }
	case model.Remove:
		deliver = func() { s.event(model.RemovalDue{Member: m.Member.ID}) }
	case model.WriteItems:
		deliver = s.writeItems
	case model.Release:
		deliver = s.release
	case model.CancelRuns:
		deliver = s.stop
	case model.Revoke: // a worker may answer at any time that a job was revoked, and must of these
		if m.Through.After(s.revoked) {
			s.revoked = m.Through
		}
		return
	default:
		s.fail("nothing sends %T", m)
	}
	s.post(fmt.Sprintf("%T", m), at, deliver)
}

func (s *system) noteDispatched(job string, step model.Step, timeout time.Duration, repeated bool) {
	if s.batch.Status.Terminal() && !s.batch.HasOpenDetached() {
		s.fail("job %s is dispatched for a batch that is %s", job, s.batch.Status)
	}
	if s.jobs[job] != repeated || job == "" {
		s.fail("job id %q: used before: %t, repeated: %t", job, s.jobs[job], repeated)
	}
	s.jobs[job] = true
	s.expiry[job], s.decided[job] = step.VisibleAt().Add(timeout), *step.DispatchedAt
}

// definition is the one of a run's step.
func (s *system) definition(run *model.Run, step int) runbook.Step {
	d, err := run.Definition(s.runbooks[run.Version], step)
	if err != nil {
		s.fail("%v", err)
	}
	return d
}

func (s *system) onRun(run *model.Run, e model.RunEvent) { s.event(on(run, e)) }

func (s *system) runEvent(at place, e model.RunEvent) {
	s.event(model.OnRun{Phase: at.phase, Member: at.member, RunEvent: e})
}

// due is the handler of batch-init and of one page of phase-due. A phase that is announced again goes on
// at the last page that was made.
func (s *system) due(m model.Announce) {
	if s.batch.DispatchMode() == model.Cancelled {
		s.stop()
		return
	}
	if m.Page <= 1 && m.FanOut != "" {
		for _, at := range s.sheets() {
			if at.phase == m.Phase {
				m.Page = max(m.Page, at.page)
			}
		}
	}
	s.event(model.PhaseDue{Phase: m.Phase, Page: m.Page, FanOut: m.FanOut})
}

func (s *system) release() {
	if s.batch.DispatchMode() == model.Paused {
		return
	}
	for _, at := range s.places() {
		s.runEvent(at, model.RunReleased{Task: "release"})
	}
}

// report counts the shards that are empty and did not get to it.
func (s *system) report() {
	for _, at := range s.sheets() {
		if shard := s.shards[at]; shard.Open == 0 && !shard.Reported {
			s.event(model.ShardCounted{Phase: at.phase, Page: at.page, Again: true})
		}
	}
}

func (s *system) stop() {
	if s.batch.DispatchMode() != model.Cancelled {
		return
	}
	open := false
	for _, at := range s.places() {
		if !s.runs[at].Status.Terminal() {
			open = true
			s.runEvent(at, model.RunCancelRequested{Reason: "the batch is cancelled"})
		}
	}
	s.report()
	if !open {
		s.event(model.BatchDrained{})
	}
}

func (s *system) deadline(at place, step int, job string) {
	s.runEvent(at, model.DeadlineDue{Step: step, JobID: job, Queued: !s.patient && s.pick(4) == 0})
}

// work has a worker take a job and answer it. A patient worker succeeds. A job goes on
// until its result is delivered for the first time, or until it expires.
func (s *system) work(at place, step int, job string) {
	result := model.StepResult{Step: step, JobID: job, OK: true, Result: json.RawMessage(`{"complete":true,"data":{"id":1}}`)}
	if run := s.runs[at]; run.Kind == model.KindItems {
		result.Result = s.list()
	}
	if !s.patient {
		run := s.runs[at]
		polls := s.definition(&run, step).Poll != nil
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
	if _, begun := s.flights[job]; !begun && !s.decided[job].After(s.revoked) {
		result = model.StepResult{Step: step, JobID: job, Error: "revoked", Revoked: true}
	}
	if !s.begin(at, step, job, result.Expired || result.Revoked) {
		result = model.StepResult{Step: step, JobID: job, Error: "expired", Expired: true}
	}
	if !s.patient && !s.flights[job].ended && s.pick(6) == 0 { // its replica lost the lock, and another one refuses the job
		revoked := s.pick(2) == 0
		s.post("refusal", s.now, func() {
			s.runEvent(at, model.StepResult{Step: step, JobID: job, Error: "not begun here", Expired: !revoked, Revoked: revoked, Redelivered: true})
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
	removes := run.Kind == model.KindRemoval
	f := flight{member: at.member, phase: at.phase, removes: removes, undoes: removes || of.Rollback != "", ended: refuses}
	if at.member == 0 {
		f.member = -at.phase
	}
	waits := run.AwaitsJob(step, job)
	if waits {
		f.expires = of.VisibleAt().Add(s.definition(&run, step).Timeout)
	}
	if waits && s.now.Before(of.VisibleAt()) {
		s.fail("job %s begins at %s, and is visible at %s", job, s.now, of.VisibleAt())
	}
	if !waits || refuses || !s.now.Before(f.expires) {
		// A resolved step's job may still start and run.
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

// mailNames lists the mail by name.
func (s *system) mailNames() string {
	names := map[string]int{}
	for _, l := range s.mail {
		names[l.name]++
	}
	return encode(names)
}
