// Package control keeps a replica informed of the batches whose jobs the orchestrator has
// revoked. It peeks the worker's subscription of the topic worker-control: nothing is
// received from there, so that every replica, also one that starts later, sees every
// control until the control's time to live ends.
//
// What it knows is at most message.ControlMaxAge old, or it says that it is not.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/remedy"
)

// Config of a Watch. WorkerID is required.
type Config struct {
	WorkerID string
	Interval time.Duration // between two polls; 0 means message.ControlPollInterval
	MaxAge   time.Duration // of what is known; 0 means message.ControlMaxAge
	Log      *slog.Logger  // nil means slog.Default()
}

// Watch knows which jobs revoked. It is safe for concurrent use.
type Watch struct {
	config   Config
	receiver bus.Receiver
	log      *slog.Logger
	began    time.Time // when Run did

	// last is the newest control that was seen, by its place in the subscription and its
	// message id. Only poll uses it.
	last struct {
		sequence int64
		id       string
	}

	mu      sync.Mutex
	revoked map[int]revocation // by batch
	asOf    time.Time          // when the last successful poll began; zero before the first
	stale   error              // why the polls since then failed, nil where none did
	changed chan struct{}      // closed at the next change
}

// revocation is the latest control of a batch.
type revocation struct {
	message.Control
	until time.Time // when the broker drops the control; zero when it does not say
}

// maxBatches bounds how many batches are known. Each pause and each cancel of the time
// for which the broker keeps a control is one at most.
const maxBatches = 100_000

// New makes a Watch. It does not connect: Run does.
func New(client bus.Receivers, config Config) (*Watch, error) {
	if config.WorkerID == "" {
		return nil, errors.New("control: a worker id is required")
	}
	if config.Interval <= 0 {
		config.Interval = message.ControlPollInterval
	}
	if config.MaxAge <= 0 {
		config.MaxAge = message.ControlMaxAge
	}
	if config.Log == nil {
		config.Log = slog.Default()
	}
	receiver, err := client.Receiver(message.TopicWorkerControl, message.WorkerSubscription(config.WorkerID))
	if err != nil {
		return nil, err
	}
	return &Watch{
		config: config, receiver: receiver, log: config.Log,
		revoked: map[int]revocation{}, changed: make(chan struct{}),
	}, nil
}

// firstRetry is the delay after the first failed poll. It doubles up to the interval.
const firstRetry = 200 * time.Millisecond

// Run polls until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	failures := 0
	w.began = time.Now()
	for ctx.Err() == nil {
		began := time.Now()
		err := w.poll(ctx)
		if ctx.Err() != nil {
			break
		}
		w.polled(began, err)
		wait := w.config.Interval - time.Since(began)
		if err != nil {
			wait = min(firstRetry<<min(failures, 10), w.config.Interval)
			failures++
		} else {
			failures = 0
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = w.receiver.Close(closing) // the connection goes with the client
}

// polled records how a poll ended that began at a time, and logs what changed.
func (w *Watch) polled(began time.Time, err error) {
	w.mu.Lock()
	was := w.err()
	if err == nil {
		w.asOf = began
	}
	w.stale = err
	is := w.err()
	if was != nil && is == nil {
		w.notify()
	}
	w.mu.Unlock()
	switch {
	case err != nil:
		about := []any{logkey.Error, err}
		what := remedy.For(err)
		if what != "" {
			about = append(about, logkey.Remedy, what)
		}
		// A broker may be there a little later than the worker.
		if is != nil && (what != "" || time.Since(w.began) > w.config.MaxAge) {
			w.log.Error("cannot read job controls: the worker starts no jobs", about...)
		} else {
			w.log.Warn("cannot read job controls: retrying", about...)
		}
	case was != nil:
		w.log.Info("reading job controls")
	}
}

// page is how many controls one request asks for.
const page = 100

// pollTimeout bounds a poll: less than message.ControlMaxAge, so that a request that is
// lost does not make a replica stop. What a poll has read until then is kept.
const pollTimeout = 10 * time.Second

// poll reads the controls that came since the last poll. It begins with the newest that
// is known: where another message is in its place, the subscription was made anew or the
// control's time to live has ended, and everything is read again.
func (w *Watch) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	found, err := w.receiver.Peek(ctx, w.last.sequence, page)
	if err != nil {
		return err
	}
	if w.last.id != "" {
		if len(found) == 0 || found[0].Sequence != w.last.sequence || found[0].ID != w.last.id {
			w.last.sequence, w.last.id = 0, ""
			return w.poll(ctx)
		}
		found = found[1:]
	}
	for len(found) > 0 {
		w.take(found)
		newest := found[len(found)-1]
		w.last.sequence, w.last.id = newest.Sequence, newest.ID
		// An answer may hold less than there is: only an empty one is the end.
		if found, err = w.receiver.Peek(ctx, w.last.sequence+1, page); err != nil {
			return err
		}
	}
	return nil
}

