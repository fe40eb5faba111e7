package app_test

import (
	"context"
	"flag"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matoolkit/matoolkit/internal/bus"
	busmemory "github.com/matoolkit/matoolkit/internal/bus/memory"
	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

var allOverAzure = flag.Bool("azure", false, "run all tests with Azure's drivers, over the protocols")

// drivers are the drivers of the store and the bus that a test runs with. A test names them
// where it makes its world or its stage, if they are not those in memory.
type drivers int

const (
	// inMemory are the drivers in memory. They pass the same suites as those of Azure, and take a
	// tenth of the time. A test that does not name them has Azure's drivers with the flag -azure;
	// one that names them needs them, for example since it is in a bubble of synctest.
	inMemory drivers = iota
	// azure uses the drivers of Azure, over the protocols, to the servers of package local: for
	// tests that depend on the protocol, on faults of the service, on request charges, on the index
	// or on the stored state of earlier versions.
	azure
)

// connectOutside connects worlds that do not name the drivers in memory to RabbitMQ and PostgreSQL. The build tags rabbitmq and postgres
// together set it: see outside_test.go.
var connectOutside func(*world) bus.Client

// documentStore is a driver of the store whose documents a test reads.
type documentStore interface {
	store.Store
	storetest.Dumper
}

// broker is the broker of a world, as a test controls it.
type broker interface {
	// Tick makes the broker apply its timers after the test has moved the clock.
	Tick()
	// messages counts the messages of a subscription that are not dead letters, locked ones
	// among them.
	messages(topic, subscription string) int
	// deadLetters counts the messages in the dead-letter queue of a subscription.
	deadLetters(topic, subscription string) int
}

// overAzure reports whether the drivers are those of Azure.
func overAzure(on []drivers) bool {
	if len(on) == 0 {
		return *allOverAzure
	}
	return on[0] == azure
}

// connect makes the store, the broker and the way to it.
func (w *world) connect(on ...drivers) {
	w.t.Helper()
	var client bus.Client
	switch {
	case connectOutside != nil && (len(on) == 0 || on[0] == azure):
		client = connectOutside(w)
	case overAzure(on):
		client = w.connectAzure()
	default:
		client = w.connectMemory()
	}
	w.bus = &countedBus{Client: client}
}

func (w *world) connectMemory() bus.Client {
	w.t.Helper()
	documents := memory.New(memory.Config{Hook: func(ctx context.Context, op memory.Operation) memory.Fault {
		if hook := w.hook.Load(); hook != nil {
			return (*hook)(ctx, op)
		}
		return memory.Fault{}
	}})
	w.store, w.over = documents, func(l line) documentStore { return documents.Session(l.hook) }
	return w.connectBroker()
}

// connectBroker makes the broker in memory.
func (w *world) connectBroker() bus.Client {
	w.t.Helper()
	server := must(busmemory.New(busmemory.Config{Now: w.now}))(w.t)
	w.broker = memoryBroker{server, w.t}
	return server.Client(nil)
}

// disturb lets a hook decide the outcome of operations at the memory store until the returned
// function is called. Operations over a line are not affected.
func (w *world) disturb(hook memory.Hook) (end func()) {
	w.hook.Store(&hook)
	return func() { w.hook.Store(nil) }
}

// unavailable is the hook of an outage of the store.
func unavailable(context.Context, memory.Operation) memory.Fault { return memory.Unavailable }

func (w *world) connectAzure() bus.Client {
	w.t.Helper()
	var err error
	if w.cosmos, err = cosmos.Start(w.ctx, cosmos.Config{}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if n := w.cosmos.Stats().Unindexed; n > 0 {
			w.t.Errorf("%d pages of queries are not served by internal/store/cosmos/index-policy.json", n)
		}
		_ = w.cosmos.Close()
	})
	server := must(servicebus.Start(w.ctx, servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "SAS_KEY_VALUE", Now: w.now}))(w.t)
	w.t.Cleanup(func() { _ = server.Close() })
	w.broker = localBroker{server}
	config := w.storeConfig()
	if w.now != nil {
		config.HTTPClient = direct{w.cosmos} // a stage is quick: its requests spare the network
	}
	w.openStore(config)
	client := must(azbus.Dial(azbus.Config{ConnectionString: server.ConnectionString()}))(w.t)
	w.t.Cleanup(func() { _ = client.Close(context.Background()) })
	return client
}

