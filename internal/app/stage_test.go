package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// stage is a world in which nothing happens by itself: time stands still until the
// test lets it pass, and messages wait at the broker until the test lets them come.
type stage struct {
	*world
	hard  bool          // messages come twice, late and in any order, to two processes
	other *app.App      // the second process
	clock *fakeClock    // of both, and of the broker
	meter *meter        // of what each message costs; nil for none
	log   *slog.Logger  // of processes that are made in the course of the test
	newID func() string // theirs, too; nil: random

	script script                              // what the worker answers; true where it says nothing
	park   func(kind string, body string) bool // events that are kept back, for now
	begun  atomic.Int64                        // messages that were received
	asking atomic.Int64                        // callers of use cases beside the messages: it is not quiet before they are done
	done   atomic.Int64                        // of those, the ones that are settled
	mu     sync.Mutex                          // what follows
	past   []past                              // all messages that the processes were given
	parked []past                              // those kept back

	redelivered []string // ids of the jobs that said that they may have been begun before

	said map[string]func() (string, error) // what was answered to a job, by its message id
	rng  *rand.Rand
}

// past is a message of a topic.
type past struct {
	topic string
	m     message.Delivery
}

// handle has a process handle the message.
func (p past) handle(ctx context.Context, process *app.App) error {
	return testenv.Handle(ctx, process, p.topic, p.m)
}

// script holds the worker's answers by function.
type script map[string]worker

type fakeClock struct{ ns atomic.Int64 }

func (c *fakeClock) Now() time.Time { return time.Unix(0, c.ns.Load()).UTC() }

// dawn is when every stage begins.
var dawn = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// play puts a piece on two stages: one where every message comes once, and one where
// each comes twice, late and in any order, to either of two processes. At its end all
// that is counted must be as a recount has it.
func play(t *testing.T, piece func(t *testing.T, s *stage), on ...drivers) {
	t.Helper()
	t.Parallel()
	for _, hard := range []bool{false, true} {
		name := "each message once"
		if hard {
			name = "each message twice, in any order, to two processes"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, hard, on...)
			piece(t, s)
			s.verify()
		})
	}
}

// ofType selects the events of a type, of those the ones whose body contains some texts.
func ofType(kind string, texts ...string) func(kind, body string) bool {
	contained := containing(texts...)
	return func(k, body string) bool { return k == kind && contained(k, body) }
}

// containing selects the events and results whose body contains some texts.
func containing(texts ...string) func(kind, body string) bool {
	return func(_, body string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(body, text) })
	}
}

func newStage(t testing.TB, hard bool, on ...drivers) *stage {
	t.Helper()
	clock := &fakeClock{}
	clock.ns.Store(dawn.UnixNano())
	seed := uint64(time.Now().UnixNano())
	s := &stage{world: newWorldAt(t, clock.Now, on...), hard: hard, clock: clock, log: slog.New(slog.DiscardHandler), said: map[string]func() (string, error){}, rng: rand.New(rand.NewPCG(seed, 0))}
	s.other = app.New(app.Config{Store: s.store, Bus: s.bus, Now: clock.Now, Log: s.log, Sources: s.sources(), Artifacts: s.artifacts})
	t.Cleanup(func() {
		if t.Failed() && hard {
			t.Logf("the order of messages was drawn from seed %d", seed)
		}
	})
	return s
}

// withoutStartup gives the stage processes for which a worker never needs time to start: a job
// that it does not answer in time is lost.
func (s *stage) withoutStartup() {
	var sender bus.Sender = s.bus
	if s.meter != nil {
		sender = tally{s.bus, s.meter}
	}
	process := func() *app.App {
		return app.New(app.Config{Store: s.store, Bus: sender, Now: s.clock.Now, Log: s.log, Sources: s.sources(), Artifacts: s.artifacts, WorkerStartup: time.Nanosecond})
	}
	s.app, s.other = process(), process()
}

// pass lets time pass, and what falls due in it come about.
func (s *stage) pass(d time.Duration) {
	s.t.Helper()
	s.clock.ns.Add(int64(d))
	s.broker.Tick()
	s.deliverAll()
}

