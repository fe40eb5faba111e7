package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// grouped is a stage whose worker has a job of each member and answers when the test does.
type grouped struct {
	*stage
	batch api.Batch
}

const groupTrace = "00-11000000000000000000000000000000-2200000000000000-01"

func newGrouped(t *testing.T, members int, on ...drivers) *grouped {
	t.Helper()
	s := newStage(t, false, on...)
	s.script = script{"F": fails(errLost)}
	g := &grouped{stage: s, batch: s.startBatch(flat, people(members))}
	if len(s.jobs) != members {
		t.Fatalf("%d jobs", len(s.jobs))
	}
	return g
}

// result is the message of the result of a member's last job.
func (g *grouped) result(member int) bus.Message {
	g.t.Helper()
	i := slices.IndexFunc(g.jobs, func(j message.Job) bool { return who(j) == member })
	r := testenv.Result(g.jobs[i], g.clock.Now(), "true", nil)
	return bus.Message{ID: r.ID(), Body: must(json.Marshal(r))(g.t), Properties: map[string]any{message.PropertyWorkerID: "worker-01", "traceparent": groupTrace}}
}

func (g *grouped) results(members ...int) (out []bus.Message) {
	for _, m := range members {
		out = append(out, g.result(m))
	}
	return out
}

func deliveryOf(m bus.Message, count int) message.Delivery {
	return testenv.Delivery(&bus.Received{ID: m.ID, Body: m.Body, Properties: m.Properties, DeliveryCount: count, EnqueuedAt: epoch})
}

// touches reports whether an operation at the store concerns the run of a member.
func (g *grouped) touches(op memory.Operation, member int) bool {
	id := store.RunKey(g.batch.ID, g.phase(), member).ID
	return op.ID == id || slices.ContainsFunc(op.Writes, func(w store.Write) bool { return w.Key.ID == id })
}

func (g *grouped) phase() int {
	phase, _, _, err := model.ParseStepID(g.jobs[0].CorrelationData.StepExecutionID)
	noError(g.t, err)
	return phase
}

// wantSucceeded fails unless the first step of exactly these members has succeeded.
func (g *grouped) wantSucceeded(members ...int) {
	g.t.Helper()
	var got []int
	page := must(g.app.Steps(g.ctx, reader, g.batch.ID, api.ListOptions{Statuses: []string{"succeeded"}, Limit: 1000}))(g.t)
	for _, s := range page.Items {
		_, member, index, err := model.ParseStepID(s.ID)
		noError(g.t, err)
		if index == 0 {
			got = append(got, member)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, members) {
		g.t.Errorf("the first step of %v has succeeded, want %v", got, members)
	}
}

// waiting returns the messages of the results topic at the broker and removes them.
func (g *grouped) waiting(n int) []*bus.Received {
	g.t.Helper()
	receiver := must(g.bus.Receiver(message.TopicWorkerResults, message.SubscriptionOrchestrator))(g.t)
	defer receiver.Close(g.ctx)
	if got := g.broker.messages(message.TopicWorkerResults, message.SubscriptionOrchestrator); got != n {
		g.t.Errorf("%d results wait at the broker, want %d", got, n)
	}
	var all []*bus.Received
	for len(all) < n && !g.t.Failed() {
		messages := must(receiver.Receive(g.ctx, n, time.Minute))(g.t)
		for _, m := range messages {
			noError(g.t, receiver.Complete(g.ctx, m))
		}
		all = append(all, messages...)
	}
	return all
}

func (g *grouped) wantKept(reasons ...string) []api.UnprocessableMessage {
	g.t.Helper()
	kept := g.listUnprocessable(api.ListOptions{Limit: 100})
	for _, reason := range reasons {
		if !slices.ContainsFunc(kept, func(m api.UnprocessableMessage) bool { return strings.Contains(m.Reason, reason) }) {
			g.t.Errorf("no message is kept for %q: %+v", reason, kept)
		}
	}
	if len(kept) != len(reasons) {
		g.t.Errorf("%d messages are kept, want %d: %+v", len(kept), len(reasons), kept)
	}
	return kept
}

// group is a group whose entries a test can write by hand.
func group(entries ...string) bus.Message {
	return bus.Message{ID: "g", Body: []byte(`{"Results":[` + strings.Join(entries, ",") + `]}`), Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerResults}}
}

func entry(m bus.Message) string {
	return fmt.Sprintf(`{"MessageId":%q,"Properties":{"traceparent":%q},"Body":%s}`, m.ID, groupTrace, m.Body)
}

