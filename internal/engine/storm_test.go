package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// The versions of the runbook that a system goes through have what a runbook can
// have; the second has no init, the last quiet hours, in which most of its phases fall
// due.
var versions = []string{
	header + `
retry: {max_retries: 1, interval: 30s}
init:
  - {name: prepare, worker_id: w1, function: Prepare, on_failure: tidy}
  - {name: warm, worker_id: w1, function: Warm, timeout: 1m}
phases:
  - name: create
    offset: T-1d
    steps:
      - {name: new, worker_id: w1, function: "New-{{Kind}}", params: {Name: "{{Upn}}"}, output_params: {UserId: id}, on_failure: undo, timeout: 2m}
      - {name: join, worker_id: w1, function: Join, params: {User: "{{UserId}}"}, retry: {max_retries: 0}}
    on_complete:
      - {name: report, worker_id: w1, function: Report, params: {Good: "{{_phase_succeeded}}"}, on_failure: tidy}
      - {name: train, worker_id: w1, function: Train, params: {Good: "{{_phase_succeeded}}"}, poll: {interval: 30s, timeout: 70s}, detached: true}
      - {name: tell, worker_id: w1, function: Tell, detached: true, on_failure: tidy}
  - name: verify
    offset: T-0
    require_success: 60%
    steps:
      - {name: greet, worker_id: w1, function: Greet, when: 'Kind == "Guest"'}
      - {name: check, worker_id: w1, function: Check, params: {User: "{{UserId}}"}, poll: {interval: 30s, timeout: 70s}, on_failure: undo}
on_member_removed:
  - {name: stop, worker_id: w1, function: Stop, params: {Name: "{{Upn}}"}, on_failure: undo}
rollbacks:
  undo:
    - {name: remove, worker_id: w1, function: Remove, params: {Name: "{{Upn}}"}}
    - {name: tell, worker_id: w1, function: Tell, poll: {interval: 30s, timeout: 70s}}
  tidy: [{name: sweep, worker_id: w1, function: Sweep}]
`,
	header + `
retry: {max_retries: 2, interval: 30s, backoff: exponential, jitter: 50%}
phases:
  - name: create
    offset: T-1d
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, output_params: {UserId: id}}
  - name: verify
    offset: T-0
    approval: required
    steps:
      - {name: check, worker_id: w1, function: Check, params: {User: "{{UserId}}"}, poll: {interval: 10m, timeout: 25m}}
  - name: clean
    offset: T-0
    when: Kind == "Guest" or UserId == nil
    steps:
      - {name: tidy, worker_id: w1, function: Tidy, timeout: 1m}
`,
	header + `
quiet_hours: {time_zone: Asia/Kolkata, windows: [{from: "17:00", to: "18:30"}, {from: "19:00", to: "19:10"}]}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, output_params: {UserId: id}}
  - name: verify
    offset: T+45m
    approval: required
    steps:
      - {name: check, worker_id: w1, function: Check, params: {User: "{{UserId}}"}, poll: {interval: 30s, timeout: 70s}}
  - name: clean
    offset: T+2h
    steps:
      - {name: tidy, worker_id: w1, function: Tidy, timeout: 1m}
on_member_removed:
  - {name: stop, worker_id: w1, function: Stop, params: {Name: "{{Upn}}"}}
`,
}

// requested are versions whose batches requests start and whose items a function lists. No batch goes over to
// another of them.
var requested = []string{
	listed + `
init:
  - {name: prepare, worker_id: w1, function: Prepare}
phases:
  - name: create
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, output_params: {UserId: id}, timeout: 2m}
    on_complete:
      - {name: report, worker_id: w1, function: Report, params: {Good: "{{_phase_succeeded}}"}}
      - {name: train, worker_id: w1, function: Train, detached: true}
`,
	listed + `
phases:
  - name: create
    steps: [{name: new, worker_id: w1, function: "New-{{Kind}}", params: {Name: "{{Upn}}"}}]
  - name: verify
    steps: [{name: check, worker_id: w1, function: Check, params: {Name: "{{Upn}}"}, poll: {interval: 30s, timeout: 70s}}]
`,
}