// deliverAll delivers all messages that are there, and those that follow from them,
// until there are none. On a hard stage those come again then, and with them some of
// long ago.
func (s *stage) deliverAll() {
	s.t.Helper()
	s.mu.Lock()
	before := len(s.past)
	s.mu.Unlock()
	s.deliver()
	if !s.hard {
		return
	}
	s.mu.Lock()
	again := slices.Clone(s.past[before:])
	for range min(before, 5) {
		again = append(again, s.past[s.rng.IntN(before)])
	}
	s.rng.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
	s.mu.Unlock()
	for chunk := range slices.Chunk(again, 8) {
		var all sync.WaitGroup
		for _, p := range groupResults(chunk) {
			all.Go(func() { s.give(p) })
		}
		all.Wait()
	}
	s.deliver()
}

// groupResults puts the results among some messages into one message, as a worker may do with those
// that it sends again.
func groupResults(messages []past) (out []past) {
	var results []bus.Message
	for _, p := range messages {
		if p.topic == message.TopicWorkerResults && (p.m.Type == "" || p.m.Type == message.TypeWorkerResult) && json.Valid(p.m.Body) && len(results) < message.MaxResults {
			results = append(results, bus.Message{ID: p.m.ID, Body: p.m.Body, Properties: p.m.Properties})
			continue
		}
		out = append(out, p)
	}
	if len(results) > 0 {
		m := testenv.Group(results...)
		out = append(out, past{message.TopicWorkerResults, message.Delivery{ID: m.ID, Type: message.TypeWorkerResults, Body: m.Body, Properties: m.Properties, DeliveryCount: 1}})
	}
	return out
}

// give gives a message to one of the processes.
func (s *stage) give(p past) {
	s.mu.Lock()
	process := s.app
	if s.hard && s.rng.IntN(2) == 0 {
		process = s.other
	}
	s.mu.Unlock()
	handle := func() error { return p.handle(s.ctx, process) }
	if s.meter != nil {
		handle = func() (err error) {
			s.meter.measure(p.m, func() { err = p.handle(s.ctx, process) })
			return err
		}
	}
	if err := handle(); err != nil {
		s.t.Errorf("%s %s: %v", p.m.Type, p.m.ID, describe(err))
	}
}

// deliver takes what the broker has until it has no more.
func (s *stage) deliver() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	var all sync.WaitGroup
	take := func(topic string, handle func(*bus.Received) error) {
		all.Go(func() {
			err := testenv.Receive(ctx, s.bus, topic, subscriptions[topic], func(receiver bus.Receiver, messages []*bus.Received) {
				s.begun.Add(int64(len(messages)))
				s.mu.Lock()
				if s.hard {
					s.rng.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] })
				}
				s.mu.Unlock()
				for _, m := range messages {
					all.Go(func() {
						if err := handle(m); err != nil {
							s.t.Errorf("%s %s: %v", topic, m.ID, describe(err))
						}
						if err := receiver.Complete(s.ctx, m); err != nil {
							s.t.Errorf("%s %s: %v", topic, m.ID, err)
						}
						s.done.Add(1)
					})
				}
			})
			if err != nil {
				s.t.Error(err)
			}
		})
	}
	for _, topic := range []string{message.TopicOrchestratorEvents, message.TopicWorkerResults} {
		take(topic, func(m *bus.Received) error {
			s.takeUp(past{topic, testenv.Delivery(m)})
			return nil
		})
	}
	take(message.TopicWorkerJobs, func(m *bus.Received) error {
		if again, _ := m.Properties[message.PropertyRedelivered].(bool); again {
			s.mu.Lock()
			s.redelivered = append(s.redelivered, m.ID)
			s.mu.Unlock()
		}
		if s.knowsRevoked(m.Body) {
			return s.refuse(m)
		}
		return s.work(m.Body, s.reply)
	})
	for !s.quiet() {
		if s.ctx.Err() != nil || s.t.Failed() {
			s.t.Error("it does not come to rest")
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	all.Wait()
	if s.t.Failed() {
		s.t.FailNow()
	}
}

// knowsRevoked reports whether every replica knows that a job is revoked.
func (s *stage) knowsRevoked(body []byte) bool {
	var j message.Job
	noError(s.t, json.Unmarshal(body, &j))
	receiver := must(s.bus.Receiver(message.TopicWorkerControl, message.WorkerSubscription("worker-01")))(s.t)
	defer receiver.Close(context.Background())
	return slices.ContainsFunc(must(receiver.Peek(s.ctx, 0, 100))(s.t), func(m *bus.Received) bool {
		var c message.Control
		noError(s.t, json.Unmarshal(m.Body, &c))
		return c.BatchID == j.BatchID && c.Revokes(j) && s.clock.Now().Sub(m.EnqueuedAt) >= message.ControlMaxAge
	})
}

// refuse answers a job that is revoked.
func (s *stage) refuse(m *bus.Received) error {
	again, _ := m.Properties[message.PropertyRedelivered].(bool)
	refused := testenv.Worker{ID: "worker-01", Bus: s.bus, Now: s.clock.Now, Answer: func(message.Job) (string, error) {
		return "", &testenv.Failure{JobError: message.JobError{Message: "the batch was paused or cancelled", Type: message.ErrorJobRevoked, Redelivered: again}}
	}}
	return refused.Work(s.ctx, m.Body)
}

// quiet tells whether no message is there or under way.
func (s *stage) quiet() bool {
	begun := s.begun.Load()
	if s.done.Load() != begun || s.asking.Load() > 0 {
		return false
	}
	for topic, subscription := range subscriptions {
		if s.broker.messages(topic, subscription) > 0 {
			return false
		}
	}
	return s.begun.Load() == begun
}

func (s *stage) takeUp(p past) {
	s.mu.Lock()
	if s.park != nil && s.park(p.m.Type, string(p.m.Body)) {
		s.parked = append(s.parked, p)
		s.mu.Unlock()
		return
	}
	s.past = append(s.past, p)
	s.mu.Unlock()
	s.give(p)
}

// unpark lets the messages come that were kept back.
func (s *stage) unpark() {
	s.t.Helper()
	s.park = nil
	parked := s.parked
	s.parked = nil
	for _, p := range parked {
		s.takeUp(p)
	}
	s.deliverAll()
}

// reply answers a job as the script has it; the same job always in the same way.
func (s *stage) reply(j message.Job) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	say, known := s.said[j.ID()]
	if !known {
		result, err := "true", error(nil)
		if f := s.script[j.FunctionName]; f != nil {
			result, err = f(j)
		}
		say = func() (string, error) { return result, err }
		s.said[j.ID()] = say
	}
	return say()
}

