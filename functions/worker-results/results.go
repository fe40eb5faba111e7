// Package workerresults turns a message of the topic worker-results into one
// call of the use case that takes a worker's result. It knows the trigger's
// payload and that use case.
package workerresults

import (
	"context"

	"github.com/matoolkit/matoolkit/functions/delivery"
	"github.com/matoolkit/matoolkit/internal/invocation"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Name is the function's, the same as its folder's.
const Name = message.TopicWorkerResults

// Handler takes one result. nil settles the message; an error has it delivered
// again at once, so a Handler must expect any result twice.
type Handler interface {
	HandleResult(ctx context.Context, m message.Delivery) error
}

// New makes the function.
func New(handler Handler) invocation.Func {
	return func(ctx context.Context, call *invocation.Call) error {
		m, err := delivery.Message(call)
		if err != nil {
			return err
		}
		return handler.HandleResult(ctx, m)
	}
}
