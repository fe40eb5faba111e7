// Package scalertest is an Azure with a topic, for tests of the container scaler: Entra ID, Azure Resource
// Manager and Service Bus of this machine, and the scaler's client of them.
package scalertest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/scaler/aci"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/arm"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// Azure has the topic validations with the subscriptions a, b and c, whose filter is the property area, the
// subscription s, which requires sessions, and the subscription x, which is disabled.
type Azure struct {
	*aci.Client
	ARM *arm.Server
	Bus *servicebus.Server

	t   testing.TB
	bus *azservicebus.Client
}

// LockDuration and MaxDeliveries are those of each subscription.
const (
	LockDuration  = time.Minute
	MaxDeliveries = 3
)

// Config configures an Azure.
type Config struct {
	Subscriptions []arm.Subscription                         // that Azure Resource Manager lists in addition; Service Bus has none of them
	Settings      map[string]string                          // of the scaler, in addition to those that are required, or instead; without SB_CONNECTION_STR, its identity reads
	Run           arm.Runner                                 // of the containers; nil: they run until they are ended
	Now           func() time.Time                           // of the states of containers; nil: time.Now
	Allowed       func(client, action, resource string) bool // the permissions of an identity; nil: all
}

// Start starts an Azure for the time of a test.
func Start(t testing.TB, c Config) *Azure {
	t.Helper()
	e := entra.DefaultConfig()
	e.Addr = "127.0.0.1:0"
	directory := testenv.Started(entra.Start(t.Context(), e))(t)
	config := arm.Config{
		Certificate: testenv.Must(directory.ServerCertificate())(t), VerifyToken: directory.VerifyToken, Run: c.Run, Now: c.Now,
		PageSize: 2,
		Subscriptions: func(namespace, topic string) ([]arm.Subscription, bool) {
			all, found := subscriptions(namespace, topic)
			return append(all, c.Subscriptions...), found
		},
	}
	if c.Allowed != nil {
		config.Allowed = func(token, action, resource string) bool {
			claims, err := directory.VerifyClaims(token, arm.Audience)
			return err == nil && c.Allowed(claims.ClientID, action, resource)
		}
	}
	a := &Azure{t: t, ARM: testenv.Started(arm.Start(t.Context(), config))(t)}
	a.Bus = testenv.Started(servicebus.Start(t.Context(), servicebus.Config{
		Addr: "127.0.0.1:0", Topology: testenv.Must(servicebus.ParseTopology([]byte(topology())))(t), Key: "SAS_KEY_VALUE",
		VerifyToken: func(token, _ string) error { return directory.VerifyToken(token, entra.ServiceBusAudience) },
	}))(t)
	values := map[string]string{
		"AZURE_SUBSCRIPTION_ID": "6b4a8f0e-0000-4000-8000-000000000001", "AZURE_RESOURCE_GROUP": "validators", "ACI_IMAGE": "registry.example/validator:1",
		"ACI_NAME_PREFIX": "validator", "ACI_LOCATION": "westeurope", "ACI_MAX_INSTANCES": "3", "SB_NAMESPACE": "contoso", "SB_TOPIC_NAME": "validations",
		"SB_CONNECTION_STR": a.Bus.ConnectionString(), "INSTANCE_SUBSCRIPTION_ENV_NAME": "SUBSCRIPTION",
	}
	maps.Copy(values, c.Settings)
	settings := testenv.Must(scaler.ReadSettings(func(name string) string { return values[name] }, slices.Collect(maps.Keys(values))))(t)
	client := aci.Config{Settings: settings, Endpoint: a.ARM.URL(), Credential: identity{directory}, HTTP: directory.HTTPClient()}
	if settings.ConnectionString == "" {
		client.Connect = func(context.Context, string) (net.Conn, error) { return a.Bus.Dial() }
	}
	a.Client = testenv.Connected(aci.New(client))(t)
	a.bus = testenv.Connected(azservicebus.NewClientFromConnectionString(a.Bus.ConnectionString(), nil))(t)
	return a
}