func TestResultsOfAGroupAreDecidedOneByOne(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		group func(g *grouped) bus.Message
		want  []int
		kept  []string
	}{
		"several": {func(g *grouped) bus.Message { return testenv.Group(g.results(1, 2, 3, 4)...) }, []int{1, 2, 3, 4}, nil},
		"one":     {func(g *grouped) bus.Message { return testenv.Group(g.result(2)) }, []int{2}, nil},
		"twice the same": {
			func(g *grouped) bus.Message { return testenv.Group(append(g.results(1, 1, 2), g.results(1, 2)...)...) },
			[]int{1, 2},
			nil,
		},
		"more than a worker sends": {
			func(g *grouped) bus.Message {
				var entries []string
				for i := range 4 * message.MaxResults {
					entries = append(entries, entry(g.result(1+i%4)))
				}
				return group(entries...)
			},
			[]int{1, 2, 3, 4},
			nil,
		},
		"entries that cannot be read": {
			func(g *grouped) bus.Message {
				return group(entry(g.result(1)), `"text"`, `{"MessageId":7,"Body":{}}`, `{"MessageId":"x"}`, `{"Body":{}}`, `{"MessageId":"y","Properties":{"n":1},"Body":{}}`, entry(g.result(4)))
			},
			[]int{1, 4},
			[]string{
				"result 2 of the group cannot be read: json: cannot unmarshal string", "result 3 of the group cannot be read: json: cannot unmarshal number",
				"result 4 of the group cannot be read: it has no MessageId or no Body", "result 5 of the group cannot be read: it has no MessageId or no Body", "result 6 of the group cannot be read: json: cannot unmarshal number",
			},
		},
		"results that are unprocessable": {
			func(g *grouped) bus.Message {
				odd := g.result(3)
				odd.Body = []byte(strings.ReplaceAll(string(odd.Body), `"Status":"Success"`, `"Status":"Odd"`))
				return group(entry(g.result(1)), entry(bus.Message{ID: "list", Body: []byte("[]")}), entry(odd), entry(bus.Message{ID: "heartbeat", Body: []byte(`{"WorkerId":"w"}`)}), entry(g.result(2)))
			},
			[]int{1, 2},
			[]string{"the body is not the JSON of a message.Result", `the result's status "Odd"`, "the result has no job id"},
		},
		"no JSON":    {func(*grouped) bus.Message { return group(`{`) }, nil, []string{"the body is not the JSON of a message.Results"}},
		"no results": {func(*grouped) bus.Message { return group() }, nil, []string{"the group has no results"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGrouped(t, 4)
			m := tt.group(g)
			for range 3 { // it comes again when its settlement was lost
				noError(t, g.app.HandleResult(g.ctx, deliveryOf(m, 1)))
			}
			g.wantSucceeded(tt.want...)
			g.wantKept(tt.kept...)
			g.waiting(0)
			if n := len(g.jobs); n != 4 {
				t.Fatalf("%d jobs", n)
			}
			g.deliverAll()
			if n := len(g.jobs); n != 4+len(tt.want) {
				t.Errorf("%d jobs follow, want %d", n-4, len(tt.want))
			}
			if len(tt.kept) == 0 {
				g.verify()
			}
		})
	}
}

// jobsBus counts the messages of each send to the topic of jobs.
type jobsBus struct {
	bus.Sender
	mu    sync.Mutex
	sends []int
	jobs  []bus.Message
}

func (b *jobsBus) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	if topic == message.TopicWorkerJobs {
		b.mu.Lock()
		b.sends, b.jobs = append(b.sends, len(messages)), append(b.jobs, messages...)
		b.mu.Unlock()
	}
	return b.Sender.Send(ctx, topic, messages...)
}

// The jobs that follow from a group leave together, each with the trace of its own result. A result that
// loses a race does not delay those of the others.
func TestTheJobsAfterAGroupLeaveTogether(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lose  int
		sends []int
	}{"no race is lost": {0, []int{4}}, "one loses": {2, []int{3, 1}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGrouped(t, 4, inMemory)
			out := &jobsBus{Sender: g.bus}
			process := app.New(app.Config{Store: g.store, Bus: out, Now: g.clock.Now, Log: g.log, Sources: g.sources()})
			lost := tt.lose == 0
			end := g.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
				if !lost && len(op.Writes) > 0 && g.touches(op, tt.lose) {
					lost = true
					return memory.Conflict
				}
				return memory.Fault{}
			})
			defer end()
			noError(t, process.HandleResult(g.ctx, deliveryOf(testenv.Group(g.results(1, 2, 3, 4)...), 1)))
			g.wantSucceeded(1, 2, 3, 4)
			if !lost || !slices.Equal(out.sends, tt.sends) {
				t.Errorf("the jobs left in sends of %v, want %v", out.sends, tt.sends)
			}
			for _, j := range out.jobs {
				if trace := fmt.Sprint(j.Properties["traceparent"]); tt.lose == 0 && !strings.HasPrefix(trace, groupTrace[:35]) {
					t.Errorf("job %s is of the trace %s", j.ID, trace)
				}
			}
			g.waiting(0)
			g.deliverAll()
			g.wantKept()
			g.verify()
		})
	}
}