// openStore opens and provisions the container of local/cosmos.
func (w *world) openStore(c cosmosstore.Config) {
	w.t.Helper()
	documents := must(cosmosstore.Open(c))(w.t)
	noError(w.t, documents.Provision(w.ctx))
	w.store = documents
	w.over = func(l line) documentStore {
		w.t.Helper()
		config := w.storeConfig()
		config.HTTPClient = httpLine{direct{w.cosmos}, l}
		over := must(cosmosstore.Open(config))(w.t)
		return over
	}
}

func (w *world) storeConfig() cosmosstore.Config {
	return cosmosstore.Config{Endpoint: w.cosmos.URL(), Database: "d", Container: "c", Key: cosmos.DefaultKey}
}

// direct carries requests to the store without a connection.
type direct struct{ *cosmos.Server }

// countedBus counts the messages that are sent.
type countedBus struct {
	bus.Client
	sent atomic.Int64
}

func (c *countedBus) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	c.sent.Add(int64(len(messages)))
	return c.Client.Send(ctx, topic, messages...)
}

// Sent returns how many messages were sent.
func (c *countedBus) Sent() int64 { return c.sent.Load() }

type memoryBroker struct {
	*busmemory.Broker
	t testing.TB
}

func (b memoryBroker) messages(topic, subscription string) int {
	all, err := b.Messages(topic, subscription)
	if err != nil {
		b.t.Error(err)
	}
	return len(all)
}

func (b memoryBroker) deadLetters(topic, subscription string) int {
	n, err := b.DeadLetters(topic, subscription)
	if err != nil {
		b.t.Error(err)
	}
	return n
}

type localBroker struct{ *servicebus.Server }

func (b localBroker) messages(topic, subscription string) int {
	return b.Stats().Entities[topic+"/Subscriptions/"+subscription].Messages
}

func (b localBroker) deadLetters(topic, subscription string) int {
	return b.Stats().Entities[topic+"/Subscriptions/"+subscription+"/$DeadLetterQueue"].Messages
}

// subscriptions are those that a world receives from, by their topics.
var subscriptions = map[string]string{
	message.TopicOrchestratorEvents: message.SubscriptionOrchestrator,
	message.TopicWorkerResults:      message.SubscriptionOrchestrator,
	message.TopicWorkerJobs:         message.WorkerSubscription("worker-01"),
}

// line is a process's way to the store: what comes before and after each operation there. Both
// are called from several goroutines at once.
type line struct {
	before func(operation) error // the operation fails with an error of it; nil: nothing
	after  func(operation)       // before the process has the answer; nil: nothing
}

// operation is an operation at the store.
type operation struct {
	write bool
	id    string // of the document that is read alone
}

func (l line) begin(op operation) error {
	if l.before == nil {
		return nil
	}
	return l.before(op)
}

func (l line) end(op operation) {
	if l.after != nil {
		l.after(op)
	}
}

// hook is the line of the driver in memory.
func (l line) hook(_ context.Context, at memory.Operation) memory.Fault {
	op := operation{at.Kind == memory.KindWrite, at.ID}
	if err := l.begin(op); err != nil {
		return memory.Fault{Before: err}
	}
	return memory.Fault{Then: func() { l.end(op) }}
}

// httpLine is the line of Azure's driver.
type httpLine struct {
	direct
	line
}

func (l httpLine) Do(r *http.Request) (*http.Response, error) {
	_, id, _ := strings.Cut(r.URL.Path, "/docs/")
	op := operation{r.Method != http.MethodGet && r.Header.Get("X-Ms-Documentdb-Query") == "", id}
	if err := l.begin(op); err != nil {
		return nil, err
	}
	response, err := l.direct.Do(r.WithContext(context.WithoutCancel(r.Context()))) // it reaches the store
	l.end(op)
	return response, err
}