// identity has the tokens of the handler's managed identity.
type identity struct{ *entra.Server }

func (i identity) GetToken(_ context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := i.IssueAppToken(entra.DefaultHandlerClientID, options.Scopes[0])
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, err
}

func topology() string {
	var all []string
	for _, area := range []string{"c", "a", "b"} {
		all = append(all, fmt.Sprintf(`{"Name":%q,"Properties":{"LockDuration":"PT1M","MaxDeliveryCount":%d},"Rules":[{"Name":"r","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"area = '%s'"}}}]}`, area, MaxDeliveries, area))
	}
	return `{"UserConfig":{"Namespaces":[{"Name":"contoso","Topics":[{"Name":"validations","Subscriptions":[` + strings.Join(all, ",") + `]}]}]}}`
}

func subscriptions(namespace, topic string) (all []arm.Subscription, found bool) {
	for _, area := range []string{"c", "a", "s", "b", "x"} {
		sub := arm.Subscription{Name: area, MaxDeliveries: MaxDeliveries, LockDuration: LockDuration, RequiresSession: area == "s"}
		if area == "x" {
			sub.Status = "Disabled"
		}
		all = append(all, sub)
	}
	return all, namespace == "contoso" && topic == "validations"
}

// Send sends a message to a subscription. An empty id lets the broker choose one.
func (a *Azure) Send(subscription, id, body string) {
	a.t.Helper()
	sender := testenv.Connected(a.bus.NewSender("validations", nil))(a.t)
	m := &azservicebus.Message{Body: []byte(body), ApplicationProperties: map[string]any{"area": subscription}}
	if id != "" {
		m.MessageID = &id
	}
	if err := sender.SendMessage(a.t.Context(), m, nil); err != nil {
		a.t.Fatal(err)
	}
}

// SendSize sends a message that names the size of a file.
func (a *Azure) SendSize(subscription, id string, mb int) {
	a.t.Helper()
	a.Send(subscription, id, fmt.Sprintf(`{"file_size_mb":%d}`, mb))
}

// Receive receives the next message of a subscription, as a container does. The caller settles it.
func (a *Azure) Receive(ctx context.Context, subscription string, settle func(*azservicebus.Receiver, *azservicebus.ReceivedMessage) error) error {
	receiver, err := a.bus.NewReceiverForSubscription("validations", subscription, nil)
	if err != nil {
		return err
	}
	defer receiver.Close(context.WithoutCancel(ctx)) // it holds nothing
	got, err := receiver.ReceiveMessages(ctx, 1, nil)
	if err != nil {
		return err
	}
	return settle(receiver, got[0])
}

// Complete receives and completes the next message of a subscription.
func (a *Azure) Complete(ctx context.Context, subscription string) error {
	return a.Receive(ctx, subscription, func(r *azservicebus.Receiver, m *azservicebus.ReceivedMessage) error {
		return r.CompleteMessage(ctx, m, nil)
	})
}

// MessageCount counts the messages in the subscriptions.
func (a *Azure) MessageCount() (n int) {
	for name, entity := range a.Bus.Stats().Entities {
		if strings.Contains(strings.ToLower(name), "/subscriptions/") {
			n += entity.Messages
		}
	}
	return n
}

// Settled waits until no group is created or deleted.
func (a *Azure) Settled() {
	a.t.Helper()
	testenv.Eventually(a.t, "no group is created or deleted", func() bool {
		return !slices.ContainsFunc(a.ARM.Groups(), func(g arm.State) bool { return g.Provisioning == "Creating" || g.Deleting })
	})
}

// Exit ends the container of a message.
func (a *Azure) Exit(subscription, id string, code int) {
	a.t.Helper()
	if err := a.ARM.Exit(a.Settings().NameFor(subscription, id), code); err != nil {
		a.t.Fatal(err)
	}
}
