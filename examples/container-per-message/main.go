// Command container-per-message is an example of a program that the container scaler runs: it receives one
// message from its subscription, hashes as many megabytes as the message names, settles the message and
// ends. Copy it and replace process.
//
// It exits with 0 also after it has dead-lettered a message that it cannot process, because Azure may restart
// a container that fails. It exits with 1 only if it could not settle a message: the message comes
// again, and the container scaler creates another container for it.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

const (
	// patience is how long to wait for a message. There is none if another container has it.
	patience = time.Minute
	// renewal is how often the lock of the message is renewed: more often than it ends.
	renewal = 10 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // the process ends
	}
}

func run(ctx context.Context) error {
	client, err := connect()
	if err != nil {
		return err
	}
	receiver, err := client.NewReceiverForSubscription(os.Getenv("SB_TOPIC"), os.Getenv("SB_SUBSCRIPTION"), nil)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	messages, err := receiver.ReceiveMessages(waiting, 1, nil)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Println("no message")
		return nil
	case err != nil:
		return err
	}
	m := messages[0]
	working, done := context.WithCancel(ctx)
	defer done()
	go keepLocked(working, receiver, m)
	result, err := process(m.Body)
	if err != nil {
		reason := err.Error()
		fmt.Printf("message %s: %s\n", m.MessageID, reason)
		return receiver.DeadLetterMessage(ctx, m, &azservicebus.DeadLetterOptions{Reason: &reason})
	}
	fmt.Printf("message %s: %s\n", m.MessageID, result)
	return receiver.CompleteMessage(ctx, m, nil)
}

// connect uses SB_CONNECTION_STR, or the identity of the container for SB_NAMESPACE.
func connect() (*azservicebus.Client, error) {
	if connection := os.Getenv("SB_CONNECTION_STR"); connection != "" {
		return azservicebus.NewClientFromConnectionString(connection, nil)
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil) // AZURE_CLIENT_ID names the identity
	if err != nil {
		return nil, err
	}
	return azservicebus.NewClient(os.Getenv("SB_NAMESPACE"), credential, nil)
}

// keepLocked renews the lock of a message until ctx ends. A failure shows when the message is settled.
func keepLocked(ctx context.Context, receiver *azservicebus.Receiver, m *azservicebus.ReceivedMessage) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(renewal):
			_ = receiver.RenewMessageLock(ctx, &azservicebus.ReceivedMessage{LockToken: m.LockToken, RawAMQPMessage: m.RawAMQPMessage}, nil)
		}
	}
}

// process is the work: here, the hash of so many megabytes as the message names.
func process(body []byte) (string, error) {
	var message struct {
		Size *float64 `json:"file_size_mb"`
		Data struct {
			Size float64 `json:"file_size_mb"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return "", fmt.Errorf("the body is not a message: %w", err)
	}
	size := message.Data.Size
	if message.Size != nil {
		size = *message.Size
	}
	hash, megabyte := sha256.New(), make([]byte, 1<<20)
	for range int(size) {
		hash.Write(megabyte)
	}
	return fmt.Sprintf("%g MB have the hash %x", size, hash.Sum(nil)[:8]), nil
}
