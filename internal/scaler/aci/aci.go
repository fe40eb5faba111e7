// Package aci reads the container groups and the waiting messages that package scaler plans for, and
// carries its plans out: over Azure Resource Manager, and by peeking at Service Bus.
//
// It decides nothing, and settles no message.
package aci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/servicebus/armservicebus"

	"github.com/matoolkit/matoolkit/internal/scaler"
)

// Config configures a Client. Settings, Credential and HTTP are required.
type Config struct {
	Settings   *scaler.Settings
	Endpoint   string // of Azure Resource Manager; empty: that of the public cloud
	Credential azcore.TokenCredential
	HTTP       *http.Client
	Connect    func(ctx context.Context, host string) (net.Conn, error) // to Service Bus by WebSockets; nil: by AMQP
}

// Client reads and changes what a scaler needs. It is safe for concurrent use.
type Client struct {
	settings      *scaler.Settings
	groups        *armcontainerinstance.ContainerGroupsClient // retries
	changes       *armcontainerinstance.ContainerGroupsClient // does not: the next tick repeats a change
	subscriptions *armservicebus.SubscriptionsClient
	bus           *azservicebus.Client
}

// New makes a client. It does not connect.
func New(c Config) (*Client, error) {
	options := func(retries int32) *arm.ClientOptions {
		o := &arm.ClientOptions{DisableRPRegistration: true}
		o.Transport, o.Retry = c.HTTP, policy.RetryOptions{MaxRetries: retries, MaxRetryDelay: 10 * time.Second}
		if c.Endpoint != "" {
			o.Cloud = cloud.Configuration{Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
				cloud.ResourceManager: {Endpoint: c.Endpoint, Audience: cloud.AzurePublic.Services[cloud.ResourceManager].Audience},
			}}
		}
		return o
	}
	client := &Client{settings: c.Settings}
	var errs [4]error
	client.groups, errs[0] = armcontainerinstance.NewContainerGroupsClient(c.Settings.SubscriptionID, c.Credential, options(2))
	client.changes, errs[1] = armcontainerinstance.NewContainerGroupsClient(c.Settings.SubscriptionID, c.Credential, options(-1))
	client.subscriptions, errs[2] = armservicebus.NewSubscriptionsClient(c.Settings.SubscriptionID, c.Credential, options(2))
	client.bus, errs[3] = dial(c)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("container scaler: %w", err)
	}
	return client, nil
}

func dial(c Config) (*azservicebus.Client, error) {
	options := &azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{MaxRetries: 2, RetryDelay: 50 * time.Millisecond, MaxRetryDelay: time.Second}}
	if c.Connect != nil {
		options.NewWebSocketConn = func(ctx context.Context, args azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
			return c.Connect(ctx, args.Host)
		}
	}
	if c.Settings.ConnectionString == "" {
		return azservicebus.NewClient(c.Settings.NamespaceHost, c.Credential, options)
	}
	client, err := azservicebus.NewClientFromConnectionString(c.Settings.ConnectionString, options)
	if err != nil {
		return nil, errors.New("SB_CONNECTION_STR: the connection string cannot be used") // the SDK's error may quote the key
	}
	return client, nil
}

// Settings returns the settings of the scaler.
func (c *Client) Settings() *scaler.Settings { return c.settings }

// Close ends the connection to Service Bus.
func (c *Client) Close(ctx context.Context) error { return c.bus.Close(ctx) }

// explain turns an error of Azure Resource Manager into one of a line. It marks refusals: after other errors, such as
// a lost answer, a change may have happened.
func explain(err error) error {
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) {
		return err
	}
	text := fmt.Sprintf("%d %s", refused.StatusCode, refused.ErrorCode)
	if detail := message(refused.RawResponse); detail != "" {
		text += ": " + detail
	}
	switch {
	case refused.StatusCode == http.StatusTooManyRequests,
		refused.ErrorCode == "ContainerGroupQuotaReached":
		return fmt.Errorf("%w: %s", scaler.ErrExhausted, text)
	case refused.StatusCode == http.StatusConflict && refused.ErrorCode == "ServiceUnavailable":
		return refusal{text, scaler.ErrNoCapacity}
	case refused.StatusCode < http.StatusInternalServerError:
		return refusal{text, scaler.ErrRefused}
	}
	return errors.New(text)
}

// refusal is an error in the words of the service, of a kind.
type refusal struct {
	text string
	kind error
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.kind }

// maxMessage bounds the message of an error.
const maxMessage = 500

// message returns the message in the body of a response, which the SDK has read.
func message(response *http.Response) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil || json.Unmarshal(raw, &body) != nil {
		return ""
	}
	return shorten(body.Error.Message)
}

func shorten(text string) string {
	if r := []rune(text); len(r) > maxMessage {
		return string(r[:maxMessage]) + "…"
	}
	return text
}

// value dereferences p; it is the zero value if the service set none.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
