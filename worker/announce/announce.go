// Package announce tells the orchestrator, once, what a worker can be asked for, so that
// runbooks can be checked against it. docs/write-a-worker.md is the contract of the message.
//
// Nothing waits for it: a worker that cannot tell does its jobs all the same.
package announce

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Worker is who announces itself. Started is when it did; of two announcements of a
// worker the later start counts.
type Worker struct {
	ID, Version string
	Started     time.Time
	JobTimeout  time.Duration // for a function without a time limit of its own
	Functions   []catalog.Function
}

// Message is the announcement. What would be too large is made without descriptions;
// the error is of one that is too large all the same.
func (w Worker) Message() (bus.Message, error) {
	body, err := w.body(true)
	if err == nil && len(body) > message.Limit {
		body, err = w.body(false)
	}
	if err != nil {
		return bus.Message{}, err
	}
	if len(body) > message.Limit {
		return bus.Message{}, fmt.Errorf("the catalogue without descriptions has %d bytes; at most %d are allowed", len(body), message.Limit)
	}
	return bus.Message{
		ID: message.CatalogID(w.ID, body), Body: body,
		Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerCatalog, message.PropertyWorkerID: w.ID},
	}, nil
}

func (w Worker) body(described bool) ([]byte, error) {
	text := func(s string) string {
		if described {
			return s
		}
		return ""
	}
	c := message.Catalog{WorkerID: w.ID, Version: w.Version, Timestamp: w.Started.UTC(), Functions: []message.CatalogFunction{}}
	for _, f := range w.Functions {
		function := message.CatalogFunction{
			Name: f.Name, Description: text(f.Description), Permissions: f.Permissions,
			TimeoutSeconds: cmp.Or(f.TimeoutSeconds, int(w.JobTimeout.Seconds())),
			ReadOnly:       f.ReadOnly,
		}
		for _, p := range f.Params {
			function.Parameters = append(function.Parameters, message.CatalogParameter{Name: p.Name, Type: string(p.Type), Required: p.Required, Description: text(p.Description), Secret: p.Secret})
		}
		for _, r := range f.Result {
			function.Result = append(function.Result, message.CatalogField{Name: r.Name, Description: text(r.Description)})
		}
		c.Functions = append(c.Functions, function)
	}
	return json.Marshal(c)
}

// Sender is the part of bus.Sender that an announcement takes.
type Sender interface {
	Send(ctx context.Context, topic string, messages ...bus.Message) error
}

// Send announces a worker, again and again until the broker has it or ctx ends. The
// message is the same each time, so that one that arrived before is dropped.
func (w Worker) Send(ctx context.Context, to Sender, log *slog.Logger) {
	m, err := w.Message()
	if err != nil {
		log.Error("cannot announce the functions: publish does not check runbooks against them", logkey.Error, err)
		return
	}
	pace := backoff.NewExponentialBackOff()
	pace.MaxInterval = 30 * time.Second
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, to.Send(ctx, message.TopicWorkerResults, m)
	}, backoff.WithBackOff(pace), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, delay time.Duration) {
		log.Warn("cannot announce the functions: retrying", logkey.Error, err, logkey.Delay, delay.String())
	}))
	if err == nil {
		log.Info("functions announced", logkey.Functions, len(w.Functions))
	}
}
