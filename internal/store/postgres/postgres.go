// Package postgres keeps the state of batches and runbooks in PostgreSQL. It is the only package that
// knows the tables and their SQL.
//
// A document is a row with the JSON as it was written. Beside it are the fields that queries filter by,
// sort by or return alone, which this package extracts when it writes the document. An Apply is a
// transaction that holds the row of its partition: all Applies of a partition happen one after the other.
package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/matoolkit/matoolkit/internal/pgconnect"
	"github.com/matoolkit/matoolkit/internal/store"
)

var _ store.Store = (*Store)(nil)

// Config names the database.
type Config struct {
	URL        string // a connection string as package pgconnect reads it
	Credential azcore.TokenCredential
	Roots      *x509.CertPool // trusted for TLS if the URL names no certificate; nil: the system's
	// Connections is the most that are open at once; 0: 20.
	Connections int
}

const (
	connections = 20
	// maxMessage bounds a row: two documents of the largest size.
	maxMessage = 8 << 20
	// patience is how long a transaction waits for the row of its partition, and for its process.
	patience = 30 * time.Second
)

// Store implements store.Store over PostgreSQL.
type Store struct {
	pool   *pgxpool.Pool
	counts struct{ reads, queries, writes, conflicts atomic.Int64 }
	lanes  lanes

	declared  atomic.Bool
	declaring chan struct{} // has room for the one that creates the tables
}

// CheckURL reports why a connection string is refused, without quoting it.
func CheckURL(url string) error {
	_, err := pgconnect.Parse(url)
	return err
}

// Open returns a Store. It does not connect: the first operation does, which also creates the tables
// that are missing.
func Open(c Config) (*Store, error) {
	connection, err := pgconnect.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if connection.Scope != "" && c.Credential == nil {
		return nil, errors.New("store: the connection has no password, and there is no identity to sign in with")
	}
	if connection.TLS != nil && connection.TLS.RootCAs == nil && c.Roots != nil {
		connection.TLS = &tls.Config{ServerName: connection.Host, RootCAs: c.Roots, MinVersion: tls.VersionTLS12}
	}
	config, err := pgconnect.ParsedBy(pgxpool.ParseConfig)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	connection.Configure(&config.ConnConfig.Config, (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext, maxMessage)
	config.ConnConfig.ConnectTimeout = connection.LoginTimeout
	milliseconds := strconv.FormatInt(patience.Milliseconds(), 10)
	for _, setting := range []string{"lock_timeout", "idle_in_transaction_session_timeout"} {
		config.ConnConfig.RuntimeParams[setting] = milliseconds
	}
	config.BeforeConnect = func(ctx context.Context, one *pgx.ConnConfig) (err error) {
		if connection.Scope != "" {
			one.Password, err = connection.Token(ctx, c.Credential)
		}
		return err
	}
	config.MinConns, config.MaxConns = 0, connections
	if c.Connections > 0 {
		config.MaxConns = int32(min(c.Connections, math.MaxInt32))
	}
	config.MaxConnLifetime, config.MaxConnLifetimeJitter, config.MaxConnIdleTime = time.Hour, 10*time.Minute, 5*time.Minute
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("store: %w", classify(err))
	}
	s := &Store{pool: pool, declaring: make(chan struct{}, 1)}
	s.lanes = lanes{carryOut: s.carryOut, partitions: map[string]*lane{}}
	return s, nil
}

// connected calls f with a connection. If the connection has ended, which the server may have done while it
// was idle, connected calls f once more, with a new one: f must not have changed anything by then.
func (s *Store) connected(ctx context.Context, f func(*pgx.Conn) error) error {
	for again := true; ; again = false {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return classify(err)
		}
		err = f(conn.Conn())
		ended := conn.Conn().IsClosed()
		conn.Release() // which ends a connection that is in a transaction
		if err == nil || !ended || !again || ctx.Err() != nil {
			return err
		}
		s.pool.Reset()
	}
}

// Close closes all connections.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.declare(ctx); err != nil {
		return err
	}
	return classify(s.pool.Ping(ctx))
}

// Counts implements store.Store.
func (s *Store) Counts() store.Counts {
	return store.Counts{Reads: s.counts.reads.Load(), Queries: s.counts.queries.Load(), Writes: s.counts.writes.Load(), Conflicts: s.counts.conflicts.Load()}
}

// schema creates the tables.
//
//go:embed schema.sql
var schema string

const (
	// schemaVersion is in the comment of the table documents.
	schemaVersion = 1
	schemaComment = "matoolkit schema "
	// schemaLock is the advisory lock of the process that creates the tables: a number of our own.
	schemaLock = 7166_2420_0001
)

// declare creates the tables that are missing, once in this process. Of several processes one does. A role
// that may not create tables can use them if they are there.
func (s *Store) declare(ctx context.Context) error {
	if s.declared.Load() {
		return nil
	}
	select {
	case s.declaring <- struct{}{}:
		defer func() { <-s.declaring }()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the tables: %w", classify(ctx.Err()))
	}
	if s.declared.Load() {
		return nil
	}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if found, err := s.schemaFound(ctx, tx); found || err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(schemaLock)); err != nil {
			return err
		}
		if found, err := s.schemaFound(ctx, tx); found || err != nil {
			return err
		}
		_, err := tx.Exec(ctx, schema, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if err != nil {
		return fmt.Errorf("creating the tables: %w", classify(err))
	}
	s.declared.Store(true)
	return nil
}

// schemaFound reports whether the database has the tables. It refuses those of a later version of this program.
func (s *Store) schemaFound(ctx context.Context, tx pgx.Tx) (bool, error) {
	var comment *string
	if err := tx.QueryRow(ctx, "SELECT obj_description(to_regclass('documents'), 'pg_class')").Scan(&comment); err != nil || comment == nil {
		return false, err
	}
	version, err := strconv.Atoi(strings.TrimPrefix(*comment, schemaComment))
	switch {
	case err != nil:
		return false, fmt.Errorf("%w: the table documents is not one of this program; use a database or a schema of its own", store.ErrUnavailable)
	case version > schemaVersion:
		return false, fmt.Errorf("%w: the tables have the schema %d; this version of the program knows %d", store.ErrUnavailable, version, schemaVersion)
	}
	return version == schemaVersion, nil
}