// A kept entry keeps the properties and the id of its result, and is replayed alone.
func TestAKeptResultOfAGroupIsReplayedAlone(t *testing.T) {
	t.Parallel()
	g := newGrouped(t, 2)
	lost := g.result(1)
	g.later(store.RunKey(g.batch.ID, g.phase(), 1)) // only a newer version reads it
	lost.Body = []byte(strings.ReplaceAll(string(lost.Body), `"Success"`, `"Odd"`))
	noError(t, g.app.HandleResult(g.ctx, deliveryOf(testenv.Group(lost, g.result(2)), 1)))
	kept := g.wantKept(`status "Odd"`)[0]
	if view := g.message(kept.ID); view.MessageID != lost.ID || view.Type != message.TypeWorkerResult || view.Properties["traceparent"] != groupTrace || view.Properties[message.PropertyWorkerID] != "worker-01" || string(view.Body) != string(lost.Body) {
		t.Errorf("kept %+v %s", view, view.Body)
	}
	must(g.app.Replay(g.ctx, ada, kept.ID, ""))(t)
	if m := g.waiting(1)[0]; string(m.Body) != string(lost.Body) || m.Properties[message.PropertyMessageType] != message.TypeWorkerResult || !strings.HasPrefix(m.ID, "replay-") {
		t.Errorf("replayed %+v", m)
	}
}

var errOdd = errors.New("an odd failure")

// One result whose processing fails is requeued alone. The others are decided once, and the failures
// of both deliveries count.
func TestAResultThatFailsLeavesItsGroup(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() memory.Fault{
		"an error": func() memory.Fault { return memory.Fault{Before: errOdd} },
		"a panic":  func() memory.Fault { panic("odd") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGrouped(t, 4, inMemory)
			all := testenv.Group(g.results(1, 2, 3, 4)...)
			end := g.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
				if g.touches(op, 2) && len(op.Writes) > 0 {
					return fault()
				}
				return memory.Fault{}
			})
			noError(t, g.app.HandleResult(g.ctx, deliveryOf(all, 1)))
			g.wantSucceeded(1, 3, 4)
			again := g.waiting(1)[0]
			want := g.result(2)
			if !strings.HasPrefix(again.ID, want.ID+message.RequeueMark) || string(again.Body) != string(want.Body) || again.Properties[message.PropertyMessageType] != message.TypeWorkerResult ||
				again.Properties[message.PropertyWorkerID] != "worker-01" || !strings.HasPrefix(fmt.Sprint(again.Properties["traceparent"]), groupTrace[:35]) {
				t.Errorf("requeued %+v", again)
			}
			single := bus.Message{ID: again.ID, Body: again.Body, Properties: again.Properties}
			deliveries := 1
			for ; handled(func() error { return g.app.HandleResult(g.ctx, deliveryOf(single, deliveries)) }) != nil; deliveries++ {
				if deliveries > 10 {
					t.Fatal("it is never kept")
				}
			}
			g.wantKept("all 5 attempts failed")
			if name == "an error" && deliveries != 4 {
				t.Errorf("kept at delivery %d after the one in the group, want the fourth", deliveries)
			}
			if n := g.attempts(); n != 0 {
				t.Errorf("%d counts of attempts are left", n)
			}
			end()
			g.waiting(0)
		})
	}
}

// handled is how the server of invocations calls a handler: a panic is an error.
func handled(handle func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return handle()
}

// A result that failed in its group and is processed alone leaves no count of attempts.
func TestAResultThatFailedInItsGroupLeavesNoAttempts(t *testing.T) {
	t.Parallel()
	g := newGrouped(t, 2, inMemory)
	end := g.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
		if g.touches(op, 2) && len(op.Writes) > 0 {
			return memory.Fault{Before: errOdd}
		}
		return memory.Fault{}
	})
	noError(t, g.app.HandleResult(g.ctx, deliveryOf(testenv.Group(g.results(1, 2)...), 1)))
	end()
	if n := g.attempts(); n != 1 {
		t.Errorf("%d counts of attempts, want 1", n)
	}
	g.deliverAll()
	g.wantSucceeded(1, 2)
	if n := g.attempts(); n != 0 {
		t.Errorf("%d counts of attempts are left", n)
	}
}

