package postgres

import (
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/matoolkit/matoolkit/internal/pgconnect/pgtest"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// server speaks as much of PostgreSQL's protocol as a source needs. The results are given by
// the text of the query; a query without one gets an error.
type server struct {
	address, ca string
	tls         *tls.Config // nil: it refuses encryption
	password    string

	mu      sync.Mutex
	results map[string]result
	logins  []map[string]string // the parameters of each startup
	queries []string
	cancels map[uint32]chan struct{} // by the process id of a session
}

// result is the answer to a query.
type result struct {
	columns []pgproto3.FieldDescription
	rows    [][]any // string or nil
	err     *pgproto3.ErrorResponse
	// stalls: after its rows, it waits until it is cancelled.
	stalls bool
}

// column is a column of the type with this OID.
func column(name string, oid uint32) pgproto3.FieldDescription {
	return pgproto3.FieldDescription{Name: []byte(name), DataTypeOID: oid, DataTypeSize: -1, TypeModifier: -1}
}

func serve(t *testing.T, encrypted bool) *server {
	t.Helper()
	file, certificate := pgtest.WriteCertificate(t, t.TempDir())
	listener := testenv.Started(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := &server{address: listener.Addr().String(), ca: file, password: "hunter2", results: map[string]result{}, cancels: map[uint32]chan struct{}{}}
	if encrypted {
		s.tls = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	go func() {
		for pid := uint32(1); ; pid++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = s.session(conn, pid)
			}()
		}
	}()
	return s
}

func (s *server) answer(query string, r result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[query] = r
}

func (s *server) session(conn net.Conn, pid uint32) error {
	backend := pgproto3.NewBackend(conn, conn)
	for {
		message, err := backend.ReceiveStartupMessage()
		if err != nil {
			return err
		}
		switch message := message.(type) {
		case *pgproto3.SSLRequest:
			if s.tls == nil {
				_, err = conn.Write([]byte("N"))
				return err
			}
			if _, err := conn.Write([]byte("S")); err != nil {
				return err
			}
			conn = tls.Server(conn, s.tls)
			backend = pgproto3.NewBackend(conn, conn)
		case *pgproto3.CancelRequest:
			s.mu.Lock()
			defer s.mu.Unlock()
			if cancelled, ok := s.cancels[message.ProcessID]; ok {
				delete(s.cancels, message.ProcessID)
				close(cancelled)
			}
			return nil
		case *pgproto3.StartupMessage:
			s.mu.Lock()
			s.logins = append(s.logins, message.Parameters)
			cancelled := make(chan struct{})
			s.cancels[pid] = cancelled
			s.mu.Unlock()
			return s.converse(backend, pid, cancelled)
		}
	}
}

func (s *server) converse(backend *pgproto3.Backend, pid uint32, cancelled chan struct{}) error {
	backend.Send(&pgproto3.AuthenticationCleartextPassword{})
	if err := errors.Join(backend.Flush(), backend.SetAuthType(pgproto3.AuthTypeCleartextPassword)); err != nil {
		return err
	}
	message, err := backend.Receive()
	if err != nil {
		return err
	}
	if p, ok := message.(*pgproto3.PasswordMessage); !ok || p.Password != s.password {
		backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "password authentication failed"})
		return backend.Flush()
	}
	backend.Send(&pgproto3.AuthenticationOk{})
	backend.Send(&pgproto3.BackendKeyData{ProcessID: pid, SecretKey: []byte{1, 2, 3, 4}})
	backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	var query string
	failed := false // until the next Sync
	for {
		if err := backend.Flush(); err != nil {
			return err
		}
		message, err := backend.Receive()
		if err != nil {
			return err
		}
		if _, ok := message.(*pgproto3.Sync); failed && !ok {
			continue
		}
		switch message := message.(type) {
		case *pgproto3.Query:
			s.record(message.String)
			for range strings.Split(message.String, ";") {
				backend.Send(&pgproto3.CommandComplete{CommandTag: []byte("SET")})
			}
			backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'T'})
		case *pgproto3.Parse:
			query = message.Query
			s.record(query)
			if _, ok := s.result(query); !ok {
				backend.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "42601", Message: "nothing is known of " + query})
				failed = true
				continue
			}
			backend.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Bind:
			backend.Send(&pgproto3.BindComplete{})
		case *pgproto3.Describe:
			if message.ObjectType == 'S' {
				backend.Send(&pgproto3.ParameterDescription{})
			}
			if r, _ := s.result(query); len(r.columns) > 0 {
				backend.Send(&pgproto3.RowDescription{Fields: r.columns})
			} else {
				backend.Send(&pgproto3.NoData{})
			}
		case *pgproto3.Execute:
			r, _ := s.result(query)
			for _, row := range r.rows {
				backend.Send(&pgproto3.DataRow{Values: texts(row)})
			}
			if r.stalls {
				if err := backend.Flush(); err != nil {
					return err
				}
				<-cancelled
				r.err = &pgproto3.ErrorResponse{Severity: "ERROR", Code: "57014", Message: "canceling statement due to user request"}
			}
			if r.err != nil {
				backend.Send(r.err)
				failed = true
				continue
			}
			backend.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT")})
		case *pgproto3.Sync:
			failed = false
			backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'T'})
		case *pgproto3.Terminate:
			return nil
		}
	}
}

func texts(row []any) [][]byte {
	var values [][]byte
	for _, v := range row {
		if text, ok := v.(string); ok {
			values = append(values, []byte(text))
		} else {
			values = append(values, nil)
		}
	}
	return values
}

func (s *server) record(query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries = append(s.queries, query)
}

func (s *server) result(query string) (result, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.results[query]
	return r, ok
}

// seen are the logins and queries until now.
func (s *server) seen() ([]map[string]string, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.logins), slices.Clone(s.queries)
}
