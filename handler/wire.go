package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"golang.org/x/time/rate"

	"github.com/matoolkit/matoolkit/console"
	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/functions/containerscaler"
	orchestratorevents "github.com/matoolkit/matoolkit/functions/orchestrator-events"
	schedulertimer "github.com/matoolkit/matoolkit/functions/scheduler-timer"
	workerresults "github.com/matoolkit/matoolkit/functions/worker-results"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/artifact/blobstorage"
	"github.com/matoolkit/matoolkit/internal/buildinfo"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/invocation"
	"github.com/matoolkit/matoolkit/internal/otlp"
	"github.com/matoolkit/matoolkit/internal/scaler/aci"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/secret/vault"
	"github.com/matoolkit/matoolkit/internal/signin"
	"github.com/matoolkit/matoolkit/internal/simulate"
	"github.com/matoolkit/matoolkit/internal/store"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/internal/store/postgres"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// wiring is the program put together.
type wiring struct {
	app        *app.App
	handler    http.Handler
	bus        bus.Client
	store      store.Store
	containers *aci.Client // nil: the container scaler is off
	measured   *otlp.Providers
}

// connections is how many idle connections to one host are kept: as many as
// host.json lets invocations run at once, 128 for each of the two subscriptions. An
// invocation mostly waits for the store and the bus, and the largest messages, of 256 KB
// each, fit a small instance.
const connections = 256

// wire puts the program together. It reaches for nothing over the network.
func wire(ctx context.Context, s settings, lookup func(string) string, log *slog.Logger) (*wiring, error) {
	client, err := tlsroots.HTTPClient(s.caFile)
	if err != nil {
		return nil, fmt.Errorf("EXTRA_CA_FILE: %w", err)
	}
	if transport, ok := client.Transport.(*http.Transport); ok {
		transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 2*connections, connections
	}
	measured, err := otlp.Start(ctx, otlp.Config{Service: "matoolkit-handler", Version: buildinfo.Version, Getenv: lookup, HTTP: client, Log: log})
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	identity, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
		ClientOptions: policy.ClientOptions{Transport: client},
	})
	if err != nil {
		return nil, fmt.Errorf("the app's identity: %w", err)
	}
	stored, err := state(s, identity, client)
	if err != nil {
		return nil, err
	}
	sender, err := broker(s, identity)
	if err != nil {
		return nil, err
	}
	verifier, err := signin.New(ctx, signin.Config{
		Instance: s.entraInstance, TenantIDs: s.entraTenants, ClientID: s.entraClient, Audience: s.entraAudience, HTTPClient: client,
	})
	if err != nil {
		return nil, err
	}
	waiting, err := newWatched(sender, s.now, measured.Meter(scope))
	if err != nil {
		return nil, err
	}
	box, err := secrets(s, identity, client)
	if err != nil {
		return nil, err
	}
	containers, err := containers(s, identity, client)
	if err != nil {
		return nil, err
	}
	// Sign-in, the store and the bus keep the real time, as what they talk to does.
	configured := app.Config{
		Store: stored, Bus: sender, Waiting: waiting, Dead: sender, Now: s.now, Log: log, Functions: catalog.Signatures(catalog.Standard()), Sources: sources(s.dataSources, identity, client),
		WorkerStartup: time.Duration(s.workerStartup) * time.Second, Secrets: box, Meter: measured.Meter(scope),
		Poster: webhook.New(webhook.Config{
			Program: "handler", List: envNotifications, Parameter: "notificationVaultSettings", Settings: s.notifications, Getenv: lookup, HTTP: client, Local: s.cosmosKey != "",
		}),
	}
	if containers != nil {
		configured.Containers = containers
	}
	if s.blobEndpoint != "" {
		configured.Artifacts, err = blobstorage.New(blobstorage.Config{Endpoint: s.blobEndpoint, Container: s.blobContainer, Credential: identity, HTTP: client})
		if err != nil {
			return nil, err
		}
	}
	a := app.New(configured)
	served := invocation.Config{
		Functions: map[string]invocation.Func{
			schedulertimer.Name:     schedulertimer.New(a),
			orchestratorevents.Name: orchestratorevents.New(a),
			workerresults.Name:      workerresults.New(a),
			containerscaler.Name:    containerscaler.New(a),
		},
		Deadline: s.deadline(),
		Log:      log,
	}
	if measured.On() {
		served.Tracer, served.Meter = measured.Tracer(scope), measured.Meter(scope)
	}
	if s.rabbitMQ.On() {
		served.Functions = nil // nothing but a Functions host keeps callers from them
	}
	triggers := invocation.NewServer(served)
	cases := adminhttp.UseCasesOf(a)
	cases.Simulator = simulate.Service{Functions: a.Catalogs}
	api := adminhttp.New(adminhttp.Config{
		UseCases: cases, Verifier: verifier, Log: log,
		Rate: rate.Limit(s.apiRate), Burst: s.apiBurst, Long: s.apiLong, SignIn: s.signIn(),
	})
	pages := console.Handler(console.Files(), s.signIn().Authority)
	return &wiring{app: a, store: stored, handler: route(triggers, traced(measured, api), pages, log), bus: sender, containers: containers, measured: measured}, nil
}