// While the broker is away, the result that has to come again brings its group again.
func TestAGroupComesAgainIfAResultCannotBeRequeued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGrouped(t, 3, inMemory)
		away := &switchedBus{Sender: g.bus}
		process := app.New(app.Config{Store: g.store, Bus: away, Now: g.clock.Now, Log: g.log, Sources: g.sources()})
		all := testenv.Group(g.results(1, 2, 3)...)
		end := g.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
			if g.touches(op, 2) && len(op.Writes) > 0 {
				away.shut.Store(true)
				return memory.Fault{Before: errOdd}
			}
			return memory.Fault{}
		})
		ctx, cancel := context.WithTimeout(g.ctx, time.Minute)
		defer cancel()
		if err := process.HandleResult(ctx, deliveryOf(all, 1)); !errors.Is(err, bus.ErrUnavailable) || !errors.Is(err, errOdd) {
			t.Fatalf("the group is settled: %v", err)
		}
		end()
		away.shut.Store(false)
		noError(t, process.HandleResult(g.ctx, deliveryOf(all, 2)))
		g.wantSucceeded(1, 2, 3)
		g.wantKept()
		g.deliverAll()
		g.verify()
	})
}

// An outage that outlasts the invocation requeues each result alone, for when it may be over. The time
// of the invocation passes by the clock of the bubble.
func TestAnOutageRequeuesEachResultOfAGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGrouped(t, 3, inMemory)
		end := g.disturb(unavailable)
		ctx, cancel := context.WithTimeout(g.ctx, time.Minute)
		defer cancel()
		noError(t, g.app.HandleResult(ctx, deliveryOf(testenv.Group(g.results(1, 2, 3)...), 1)))
		end()
		g.waiting(0)
		g.wantSucceeded()
		g.pass(time.Minute)
		g.wantSucceeded(1, 2, 3)
		if n := g.attempts(); n != 0 {
			t.Errorf("%d counts of attempts are left", n)
		}
		g.wantKept()
		g.verify()
	})
}

// A process that is killed amid a group loses nothing of it, and does nothing twice.
func TestAProcessThatDiesAmidAGroup(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"F": fails(errLost)}
		g := &grouped{stage: s, batch: s.startBatch(flat, people(3))}
		all := testenv.Group(g.results(1, 2, 3)...)
		cut := s.kill(write, func(ctx context.Context, a *app.App) error { return a.HandleResult(ctx, deliveryOf(all, 1)) })
		noError(t, s.app.HandleResult(s.ctx, deliveryOf(all, 2)))
		g.wantSucceeded(1, 2, 3)
		s.deliverAll()
		if n := len(s.jobs); n != 6 {
			t.Errorf("%d jobs, want 6", n)
		}
		g.wantKept()
		return cut
	})
}

// A group that may have ended the process is taken apart, and nothing of it is processed.
func TestASuspectGroupIsTakenApart(t *testing.T) {
	t.Parallel()
	g := newGrouped(t, 3)
	all := group(entry(g.result(1)), `7`, entry(g.result(2)), entry(g.result(3)))
	for count := 4; count <= 6; count++ { // it comes again when its settlement was lost
		noError(t, g.app.HandleResult(g.ctx, deliveryOf(all, count)))
	}
	g.wantSucceeded()
	g.wantKept("result 2 of the group cannot be read")
	var ids []string
	for _, m := range g.waiting(3) {
		ids = append(ids, m.ID)
		if m.Properties[message.PropertyMessageType] != message.TypeWorkerResult || !strings.HasPrefix(fmt.Sprint(m.Properties["traceparent"]), groupTrace[:35]) {
			t.Errorf("sent alone: %+v", m)
		}
		noError(t, g.app.HandleResult(g.ctx, testenv.Delivery(m)))
	}
	slices.Sort(ids)
	if want := []string{g.result(1).ID, g.result(2).ID, g.result(3).ID}; !slices.Equal(ids, want) {
		t.Errorf("sent alone: %v, want %v", ids, want)
	}
	g.wantSucceeded(1, 2, 3)
	if n := g.attempts(); n != 0 {
		t.Errorf("%d counts of attempts are left", n)
	}
}