const listed = `
name: migration
trigger: request
items:
  primary_key: Upn
  source: {worker_id: w1, function: List, params: {Owner: "{{_batch_owner}}"}, output: Items, retry: {max_retries: 1, interval: 30s}, timeout: 2m}
`

// order is in which order the versions are published, each as many times as a batch
// may have to go over to it.
var order = []int{0, 1, 0, 1, 2, 0}

// allVersions are the versions of the runbook by their numbers.
func allVersions(t *testing.T) map[int]*runbook.Runbook {
	t.Helper()
	all := map[int]*runbook.Runbook{}
	for i, place := range order {
		all[1+i] = read(t, versions[place])
	}
	for i, text := range requested {
		all[firstRequested+i] = read(t, text)
	}
	return all
}

// firstRequested is the first version of requested. No version is just before it.
const firstRequested = 20

// begun is the version that a batch begins with.
func (s *system) begun() int { return []int{1, 2, 5}[s.pick(3)] }

// live runs the whole batch: random events first, then the remaining ones, and
// sometimes a retry of the failed members.
func (s *system) live() {
	if s.pick(4) == 0 {
		s.outrun()
	}
	for range 150 + s.pick(250) {
		s.happen()
	}
	s.finish()
	if s.pick(2) == 0 {
		for id := range len(s.members) {
			s.retry(1+id, nil)
		}
		s.retrySequences()
		s.patient = false
		for range s.pick(150) {
			s.happen()
		}
		s.finish()
	}
	s.now = s.now.Add(model.SecretRetention)
	s.erase()
	s.checkErased()
	if !s.batch.Status.Terminal() {
		s.fail("the batch ends as %s", s.batch.Status)
	}
}

// outrun publishes new versions when all phases have begun, and there is little left
// for them to do.
func (s *system) outrun() {
	s.patient = true
	pending := func(p model.Phase) bool { return p.Status == model.PhasePending }
	for range 300 {
		if !slices.ContainsFunc(s.batch.Phases, pending) {
			break
		}
		for _, p := range s.batch.Phases {
			s.event(model.PhaseApproved{Phase: p.ID})
		}
		s.event(next(s.batch))
		s.deliver(0)
	}
	s.patient = false
	for range 2 {
		s.publish()
		for range s.pick(30) {
			s.deliver(s.pick(max(1, len(s.mail))))
		}
	}
}

// happen is one thing at random.
func (s *system) happen() {
	switch s.pick(12) {
	case 0:
		s.intervene()
	case 1:
		if len(s.past) > 0 {
			s.past[s.pick(len(s.past))].deliver()
		}
	case 2:
		s.event([]model.Advanced{next(s.batch), {Phase: s.batch.CurrentPhase}}[s.pick(2)])
	default:
		s.deliver(s.pick(max(1, len(s.mail))))
	}
}

// deliver hands one letter out; the clock is then where it is due, or beyond.
func (s *system) deliver(i int) {
	if i >= len(s.mail) {
		return
	}
	l := s.mail[i]
	s.mail = slices.Delete(s.mail, i, i+1)
	s.past = append(s.past, l)
	if l.at.After(s.now) {
		s.now = l.at
	}
	l.deliver()
}

// intervene plays the administrators, the source and the scheduler.
func (s *system) intervene() {
	mark := model.Attribution{By: "ada", At: s.now}
	phase := 1 + s.pick(len(s.batch.Phases))
	switch s.pick(24) {
	case 0:
		s.event(model.BatchPaused{By: mark})
	case 1, 2:
		s.event(model.BatchResumed{})
	case 3:
		if s.pick(4) == 0 {
			s.event(model.BatchCancelRequested{By: mark})
		}
	case 4, 5:
		s.event(model.PhaseApproved{Phase: phase, By: mark})
	case 6:
		s.join()
	case 7:
		s.remove(s.anyone())
	case 8, 9:
		s.retry(s.anyone(), nil)
	case 10:
		s.retrySequences()
	case 11, 12:
		s.resolve()
	case 13, 16, 17:
		s.publish()
	case 14:
		s.tick()
	case 15:
		s.now = s.now.Add(time.Duration(s.pick(40)) * time.Minute)
	case 18:
		s.event(model.BatchFilled{})
	case 19:
		s.guard(mark)
	case 20:
		if s.refresh(s.anyone()); s.pick(2) == 0 {
			s.correct(s.anyone())
		}
	case 21: // the last page, behind which nothing is erased, comes after the others: see erase
		s.event(model.SecretsDue{Page: s.pick(max(1, s.batch.PageCount()))})
	case 22:
		s.reschedule(mark)
	case 23:
		name := fmt.Sprint(s.pick(2))
		s.event(model.BatchUpdated{Name: &name})
	}
}

