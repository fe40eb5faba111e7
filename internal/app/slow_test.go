package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// slowSystem is an app in a bubble of synctest, over a store whose operations take time. Its
// messages wait until the test handles them.
type slowSystem struct {
	t      *testing.T
	app    *app.App
	store  *memory.Store
	takes  time.Duration // each operation of the store
	behind time.Duration // the clock of the handler

	events, jobs, results []bus.Message
	seen                  map[string]bool // the ids of all messages, as the broker remembers them
	running               map[string]bool // the jobs without an answer

	skip func(bus.Message) bool // events that are lost; nil: none
}

// slowInvocation is how long one invocation of a slowSystem may take.
const slowInvocation = 4 * time.Minute

// newSlowSystem makes a slowSystem whose handler has a clock that is behind the broker's.
func newSlowSystem(t *testing.T, behind time.Duration) *slowSystem {
	s := &slowSystem{t: t, seen: map[string]bool{}, running: map[string]bool{}}
	s.store = memory.New(memory.Config{Hook: func(ctx context.Context, _ memory.Operation) memory.Fault {
		select {
		case <-time.After(s.takes):
			return memory.Fault{}
		case <-ctx.Done():
			return memory.Unavailable
		}
	}})
	s.behind = behind
	s.open(nil)
	return s
}

// open starts the handler.
func (s *slowSystem) open(dead bus.DeadLetters) {
	s.app = app.New(app.Config{Store: s.store, Bus: s, Dead: dead, Now: func() time.Time { return time.Now().Add(-s.behind) }, Log: slog.New(slog.DiscardHandler)})
}

func (s *slowSystem) Ping(context.Context) error { return nil }

// Send takes messages as a broker with duplicate detection does.
func (s *slowSystem) Send(_ context.Context, topic string, messages ...bus.Message) error {
	for _, m := range messages {
		if s.seen[topic+m.ID] {
			continue
		}
		s.seen[topic+m.ID] = true
		switch topic {
		case message.TopicOrchestratorEvents:
			s.events = append(s.events, m)
		case message.TopicWorkerJobs:
			s.jobs = append(s.jobs, m)
			s.running[m.ID] = true
		case message.TopicWorkerResults:
			s.results = append(s.results, m)
		}
	}
	return nil
}

// handle handles the events that are there and those that follow, in the order of their times, as
// long as time lasts. It leaves out what skip reports. It returns how often the most tried message
// was put back.
func (s *slowSystem) handle(lasts time.Duration) (most int) {
	s.t.Helper()
	tries := map[string]int{}
	end := time.Now().Add(lasts)
	for len(s.events) > 0 {
		slices.SortStableFunc(s.events, func(x, y bus.Message) int { return x.At.Compare(y.At) })
		m := s.events[0]
		if m.At.After(end) {
			break
		}
		s.events = s.events[1:]
		if s.skip != nil && s.skip(m) {
			continue
		}
		first, _, again := strings.Cut(m.ID, message.RequeueMark)
		if again {
			tries[first]++
			if most = max(most, tries[first]); most > 50 {
				s.t.Fatalf("%s is put back for the %dth time", first, most)
			}
		}
		time.Sleep(time.Until(m.At))
		kind, _ := m.Properties[message.PropertyMessageType].(string)
		s.give(message.Delivery{ID: m.ID, Type: kind, Body: m.Body, Properties: m.Properties, DeliveryCount: 1}, s.app.HandleEvent)
	}
	time.Sleep(time.Until(end))
	return most
}

func (s *slowSystem) give(m message.Delivery, handle func(context.Context, message.Delivery) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), slowInvocation)
	defer cancel()
	if err := handle(ctx, m); err != nil {
		s.t.Fatalf("%s: %s", m.ID, describe(err))
	}
}

// answer answers all jobs that have no answer, and handles what follows.
func (s *slowSystem) answer(result string, failure *message.JobError) {
	s.t.Helper()
	s.answerPages(0, math.MaxInt, result, failure)
}

