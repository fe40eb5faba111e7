package main

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

// connector opens the connection to a namespace; nil means TLS on the AMQP port.
type connector func(ctx context.Context, host string) (net.Conn, error)

// busClient reaches the broker: RabbitMQ where there is its URL, and else Service Bus, by its key
// where there is a connection string, and else as the managed identity.
func busClient(c config, connect connector) (bus.Client, error) {
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
			return nil, fmt.Errorf("%s is not a connection string of a namespace: %w", envBusString, err)
		}
		return client, nil
	}
	identity, err := signin.ManagedIdentity(c.IdentityID)
	if err != nil {
		return nil, err
	}
	to.Credential = identity
	return servicebus.Dial(to)
}

func closeClient(client bus.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = client.Close(ctx) // the process ends; the broker notices either way
}