// reschedule gives the batch another start, and the data source none of its earlier ones.
func (s *system) reschedule(mark model.Attribution) {
	before := s.batch
	d := s.event(model.BatchRescheduled{Start: s.now.Add(time.Duration(s.pick(180)-60) * time.Minute), By: mark})
	if d.Batch == nil {
		return
	}
	for i, p := range before.Phases {
		moved := p.DueAt != nil && !p.DueAt.Equal(*d.Batch.Phases[i].DueAt)
		if moved && p.Status != model.PhasePending {
			s.fail("phase %d is %s, and was moved from %s to %s", p.ID, p.Status, p.DueAt, d.Batch.Phases[i].DueAt)
		}
	}
	if s.pick(2) == 0 {
		s.event(model.EarlierStartsReleased{Starts: before.EarlierStarts})
	}
}

// refresh gives a member other data, as a data source does.
func (s *system) refresh(member int) {
	if _, ok := s.members[member]; ok {
		s.event(model.MembersRefreshed{Members: []model.RefreshedMember{{
			Member: member, Data: map[string]json.RawMessage{"Kind": json.RawMessage(`"User"`)}, Hash: fmt.Sprint(s.pick(3)),
		}}})
	}
}

// correct gives a member other data, as an administrator does, or withdraws that.
func (s *system) correct(member int) {
	if _, ok := s.members[member]; !ok {
		return
	}
	e := model.MemberCorrected{Member: member, By: "ada"}
	if s.pick(3) == 0 {
		e.ClearOverrides = []string{"Kind"}
	} else {
		e.Set = map[string]json.RawMessage{"Kind": json.RawMessage([]string{`"User"`, `"Group"`}[s.pick(2)])}
	}
	s.event(e)
}

// erase erases the secrets of a batch that has ended, page by page.
func (s *system) erase() {
	for page := range s.batch.PageCount() + 1 {
		s.event(model.SecretsDue{Page: page})
		for len(s.mail) > 0 {
			s.deliver(0)
		}
	}
}

// checkErased fails if a member has a secret.
func (s *system) checkErased() {
	for id, m := range s.members {
		if m.EraseSecrets(nil) {
			s.fail("member %d has a secret after the secrets were erased", id)
		}
	}
}

// anyone is one of those who are, or were, members.
func (s *system) anyone() int { return 1 + s.pick(max(1, len(s.members))) }

// guard holds, confirms or discards removals beyond the guard.
func (s *system) guard(mark model.Attribution) {
	active := s.batch.Members - s.batch.Removed
	switch s.pick(7) {
	case 0, 1:
		held := model.RemovalsHeld{Members: s.pick(active + 1), Of: active, Reason: "too many"}
		if held.Members > 0 && s.pick(2) == 0 {
			held.Moving, held.MovesTo = held.Members, s.now.Add(time.Hour)
		}
		s.event(held)
	case 2:
		s.event(model.RemovalsConfirmed{By: mark, Move: s.pick(2) == 0})
	case 6:
		s.event(model.MovesDone{})
	case 3:
		s.event(model.RemovalsDiscarded{By: mark})
	case 4:
		s.event(model.RemovalsDone{})
	case 5:
		s.event(model.DiscardedRemovalsChanged{Count: s.pick(s.batch.Members + 1)})
	}
}

