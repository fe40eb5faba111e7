//go:build postgres

package postgres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/pgconnect/pgtest"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/postgres"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// The tests of this file run a PostgreSQL server: make test-postgres.

const access = `
hostssl all app  127.0.0.1/32 scram-sha-256
host    all user 127.0.0.1/32 scram-sha-256
host    all app  127.0.0.1/32 scram-sha-256
`

const roles = `
CREATE ROLE app LOGIN PASSWORD 'hunter2';
CREATE ROLE "user" LOGIN PASSWORD 'hunter2';
`

var databases atomic.Int64

// database creates a database of app, whose texts sort by the rules of a language.
func database(t *testing.T, server *pgtest.Server) string {
	t.Helper()
	name := fmt.Sprintf("state%d", databases.Add(1))
	server.Exec(t, "postgres", "CREATE DATABASE "+name+" OWNER app TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'")
	return name
}

func open(t *testing.T, url string) *postgres.Store {
	t.Helper()
	return testenv.Started(postgres.Open(postgres.Config{URL: url}))(t)
}

func TestLive(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, access)
	server.Exec(t, "postgres", roles)
	t.Run("all", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *pgtest.Server){
			"conformance": conforms, "two processes": conformsInTwo, "start": startsTogether, "least rights": needsFewRights, "TLS": encrypts,
			"texts": keepsTexts, "errors": hidesPassword, "stale connections": survivesRestart, "indexes": usesIndexes,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, server)
			})
		}
	})
}

// conforms runs the suite. A proxy before the server injects the faults.
func conforms(t *testing.T, server *pgtest.Server) {
	storetest.Run(t, func(t *testing.T) storetest.Driver {
		name := database(t, server)
		p := newProxy(t, server.Address)
		s := open(t, "postgres://app:hunter2@"+p.address+"/"+name)
		if err := s.Ping(t.Context()); err != nil { // the faults are those of a running handler
			t.Fatal(err)
		}
		return storetest.Driver{
			Store:       s,
			Unavailable: func(*testing.T) func() { return p.set(away) },
			LoseAnswer:  func(*testing.T) func() { return p.set(loseCommit) },
			Full: func(t *testing.T) func() {
				server.Exec(t, name, `CREATE FUNCTION full_table() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'no room' USING ERRCODE = '54000'; END$$;
					CREATE TRIGGER full_table BEFORE INSERT ON documents EXECUTE FUNCTION full_table()`)
				return func() { server.Exec(t, name, "DROP FUNCTION full_table CASCADE") }
			},
		}
	})
}

// conformsInTwo runs the suite over two processes that take turns.
func conformsInTwo(t *testing.T, server *pgtest.Server) {
	url := "postgres://app:hunter2@" + server.Address + "/" + database(t, server)
	storetest.Run(t, func(t *testing.T) storetest.Driver {
		return storetest.Driver{Store: &turns{Store: open(t, url), other: open(t, url)}}
	})
}

// turns are two processes, of which each second write and each second read is of the other one.
type turns struct {
	*postgres.Store
	other *postgres.Store
	n     atomic.Int64
}

func (s *turns) next() *postgres.Store {
	if s.n.Add(1)%2 == 0 {
		return s.other
	}
	return s.Store
}

func (s *turns) Apply(ctx context.Context, writes store.Writes) (store.Applied, error) {
	return s.next().Apply(ctx, writes)
}

func (s *turns) ReadDocument(ctx context.Context, k store.Key) (store.Document, error) {
	return s.next().ReadDocument(ctx, k)
}

func (s *turns) Counts() store.Counts {
	a, b := s.Store.Counts(), s.other.Counts()
	return store.Counts{Reads: a.Reads + b.Reads, Queries: a.Queries + b.Queries, Writes: a.Writes + b.Writes, Conflicts: a.Conflicts + b.Conflicts}
}

