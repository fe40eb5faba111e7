package dispatch

import (
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/matoolkit/matoolkit/internal/message"
)

// remedy is what is to be done about an error of the broker that does not pass by
// itself, empty for one that does. Such an error does not end the worker: roles and
// subscriptions are often there a little later than whoever needs them.
func (l *Loop) remedy(err error) string {
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
		return fmt.Sprintf("check WORKER_ID and the namespace: the topic %s has to have the subscription %s",
			message.TopicWorkerJobs, message.WorkerSubscription(l.config.WorkerID))
	case condition == amqp.ErrCondUnauthorizedAccess || code == azservicebus.CodeUnauthorizedAccess:
		return "the worker's identity needs the roles Azure Service Bus Data Receiver and Azure Service Bus Data Sender in the namespace, or the connection string a good key"
	}
	return ""
}