// fill writes the members of a batch that a source was found to ask for, and opens it.
func (s *system) fill() {
	if s.batch.Filling {
		s.join()
		s.event(model.BatchFilled{})
	}
}

// listedMembers is how many items a list has.
const listedMembers = 2

// list is the answer of a worker that lists the items, or one that is refused.
func (s *system) list() json.RawMessage {
	if !s.patient && s.pick(4) == 0 {
		return json.RawMessage(`{"complete":true,"data":{"Items":[]}}`)
	}
	return json.RawMessage(`{"complete":true,"data":{"Items":[{"Upn":"a","Kind":"User"},{"Upn":"b","Kind":"User"}]}}`)
}

// writeItems makes members of the items that a worker listed, or finds that an earlier batch has their result.
func (s *system) writeItems() {
	switch items := s.batch.ListingPhase(); {
	case items == nil || items.Status != model.PhaseCompleted || s.batch.Requested.CachedBatch != 0:
		return
	case s.pick(4) == 0:
		s.event(model.ItemsUnchanged{Batch: 41, Fingerprint: "f"})
	default:
		s.event(model.ItemsTaken{Fingerprint: "f"})
	}
	if !s.batch.HasTakenItems() {
		return
	}
	for id := len(s.members) + 1; id <= listedMembers; id++ {
		if !s.patient && s.pick(6) == 0 { // the process is killed
			return
		}
		s.addMember(id, 1)
		delete(s.members[id].Data, "Password") // publishing refuses a secret column that a function lists
	}
	s.event(model.ItemsWritten{Members: listedMembers})
}

func (s *system) join() {
	if s.batch.Requested != nil { // nothing is added to what was requested
		return
	}
	n := 1 + s.pick(2)
	first := s.batch.Members + 1
	d := s.event(model.MembersJoined{Members: n, Key: "late"})
	if d.Batch == nil {
		return
	}
	for id := first; id < first+n; id++ {
		s.addMember(id, d.Batch.PageCount())
	}
}

func (s *system) remove(member int) {
	m, ok := s.members[member]
	if !ok {
		return
	}
	filling := s.batch.Filling
	left := model.MemberLeft{Member: m.ID}
	if s.pick(3) == 0 {
		to := s.now.Add(time.Hour)
		left.MovesTo = &to
	}
	d := s.event(left)
	if len(d.Members) > 0 && filling && d.Members[0].Removal != 0 {
		s.fail("removal steps for member %d, who was in nothing", member)
	}
}

func (s *system) retry(member int, resolve *model.StepResolved) {
	if _, ok := s.members[member]; ok {
		s.tasks++
		s.event(model.MemberRetried{Member: member, Task: fmt.Sprintf("task-%d", s.tasks), Resolve: resolve})
	}
}

func (s *system) retrySequences() {
	for _, at := range s.places() {
		if run := s.runs[at]; at.member == 0 && run.Status == model.RunFailed {
			s.tasks++
			s.event(model.SequenceRetried{Phase: at.phase, Task: fmt.Sprintf("task-%d", s.tasks)})
		}
	}
}

// resolve skips a step or marks it done: one that has not ended, or the one that a
// member failed at.
func (s *system) resolve() {
	places := s.places()
	if len(places) == 0 {
		return
	}
	at := places[s.pick(len(places))]
	run := s.runs[at]
	step := run.Current
	if s.pick(3) == 0 {
		step = s.pick(len(run.Steps))
	}
	e := model.StepResolved{Step: step, Skip: s.pick(2) == 0, Result: []byte(`{"id":2}`), By: model.Attribution{By: "ada", At: s.now}}
	if run.Status == model.RunFailed && run.Kind == model.KindPhase {
		for i, st := range run.Steps {
			if st.Rollback == "" && (st.Status == model.StepFailed || st.Status == model.StepPollTimeout) {
				e.Step = i
			}
		}
		s.retry(at.member, &e)
		return
	}
	s.runEvent(at, e)
}

