package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// session is one connection, from its first packet on.
type session struct {
	server    *Server
	conn      net.Conn
	fedAuth   bool
	encrypted bool
	// transaction is the one that is open, or 0.
	transaction uint64
	// attention is filled when the client asks to stop.
	attention chan struct{}
}

func (s *Server) serve(c net.Conn) {
	defer c.Close()
	conn, asked, encrypted, err := s.greet(c)
	if err != nil {
		// Before TLS there is no way to tell the client.
		if !gone(err) {
			s.refused(err.Error())
		}
		return
	}
	session := &session{server: s, conn: conn, fedAuth: asked.fedAuth, encrypted: encrypted, attention: make(chan struct{}, 1)}
	if s.signIn(session) != nil {
		return
	}
	requests := make(chan message)
	ended := make(chan struct{})
	defer close(ended)
	go session.read(requests, ended)
	for {
		select {
		case <-s.closing:
			return
		case <-session.attention:
			// It came after the answer that it was for.
			if session.acknowledge() != nil {
				return
			}
		case m, ok := <-requests:
			if !ok || session.answer(m) != nil {
				return
			}
		}
	}
}

// read takes in what the client sends, also while it is being answered.
func (c *session) read(requests chan<- message, ended <-chan struct{}) {
	defer close(requests)
	for {
		m, err := readMessage(c.conn)
		if err != nil {
			if !gone(err) {
				c.server.refused(err.Error())
			}
			return
		}
		if m.kind == packetAttention {
			c.server.asked(Request{Kind: Attention})
			select {
			case c.attention <- struct{}{}:
			default: // one is under way
			}
			continue
		}
		select {
		case requests <- m:
		case <-ended:
			return
		}
	}
}

// gone says that an error is only the end of the connection: the client may go whenever it
// likes, also because it does not trust the certificate.
func gone(err error) bool {
	var network *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

// refuse reports an unsupported request to the client and ends the connection.
func (c *session) refuse(what string) error {
	c.server.refused(what)
	e := &Error{Number: 50000, Class: 20, Message: "local/tds does not understand: " + what}
	r := newReply(c.conn, packetReply)
	r.add(e.token())
	r.add(doneToken(doneError, 0, 0))
	if err := r.end(); err != nil {
		return err
	}
	return errors.New(what)
}

func (c *session) answer(m message) error {
	switch m.kind {
	case packetBatch, packetTransaction:
	case packetRPC:
		return c.refuse("a remote procedure call")
	default:
		return c.refuse(fmt.Sprintf("a message of the type %#02x", m.kind))
	}
	r := newReply(c.conn, packetReply)
	if m.reset {
		// As sp_reset_connection: what the session had open is rolled back.
		c.transaction = 0
		r.add(sized(tokenEnvChange, []byte{18, 0, 0}))
	}
	body, err := c.headers(m.body)
	if err != nil {
		return c.refuse(err.Error())
	}
	if m.kind == packetTransaction {
		return c.manage(r, body)
	}
	return c.batch(r, fromUTF16(body))
}

// headers takes ALL_HEADERS off ([MS-TDS] 2.2.5.3): there has to be the one of the
// transaction, and it has to name the transaction that is open.
func (c *session) headers(b []byte) ([]byte, error) {
	if len(b) < 4 || int(binary.LittleEndian.Uint32(b)) > len(b) {
		return nil, errors.New("a request without headers")
	}
	headers, rest := b[4:binary.LittleEndian.Uint32(b)], b[binary.LittleEndian.Uint32(b):]
	if len(headers) != 18 || binary.LittleEndian.Uint32(headers) != 18 || binary.LittleEndian.Uint16(headers[4:]) != 2 {
		return nil, errors.New("headers other than the transaction's")
	}
	if transaction := binary.LittleEndian.Uint64(headers[6:]); transaction != c.transaction {
		return nil, errors.New("a request of a transaction that is not open")
	}
	return rest, nil
}

// manage is a transaction manager request ([MS-TDS] 2.2.6.9).
func (c *session) manage(r *reply, b []byte) error {
	if len(b) < 2 {
		return c.refuse("a truncated transaction manager request")
	}
	switch kind, rest := binary.LittleEndian.Uint16(b), b[2:]; {
	case kind == 5 && len(rest) == 2 && rest[1] == 0 && c.transaction == 0:
		c.server.asked(Request{Kind: Begin})
		c.transaction = c.server.nextTransaction()
		r.add(transactionChange(8, c.transaction))
		r.add(doneToken(doneFinal|doneInXact, 0, 0))
	case (kind == 7 || kind == 8) && len(rest) == 2 && rest[0] == 0 && rest[1] == 0 && c.transaction != 0:
		change, what := byte(9), Commit
		if kind == 8 {
			change, what = 10, Rollback
		}
		c.server.asked(Request{Kind: what})
		r.add(transactionChange(change, c.transaction))
		r.add(doneToken(doneFinal, 0, 0))
		c.transaction = 0
	default:
		return c.refuse(fmt.Sprintf("the transaction manager request %d", kind))
	}
	return r.end()
}

// batch answers a query with what the test has given for it.
func (c *session) batch(r *reply, text string) error {
	c.server.asked(Request{Kind: Batch, Text: text, InTransaction: c.transaction != 0})
	result, ok := c.server.result(text)
	if !ok {
		return c.refuse("a query without a result in the test: " + strings.TrimSpace(text))
	}
	for {
		if done, err := c.rows(r, result); done || err != nil {
			return err
		}
		var status uint16
		if c.transaction != 0 {
			status |= doneInXact
		}
		if len(result.Columns) > 0 {
			status |= doneCount
		}
		if len(result.more) == 0 {
			r.add(doneToken(status, commandSelect, len(result.rows)))
			return r.end()
		}
		r.add(doneToken(status|doneMore, commandSelect, len(result.rows)))
		next := result.more[0]
		next.more = append(next.more, result.more[1:]...)
		result = next
	}
}

// rows sends one result set. It says whether that was the end of the answer.
func (c *session) rows(r *reply, result encoded) (done bool, err error) {
	r.add(result.head)
	for i := 0; ; i++ {
		if result.Hold != nil && i == result.HoldAfter {
			if err := r.flush(); err != nil {
				return true, err
			}
			select {
			case <-result.Hold:
			case <-c.attention:
				return true, c.stopped(r)
			case <-c.server.closing:
				return true, net.ErrClosed
			}
		}
		if result.Cut && i == result.CutAfter {
			if i < len(result.rows) {
				r.add(result.rows[i][:len(result.rows[i])-1])
			}
			_ = r.flush()
			return true, net.ErrClosed
		}
		select {
		case <-c.attention:
			return true, c.stopped(r)
		default:
		}
		if i >= len(result.rows) {
			break
		}
		r.add(result.rows[i])
	}
	if result.Error == nil {
		return false, nil
	}
	r.add(result.Error.token())
	if result.EndsTransaction && c.transaction != 0 {
		r.add(transactionChange(10, c.transaction))
		c.transaction = 0
	}
	r.add(doneToken(doneError, 0, 0))
	return true, r.end()
}

// stopped ends an answer where it is, since the client asked for that.
func (c *session) stopped(r *reply) error {
	r.add(doneToken(doneError, 0, 0))
	if err := r.end(); err != nil {
		return err
	}
	return c.acknowledge()
}

// acknowledge answers an Attention ([MS-TDS] 2.2.1.7), in a message of its own: clients wait
// for one after that of the answer.
func (c *session) acknowledge() error {
	r := newReply(c.conn, packetReply)
	r.add(doneToken(doneAttention, 0, 0))
	return r.end()
}
