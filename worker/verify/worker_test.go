package verify_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// worker is written from the contract alone, with ways to break it. It does one job
// at a time.
type worker struct {
	client *azservicebus.Client

	mute, exactCase, anything, nameless, loose, dropsNameless bool
	dies, keepsRubbish, late, dropsHuge, randomIDs, counts    bool
	keeps, twice, floats                                      bool
	deaf, begins, revokesAll                                  bool // of controls
	loses                                                     int
	can, expiredType, revokedType, contentType                string
	heartbeat                                                 string // "" for none
	answer                                                    any    // in the place of an object
	properties                                                map[string]any
	body                                                      func(map[string]any) any
	errorIs                                                   func(text string) any

	done    map[string][]byte // results by job
	revoked map[int]time.Time // by batch
	control *azservicebus.Receiver

	count int
}

func newWorker(client *azservicebus.Client) *worker {
	return &worker{
		client: client, can: "Get-Echo", expiredType: "JobExpired", revokedType: "JobRevoked", contentType: "application/json",
		heartbeat: `{"WorkerId":"worker-01","ReplicaId":"r1","StartedAt":"2026-03-01T12:00:00Z","Timestamp":"2026-03-01T12:00:30Z"}`,
		done:      map[string][]byte{}, revoked: map[int]time.Time{},
		body: func(fields map[string]any) any { return fields },
		errorIs: func(text string) any {
			kind, text, _ := strings.Cut(text, ": ")
			return map[string]any{"Message": text, "Type": kind, "IsThrottled": false, "Attempts": 1}
		},
	}
}

// with changes one field of every result.
func with(name string, change func(any) any) func(map[string]any) any {
	return func(fields map[string]any) any {
		if v, ok := fields[name]; ok {
			fields[name] = change(v)
		}
		return fields
	}
}

// run works until the test ends.
func (w *worker) run(t *testing.T) {
	t.Helper()
	jobs := testenv.Must(w.client.NewReceiverForSubscription(message.TopicWorkerJobs, message.WorkerSubscription(workerID), nil))(t)
	w.control = testenv.Must(w.client.NewReceiverForSubscription(message.TopicWorkerControl, message.WorkerSubscription(workerID), nil))(t)
	results := testenv.Must(w.client.NewSender(message.TopicWorkerResults, nil))(t)
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-stopped
	})
	go func() {
		defer close(stopped)
		w.announce(ctx, results)
		for {
			messages, err := jobs.ReceiveMessages(ctx, 1, nil)
			if err != nil {
				return
			}
			for _, m := range messages {
				if w.readControls(ctx) != nil || !w.take(ctx, jobs, results, m) {
					return
				}
			}
		}
	}()
}

// announce tells what it can do, which is no result of anything.
func (w *worker) announce(ctx context.Context, results *azservicebus.Sender) {
	id := "hello"
	_ = results.SendMessage(ctx, &azservicebus.Message{
		MessageID: &id, Body: []byte(`{"WorkerId":"worker-01","Timestamp":"2026-03-01T12:00:00Z","Functions":[{"Name":"` + w.can + `"}]}`),
		ApplicationProperties: map[string]any{message.PropertyMessageType: "worker-catalog"},
	}, nil)
	if w.heartbeat != "" {
		id := "heartbeat"
		_ = results.SendMessage(ctx, &azservicebus.Message{
			MessageID: &id, Body: []byte(w.heartbeat),
			ApplicationProperties: map[string]any{message.PropertyMessageType: "worker-heartbeat"},
		}, nil)
	}
}

// readControls peeks the controls that came since the last call.
func (w *worker) readControls(ctx context.Context) error {
	for !w.deaf {
		page, err := w.control.PeekMessages(ctx, 100, nil)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, m := range page {
			var c struct {
				BatchID        int `json:"BatchId"`
				RevokedThrough time.Time
			}
			if json.Unmarshal(m.Body, &c) == nil && c.RevokedThrough.After(w.revoked[c.BatchID]) {
				w.revoked[c.BatchID] = c.RevokedThrough
			}
		}
	}
	return nil
}