func (s *system) publish() {
	version := s.batch.Version + 1
	rb := s.runbooks[version]
	if rb == nil {
		return
	}
	e := model.VersionPublished{Version: version, Rerun: s.pick(2) == 0, RerunInit: s.pick(2) == 0}
	before := encode(s.batch)
	foreseen, err := engine.Foresee(&s.batch, rb, e, s.now)
	if err != nil || encode(s.batch) != before {
		s.fail("%T was not only foreseen: %v", e, err)
	}
	past := slices.Clone(s.batch.Phases)
	s.event(e)
	s.cameAbout(foreseen, version, past)
}

// cameAbout fails unless a new version changed the batch, which had these executions
// before, as forecast.
func (s *system) cameAbout(foreseen engine.Succession, version int, past []model.Phase) {
	if followed := s.batch.Version == version; followed != (foreseen.Stays == "") {
		s.fail("batch %+v followed version %d: %v, foreseen %+v", s.batch, version, followed, foreseen)
	}
	var got engine.Succession
	if got.Stays = foreseen.Stays; got.Stays == "" {
		got.Ends = s.batch.CompletedAt != nil
		begun := map[string]bool{}
		for i, was := range past {
			is := s.batch.Phases[i]
			switch {
			case was.Kind == model.KindRemoval, was.Kind == model.KindDetached:
			case was.Status == model.PhasePending && is.Status == model.PhaseSuperseded:
				got.Superseded = append(got.Superseded, was.Name)
			case is.Status == model.PhaseDispatched:
				got.UnderWay = append(got.UnderWay, was.Name)
			}
			if was.DispatchedAt != nil {
				begun[string(was.Kind)+was.Name] = true
			}
		}
		for _, is := range s.batch.Phases[len(past):] {
			again := begun[string(is.Kind)+is.Name]
			switch {
			case is.Kind == model.KindDetached: // of a phase that ends with the version
			case is.Status == model.PhaseSkipped:
				got.Skipped = append(got.Skipped, is.Name)
			case is.Status != model.PhasePending:
				s.fail("version %d made %+v", version, is)
			case is.Kind == model.KindInit:
				got.Init, got.InitAgain = true, again
			case again:
				got.Again = append(got.Again, is.Name)
			default:
				got.Pending = append(got.Pending, is.Name)
			}
		}
	}
	if encode(got) != encode(foreseen) {
		s.fail("version %d: foreseen %s, came about %s in %s", version, encode(foreseen), encode(got), encode(s.batch))
	}
	for kind, told := range map[string]bool{
		"stays": foreseen.Stays != "", "ends": foreseen.Ends, "under way": foreseen.UnderWay != nil, "superseded": foreseen.Superseded != nil,
		"skipped": foreseen.Skipped != nil, "again": foreseen.Again != nil, "pending": foreseen.Pending != nil, "init": foreseen.Init, "init again": foreseen.InitAgain,
	} {
		if told {
			s.foreseen[kind] = true
		}
	}
}

// tick plays the scheduler: it begins due phases and continues interrupted work.
func (s *system) tick() {
	switch s.batch.DispatchMode() {
	case model.Cancelled:
		s.stop()
	case model.Running:
		for _, p := range s.batch.Phases {
			switch {
			case p.Kind == model.KindDetached:
				if p.SequenceUnsent() {
					s.event(model.OnRun{Phase: p.ID, RunEvent: model.RunStarted{}})
				}
			case p.Status == model.PhasePending && p.DueAt != nil && !p.DueAt.After(s.now) && s.batch.Status == model.BatchActive,
				p.Status == model.PhaseDispatched && !p.FannedOut:
				s.due(model.Announce{Phase: p.ID, Page: 1, FanOut: "tick"})
			case p.Status == model.PhaseDispatched && p.Kind == model.KindPhase && p.ShardsClosed >= p.Shards:
				s.event(model.PhaseCounted{Phase: p.ID})
			}
		}
	}
	if s.batch.IsListing() {
		for _, m := range engine.NextDue(&s.batch, s.now) {
			s.send(m, false)
		}
	}
	s.report()
	for _, j := range s.batch.Joining {
		s.event(model.CatchUpDue{Page: j.Page})
	}
	for _, at := range s.places() {
		run := s.runs[at]
		if run.DeadlineAt != nil && !run.DeadlineAt.After(s.now) {
			s.deadline(at, run.Current, run.JobID(run.Current))
		}
	}
}

