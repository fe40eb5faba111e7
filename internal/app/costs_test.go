package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/message"
)

// meter measures what each message costs, one after the other.
type meter struct {
	stage *stage
	mu    sync.Mutex
	sent  int64
	costs map[string]*cost
}

// cost is of all messages of a kind.
type cost struct {
	messages                     int64
	reads, queries, writes, sent int64
	worst                        [4]int64 // of one message: reads, queries, writes, messages sent
}

// tally is the way to the broker, which counts what the app sends.
type tally struct {
	bus.Sender
	meter *meter
}

func (t tally) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	t.meter.sent += int64(len(messages))
	return t.Sender.Send(ctx, topic, messages...)
}

func newMeter(s *stage) *meter {
	m := &meter{stage: s, costs: map[string]*cost{}}
	s.app = app.New(app.Config{Store: s.store, Bus: tally{s.bus, m}, Now: s.clock.Now, Log: slog.New(slog.DiscardHandler), Sources: s.sources(), Artifacts: s.artifacts})
	s.meter = m
	return m
}

func (m *meter) measure(message message.Delivery, work func()) {
	kind := message.Type
	if kind == "" {
		kind = "result"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before, sent := m.stage.store.Counts(), m.sent
	work()
	after := m.stage.store.Counts()
	c := m.costs[kind]
	if c == nil {
		c = &cost{}
		m.costs[kind] = c
	}
	one := [4]int64{after.Reads - before.Reads, after.Queries - before.Queries, after.Writes - before.Writes, m.sent - sent}
	c.messages++
	c.reads, c.queries, c.writes, c.sent = c.reads+one[0], c.queries+one[1], c.writes+one[2], c.sent+one[3]
	for i, n := range one {
		c.worst[i] = max(c.worst[i], n)
	}
}

// Of every way that a step can take, each message is within the budget: two point
// reads, one write, two messages sent, no query; and that in a batch of any size. One
// member stays behind, so that no message has the end of a phase to see to as well:
// there is one such in 49.
func TestCostOfEachMessageIsWithinTheBudgetWhateverTheBatch(t *testing.T) {
	t.Parallel()
	type protocol struct {
		yaml    string
		script  func() script
		drive   func(s *stage, id, members int)
		results int64 // of a member
		kinds   string
	}
	waiting := func(interval time.Duration, times int) func(*stage, int, int) {
		return func(s *stage, _, _ int) {
			for range times {
				s.pass(interval)
			}
		}
	}
	for name, p := range map[string]protocol{
		"retry": {
			oneStep(`, params: {N: "{{Name}}"}, retry: {max_retries: 3, interval: 1s}`),
			func() script { return script{"Do": inTurn(fails(errNo), fails(errNo), fails(errNo), always("true"))} },
			waiting(time.Second, 3), 4, "result retry-check",
		},
		"poll": {
			oneStep(`, params: {N: "{{Name}}"}, poll: {interval: 1s, timeout: 1m}`),
			func() script {
				return script{"Do": inTurn(always(unfinished), always(unfinished), always(unfinished), always(`{"complete":true}`))}
			},
			waiting(time.Second, 3), 4, "result",
		},
		"poll that is not sent ahead": {
			oneStep(`, params: {N: "{{Name}}"}, poll: {interval: 6m, timeout: 1h}`),
			func() script {
				return script{"Do": inTurn(always(unfinished), always(unfinished), always(unfinished), always(`{"complete":true}`))}
			},
			waiting(6*time.Minute, 3), 4, "result poll-check",
		},
		"lost job": {
			oneStep(`, params: {N: "{{Name}}"}, timeout: 4m, retry: {max_retries: 1, interval: 1s}`),
			func() script { return script{"Do": inTurn(fails(errLost), always("true"))} },
			waiting(4*time.Minute+runstate.JobGracePeriod+time.Second, 2), 1, "deadline-check retry-check",
		},
		"rollback": {
			undoable, func() script { return script{"New": always(`{"id":"u"}`), "Copy": fails(errNo)} }, nil, 5, "result",
		},
		"removal": {
			leaving(oneStep("")), func() script { return script{"Do": fails(errLost)} }, func(s *stage, id, members int) {
				for member := 1; member < members; member++ {
					s.meter.measure(message.Delivery{Type: "request"}, func() { must(s.app.RemoveMember(s.ctx, ada, id, member, ""))(t) })
				}
				s.deliverAll()
				for member := 1; member < members; member++ {
					s.answers(member, "Do", "true", nil)
				}
			}, 3, "result request",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sizes []map[string][4]int64
			for _, members := range []int{5, 30} {
				s := newStage(t, false, azure)
				m := newMeter(s)
				// A worker's heartbeat is stored every 30 seconds, in one write: now.
				s.publish(strings.NewReplacer("name: one", "name: first", "function: Do", "function: First").Replace(oneStep("")))
				s.advance(s.batch("first", people(1)).ID)
				if name == "lost job" {
					s.withoutStartup()
					s.pass(3 * time.Minute) // the worker is not heard of: its jobs do not wait behind others
				}
				clear(m.costs)
				s.script = script{}
				for function, f := range p.script() {
					s.script[function] = func(j message.Job) (string, error) {
						if who(j) == members {
							return "", errLost
						}
						return f(j)
					}
				}
				view := s.publish(p.yaml)
				b := s.batch(view.Name, people(members))
				s.advance(b.ID)
				if p.drive != nil {
					p.drive(s, b.ID, members)
				}
				worst := map[string][4]int64{}
				if c := m.costs[message.TypeMemberRemoved]; c != nil && c.worst != [4]int64{3, 1, 2, 0} {
					// It makes the run of the removal steps and notes that the one that the member
					// is in ends with the job in flight: two decisions.
					t.Errorf("%d members: a removal cost %v", members, c.worst)
				}
				for kind, c := range m.costs {
					worst[kind] = c.worst
					t.Logf("%d members, %s: %d messages with %.2f reads, %.2f queries, %.2f writes, %.2f sent; at worst %v", members, kind, c.messages,
						float64(c.reads)/float64(c.messages), float64(c.queries)/float64(c.messages), float64(c.writes)/float64(c.messages), float64(c.sent)/float64(c.messages), c.worst)
				}
				if m.costs["result"] == nil {
					t.Fatalf("no results, only %v", slices.Sorted(maps.Keys(m.costs)))
				}
				if got := m.costs["result"].messages; got != p.results*int64(members-1) {
					t.Errorf("%d results of %d members", got, members)
				}
				for kind := range strings.FieldsSeq(p.kinds) {
					c := m.costs[kind]
					if c == nil || c.messages < int64(members-1) {
						t.Fatalf("no %s for each member: %v", kind, slices.Sorted(maps.Keys(m.costs)))
					}
					most := [4]int64{2, 0, 1, 2}
					if name == "removal" && kind == "result" { // it ends a run and starts the removal steps: two decisions
						most = [4]int64{4, 0, 2, 2}
					}
					if kind == message.TypeDeadlineCheck { // one that fails a step reads its worker twice
						most = [4]int64{3, 0, 1, 2}
					}
					if kind == "result" && name == "poll that is not sent ahead" { // the worker's answer is recorded twice a minute
						most[2]++
					}
					if kind == message.TypeDeadlineCheck || kind == message.TypeRetryCheck || kind == message.TypePollCheck { // the first one in 15 seconds reads the version and a catalogue, which can have new secrets
						most[0] += 2
					}
					if kind == "request" { // the batch's summary shows the removal at once
						most = [4]int64{2, 0, 2, 2}
					}
					if w := c.worst; w[0] > most[0] || w[1] > most[1] || w[2] > most[2] || w[3] > most[3] {
						t.Errorf("%d members: a %s cost %d reads, %d queries, %d writes and %d messages sent", members, kind, w[0], w[1], w[2], w[3])
					}
				}
				sizes = append(sizes, worst)
			}
			for kind, small := range sizes[0] {
				if kind == message.TypePhaseDue { // which is a page of members
					continue
				}
				if large := sizes[1][kind]; fmt.Sprint(small) != fmt.Sprint(large) {
					t.Errorf("a %s cost %v in the small batch and %v in the large one", kind, small, large)
				}
			}
		})
	}
}