// answers lets the worker answer the last job of a function for a member, of which
// it has said nothing so far.
func (s *stage) answers(member int, function, result string, err error) {
	s.t.Helper()
	for _, j := range slices.Backward(s.jobs) {
		if j.FunctionName == function && who(j) == member {
			s.answersJob(j, result, err)
			return
		}
	}
	s.t.Fatalf("member %d has no job of %s", member, function)
}

// revokes lets the worker answer the jobs that it has said nothing of, as one does that
// knows that their batch is paused or cancelled.
func (s *stage) revokes() {
	s.t.Helper()
	for _, j := range slices.Clone(s.jobs) {
		if _, err := s.said[j.ID()](); errors.Is(err, errLost) {
			s.answersJob(j, "", &testenv.Failure{JobError: message.JobError{Message: "the batch was paused or cancelled", Type: message.ErrorJobRevoked}})
		}
	}
}

func (s *stage) answersJob(j message.Job, result string, err error) {
	s.t.Helper()
	s.said[j.ID()] = func() (string, error) { return result, err }
	body, _ := json.Marshal(j)
	taken := len(s.jobs)
	noError(s.t, s.work(body, s.reply))
	s.jobs = s.jobs[:taken]
	s.deliverAll()
}

// who returns the member of a job; 0 for none.
func who(j message.Job) int {
	_, member, _, err := model.ParseStepID(j.CorrelationData.StepExecutionID)
	if err != nil {
		panic(err)
	}
	return member
}

// calls are the functions that the worker was called with for a member, in order.
// A job that came twice was one call.
func (s *stage) calls(member int) string {
	var out []string
	seen := map[string]bool{}
	for _, j := range s.jobs {
		if who(j) == member && !seen[j.ID()] {
			seen[j.ID()] = true
			out = append(out, j.FunctionName)
		}
	}
	return strings.Join(out, " ")
}

// Answers.

func always(result string) worker { return func(message.Job) (string, error) { return result, nil } }

func fails(err error) worker { return func(message.Job) (string, error) { return "", err } }

// only answers some members so; the others get true.
func only(then worker, members ...int) worker {
	return func(j message.Job) (string, error) {
		if slices.Contains(members, who(j)) {
			return then(j)
		}
		return "true", nil
	}
}

// inTurn gives each job of a member the next answer; the last of them to all that follow.
func inTurn(answers ...worker) worker {
	count := map[int]int{}
	return func(j message.Job) (string, error) {
		n := count[who(j)]
		count[who(j)]++
		return answers[min(n, len(answers)-1)](j)
	}
}