// take remembers controls.
func (w *Watch) take(found []*bus.Received) {
	w.mu.Lock()
	defer w.mu.Unlock()
	news := false
	for _, m := range found {
		var c message.Control
		if err := json.Unmarshal(m.Body, &c); err != nil || c.BatchID == 0 || c.RevokedThrough.IsZero() {
			w.log.Error("ignoring an invalid job control", logkey.MessageID, m.ID, logkey.Error, err)
			continue
		}
		known, ok := w.revoked[c.BatchID]
		if ok && !c.RevokedThrough.After(known.RevokedThrough) {
			continue
		}
		w.revoked[c.BatchID] = revocation{Control: c, until: m.ExpiresAt}
		news = true
		w.log.Info("jobs revoked", logkey.BatchID, c.BatchID, logkey.RevokedThrough, c.RevokedThrough.UTC())
	}
	w.bound(maxBatches)
	if news {
		w.notify()
	}
}

// bound drops what the broker has dropped, and then, where more than limit batches are
// left, those that the broker drops first.
func (w *Watch) bound(limit int) {
	if len(w.revoked) <= limit {
		return
	}
	now := time.Now()
	for batch, r := range w.revoked {
		if !r.until.IsZero() && r.until.Before(now) {
			delete(w.revoked, batch)
		}
	}
	for len(w.revoked) > limit {
		oldest := 0
		for batch, r := range w.revoked {
			if oldest == 0 || r.RevokedThrough.Before(w.revoked[oldest].RevokedThrough) {
				oldest = batch
			}
		}
		delete(w.revoked, oldest)
		w.log.Error("dropped the oldest job control: too many batches", logkey.BatchID, oldest, logkey.Limit, limit)
	}
}

// notify tells those who wait on Changed.
func (w *Watch) notify() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Revoked reports whether a job is revoked, as far as is known.
func (w *Watch) Revoked(job message.Job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.revoked[job.BatchID]
	return ok && r.Revokes(job)
}

// Err is nil while the known controls are recent enough to begin a job, and otherwise
// says why they are not.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err()
}

func (w *Watch) err() error {
	age := time.Since(w.asOf)
	switch {
	case w.asOf.IsZero() && w.stale == nil:
		return errors.New("job controls have not been read yet")
	case w.asOf.IsZero():
		return fmt.Errorf("cannot read job controls: %w", w.stale)
	case age <= w.config.MaxAge:
		return nil
	case w.stale != nil:
		return fmt.Errorf("job controls were last read %s ago: %w", age.Round(time.Second), w.stale)
	}
	return fmt.Errorf("job controls were last read %s ago", age.Round(time.Second))
}

// Until is when Err stops being nil, unless a poll succeeds before; zero when it is not
// nil now.
func (w *Watch) Until() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err() != nil {
		return time.Time{}
	}
	return w.asOf.Add(w.config.MaxAge)
}

// Changed returns a channel that is closed when more jobs revoked or Err becomes nil.
func (w *Watch) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}
