package app_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// letter is a message that has been sent and has not been processed.
type letter struct {
	Topic      string            `json:"topic"`
	ID         string            `json:"id"`
	Properties map[string]string `json:"properties"`
	At         time.Time         `json:"at"` // when it comes, or came
	Body       json.RawMessage   `json:"body"`
}

// typed is the type that SentTypes knows the letter's body by.
func (l letter) typed() string {
	if l.Topic == message.TopicWorkerJobs {
		return "job"
	}
	return l.Properties[message.PropertyMessageType]
}

// queue takes the broker's place where a state is made: its messages can be written
// down, and come one after the other in an order that is always the same.
type queue struct {
	now     func() time.Time
	mu      sync.Mutex // a tick sends the messages of several batches at once
	letters []letter
	seen    map[string]time.Time
}

var _ bus.Sender = (*queue)(nil)

func (q *queue) Ping(context.Context) error { return nil }

// Send takes messages, but for those that came already within ten minutes.
func (q *queue) Send(_ context.Context, topic string, messages ...bus.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range messages {
		key := topic + "/" + m.ID
		if at, known := q.seen[key]; known && q.now().Sub(at) < 10*time.Minute {
			continue
		}
		q.seen[key] = q.now()
		l := letter{Topic: topic, ID: m.ID, Properties: map[string]string{}, At: q.now(), Body: m.Body}
		if m.At.After(l.At) {
			l.At = m.At.UTC()
		}
		for name, v := range m.Properties {
			l.Properties[name] = v.(string)
		}
		q.letters = append(q.letters, l)
	}
	return nil
}

// sort orders the messages by time and id: a tick sends those of several batches at once.
func (q *queue) sort() {
	slices.SortFunc(q.letters, func(a, b letter) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
}

// momentIDs derives ids from the time and from how many it made at that time. A change of
// the scene changes only the ids that are made at the same moment.
type momentIDs struct {
	now  func() time.Time
	mu   sync.Mutex
	at   time.Time
	made int
}

func (m *momentIDs) next() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); now.After(m.at) {
		m.at, m.made = now, 0
	}
	m.made++
	digest := sha256.Sum256(fmt.Appendf(nil, "%d-%d", m.at.UnixNano(), m.made))
	return strings.ToLower(base32.StdEncoding.EncodeToString(digest[:10]))
}

// next takes the message of these topics that is there longest; no topics are all.
func (q *queue) next(topics ...string) (letter, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sort()
	i := slices.IndexFunc(q.letters, func(l letter) bool {
		return !l.At.After(q.now()) && (len(topics) == 0 || slices.Contains(topics, l.Topic))
	})
	if i < 0 {
		return letter{}, false
	}
	l := q.letters[i]
	q.letters = slices.Delete(q.letters, i, i+1)
	return l, true
}

// making is a stage whose messages are in a queue.
type making struct {
	*stage
	queue     *queue
	late      bool        // the version that comes later has taken over
	abandoned message.Job // one that is never answered, but late
	people    string      // what the data source has
	repeat    []repeated
}

// deliver lets the messages of these topics come, and those that follow from them.
func (m *making) deliver(topics ...string) {
	m.t.Helper()
	for {
		l, ok := m.queue.next(topics...)
		if !ok {
			return
		}
		properties := map[string]any{}
		for name, v := range l.Properties {
			properties[name] = v
		}
		given := message.Delivery{ID: l.ID, Type: l.Properties[message.PropertyMessageType], Body: l.Body, Properties: properties, DeliveryCount: 1, EnqueuedAt: l.At}
		var err error
		switch l.Topic {
		case message.TopicOrchestratorEvents:
			err = m.app.HandleEvent(m.ctx, given)
		case message.TopicWorkerResults:
			err = m.app.HandleResult(m.ctx, given)
		case message.TopicWorkerControl: // the worker here begins each job at once
		default:
			err = m.answered(l)
		}
		if err != nil {
			m.t.Fatalf("%s %s: %v", l.Topic, l.ID, describe(err))
		}
	}
}

// answered has the worker take a job.
func (m *making) answered(l letter) error {
	var j message.Job
	if err := json.Unmarshal(l.Body, &j); err != nil {
		return err
	}
	result, err := moverOf(m.late)(j)
	if errors.Is(err, errLost) {
		if j.FunctionName == "Join" && m.abandoned.JobID == "" {
			m.abandoned = j
		}
		return nil
	}
	return m.answer(j, result, err)
}

func (m *making) answer(j message.Job, result string, failed error) error {
	answer, err := m.resultMessage(j, result, failed)
	if err != nil {
		return err
	}
	return m.queue.Send(m.ctx, message.TopicWorkerResults, answer)
}

