// Package orchestratorevents turns a message of the topic orchestrator-events
// into one call of the use case that handles it. It knows the trigger's payload
// and that use case.
package orchestratorevents

import (
	"context"

	"github.com/matoolkit/matoolkit/functions/delivery"
	"github.com/matoolkit/matoolkit/internal/invocation"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Name is the function's, the same as its folder's.
const Name = message.TopicOrchestratorEvents

// Handler handles one event. nil settles the message; an error has it delivered
// again at once, so a Handler must expect any message twice.
type Handler interface {
	HandleEvent(ctx context.Context, m message.Delivery) error
}

// New makes the function.
func New(handler Handler) invocation.Func {
	return func(ctx context.Context, call *invocation.Call) error {
		m, err := delivery.Message(call)
		if err != nil {
			return err
		}
		return handler.HandleEvent(ctx, m)
	}
}
