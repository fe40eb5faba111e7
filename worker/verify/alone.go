package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// The number of results that detect another reader: of two readers each gets some.
// Without another reader they all return at once.
const (
	ownResults = 8
	ownWait    = 5 * time.Second
)

// alone checks that no other program reads the subscription. Otherwise the worker would
// be blamed for results that the other reader took.
//
// If the subscription has messages already, it sends none: it examines them first, and
// they may end the run.
func (l *line) alone(ctx context.Context) error {
	if there, err := l.back.Peek(ctx, 0, 1); err != nil || len(there) > 0 {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, ownWait)
	defer cancel()
	id := func(i int) string { return fmt.Sprintf("%s-own-%d", l.prefix, i) }
	for i := range ownResults { // one after the other, so that each can go to either reader
		body, err := json.Marshal(message.Result{JobID: id(i), Status: message.StatusSuccess})
		if err != nil {
			return err
		}
		m := bus.Message{ID: id(i), Body: body, TimeToLive: 2 * ownWait} // the broker drops what is left over
		if err := l.config.Client.Send(timed, message.TopicWorkerResults, m); err != nil {
			return fmt.Errorf("send a result: %w", err)
		}
		if !l.comes(timed, id(i)) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errors.New("another program reads the subscription " + l.config.Results +
				", for example a running orchestrator: stop it, or create a subscription of " + message.TopicWorkerResults + " for verify")
		}
	}
	l.forget(id, ownResults)
	return nil
}

// comes waits for a result.
func (l *line) comes(ctx context.Context, id string) bool {
	for {
		came, more := l.results(id)
		if len(came) > 0 {
			return true
		}
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

// forget drops results that no worker gave.
func (l *line) forget(id func(int) string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		delete(l.got, id(i))
	}
}
