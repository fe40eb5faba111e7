//go:build rabbitmq && postgres

package app_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq/rabbitmqtest"
	"github.com/matoolkit/matoolkit/internal/pgconnect/pgtest"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/postgres"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// Tests on RabbitMQ and PostgreSQL: make test-rabbitmq runs those of pipelines. A stage moves the clock of its broker, which RabbitMQ
// cannot do: it has the broker in memory, and its state in PostgreSQL.

// outside has the servers, which all worlds share. Each world has a database and a prefix of its own.
var outside struct {
	node   *rabbitmqtest.Node
	server *pgtest.Server
	worlds atomic.Int64
}

func TestMain(m *testing.M) {
	all := &allTests{}
	outside.node = testenv.Must(rabbitmqtest.Start())(all)
	all.Cleanup(outside.node.Stop)
	outside.server = pgtest.Start(all, "host all app 127.0.0.1/32 trust\n")
	outside.server.Exec(all, "postgres", "CREATE ROLE app LOGIN")
	connectOutside = (*world).connectOutside
	code := m.Run()
	all.end()
	os.Exit(code)
}

// allTests is what starts and stops the servers, in the place of a test.
type allTests struct {
	testing.TB
	cleanups []func()
}

func (a *allTests) Helper()                  {}
func (a *allTests) Cleanup(f func())         { a.cleanups = append(a.cleanups, f) }
func (a *allTests) Context() context.Context { return context.Background() }
func (a *allTests) Errorf(format string, args ...any) {
	a.Fatal(fmt.Sprintf(format, args...))
}

func (a *allTests) Fatalf(format string, args ...any) { a.Fatal(fmt.Sprintf(format, args...)) }

func (a *allTests) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	a.end()
	os.Exit(1)
}

func (a *allTests) end() {
	for _, f := range slices.Backward(a.cleanups) {
		f()
	}
}

// connectOutside gives the world a database, and a part of the broker.
func (w *world) connectOutside() bus.Client {
	w.t.Helper()
	name := fmt.Sprintf("world%d", outside.worlds.Add(1))
	outside.server.Exec(w.t, "postgres", "CREATE DATABASE "+name+" OWNER app ENCODING 'UTF8' TEMPLATE template0")
	documents := must(postgres.Open(postgres.Config{URL: "postgres://app@" + outside.server.Address + "/" + name + "?sslmode=disable", Connections: 10}))(w.t)
	w.t.Cleanup(func() { _ = documents.Close() })
	w.store = outsideStore{documents, name, line{}}
	w.over = func(l line) documentStore { return outsideStore{documents, name, l} }
	if w.now != nil {
		return w.connectBroker()
	}
	client := must(rabbitmq.Dial(rabbitmq.Config{URL: outside.node.URL, Prefix: name + "-", Declare: true, Workers: []string{"worker-01"}}))(w.t)
	w.t.Cleanup(func() { _ = client.Close(context.Background()) })
	noError(w.t, client.Ping(w.ctx))
	return client
}

// outsideStore is the driver over a line. Its queries do not go over the line.
type outsideStore struct {
	*postgres.Store
	database string
	line     line
}

func (s outsideStore) ReadDocument(ctx context.Context, k store.Key) (store.Document, error) {
	op := operation{id: k.ID}
	if err := s.line.begin(op); err != nil {
		return store.Document{}, err
	}
	defer s.line.end(op)
	return s.Store.ReadDocument(ctx, k)
}

func (s outsideStore) Apply(ctx context.Context, writes store.Writes) (store.Applied, error) {
	op := operation{write: true}
	if err := s.line.begin(op); err != nil {
		return store.Applied{}, err
	}
	defer s.line.end(op)
	return s.Store.Apply(context.WithoutCancel(ctx), writes) // it reaches the store
}

func (s outsideStore) ApplyEach(ctx context.Context, all []store.Writes) []store.Outcome {
	outcomes := make([]store.Outcome, len(all))
	for i, writes := range all {
		outcomes[i].Applied, outcomes[i].Err = s.Apply(ctx, writes)
	}
	return outcomes
}

// Dump implements storetest.Dumper.
func (s outsideStore) Dump(ctx context.Context, partition string) ([]store.Document, error) {
	connection, err := pgx.Connect(ctx, outside.server.Admin(s.database))
	if err != nil {
		return nil, err
	}
	defer connection.Close(ctx)
	rows, err := connection.Query(ctx, "SELECT pk, id, type, doc, version::text FROM documents WHERE $1 IN ('', pk) ORDER BY pk, id", partition)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (d store.Document, err error) {
		err = row.Scan(&d.PK, &d.ID, &d.Type, &d.Doc, &d.ETag)
		return d, err
	})
}
