// Package remedy says what an administrator can do about an error of Service Bus that does
// not pass by itself.
package remedy

import (
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"
)

// For returns the remedy for an error that came from a subscription, and is empty for an
// error that passes by itself. Neither ends the worker: roles and subscriptions are often
// made a little later than the worker that needs them.
func For(err error, topic, subscription string) string {
	var refused *amqp.Error
	var failed *azservicebus.Error
	condition, code := amqp.ErrCond(""), azservicebus.Code("")
	if errors.As(err, &refused) {
		condition = refused.Condition
	}
	if errors.As(err, &failed) {
		code = failed.Code
	}
	switch {
	case condition == amqp.ErrCondNotFound || code == azservicebus.CodeNotFound:
		return fmt.Sprintf("check WORKER_ID and the namespace: the topic %s has to have the subscription %s", topic, subscription)
	case condition == amqp.ErrCondUnauthorizedAccess || code == azservicebus.CodeUnauthorizedAccess:
		return fmt.Sprintf("the worker's identity needs the roles Azure Service Bus Data Receiver, at least for the subscription %s of %s, "+
			"and Azure Service Bus Data Sender, or the connection string a good key", subscription, topic)
	}
	return ""
}