// finish lets all that is left come to its end: the batch must end, and nothing
// that comes after may change it.
func (s *system) finish() {
	s.patient = true
	for round := 0; ; round++ {
		for n := 0; len(s.mail) > 0; n++ {
			if n > 20_000 {
				s.fail("the mail does not end: %s", s.mailNames())
			}
			s.deliver(0)
		}
		if s.batch.Status.Terminal() && !s.batch.HasOpenDetached() {
			break
		}
		if round > 100 {
			s.fail("the batch does not end: %s", s.text())
		}
		if s.batch.Paused != nil {
			s.event(model.BatchResumed{})
		}
		s.fill()
		if s.batch.RemovalHold != nil {
			s.event(model.RemovalsDiscarded{})
			s.event(model.RemovalsDone{})
			s.event(model.MovesDone{})
		}
		for _, p := range s.batch.Phases {
			s.event(model.PhaseApproved{Phase: p.ID})
		}
		s.event(next(s.batch))
		s.now = s.now.Add(time.Hour)
		s.tick()
	}
	s.tally()
	for _, l := range s.past { // and nothing changes any more
		l.deliver()
	}
	for len(s.mail) > 0 {
		s.mail[0].deliver()
		s.mail = s.mail[1:]
	}
	s.past = nil
	s.tally()
}

// check holds the invariants of a run that was just stored.
func (s *system) check(at place) {
	run := s.runs[at]
	waits, err := runstate.Outstanding(&run, s.runbooks[run.Version])
	if err != nil {
		s.fail("%v", err)
	}
	switch active := run.Status == model.RunRunning || run.Status == model.RunRollingBack; {
	case active && run.PausedAt == nil && len(waits) == 0:
		s.fail("a run that is %s waits for nothing: %s", run.Status, encode(run))
	case !active && run.PausedAt == nil && len(waits) > 0:
		s.fail("a run that is %s waits for %v", run.Status, waits)
	case active && at.member > 0 && s.members[at.member].OpenPhase != at.phase:
		s.fail("member %d is in phase %d, and has a run under way in phase %d", at.member, s.members[at.member].OpenPhase, at.phase)
	}
	for other, r := range s.runs {
		if other != at && r.Kind == model.KindInit && run.Kind == model.KindInit && !r.Status.Terminal() && !run.Status.Terminal() {
			s.fail("the init sequences %d and %d are under way at once", other.phase, at.phase)
		}
	}
	for i, step := range run.Steps {
		s.checkPoll(&run, i)
		begun := step.Status == model.StepDispatched || step.Status == model.StepPolling || step.RetryAfter != nil
		switch {
		case run.Status.Terminal() && !step.Status.Terminal():
			s.fail("a run that is %s has a step that is %s", run.Status, step.Status)
		case begun && (i != run.Current || run.Status == model.RunWaiting):
			s.fail("step %d is in hand beside step %d of a run that is %s", i, run.Current, run.Status)
		case run.Status == model.RunRunning && i < run.Current && !step.Status.Done():
			s.fail("step %d is %s before the one in hand", i, step.Status)
		case run.Status == model.RunSucceeded && step.Rollback == "" && !step.Status.Done():
			s.fail("a run succeeded with a step that is %s", step.Status)
		case step.Rollback != "" && step.JobInFlight() && run.Status != model.RunRollingBack:
			s.fail("a rollback goes on in a run that is %s", run.Status)
		}
	}
}