// take does a job, and tells whether the worker lives.
func (w *worker) take(ctx context.Context, jobs *azservicebus.Receiver, results *azservicebus.Sender, m *azservicebus.ReceivedMessage) bool {
	j, ok := w.read(m.Body)
	if !ok {
		if !w.keepsRubbish {
			_ = jobs.DeadLetterMessage(ctx, m, nil)
		}
		return !w.dies
	}
	raw, known := w.done[j.id]
	if !known || w.counts {
		raw = w.result(j)
		w.done[j.id] = raw
	}
	w.count++
	lost := w.mute || w.loses > 0 && strings.Contains(j.id, "many") && w.count%w.loses == 0
	if !lost && raw != nil {
		copies := 1
		if w.twice {
			copies = 2
		}
		for range copies {
			id := "result-" + j.id
			if w.randomIDs {
				id = rand.Text()
			}
			_ = results.SendMessage(ctx, &azservicebus.Message{Body: raw, MessageID: &id, ContentType: &w.contentType, ApplicationProperties: w.properties}, nil)
		}
	}
	if !w.keeps {
		_ = jobs.CompleteMessage(ctx, m, nil)
	}
	return true
}

type readJob struct {
	id, function string
	parameters   json.RawMessage
	correlation  json.RawMessage
	expires      *time.Time
	batch        int
	dispatched   time.Time
}

func (w *worker) read(body []byte) (readJob, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return readJob{}, false
	}
	if !w.exactCase {
		for name, v := range maps.Clone(fields) {
			fields[strings.ToLower(name)] = v
		}
	}
	get := func(name string) json.RawMessage {
		if w.exactCase {
			return fields[name]
		}
		return fields[strings.ToLower(name)]
	}
	j := readJob{parameters: get("Parameters"), correlation: get("CorrelationData")}
	_ = json.Unmarshal(get("JobId"), &j.id)
	_ = json.Unmarshal(get("FunctionName"), &j.function)
	_ = json.Unmarshal(get("ExpiresAt"), &j.expires)
	_ = json.Unmarshal(get("BatchId"), &j.batch)
	_ = json.Unmarshal(get("DispatchedAt"), &j.dispatched)
	return j, j.id != "" && len(j.correlation) > 0 && j.correlation[0] == '{'
}

func (w *worker) result(j readJob) []byte {
	if j.function == "" && w.dropsNameless {
		return nil
	}
	fields := map[string]any{
		"JobId": j.id, "DurationMs": 1, "Timestamp": time.Now().UTC().Format(time.RFC3339Nano), "CorrelationData": j.correlation,
	}
	if w.floats {
		var loose any
		_ = json.Unmarshal(j.correlation, &loose)
		fields["CorrelationData"] = loose
	}
	answer, err := w.do(j)
	switch {
	case err != nil && err.Error() == "":
		return nil
	case err != nil:
		fields["Status"], fields["Result"], fields["Error"] = "Failure", nil, w.errorIs(err.Error())
	default:
		fields["Status"], fields["ResultType"], fields["Result"], fields["Error"] = "Success", "Object", answer, nil
	}
	body := w.body(fields)
	if body == nil {
		return []byte("done: " + j.id)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	// Marshal writes a large float as 9007199254740992, as JavaScript does.
	return raw
}

// do returns the answer, or an error that begins with its type; one without a text
// means that nothing is to be sent.
func (w *worker) do(j readJob) (any, error) {
	if j.expires != nil && time.Now().After(*j.expires) && !w.late {
		return nil, errors.New(w.expiredType + ": the job has expired")
	}
	through, revoked := w.revoked[j.batch]
	if revoked && !w.begins && (w.revokesAll || !j.dispatched.IsZero() && !j.dispatched.After(through)) {
		return nil, errors.New(w.revokedType + ": the batch was paused or cancelled")
	}
	if j.function != w.can && !w.anything {
		if w.nameless {
			return nil, errors.New("UnknownFunction: no such function")
		}
		return nil, fmt.Errorf("UnknownFunction: there is no function %q", j.function)
	}
	if w.answer != nil {
		return w.answer, nil
	}
	var p map[string]any
	if err := json.Unmarshal(j.parameters, &p); err != nil && !w.loose {
		return nil, errors.New("InvalidParameters: the parameters are not an object")
	}
	for name := range p {
		if name != "Text" && name != "Huge" && !w.loose {
			return nil, fmt.Errorf("InvalidParameters: unknown parameter %s", name)
		}
	}
	text, ok := p["Text"].(string)
	if !ok && !w.loose {
		return nil, errors.New("InvalidParameters: Text is missing")
	}
	if p["Huge"] == true {
		if w.dropsHuge {
			return nil, errors.New("")
		}
		return nil, errors.New("InvalidResult: the answer is too large")
	}
	if w.counts {
		w.count++
		text = fmt.Sprint(text, w.count)
	}
	return map[string]any{"Text": text}, nil
}