// What administrators do.

// advance moves a batch on, and lets all come that follows.
func (s *stage) advance(id int) {
	s.t.Helper()
	_, err := s.app.Advance(s.ctx, ada, id, s.next(id))
	var e *problem.Error
	if errors.As(err, &e) && e.NextPhase != "" { // of a newer version that the batch follows now
		_, err = s.app.Advance(s.ctx, ada, id, e.NextPhase)
	}
	noError(s.t, err)
	s.deliverAll()
}

// Pauses, resumptions and cancellations reach the other process within a second.
func (s *stage) pause(id int) {
	s.t.Helper()
	must(s.app.Pause(s.ctx, ada, id, "wait"))(s.t)
	s.pass(time.Second)
}

func (s *stage) resume(id int) {
	s.t.Helper()
	must(s.app.Resume(s.ctx, ada, id, "go on"))(s.t)
	s.pass(time.Second)
}

func (s *stage) cancel(id int) {
	s.t.Helper()
	must(s.app.Cancel(s.ctx, ada, id, "enough"))(s.t)
	s.pass(time.Second)
}

// atOnce makes so many calls at the same time, of both processes in turn.
func (s *stage) atOnce(n int, call func(i int, process *app.App) error) {
	s.t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := call(i, []*app.App{s.app, s.other}[i%2]); err != nil {
				s.t.Error(describe(err))
			}
		})
	}
	all.Wait()
}

func (s *stage) tick() {
	s.t.Helper()
	noError(s.t, s.app.Tick(s.ctx))
	s.deliverAll()
}

// tickAfter lets time pass, and ticks.
func (s *stage) tickAfter(d time.Duration) {
	s.t.Helper()
	s.pass(d)
	s.tick()
}

// startBatch creates a batch of a runbook that it publishes, and advances it to its first phase.
func (s *stage) startBatch(yaml, csv string, options ...api.UploadOption) api.Batch {
	s.t.Helper()
	b := s.createBatch(yaml, csv, options...)
	s.advance(b.ID)
	return b
}

// Reading the state.

// wantStatus holds a batch's status against what it should be.
func (s *stage) wantStatus(id int, want string) {
	s.t.Helper()
	if got := s.status(id); got != want {
		s.t.Fatalf("the batch is %s, not %s: %s", got, want, s.phaseText(id))
	}
}