// checkPoll fails unless a step knows of its next poll what it must: the time that follows from the
// answer before, and a job only if the poll was sent ahead.
func (s *system) checkPoll(run *model.Run, index int) {
	step := run.Steps[index]
	if polls := step.Status == model.StepPolling; polls != (step.PollAt != nil) || step.PollSent && !polls {
		s.fail("a step that is %s has a poll at %v, sent ahead: %t", step.Status, step.PollAt, step.PollSent)
	}
	if step.Status != model.StepPolling {
		return
	}
	definition := s.definition(run, index)
	poll := definition.Poll
	end := step.PollStartedAt.Add(poll.Timeout)
	switch {
	case !step.PollSent && step.PollAt.After(end) || step.PollSent && !step.PollAt.Before(end):
		s.fail("a poll is due at %s, and polling ends at %s, sent ahead: %t", step.PollAt, end, step.PollSent)
	case !step.PollSent:
	case run.PausedAt != nil || poll.Interval > 5*time.Minute:
		s.fail("a poll was sent ahead: %s", encode(run))
	case !step.PollAt.Equal(step.DispatchedAt.Add(poll.Interval)) || !step.VisibleAt().Equal(*step.PollAt) || step.Refused == nil && !run.SentAt.Equal(*step.PollAt):
		s.fail("a poll is due at %s, %s after the answer before: %s", step.PollAt, poll.Interval, encode(run))
	case run.DeadlineAt.Before(step.PollAt.Add(definition.Timeout + runstate.JobGracePeriod)):
		s.fail("the deadline of a poll that is due at %s is %s", step.PollAt, run.DeadlineAt)
	}
}

// tally checks an ended batch: all its parts have ended, and every count equals a
// recount.
func (s *system) tally() {
	if !s.batch.Status.Terminal() {
		s.fail("the batch is %s again", s.batch.Status)
	}
	if s.batch.Filling || s.batch.RemovalHold != nil {
		s.fail("the batch is %s, and it is being filled (%t), or removals are held (%v)", s.batch.Status, s.batch.Filling, s.batch.RemovalHold)
	}
	type count struct{ open, succeeded, failed, cancelled int }
	recount := map[sheet]*count{}
	removals := map[int]*count{}
	for _, at := range s.places() {
		run := s.runs[at]
		if !run.Status.Terminal() {
			s.fail("the batch is %s with a run that is %s: %s", s.batch.Status, run.Status, encode(run))
		}
		for _, step := range run.Steps {
			if step.Rollback != "" && step.Status == model.StepCancelled {
				s.fail("a rollback was cancelled: %s", encode(run))
			}
		}
		c := &count{}
		switch {
		case run.Kind == model.KindRemoval && run.Status == model.RunCancelled:
			s.fail("the removal of member %d was cancelled", at.member)
		case at.member == 0:
			continue
		case run.Kind == model.KindRemoval:
			if removals[at.phase] == nil {
				removals[at.phase] = c
			}
			c = removals[at.phase]
		default:
			key := sheet{at.phase, run.Page}
			if recount[key] == nil {
				recount[key] = c
			}
			c = recount[key]
		}
		switch run.Status {
		case model.RunSucceeded:
			c.succeeded++
		case model.RunFailed:
			c.failed++
		default:
			c.cancelled++
		}
	}
	sums, closed := map[int]count{}, map[int]int{}
	for at, shard := range s.shards {
		c := recount[at]
		if c == nil {
			c = &count{}
		}
		if (count{shard.Open, shard.Succeeded, shard.Failed, shard.Cancelled}) != *c || shard.Runs != c.succeeded+c.failed+c.cancelled || !shard.Reported {
			s.fail("shard %v is %+v; its runs %+v", at, shard, *c)
		}
		sum := sums[at.phase]
		sums[at.phase] = count{0, sum.succeeded + c.succeeded, sum.failed + c.failed, sum.cancelled + c.cancelled}
		closed[at.phase]++
	}
	for _, p := range s.batch.Phases {
		want := sums[p.ID]
		if c := removals[p.ID]; c != nil {
			want = *c
		}
		if got := (count{p.Open, p.Succeeded, p.Failed, p.Cancelled}); got != want || p.ShardsClosed != closed[p.ID] {
			s.fail("phase %d counts %+v in %d shards; its runs %+v in %d", p.ID, got, p.ShardsClosed, want, closed[p.ID])
		}
		if !p.Status.Terminal() {
			s.fail("the batch is %s with phase %d %s", s.batch.Status, p.ID, p.Status)
		}
		onComplete := s.runs[place{p.ID, 0}]
		if p.Kind == model.KindDetached && string(onComplete.Status) != map[model.PhaseStatus]string{model.PhaseCompleted: "succeeded", model.PhaseFailed: "failed", model.PhaseCancelled: "cancelled"}[p.Status] && (onComplete.Status != "" || p.Status != model.PhaseCancelled) {
			s.fail("the detached steps of execution %d are %q, the execution is %s", p.ID, onComplete.Status, p.Status)
		}
		if p.Kind == model.KindPhase && p.OnComplete && p.Status == model.PhaseCompleted && (p.OnCompleteStatus != model.RunSucceeded || onComplete.Status != model.RunSucceeded) {
			s.fail("phase %d is completed, its on_complete steps are %q (%q)", p.ID, p.OnCompleteStatus, onComplete.Status)
		}
		if p.Kind == model.KindPhase && (p.Status == model.PhaseCompleted || p.Status == model.PhaseFailed) && p.ShardsClosed != p.Shards {
			s.fail("phase %d is %s with %d of %d shards", p.ID, p.Status, p.ShardsClosed, p.Shards)
		}
	}
	s.tallyMembers()
	if s.batch.Cancelled == nil {
		s.tallyPassage()
	}
	s.tallyOutcome()
}

