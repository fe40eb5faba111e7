package main

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/worker/signin"
)

// dialer connects to a namespace; nil means the SDK's own way.
type dialer func(context.Context, azservicebus.NewWebSocketConnArgs) (net.Conn, error)

// busClient reaches the broker, by its key where there is a connection string, and else
// as the managed identity.
func busClient(c config, dial dialer) (*azservicebus.Client, error) {
	// The loop waits out what these do not; a short reach makes its log truthful.
	options := &azservicebus.ClientOptions{
		ApplicationID:    "matoolkit-worker",
		RetryOptions:     azservicebus.RetryOptions{MaxRetries: 2, RetryDelay: 200 * time.Millisecond, MaxRetryDelay: 2 * time.Second},
		NewWebSocketConn: dial,
	}
	if c.BusString != "" {
		client, err := azservicebus.NewClientFromConnectionString(c.BusString, options)
		if err != nil {
			// The SDK's error may quote the string, and with it the key.
			return nil, errors.New(envBusString + " is not a connection string of a namespace")
		}
		return client, nil
	}
	identity, err := signin.ManagedIdentity(c.IdentityID)
	if err != nil {
		return nil, err
	}
	return azservicebus.NewClient(c.BusNamespace, identity, options)
}

func closeClient(client *azservicebus.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = client.Close(ctx) // the process ends; the broker notices either way
}
