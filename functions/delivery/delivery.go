// Package delivery turns what a Service Bus trigger hands over into the message that
// a use case takes. It knows the triggers' payload, and no use case.
package delivery

import (
	"github.com/matoolkit/matoolkit/internal/invocation"
	"github.com/matoolkit/matoolkit/internal/message"
)

const binding = "message" // as in the function.json of each

// Message reads the message of a call. It fails where the binding is missing or is
// not binary.
func Message(call *invocation.Call) (message.Delivery, error) {
	body, err := call.Binary(binding)
	if err != nil {
		return message.Delivery{}, err
	}
	kind, _ := call.Properties[message.PropertyMessageType].(string)
	return message.Delivery{
		ID:            call.MessageID,
		Type:          kind,
		Body:          body,
		Properties:    call.Properties,
		DeliveryCount: max(call.DeliveryCount, 1),
		EnqueuedAt:    call.EnqueuedAt,
		Size:          call.Size,
	}, nil
}