func (s *system) tallyMembers() {
	for id, m := range s.members {
		failed, removed := false, false
		for at, run := range s.runs {
			if at.member == id {
				failed = failed || run.Kind == model.KindPhase && run.Status == model.RunFailed
				removed = removed || run.Kind == model.KindRemoval
			}
		}
		switch {
		case m.OpenPhase != 0 || len(m.Queue) > 0 || m.Leaving:
			s.fail("member %d has not ended: %+v", id, m)
		case failed && m.Status == model.MemberActive || !failed && m.Status == model.MemberFailed:
			s.fail("member %d is %s; a run failed: %t", id, m.Status, failed)
		case removed != (m.Removal != 0):
			s.fail("member %d is %s, removed in %d; there is a run for that: %t", id, m.Status, m.Removal, removed)
		}
	}
}

// tallyPassage checks that every active member succeeded in the newest execution of
// every phase that began.
func (s *system) tallyPassage() {
	newest := map[string]int{}
	for _, p := range s.batch.Phases {
		if p.Kind == model.KindPhase && p.DispatchedAt != nil {
			newest[p.Name] = p.ID
		}
	}
	for id, m := range s.members {
		for name, phase := range newest {
			if run := s.runs[place{phase, id}]; m.Status == model.MemberActive && run.Status != model.RunSucceeded {
				s.fail("member %d is active and has not succeeded in phase %d (%s): %q", id, phase, name, run.Status)
			}
		}
	}
}

// tallyOutcome says what the batch must have come to.
func (s *system) tallyOutcome() {
	want := model.BatchFailed
	if r := s.batch.Requested; r != nil && r.CachedBatch != 0 {
		want = model.BatchCompleted
	}
	for _, p := range s.batch.Phases {
		if p.Kind == model.KindPhase && p.Status == model.PhaseCompleted {
			want = model.BatchCompleted
		}
	}
	for _, p := range s.batch.Phases { // an init that failed, where nothing went on without it
		begun := func(q model.Phase) bool {
			return q.ID > p.ID && (q.Kind == model.KindInit || q.Kind == model.KindPhase) && q.DispatchedAt != nil
		}
		if p.Kind == model.KindInit && p.Status == model.PhaseFailed && !slices.ContainsFunc(s.batch.Phases, begun) {
			want = model.BatchFailed
		}
	}
	if s.batch.Cancelled != nil {
		want = model.BatchCancelled
	}
	if s.batch.Status != want || s.batch.CompletedAt == nil || want == model.BatchFailed && s.batch.Error == "" || want == model.BatchCompleted && s.batch.Error != "" || s.batch.Paused != nil {
		s.fail("the batch is %s, not %s: %s", s.batch.Status, want, encode(s.batch))
	}
}