// startsTogether: several processes create the tables at the same time.
func startsTogether(t *testing.T, server *pgtest.Server) {
	url := "postgres://app:hunter2@" + server.Address + "/" + database(t, server)
	var all sync.WaitGroup
	for range 8 {
		s := open(t, url)
		all.Go(func() {
			if err := s.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// needsFewRights: a role with the documented rights on tables that another one created.
func needsFewRights(t *testing.T, server *pgtest.Server) {
	name := database(t, server)
	url := "@" + server.Address + "/" + name
	few := open(t, "postgres://user:hunter2"+url)
	if err := few.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "permission denied for schema public") {
		t.Errorf("without tables: %v", err)
	}
	if err := open(t, "postgres://app:hunter2"+url).Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Exec(t, name, `GRANT SELECT, INSERT, UPDATE, DELETE ON documents, partitions TO "user"`)
	k := store.WorkerKey("w")
	applied, err := few.Apply(t.Context(), store.Writes{store.Create(k, store.WorkerRecord{ID: "w"})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := few.Apply(t.Context(), store.Writes{store.Delete(k, applied.Version(0).ETag)}); err != nil {
		t.Error(err)
	}
	server.Exec(t, name, "COMMENT ON TABLE documents IS 'matoolkit schema 2'")
	if err := open(t, "postgres://user:hunter2"+url).Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "schema 2") {
		t.Errorf("tables of a later version: %v", err)
	}
}

func encrypts(t *testing.T, server *pgtest.Server) {
	name := database(t, server)
	s := open(t, "postgres://app:hunter2@"+server.Address+"/"+name+"?sslmode=verify-full&sslrootcert="+server.CA)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := server.Exec(t, name, "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = '"+name+"' AND usename = 'app'")
	if rows[0][0] != "t" {
		t.Errorf("the connection is not encrypted: %v", rows)
	}
	stranger := open(t, "postgres://app:hunter2@"+server.Address+"/"+name+"?sslmode=verify-full")
	if err := stranger.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of an unknown authority: %v", err)
	}
}

// keepsTexts: a document is read byte by byte as it was written, also with what no text of the server has.
func keepsTexts(t *testing.T, server *pgtest.Server) {
	s := open(t, "postgres://app:hunter2@"+server.Address+"/"+database(t, server))
	doc := `{"memberId":1,"page":1,"key":"a\u0000b","data":{"z":1.50,"a":"\u0000\ud800 \\u0000 <&>","n":12345678901234567890.5},"search":"a\u0000b","status":"active","addedAt":"2026-03-01T09:00:00Z"}`
	k := store.MemberKey(1, 1)
	if _, err := s.Apply(t.Context(), store.Writes{store.Create(k, json.RawMessage(doc))}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ReadDocument(t.Context(), k); err != nil || string(got.Doc) != doc {
		t.Errorf("%s, %v", got.Doc, err)
	}
	if got, err := s.Members(t.Context(), 1, store.MemberFilter{KeyPrefix: "a\x00", Text: "\x00b"}, store.Paging{Limit: 2}); err != nil || len(got.Items) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := s.MemberValues(t.Context(), 1, "z", []int{1}); err != nil || string(got[1]) != "1.50" {
		t.Errorf("%v, %v", got, err)
	}
	// A document that the server refuses does not fail the Applies that come at the same time.
	long := model.Member{ID: 2, Key: "b"}
	outcomes := s.ApplyEach(t.Context(), []store.Writes{
		{store.Create(store.MemberKey(1, 2), long)}, {store.Create(store.Key{PK: k.PK, ID: strings.Repeat("xyz", 400), Type: "t"}, 1)}, {store.Create(store.MemberKey(1, 3), long)},
	})
	if outcomes[0].Err != nil || !errors.Is(outcomes[1].Err, store.ErrRefused) || outcomes[2].Err != nil {
		t.Errorf("%.300v", outcomes)
	}
}

func hidesPassword(t *testing.T, server *pgtest.Server) {
	free := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	nowhere := free.Addr().String()
	_ = free.Close()
	for name, url := range map[string]string{
		"another password": "postgres://app:hunter3@" + server.Address + "/postgres", "no database": "postgres://app:hunter3@" + server.Address + "/none",
		"no server": "postgres://app:hunter3@" + nowhere + "/state", "rights": "postgres://app:hunter2@" + server.Address + "/postgres",
	} {
		s := open(t, url)
		_, err := s.ReadDocument(t.Context(), store.WorkerKey("w"))
		if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// survivesRestart: connections that the server ended while they were idle fail no operation.
func survivesRestart(t *testing.T, server *pgtest.Server) {
	name := database(t, server)
	s := open(t, "postgres://app:hunter2@"+server.Address+"/"+name)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Exec(t, name, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+name+"' AND usename = 'app'")
	testenv.Eventually(t, "a write after the end of all connections", func() bool {
		_, err := s.Apply(t.Context(), store.Writes{store.Upsert(store.WorkerKey("w"), store.WorkerRecord{ID: "w"})})
		return err == nil
	})
}

// usesIndexes: the reads of a step of a batch do not read the batch.
func usesIndexes(t *testing.T, server *pgtest.Server) {
	name := database(t, server)
	s := open(t, "postgres://app:hunter2@"+server.Address+"/"+name)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Exec(t, name, `INSERT INTO documents SELECT 'batch:1', 'run-001-' || lpad(n::text, 7, '0'), 'run', 1, '{}',
		jsonb_build_object('phaseId', 1, 'memberId', n, 'page', n / 49 + 1, 'status', 'succeeded', 'key', n || '@x') FROM generate_series(1, 20000) n; ANALYZE documents`)
	for condition, index := range map[string]string{
		"fields->'page' = to_jsonb(7::int)":       "documents_page",
		"fields->'memberId' = to_jsonb(700)":      "documents_member",
		"fields->>'pausedAt' IS NOT NULL":         "documents_paused",
		"fields->>'worker' > ''":                  "documents_worker",
		"(fields->>'wakeAt') COLLATE \"C\" < 'x'": "documents_wake",
	} {
		var plan bytes.Buffer
		for _, row := range server.Exec(t, name, "EXPLAIN SELECT doc FROM documents WHERE pk = 'batch:1' AND type = 'run' AND "+condition) {
			plan.WriteString(row[0] + "\n")
		}
		if !strings.Contains(plan.String(), index) {
			t.Errorf("%s does not use %s:\n%s", condition, index, plan.String())
		}
	}
}

// fault is the behaviour of a proxy.
type fault int

const (
	none       fault = iota
	away             // refuses and ends connections
	loseCommit       // ends a connection in place of the answer to a commit
)

// proxy is before the server.
type proxy struct {
	address string
	mu      sync.Mutex
	fault   fault
	open    map[net.Conn]bool
}

func newProxy(t *testing.T, server string) *proxy {
	listener := testenv.Started(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &proxy{address: listener.Addr().String(), open: map[net.Conn]bool{}}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			p.mu.Lock()
			if err != nil || p.fault == away {
				_ = client.Close()
				if err == nil {
					_ = upstream.Close()
				}
				p.mu.Unlock()
				continue
			}
			p.open[client] = true
			p.mu.Unlock()
			go func() {
				_, _ = io.Copy(upstream, client)
				_ = upstream.Close()
			}()
			go p.answer(client, upstream)
		}
	}()
	return p
}

// set sets the fault, until the function that it returns is called.
func (p *proxy) set(f fault) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	if f == away {
		for c := range p.open {
			_ = c.Close()
		}
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fault = none
	}
}

// answer copies what the server sends.
func (p *proxy) answer(client, upstream net.Conn) {
	defer client.Close()
	defer upstream.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := upstream.Read(buffer)
		p.mu.Lock()
		lose := p.fault == loseCommit && bytes.Contains(buffer[:n], []byte("COMMIT\x00"))
		p.mu.Unlock()
		if lose {
			return
		}
		if n > 0 {
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