// answerPages answers the jobs of some pages, and handles what follows.
func (s *slowSystem) answerPages(first, last int, result string, failure *message.JobError) {
	s.t.Helper()
	for _, m := range s.jobs {
		if !s.running[m.ID] {
			continue
		}
		var j message.Job
		noError(s.t, json.Unmarshal(m.Body, &j))
		if page := model.PageOf(who(j)); page < first || page > last {
			continue
		}
		delete(s.running, m.ID)
		r := message.Result{JobID: j.JobID, Status: message.StatusSuccess, ResultType: message.ResultObject, CorrelationData: j.CorrelationData, Timestamp: time.Now()}
		if failure != nil {
			r.Status, r.Error = message.StatusFailure, failure
		} else {
			r.Result = json.RawMessage(result)
		}
		body := must(json.Marshal(r))(s.t)
		s.give(message.Delivery{ID: r.ID(), Type: message.TypeWorkerResult, Body: body, DeliveryCount: 1}, s.app.HandleResult)
	}
	s.handle(time.Second)
}

// begin creates a batch of the runbook and advances its first phase.
func (s *slowSystem) begin(yaml string, members int) int {
	s.t.Helper()
	rb := must(s.app.PublishRunbook(s.t.Context(), ada, "", []byte(yaml), api.PublishOptions{}))(s.t)
	b := must(s.app.CreateBatch(s.t.Context(), ada, rb.Name, []byte(people(members))))(s.t)
	s.handle(time.Second)
	s.advance(b.ID)
	return b.ID
}

// advance begins the next phase of a batch.
func (s *slowSystem) advance(batch int) {
	s.t.Helper()
	phases := must(s.app.Phases(s.t.Context(), ada, batch))(s.t)
	for _, p := range phases.Items {
		if p.Status == "pending" {
			must(s.app.Advance(s.t.Context(), ada, batch, p.Name))(s.t)
			s.handle(time.Second)
			return
		}
	}
	s.t.Fatal("no phase is pending")
}

// jobsOf counts the jobs of a function.
func (s *slowSystem) jobsOf(function string) (n int) {
	for _, m := range s.jobs {
		if strings.Contains(string(m.Body), fmt.Sprintf(`"FunctionName":%q`, function)) {
			n++
		}
	}
	return n
}

// TestPageThatOutlastsItsInvocationComesToItsEnd: the store is so slow that no invocation gets
// through a page. Each try continues where the one before it ended.
func TestPageThatOutlastsItsInvocationComesToItsEnd(t *testing.T) {
	t.Parallel()
	const members = 40
	failed := &message.JobError{Message: "it fails", Type: "Broken"}
	for _, tc := range []struct {
		name    string
		request func(s *slowSystem, batch int) // leaves the messages of the work
		want    func(s *slowSystem, batch int)
	}{
		{
			"release",
			func(s *slowSystem, batch int) {
				must(s.app.Pause(s.t.Context(), ada, batch, "wait"))(s.t)
				s.answer(`{"id":"u"}`, nil)
				must(s.app.Resume(s.t.Context(), ada, batch, "go on"))(s.t)
			},
			func(s *slowSystem, _ int) {
				if n := s.jobsOf("Copy"); n != members {
					s.t.Errorf("%d members go on", n)
				}
			},
		},
		{
			"retry",
			func(s *slowSystem, batch int) {
				s.answer("", failed)
				must(s.app.Repair(s.t.Context(), ada, batch, api.Repair{Selection: api.Selection{}, Reason: "again"}))(s.t)
			},
			func(s *slowSystem, _ int) {
				if n := s.jobsOf("New"); n != 2*members {
					s.t.Errorf("%d jobs, with the first try of each member", n)
				}
			},
		},
		{
			"stop",
			func(s *slowSystem, batch int) {
				must(s.app.Cancel(s.t.Context(), ada, batch, "enough"))(s.t)
			},
			func(s *slowSystem, _ int) {
				if n := s.jobsOf("New"); n != members {
					s.t.Errorf("%d jobs", n)
				}
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSlowSystem(t, 0)
				batch := s.begin(createAndCopy, members)
				tc.request(s, batch)
				s.takes = 4 * time.Second
				s.skip = func(m bus.Message) bool { return strings.Contains(m.ID, "-page-2") } // it waits for the jobs
				if s.handle(2*time.Hour) == 0 {
					t.Error("no page outlasts its invocation: the test shows nothing")
				}
				s.takes = 0
				tc.want(s, batch)
			})
		})
	}
}

// createAndCopy is a runbook with two steps in a phase.
const createAndCopy = `
name: create-and-copy
data_source: {type: csv, primary_key: Upn}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New, params: {Name: "{{Name}}"}}
      - {name: copy, worker_id: worker-01, function: Copy, params: {Name: "{{Name}}"}}
`