// A deadline that falls due while the results of a split group are on their way waits for them.
func TestADeadlineWaitsForASplitGroup(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.withoutStartup()
	s.script = script{"F": fails(errLost)}
	g := &grouped{stage: s, batch: s.startBatch(strings.ReplaceAll(flat, `"{{Name}}"}}`, `"{{Name}}"}, timeout: 2m}`), people(2))}
	s.clock.ns.Add(int64(3 * time.Minute)) // in which nothing was delivered
	noError(t, s.app.HandleResult(s.ctx, deliveryOf(testenv.Group(g.results(1, 2)...), 4)))
	for _, j := range slices.Clone(s.jobs) {
		due := must(json.Marshal(message.DeadlineCheck{BatchID: j.BatchID, StepExecutionID: j.CorrelationData.StepExecutionID, JobID: j.IDInBatch(), DueAt: *j.ExpiresAt}))(t)
		noError(t, s.app.HandleEvent(s.ctx, message.Delivery{ID: "due-" + j.JobID, Type: message.TypeDeadlineCheck, Body: due, DeliveryCount: 1}))
	}
	s.deliverAll()
	g.wantSucceeded(1, 2)
}

// Of a group with a result that ends the process each time, this one is kept alone.
func TestAPoisonedResultOfAGroupIsKeptAlone(t *testing.T) {
	t.Parallel()
	g := newGrouped(t, 3, inMemory)
	die := func() {}
	end := g.disturb(func(ctx context.Context, op memory.Operation) memory.Fault {
		if g.touches(op, 2) && len(op.Writes) > 0 {
			die()
			<-ctx.Done()
			return memory.Fault{Before: ctx.Err()}
		}
		return memory.Fault{}
	})
	defer end()
	queue := []message.Delivery{deliveryOf(testenv.Group(g.results(1, 2, 3)...), 0)}
	died := 0
	for range 100 { // as the host delivers: what is not settled comes again at once
		if len(queue) == 0 {
			break
		}
		m := queue[0]
		m.DeliveryCount++
		if m.DeliveryCount > 10 {
			t.Fatalf("the broker dead-letters %s", m.ID)
		}
		ctx, cancel := context.WithCancel(g.ctx)
		die = func() { died++; cancel() }
		process := app.New(g.config())
		if err := process.HandleResult(ctx, m); err != nil {
			queue[0] = m
		} else {
			queue = queue[1:]
		}
		cancel()
		for _, m := range g.waiting(g.broker.messages(message.TopicWorkerResults, message.SubscriptionOrchestrator)) {
			d := testenv.Delivery(m)
			d.DeliveryCount = 0
			queue = append(queue, d)
		}
	}
	if len(queue) > 0 || died == 0 {
		t.Fatalf("%d messages still come after %d deaths: %+v", len(queue), died, queue)
	}
	g.wantSucceeded(1, 3)
	if kept := g.wantKept("all 5 attempts failed"); kept[0].MessageID != g.result(2).ID {
		t.Errorf("kept %s", kept[0].MessageID)
	}
}

// A group that the broker dead-lettered comes back as it was.
func TestADeadLetteredGroupComesBack(t *testing.T) {
	t.Parallel()
	g := newGrouped(t, 3)
	noError(t, g.bus.Send(g.ctx, message.TopicWorkerResults, testenv.Group(g.results(1, 2, 3)...)))
	g.bury(message.TopicWorkerResults, message.SubscriptionOrchestrator, bus.ReasonDeliveries, 1)
	g.reborn().ReturnDeadLetters(g.ctx)
	g.deliverAll()
	g.wantSucceeded(1, 2, 3)
	g.wantKept()
}

// A group that is kept as a whole shows no secret.
func TestAKeptGroupShowsNoSecret(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	v := withKey(s)
	s.useKeys(secret.Fixed(testKey))
	s.script = script{"New": always(`{"id":1,"token":"t"}`)}
	b := s.startBatch(secretRunbook, secretFile("ann"))
	quoted := must(json.Marshal(made))(t)
	noError(t, s.app.HandleResult(s.ctx, deliveryOf(group(entry(bus.Message{ID: "x", Body: fmt.Appendf(nil, `{"Result":{"token":%s}}`, quoted)}), fmt.Sprintf(`{"Body":%s}`, quoted)), 1)))
	noError(t, s.app.HandleResult(s.ctx, deliveryOf(bus.Message{ID: "y", Body: fmt.Appendf(nil, `{"Results":{"token":%s}}`, quoted), Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerResults}}, 1)))
	if n := len(s.listUnprocessable(api.ListOptions{})); n != 3 {
		t.Fatalf("%d messages are kept", n)
	}
	v.wantNowhere("kept", b.ID)
}