// phaseText tells of each phase execution how it stands: of its members, how many
// succeeded, failed and were cancelled, and how many are still in it.
func (s *stage) phaseText(id int) string {
	var out []string
	for _, p := range s.phases(id) {
		text := fmt.Sprintf("%s %s %d/%d/%d", p.Name, p.Status, p.Succeeded, p.Failed, p.Cancelled)
		if p.Running > 0 {
			text += fmt.Sprintf("+%d", p.Running)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// wantPhases tells what has become of a batch's phases. More than one is given where
// that is a matter of which message comes first.
func (s *stage) wantPhases(id int, want ...string) {
	s.t.Helper()
	if got := s.phaseText(id); !slices.Contains(want, got) {
		s.t.Fatalf("phases: %s\n  want: %s", got, strings.Join(want, "\n    or: "))
	}
}

// steps are a member's, in the order of phases; member 0 has those of the batch.
func (s *stage) steps(id, member int) []api.Step {
	s.t.Helper()
	page := must(s.app.Steps(s.ctx, reader, id, api.ListOptions{Limit: 1000, Member: member}))(s.t)
	return slices.DeleteFunc(page.Items, func(v api.Step) bool { return v.MemberID != member })
}

func (s *stage) step(id, member int, name string) api.Step {
	s.t.Helper()
	for _, v := range slices.Backward(s.steps(id, member)) {
		if v.Name == name {
			return v
		}
	}
	s.t.Fatalf("member %d of batch %d has no step %s", member, id, name)
	return api.Step{}
}

func (s *stage) stepText(id, member int) string {
	var out []string
	for _, v := range s.steps(id, member) {
		out = append(out, v.Name+" "+v.Status)
	}
	return strings.Join(out, ", ")
}

func (s *stage) wantSteps(id, member int, want string) {
	s.t.Helper()
	if got := s.stepText(id, member); got != want {
		s.t.Fatalf("steps of member %d: %s\n  want: %s", member, got, want)
	}
}

func (s *stage) wantCalls(member int, want string) {
	s.t.Helper()
	if got := s.calls(member); got != want {
		s.t.Fatalf("calls for member %d: %s\n  want: %s", member, got, want)
	}
}

// member gives one by id.
func (s *stage) member(id, member int) api.Member {
	s.t.Helper()
	for _, m := range s.members(id) {
		if m.ID == member {
			return m
		}
	}
	s.t.Fatalf("batch %d has no member %d", id, member)
	return api.Member{}
}

func (s *stage) wantMember(id, member int, want string) {
	s.t.Helper()
	if m := s.member(id, member); m.Status != want {
		s.t.Fatalf("member %d is %s, not %s: %s", member, m.Status, want, m.Error)
	}
}

// listAudit is the audit trail of a batch, the oldest first, without what the test itself
// looked at.
func (s *stage) listAudit(id int) []api.AuditRecord {
	s.t.Helper()
	page := must(s.app.BatchAudit(s.ctx, id, api.AuditFilter{}, api.ListOptions{Limit: 1000}))(s.t)
	slices.Reverse(page.Items)
	return slices.DeleteFunc(page.Items, func(v api.AuditRecord) bool { return v.By == reader.Name })
}

// wantRefused holds an error against what a refusal should say.
func (s *stage) wantRefused(err error, code api.Code, says string) {
	s.t.Helper()
	if err == nil || problem.CodeOf(err) != code || !strings.Contains(problem.Explain(err).Error(), says) {
		s.t.Fatalf("%v\n  want %s: …%s…", err, code, says)
	}
}

// verify recounts all that is counted, in every batch, and sees that nothing was
// left over: no message that could not be processed, and of a batch that has ended no
// run and no member under way.
func (s *stage) verify() {
	s.t.Helper()
	messages := must(storetest.All[store.Unprocessable](s.ctx, s.store, store.PartitionUnprocessable, "unprocessed"))(s.t)
	for _, k := range messages {
		s.t.Errorf("a message of type %s could not be processed: %s", k.Doc.Type, k.Doc.Reason)
	}
	for topic, subscription := range subscriptions {
		if n := s.broker.deadLetters(topic, subscription); n > 0 {
			s.t.Errorf("%d messages of %s were dead-lettered", n, topic)
		}
	}
	page := must(s.app.Batches(s.ctx, api.ListOptions{Limit: 1000}))(s.t)
	for _, b := range page.Items {
		s.recount(b)
	}
}

func (s *stage) recount(listed api.Batch) {
	s.t.Helper()
	id := listed.ID
	item := must(store.Read[model.Batch](s.ctx, s.store, store.BatchKey(id)))(s.t)
	b := item.Doc
	if listed.Status != string(b.Status) || listed.MemberCount != b.Members { // two lines crossed: the tick sets that right
		s.tick()
		page := must(s.app.Batches(s.ctx, api.ListOptions{Limit: 1000}))(s.t)
		for _, again := range page.Items {
			if again.ID == id {
				listed = again
			}
		}
	}
	if listed.Status != string(b.Status) || listed.MemberCount != b.Members {
		s.t.Errorf("batch %d is %s with %d members, and listed as %s with %d", id, b.Status, b.Members, listed.Status, listed.MemberCount)
	}
	runs := must(storetest.All[model.Run](s.ctx, s.store, store.BatchPartition(id), "run"))(s.t)
	shards := must(storetest.All[model.Shard](s.ctx, s.store, store.BatchPartition(id), "shard"))(s.t)
	type place struct{ phase, page int }
	counted := map[place]model.Shard{}
	removals := map[int]model.Phase{}
	for _, item := range runs {
		r := item.Doc
		if b.Status.Terminal() && !r.Status.Terminal() {
			s.t.Errorf("batch %d has ended, its run %s is %s", id, item.ID, r.Status)
		}
		switch {
		case r.Kind == model.KindPhase:
			at := place{r.Phase, r.Page}
			c := counted[at]
			c.Phase, c.Page = r.Phase, r.Page
			c.Runs++
			if r.Status.Terminal() {
				c.Count(r.Status)
			} else {
				c.Open++
				if r.Yielded {
					c.Yielded++
				}
			}
			counted[at] = c
		case r.Kind == model.KindRemoval:
			p := removals[r.Phase]
			switch r.Status {
			case model.RunSucceeded:
				p.Succeeded++
			case model.RunFailed:
				p.Failed++
			case model.RunCancelled:
				p.Cancelled++
			default:
				p.Open++
			}
			removals[r.Phase] = p
		}
	}
	sums := map[int]model.Phase{}
	for _, item := range shards {
		got := item.Doc
		want := counted[place{got.Phase, got.Page}]
		want.Phase, want.Page, want.MadeAt, want.Sent, want.YieldedAt, want.Reported = got.Phase, got.Page, got.MadeAt, got.Sent, got.YieldedAt, want.Open == 0
		want.Carried = got.Carried // of members who have no run
		if got != want {
			s.t.Errorf("batch %d counts %+v; a recount gives %+v", id, got, want)
		}
		delete(counted, place{got.Phase, got.Page})
		if sum := sums[got.Phase]; got.Reported {
			sum.ShardsClosed++
			sum.Succeeded, sum.Failed, sum.Cancelled = sum.Succeeded+got.Succeeded, sum.Failed+got.Failed, sum.Cancelled+got.Cancelled
			sums[got.Phase] = sum
		}
	}
	for at := range maps.Keys(counted) {
		s.t.Errorf("batch %d has runs of page %d in phase execution %d, and no shard", id, at.page, at.phase)
	}
	failed := map[int]int{}
	for _, item := range runs {
		if item.Doc.Kind == model.KindPhase && item.Doc.Status == model.RunFailed {
			failed[item.Doc.Phase]++
		}
	}
	for _, p := range b.Phases {
		want := sums[p.ID]
		if p.StopWhen != nil && p.FailedSoFar != failed[p.ID] {
			s.t.Errorf("batch %d: phase execution %d (%s) counts %d failures so far; a recount gives %d", id, p.ID, p.Name, p.FailedSoFar, failed[p.ID])
		}
		switch p.Kind {
		case model.KindInit:
			continue
		case model.KindRemoval:
			want = removals[p.ID]
		}
		got := [5]int{p.ShardsClosed, p.Open, p.Succeeded, p.Failed, p.Cancelled}
		if got != [5]int{want.ShardsClosed, want.Open, want.Succeeded, want.Failed, want.Cancelled} {
			s.t.Errorf("batch %d: phase execution %d (%s) has shards closed, open, succeeded, failed, cancelled %v; a recount gives %+v", id, p.ID, p.Name, got, want)
		}
		if b.Status.Terminal() && !p.Status.Terminal() && b.Error == "" {
			s.t.Errorf("batch %d is %s and its phase %s is %s", id, b.Status, p.Name, p.Status)
		}
	}
	if !b.Status.Terminal() {
		return
	}
	members := must(storetest.All[model.Member](s.ctx, s.store, store.BatchPartition(id), "member"))(s.t)
	for _, m := range members {
		// A member who leaves without removal steps does not delay the batch, which may end first.
		if m.Doc.OpenPhase != 0 || len(m.Doc.Queue) > 0 || m.Doc.Leaving && m.Doc.Removal != 0 {
			s.t.Errorf("batch %d has ended, and its member %d is in phase execution %d with %v to come", id, m.Doc.ID, m.Doc.OpenPhase, m.Doc.Queue)
		}
	}
}

func (s *stage) batchOf(id int) api.Batch {
	s.t.Helper()
	return must(s.app.Batch(s.ctx, ada, id))(s.t)
}

// add adds members by their keys, and lets all come that follows.
func (s *stage) add(id int, keys ...string) api.AddResult {
	s.t.Helper()
	csv := "Upn,Name\n"
	for _, key := range keys {
		csv += key + ",Late " + key + "\n"
	}
	v := must(s.app.AddMembers(s.ctx, ada, id, []byte(csv)))(s.t)
	s.deliverAll()
	return v
}

// remove removes a member, and lets all come that follows.
func (s *stage) remove(id, member int) {
	s.t.Helper()
	if v := must(s.app.RemoveMember(s.ctx, ada, id, member, "left the company"))(s.t); v.Status != "removed" || v.RemovedAt == nil {
		s.t.Fatalf("after its removal the member is %+v", v)
	}
	s.deliverAll()
}

// pages makes a batch with a member on each of so many pages, of a runbook that it publishes.
func (s *stage) pages(yaml string, n int) api.Batch {
	s.t.Helper()
	b := s.createBatch(yaml, people(1))
	for page := 2; page <= n; page++ {
		s.add(b.ID, fmt.Sprintf("page%d@x", page))
	}
	return b
}
