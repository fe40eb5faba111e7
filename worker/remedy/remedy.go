// Package remedy says what an administrator can do about an error of the broker that does
// not pass by itself.
package remedy

import (
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/bus"
)

// For returns the remedy for an error of a receiver, and is empty for an error that passes by
// itself. Neither ends the worker: roles and subscriptions are often
// made a little later than the worker that needs them.
func For(err error) string {
	var about *bus.EntityError
	switch {
	case !errors.As(err, &about):
	case errors.Is(err, bus.ErrNotFound):
		return fmt.Sprintf("check WORKER_ID, the namespace and the settings of names: the topic %s must have the subscription %s", about.Topic, about.Subscription)
	case errors.Is(err, bus.ErrUnauthorized):
		return fmt.Sprintf("assign to the worker's identity the roles Azure Service Bus Data Receiver, at least for the subscription %s of %s, "+
			"and Azure Service Bus Data Sender; or check the key of the connection string", about.Subscription, about.Topic)
	}
	return ""
}