// answerTogether has the worker take two jobs, and send their results in one message.
func (m *making) answerTogether() error {
	var results []bus.Message
	for range 2 {
		l, _ := m.queue.next(message.TopicWorkerJobs)
		var j message.Job
		if err := json.Unmarshal(l.Body, &j); err != nil {
			return err
		}
		result, failed := moverOf(m.late)(j)
		answer, err := m.resultMessage(j, result, failed)
		if err != nil {
			return err
		}
		results = append(results, answer)
	}
	return m.queue.Send(m.ctx, message.TopicWorkerResults, testenv.Group(results...))
}

func (m *making) resultMessage(j message.Job, result string, failed error) (bus.Message, error) {
	r := testenv.Result(j, m.clock.Now(), result, failed)
	r.DurationMs = 1500
	if failed != nil {
		r.Error.Attempts = 1
	} else {
		r.ResultType = message.ResultObject
	}
	body, err := json.Marshal(r)
	return bus.Message{ID: r.ID(), Body: body, Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerResult}}, err
}

// pass lets time pass, with a tick every five minutes.
func (m *making) pass(d time.Duration) {
	m.t.Helper()
	for end := m.clock.Now().Add(d); m.clock.Now().Before(end); {
		step := min(model.TickInterval, end.Sub(m.clock.Now()))
		m.clock.ns.Add(int64(step))
		m.deliver()
		m.tick()
	}
}

func (m *making) tick() {
	m.t.Helper()
	noError(m.t, m.app.Tick(m.ctx))
	m.deliver()
}

// newMaking is a system at dawn, on the first of March 2026.
func newMaking(t *testing.T, on ...drivers) *making {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	clock := &fakeClock{}
	clock.ns.Store(dawn.UnixNano())
	w := &world{t: t, ctx: ctx, now: clock.Now, env: map[string]string{}, allowed: []string{"PEOPLE"}}
	m := &making{stage: &stage{world: w, clock: clock, log: slog.New(slog.DiscardHandler), newID: (&momentIDs{now: clock.Now}).next}, queue: &queue{now: clock.Now, seen: map[string]time.Time{}}}
	if overAzure(on) {
		var err error
		w.cosmos, err = cosmos.Open(cosmos.Config{Now: clock.Now})
		noError(t, err)
		t.Cleanup(func() { _ = w.cosmos.Close() })
		config := w.storeConfig()
		config.HTTPClient = direct{w.cosmos}
		w.openStore(config)
	} else {
		w.connectMemory()
	}
	w.app = app.New(app.Config{Store: w.store, Bus: m.queue, Now: clock.Now, NewID: m.newID, Log: m.log, Sources: w.sources(), Artifacts: w.artifacts})
	return m
}

// source has the runbook waves find these people from now on.
func (m *making) source(csv string) {
	m.t.Helper()
	m.people = csv
	file := filepath.Join(m.t.TempDir(), "people.csv")
	noError(m.t, os.WriteFile(file, []byte(csv), 0o600))
	m.env["PEOPLE"] = file
}

// announces has the worker announce itself.
func (m *making) announces(at time.Time, functions ...string) {
	m.t.Helper()
	c := message.Catalog{WorkerID: "worker-01", Version: "0.1", Timestamp: at}
	for _, name := range functions {
		c.Functions = append(c.Functions, message.CatalogFunction{
			Name: name, Description: "Does it.", Permissions: []string{"User.ReadWrite.All"},
			Parameters: []message.CatalogParameter{{Name: "Upn", Type: "string", Required: true, Description: "Whose."}, {Name: "Way", Type: "string"}},
			Result:     []message.CatalogField{{Name: "id", Description: "Of what was made."}}, TimeoutSeconds: 600,
		})
	}
	body := must(json.Marshal(c))(m.t)
	noError(m.t, m.queue.Send(m.ctx, message.TopicWorkerResults, bus.Message{
		ID: message.CatalogID(c.WorkerID, body), Body: body, Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerCatalog},
	}))
}

// reports has another worker send a heartbeat.
func (m *making) reports(at time.Time) {
	m.t.Helper()
	expires, throttled := at.Add(30*day), at.Add(time.Minute)
	h := message.Heartbeat{
		WorkerID: "worker-02", ReplicaID: "r1", Version: "0.1", StartedAt: at, Timestamp: at, MaxParallelism: 8, JobsInFlight: []string{"batch-1000-step-1-attempt-1"},
		InFlight: 1, JobsEnded: 3, OldestJobAt: &at, TakenThrough: &at, ThrottledUntil: &throttled, CredentialExpiresAt: &expires,
	}
	noError(m.t, m.queue.Send(m.ctx, message.TopicWorkerResults, testenv.Heartbeat(h)))
}
