package system_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/coder/websocket"

	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/github"
	"github.com/matoolkit/matoolkit/local/system"
)

// Endpoints has the started servers and no others.
func TestEndpointsListWhatWasStarted(t *testing.T) {
	t.Parallel()
	const busElsewhere = "127.0.0.1:5999"
	for _, c := range []struct {
		name                     string
		parts, elsewhere         []system.Part
		bus, cosmos, entra, host bool
	}{
		{name: "Service Bus alone", parts: []system.Part{system.ServiceBus}, bus: true},
		{name: "Cosmos DB, with Service Bus elsewhere", parts: []system.Part{system.Cosmos}, elsewhere: []system.Part{system.ServiceBus}, bus: true, cosmos: true},
		{name: "Entra ID and Service Bus", parts: []system.Part{system.Identity, system.ServiceBus}, bus: true, entra: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			addresses := system.FreeAddresses()
			if len(c.elsewhere) > 0 {
				addresses.ServiceBus = busElsewhere
			}
			s, err := system.Start(t.Context(), system.Config{Parts: c.parts, Elsewhere: c.elsewhere, Addresses: addresses})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			e := s.Endpoints()
			for what, got := range map[string][2]bool{
				"address of Service Bus":      {c.bus, e.Addresses.ServiceBus != ""},
				"address of Cosmos DB":        {c.cosmos, e.Addresses.Cosmos != ""},
				"address of Entra ID":         {c.entra, e.Addresses.Entra != ""},
				"address of the tenant":       {c.entra, e.Addresses.Tenant != "" && e.TenantURL != ""},
				"address of the host":         {c.host, e.Addresses.Host != ""},
				"connection of the worker":    {c.bus, e.Worker["ServiceBusConnection"] != ""},
				"connection of the handler":   {c.bus, e.Handler["ServiceBusConnection"] != ""},
				"database of the handler":     {c.cosmos, e.Handler["COSMOS_ENDPOINT"] != ""},
				"authority of the worker":     {c.entra, e.Worker["AZURE_AUTHORITY_HOST"] != ""},
				"Graph of the worker":         {c.entra, e.Worker["GRAPH_URL"] != ""},
				"address of Blob Storage":     {c.entra, e.Addresses.Blob != ""},
				"blobs of the worker":         {c.entra, e.Worker["BLOB_ENDPOINT"] != "" && e.Worker["BLOB_CONTAINER"] != ""},
				"API of the CLI":              {c.host, e.CLI["MATOOLKIT_API_URL"] != ""},
				"authority of the CLI":        {c.entra, e.CLI["MATOOLKIT_AUTHORITY"] != ""},
				"certificate of a started CA": {c.bus || c.entra, e.Worker["EXTRA_CA_FILE"] != "" || len(c.elsewhere) > 0},
			} {
				if got[0] != got[1] {
					t.Errorf("%s: %t", what, got[1])
				}
			}
		})
	}
}

// GitHub runs with a seed only, and the worker gets its address and a token.
func TestGitHubRunsWithASeed(t *testing.T) {
	t.Parallel()
	for _, seed := range []*github.Seed{nil, {Tokens: []github.Token{{Token: "secret", Login: "octo"}}}} {
		s, err := system.Start(t.Context(), system.Config{Parts: []system.Part{system.Identity}, Addresses: system.FreeAddresses(), GitHub: seed})
		if err != nil {
			t.Fatal(err)
		}
		e := s.Endpoints()
		if on := seed != nil; (e.Addresses.GitHub != "") != on || (e.Worker["GITHUB_URL"] == "http://"+e.Addresses.GitHub) != on || (e.Worker["GITHUB_TOKEN"] == "secret") != on {
			t.Errorf("with the seed %v: %q, %v", seed, e.Addresses.GitHub, e.Worker)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Service Bus takes the clients' default transport, AMQP over TLS, and AMQP over
// WebSockets, both with the local CA, and the tokens of the local Entra ID.
func TestServiceBusTakesTLSAndTokensOfEntraID(t *testing.T) {
	t.Parallel()
	s, err := system.Start(t.Context(), system.Config{Parts: []system.Part{system.Identity, system.ServiceBus}, Addresses: system.FreeAddresses(), DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	certificate, err := os.ReadFile(s.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificate) {
		t.Fatal("the CA file has no certificate")
	}
	trust := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	address := s.Endpoints().Addresses.ServiceBus
	webSocket := func(ctx context.Context, _ azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
		c, _, err := websocket.Dial(ctx, "wss://"+address+"/$servicebus/websocket", &websocket.DialOptions{Subprotocols: []string{"AMQPWSB10"}, HTTPClient: client})
		if err != nil {
			return nil, err
		}
		return websocket.NetConn(context.WithoutCancel(ctx), c, websocket.MessageBinary), nil
	}
	secret := func(secret string) azcore.TokenCredential {
		credential, err := azidentity.NewClientSecretCredential(entra.DefaultTenantID, entra.DefaultWorkerClientID, secret, &azidentity.ClientSecretCredentialOptions{
			ClientOptions:            azcore.ClientOptions{Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: s.Entra.URL()}, Transport: s.Entra.HTTPClient()},
			DisableInstanceDiscovery: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return credential
	}
	for name, options := range map[string]azservicebus.ClientOptions{
		"TLS":        {TLSConfig: trust, CustomEndpoint: address},
		"WebSockets": {NewWebSocketConn: webSocket},
	} {
		t.Run(name, func(t *testing.T) {
			options.RetryOptions.MaxRetries = -1
			client, err := azservicebus.NewClient("localhost", secret(entra.DefaultWorkerSecret), &options)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close(t.Context())
			sender, err := client.NewSender("worker-results", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := sender.SendMessage(t.Context(), &azservicebus.Message{Body: []byte(name)}, nil); err != nil {
				t.Fatal(err)
			}
			receiver, err := client.NewReceiverForSubscription("worker-results", "orchestrator", nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := receiver.ReceiveMessages(t.Context(), 1, nil)
			if err != nil || len(got) != 1 || string(got[0].Body) != name {
				t.Fatalf("received %d messages, error %v", len(got), err)
			}
			if err := receiver.CompleteMessage(t.Context(), got[0], nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A Service Bus whose Entra ID runs in another process has the CA of their common state.
func TestServiceBusAloneHasTheCA(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), ""} {
		s, err := system.Start(t.Context(), system.Config{Parts: []system.Part{system.ServiceBus}, Addresses: system.FreeAddresses(), DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := os.ReadFile(s.CAFile())
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(certificate)
		c, err := tls.Dial("tcp", s.Endpoints().Addresses.ServiceBus, &tls.Config{RootCAs: roots})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(c.ConnectionState().PeerCertificates[0].DNSNames, "localhost") {
			t.Error("the certificate is not for localhost")
		}
		_ = c.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
