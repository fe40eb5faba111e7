// Package remedy says what an administrator can do about an error of the broker that does
// not pass by itself.
package remedy

import (
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/bus"
)

// For returns the remedy for an error that came from a subscription, and is empty for an
// error that passes by itself. Neither ends the worker: roles and subscriptions are often
// made a little later than the worker that needs them.
func For(err error, topic, subscription string) string {
	switch {
	case errors.Is(err, bus.ErrNotFound):
		return fmt.Sprintf("check WORKER_ID and the namespace: the topic %s must have the subscription %s", topic, subscription)
	case errors.Is(err, bus.ErrUnauthorized):
		return fmt.Sprintf("assign to the worker's identity the roles Azure Service Bus Data Receiver, at least for the subscription %s of %s, "+
			"and Azure Service Bus Data Sender; or check the key of the connection string", subscription, topic)
	}
	return ""
}