// state opens the store in Cosmos DB or in PostgreSQL.
func state(s settings, identity azcore.TokenCredential, client *http.Client) (store.Store, error) {
	if s.postgres == "" {
		return cosmosstore.Open(cosmosstore.Config{
			Endpoint: s.cosmosEndpoint, Database: s.cosmosDatabase, Container: s.cosmosContainer,
			Key: s.cosmosKey, Credential: identity, HTTPClient: client,
		})
	}
	roots, err := tlsroots.Roots(s.caFile)
	if err != nil {
		return nil, fmt.Errorf("EXTRA_CA_FILE: %w", err)
	}
	return postgres.Open(postgres.Config{URL: s.postgres, Credential: identity, Roots: roots})
}

// broker makes the client of Service Bus or of RabbitMQ.
func broker(s settings, identity azcore.TokenCredential) (bus.Client, error) {
	if !s.rabbitMQ.On() {
		return servicebus.Dial(servicebus.Config{ConnectionString: s.serviceBusConnection, Namespace: s.serviceBusNamespace, Credential: identity, Names: s.serviceBusNames})
	}
	roots, err := tlsroots.Roots(s.caFile)
	if err != nil {
		return nil, fmt.Errorf("EXTRA_CA_FILE: %w", err)
	}
	return rabbitmq.Dial(rabbitmq.Config{
		URL: s.rabbitMQ.URL, Prefix: s.rabbitMQ.Prefix, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		Name: "matoolkit-handler", Declare: true,
	})
}

// containers reads and changes the container groups of the container scaler; nil where it is off.
func containers(s settings, identity azcore.TokenCredential, client *http.Client) (*aci.Client, error) {
	if s.scaler == nil {
		return nil, nil
	}
	return aci.New(aci.Config{Settings: s.scaler, Endpoint: s.management, Credential: identity, HTTP: client})
}

// secrets encrypts secrets with the key in Key Vault, which is read when it is first
// needed; nil where there is none.
func secrets(s settings, identity azcore.TokenCredential, client *http.Client) (*secret.Box, error) {
	if s.keyVault == "" {
		return nil, nil
	}
	keys, err := vault.New(vault.Config{URL: s.keyVault, Name: s.secretKey, Credential: identity, HTTP: client})
	if err != nil {
		return nil, err
	}
	return secret.New(keys), nil
}

func (w *wiring) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.bus.Close(ctx) // every send has been answered by now
	if database, ok := w.store.(io.Closer); ok {
		_ = database.Close()
	}
	if w.containers != nil {
		_ = w.containers.Close(ctx) // it only peeks
	}
	last, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	w.measured.Close(last)
}