// TestPageThatIsDispatchedAgainFitsInAnInvocation: the store is slow, and a page comes again whose
// members all failed as it was made. The message is done with few operations. If it decided on each
// member, it would outlast its invocation, and each try would begin with the first member.
func TestPageThatIsDispatchedAgainFitsInAnInvocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlowSystem(t, 0)
		batch := s.begin(listInText, model.PageSize+1)
		s.answerPages(1, 1, `{"id":["a"]}`, nil)
		s.answer(`{"id":"u"}`, nil)
		s.answer("true", nil)
		var again bus.Message
		s.skip = func(m bus.Message) bool {
			if strings.HasPrefix(m.ID, "phase-due-batch-1-2-page-1") {
				again = m
			}
			return strings.Contains(m.ID, "-page-2") // the fan-out does not end
		}
		s.advance(batch)
		again.ID += "-tick"
		s.events = append(s.events, again)
		s.takes = 4 * time.Second
		if n := s.handle(time.Hour); n > 0 || len(s.events) > 0 {
			t.Fatalf("the page was put back %d times, and waits: %v", n, s.events)
		}
	})
}

// listInText is createAndCopy with a second phase, which fails for each member whose id is a list.
var listInText = strings.Replace(createAndCopy, `params: {Name: "{{Name}}"}}`, `params: {Name: "{{Name}}"}, output_params: {UserId: id}}`, 1) + `
  - name: tell
    offset: T-0
    steps:
      - {name: tell, worker_id: worker-01, function: Tell, params: {User: "user {{UserId}}"}}
`

// TestMessageThatWaitsIsNotADuplicate: a message that waits sends itself again with an id that
// names the next moment. The clock of the handler is behind the broker's. The id is a new one all
// the same: the broker drops one that it has seen, and the work would wait for a tick.
func TestMessageThatWaitsIsNotADuplicate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		waits string // how the ids of the messages begin
		make  func(s *slowSystem)
	}{
		{"batch-work-batch-1-retry-", func(s *slowSystem) {
			batch := s.begin(createAndCopy, 5*model.PageSize)
			for len(s.running) > 0 {
				s.answer("", &message.JobError{Message: "it fails", Type: "Broken"})
			}
			must(s.app.Repair(s.t.Context(), ada, batch, api.Repair{Selection: api.Selection{}, Reason: "again"}))(s.t)
		}},
		{"member-added-batch-1-", func(s *slowSystem) {
			batch := s.begin(createAndCopy, 1)
			late := strings.ReplaceAll(people(6*model.PageSize), "@x", "@late")
			must(s.app.AddMembers(s.t.Context(), ada, batch, []byte(late)))(s.t)
		}},
		{"batch-work-batch-1-cancel-", func(s *slowSystem) {
			batch := s.begin(createAndCopy, 1)
			must(s.app.Cancel(s.t.Context(), ada, batch, "enough"))(s.t)
		}},
		{"deadline-check-batch-1-", func(s *slowSystem) {
			s.begin(strings.ReplaceAll(createAndCopy, "function: New,", "function: New, timeout: 2m,"), 1)
			time.Sleep(2 * time.Minute)
			s.open(unreadable{}) // it cannot know whether results are among the dead letters
		}},
		{"phase-due-batch-1-", func(s *slowSystem) {
			s.begin(polling, 8*model.PageSize)
			s.answer(unfinished, nil)
			s.handle(40 * time.Second)           // the first pages are polled, and the next ones have begun
			s.answerPages(4, 4, unfinished, nil) // which would let page 7 begin
		}},
	} {
		t.Run(tc.waits, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSlowSystem(t, 1900*time.Millisecond)
				tc.make(s)
				for range 3 {
					s.handle(30 * time.Second)
					if waits := s.waiting(tc.waits); waits == 0 {
						t.Fatal("no message waits any more: the broker dropped the next as a duplicate")
					}
				}
			})
		})
	}
}

// waiting counts the events that wait and whose ids name the moment.
func (s *slowSystem) waiting(id string) (n int) {
	for _, m := range s.events {
		if strings.HasPrefix(m.ID, id) && !m.At.IsZero() {
			n++
		}
	}
	return n
}
