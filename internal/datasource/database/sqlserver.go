package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/statement"
)

// sqlServer is a source that speaks TDS.
type sqlServer struct {
	connection *connection
	statement  string
	spec       datasource.Spec
	// transaction: the query runs in one, which is rolled back.
	transaction bool
	// dial connects; tests lead names to loopback with it.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func openSQLServer(spec datasource.Spec, dataverse bool) (*sqlServer, error) {
	c, err := parseConnection(spec.Connection, dataverse)
	if err != nil {
		return nil, err
	}
	if c.signIn.scope != "" && c.signIn.client == "" && spec.Credential == nil {
		return nil, errors.New("the connection uses the handler's identity, but the handler has none")
	}
	query, err := statement.TransactSQL.Check(spec.Query)
	if err != nil {
		return nil, err
	}
	return &sqlServer{connection: c, statement: query, spec: spec, transaction: !dataverse, dial: (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext}, nil
}

// closePatience is how long a server may take to acknowledge the end of a query. Then it
// is hung up on, and ends the query by itself.
const closePatience = 10 * time.Second

// Query connects and runs the query.
func (s *sqlServer) Query(ctx context.Context) (_ datasource.Rows, err error) {
	ctx, cancel := context.WithCancel(ctx)
	line := &line{dial: s.dial, loopbackOnly: s.connection.trustsServer}
	var done closers
	defer func() {
		if err != nil {
			cancel()
			_ = done.close()
		}
	}()
	done.add(func() error { line.hangUp(); return nil })
	connector, err := s.connection.signIn.connector(s.connection.config, s.spec.Credential, s.spec.HTTPClient)
	if err != nil {
		return nil, errors.New("the driver refuses the connection string")
	}
	connector.Dialer = line
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	done.add(db.Close)
	conn, tx, err := s.begin(ctx, db, line)
	if err != nil {
		return nil, unconnected(fmt.Errorf("connect to the server: %w", because(ctx, err)))
	}
	done.add(func() error {
		defer time.AfterFunc(closePatience, line.hangUp).Stop()
		return end(conn, tx)
	})
	query := conn.QueryContext
	if tx != nil {
		query = tx.QueryContext
	}
	rows, err := query(ctx, s.statement)
	if err != nil {
		return nil, fmt.Errorf("run the query: %w", because(ctx, err))
	}
	return describe(session{rows: rows, end: done.close}, sqlServerColumn, cancel)
}

// begin connects, signs in and begins the transaction. The driver listens to the context
// only once it is connected, so until then its end hangs up. The transaction outlives the
// context: it ends with the query.
func (s *sqlServer) begin(ctx context.Context, db *sql.DB, line *line) (*sql.Conn, *sql.Tx, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.connection.loginTimeout, fmt.Errorf("the login did not end within %v", s.connection.loginTimeout))
	defer cancel()
	defer context.AfterFunc(ctx, line.hangUp)()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, ended(ctx, err)
	}
	if !s.transaction {
		return conn, nil, nil
	}
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		_ = conn.Close()
		return nil, nil, ended(ctx, err)
	}
	return conn, tx, nil
}

// unconnected marks the error of a server that does not answer. One that refuses to let
// us in does.
func unconnected(err error) error {
	var answer mssql.Error
	if errors.As(err, &answer) || errors.Is(err, context.Canceled) {
		return err
	}
	return datasource.Away(err)
}

// ended names why a context ended where that is why err came about.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
}

// end rolls back and closes. A transaction that the server has already ended is as good.
func end(conn *sql.Conn, tx *sql.Tx) error {
	var failed error
	if tx != nil {
		if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
			failed = fmt.Errorf("roll back: %w", err)
		}
	}
	if err := conn.Close(); err != nil && !errors.Is(err, driver.ErrBadConn) {
		failed = errors.Join(failed, err)
	}
	return failed
}

// line is the network connections of one query: one, and those before it where the server
// leads elsewhere.
type line struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// loopbackOnly: nothing but this machine is connected to.
	loopbackOnly bool

	mu    sync.Mutex
	conns []net.Conn
	hung  bool
}

// HostName makes the driver leave the looking up of names to DialContext.
func (l *line) HostName() string { return "" }

// DialContext connects.
func (l *line) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := l.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); l.loopbackOnly && (!ok || !a.IP.IsLoopback()) {
		_ = conn.Close()
		return nil, errors.New("TrustServerCertificate is set, but the server is not on this machine")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hung {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	l.conns = append(l.conns, conn)
	return conn, nil
}

func (l *line) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hung = true
	for _, c := range l.conns {
		_ = c.Close()
	}
}
