// Package postgres is the data source `postgres`: a query on a PostgreSQL server, such as
// Azure Database for PostgreSQL.
//
// The query is one statement that reads. Recognisable writes are refused, and the server
// runs it in a transaction that only reads and that is rolled back. A function with side
// effects outside the database can still run: the account should be one that may only read.
//
// Each query has a connection of its own, which is closed with its result. The package
// does not retry; that is the caller's decision. No error quotes the connection.
package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/statement"
	"github.com/matoolkit/matoolkit/internal/pgconnect"
)

// source is a query on a server.
type source struct {
	connection *pgconnect.Connection
	statement  string
	spec       datasource.Spec
	// dial connects; tests lead names to loopback with it.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Open makes a source. The connection is one of
//
//   - "postgres://user:password@host:port/database?sslmode=verify-full", or the same with
//     postgresql://
//   - "host=… port=… dbname=… user=… password=…", as libpq has it.
//
// Without a password, this program's identity signs in to Azure Database for PostgreSQL:
// its token is the password, and user is the role of the identity. The connection is always
// encrypted and the certificate checked, also with sslmode=require; sslrootcert names a PEM
// file of the CA. Only to a server on this machine, the connection is plain unless sslmode
// says otherwise. Environment variables and files that libpq reads, such as PGPASSWORD and
// ~/.pgpass, have no effect.
//
// From PostgreSQL come: whole numbers and floats as JSON numbers, numeric as a number with
// all its digits, boolean as a boolean, character types, enums, uuid, xml and network
// addresses as text, date, time and timestamp as text without a zone, timestamptz as a
// moment in UTC, bytea as base64, json and jsonb as JSON, and arrays of these as JSON
// arrays. Other types, NaN and the infinities are refused.
func Open(spec datasource.Spec) (datasource.Source, error) { return open(spec) }

func open(spec datasource.Spec) (*source, error) {
	c, err := pgconnect.Parse(spec.Connection)
	if err != nil {
		return nil, err
	}
	if c.Scope != "" && spec.Credential == nil {
		return nil, errors.New("the connection has no password and so uses the handler's identity, but the handler has none")
	}
	query, err := statement.Postgres.Check(spec.Query)
	if err != nil {
		return nil, err
	}
	return &source{connection: c, statement: query, spec: spec, dial: (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext}, nil
}

const (
	// closePatience is how long a server may take to acknowledge the end of a query. Then
	// it is hung up on, and ends the query by itself.
	closePatience = 10 * time.Second
	// longest is the time limit of a query without a deadline.
	longest = 10 * time.Minute
	// maxRow bounds a message of the server, and so a row, in bytes.
	maxRow = 8 << 20
)

// Query connects and runs the query.
func (s *source) Query(ctx context.Context) (_ datasource.Rows, err error) {
	ctx, cancel := context.WithCancel(ctx)
	conn, err := s.connect(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	defer func() {
		if err != nil {
			cancel()
			hangUp(conn)
		}
	}()
	decoders, types, err := s.describe(ctx, conn)
	if err != nil {
		return nil, failed(ctx, "prepare the query", err, s.statement)
	}
	reader := conn.ExecParams(ctx, s.statement, nil, nil, nil, nil)
	r := &rows{conn: conn, reader: reader, statement: s.statement, decode: decoders}
	fields := reader.FieldDescriptions()
	if fields == nil { // the server refused to run it
		if _, err := reader.Close(); err != nil {
			return nil, failed(ctx, "run the query", err, s.statement)
		}
	}
	if len(fields) != len(types) {
		return nil, errors.New("the columns changed while the query began")
	}
	for i, f := range fields {
		if f.DataTypeOID != types[i] {
			return nil, errors.New("the columns changed while the query began")
		}
		r.columns = append(r.columns, f.Name)
	}
	r.json = make([]json.RawMessage, len(fields))
	return datasource.NewCursor(r.columns, r.next, cancel, r.end), nil
}

// connect connects, signs in and begins the transaction.
func (s *source) connect(ctx context.Context) (*pgconn.PgConn, error) {
	c := s.connection
	login, cancel := context.WithTimeoutCause(ctx, c.LoginTimeout, fmt.Errorf("the login did not end within %v", c.LoginTimeout))
	defer cancel()
	config, err := pgconnect.ParsedBy(pgconn.ParseConfig)
	if err != nil {
		return nil, unconnected(ctx, login, err)
	}
	c.Configure(config, s.dial, maxRow)
	if c.Scope != "" {
		if config.Password, err = c.Token(login, s.spec.Credential); err != nil {
			return nil, unconnected(ctx, login, err)
		}
	}
	conn, err := pgconn.ConnectConfig(login, config)
	if err != nil {
		// Of the driver's error only the cause: the error itself holds the password.
		if whole := new(pgconn.ConnectError); errors.As(err, &whole) {
			err = whole.Unwrap()
		}
		return nil, unconnected(ctx, login, err)
	}
	if _, err := conn.Exec(login, begin(ctx)).ReadAll(); err != nil {
		hangUp(conn)
		return nil, unconnected(ctx, login, err)
	}
	return conn, nil
}

// begin is the beginning of the transaction. The settings make the text of a value
// independent of those of server and role. They are local to the transaction, so that a
// connection pooler passes them on. The server ends a query by itself only after this
// program should have: its error is the clearer one.
func begin(ctx context.Context) string {
	limit := longest
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(time.Until(deadline), 0) + closePatience
	}
	return fmt.Sprintf("BEGIN READ ONLY; SET LOCAL DateStyle TO ISO; SET LOCAL TimeZone TO 'UTC'; SET LOCAL bytea_output TO hex; "+
		"SET LOCAL extra_float_digits TO 1; SET LOCAL standard_conforming_strings TO on; SET LOCAL statement_timeout TO %d", limit.Milliseconds())
}

// describe finds out how each column is read, and its type.
func (s *source) describe(ctx context.Context, conn *pgconn.PgConn) ([]decode, []uint32, error) {
	description, err := conn.Prepare(ctx, "", s.statement, nil)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case len(description.ParamOIDs) > 0:
		return nil, nil, &pgconnect.Error{Reason: "the query has parameters such as $1, which have no values here"}
	case len(description.Fields) == 0:
		return nil, nil, &pgconnect.Error{Reason: "the query returns no columns"}
	}
	catalog := catalog{conn: conn}
	var decoders []decode
	var types []uint32
	for _, f := range description.Fields {
		d, err := catalog.decode(ctx, f.DataTypeOID)
		if unstable := (*unstableError)(nil); errors.As(err, &unstable) {
			return nil, nil, &pgconnect.Error{Reason: fmt.Sprintf("the column %q has the type %s, which has no stable JSON; cast it to another type in the query", f.Name, unstable.name)}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("look up the type of the column %q: %w", f.Name, err)
		}
		decoders, types = append(decoders, d), append(types, f.DataTypeOID)
	}
	return decoders, types, nil
}

// end ends the transaction and the connection. A transaction that the server does not
// acknowledge ends with the connection.
func end(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	_, _ = conn.Exec(ctx, "ROLLBACK").ReadAll()
	_ = conn.Close(ctx)
}

// hangUp ends a connection with what runs on it.
func hangUp(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	_ = conn.Close(ctx)
}
