package program

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/worker/signin"
)

// Connector opens the connection to a namespace; nil means TLS on the AMQP port.
type Connector func(ctx context.Context, host string) (net.Conn, error)

// Dial reaches the broker: RabbitMQ where there is its URL, and else Service Bus, by its key
// where there is a connection string, and else as the managed identity.
func Dial(c Settings, connect Connector) (bus.Client, error) {
	if c.RabbitMQ.On() {
		roots, err := tlsroots.Roots(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", tlsroots.EnvCAFile, err)
		}
		return rabbitmq.Dial(rabbitmq.Config{
			URL: c.RabbitMQ.URL, Prefix: c.RabbitMQ.Prefix, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			Name: "matoolkit-worker " + c.WorkerID, Declare: true, Workers: []string{c.WorkerID},
		})
	}
	to := servicebus.Config{ConnectionString: c.BusString, Namespace: c.BusNamespace, Names: c.BusNames, ApplicationID: "matoolkit-worker", Connect: connect}
	if c.BusString != "" {
		client, err := servicebus.Dial(to)
		if err != nil {
			return nil, fmt.Errorf("%s is not a connection string of a namespace: %w", EnvBusString, err)
		}
		return client, nil
	}
	identity, err := signin.ManagedIdentity(c.IdentityID, nil)
	if err != nil {
		return nil, err
	}
	to.Credential = identity
	return servicebus.Dial(to)
}

// Hangup closes the connection to the broker.
func Hangup(client bus.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = client.Close(ctx) // the process ends; the broker notices either way
}
