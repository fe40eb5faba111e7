package servicebus

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/local/servicebus/amqp"
)

const (
	maxFrameSize = 64 << 10 // that this end accepts
	// idleTimeout is announced to clients: they send a frame within it. A connection
	// that is silent for twice as long is given up.
	idleTimeout = 2 * time.Minute
)

// conn is one AMQP connection. One goroutine reads and handles frames, another
// writes what all have put into out.
type conn struct {
	server   *Server
	net      net.Conn
	in       *bufio.Reader
	frame    []byte
	sessions map[uint16]*session // of the reading goroutine
	past     map[uint16]bool     // channels whose session the client ended
	claims   claims

	mu       sync.Mutex // guards what follows, and the outgoing state of sessions
	out      []byte
	scratch  []byte
	ended    bool          // nothing may be added to out any more
	wake     chan struct{} // has one element when out has bytes
	peerMax  uint32        // the largest frame that the client accepts
	peerIdle time.Duration // 0 for none
}

func newConn(s *Server, nc net.Conn, in *bufio.Reader) *conn {
	return &conn{
		server: s, net: nc, in: in, sessions: map[uint16]*session{}, past: map[uint16]bool{},
		claims: claims{}, wake: make(chan struct{}, 1), peerMax: 512,
	}
}

// run serves the connection until it ends.
func (c *conn) run() error {
	defer c.net.Close()
	if err := c.handshake(); err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() { written <- c.write() }()
	err := c.read()
	for _, s := range c.sessions {
		s.close()
	}
	var ae *amqp.Error
	if err == nil || errors.As(err, &ae) {
		c.send(func(b []byte) []byte { return amqp.AppendFrame(b, amqp.TypeAMQP, 0, &amqp.Close{Error: ae}) })
	}
	c.mu.Lock()
	c.ended = true
	c.signal()
	c.mu.Unlock()
	if err != nil && ae == nil {
		_ = c.net.Close() // the peer is gone: do not wait for it to read
	} else {
		_ = c.net.SetWriteDeadline(time.Now().Add(5 * time.Second))
	}
	if werr := <-written; err == nil {
		err = werr
	}
	return err
}

// mechanisms are the SASL mechanisms of Service Bus. Each but PLAIN admits a client that
// shows its tokens to $cbs afterwards; there are clients that insist on MSSBCBS.
var mechanisms = []string{"MSSBCBS", "ANONYMOUS", "PLAIN", "EXTERNAL"}

// admit checks the client's choice of a mechanism. PLAIN has the name and the value of
// the shared access key, which stand for a token for the whole namespace.
func (c *conn) admit(init *amqp.SASLInit) error {
	if init.Mechanism == "PLAIN" {
		fields := strings.Split(string(init.Response), "\x00")
		if len(fields) != 3 || fields[1] != KeyName || subtle.ConstantTimeCompare([]byte(fields[2]), []byte(c.server.cfg.Key)) != 1 {
			return errors.New("SASL PLAIN without the name and the value of the shared access key")
		}
		c.claims[""] = time.Unix(1<<40, 0)
		return nil
	}
	if !slices.Contains(mechanisms, init.Mechanism) {
		return fmt.Errorf("SASL mechanism %q is not supported", init.Mechanism)
	}
	return nil
}

// handshake negotiates SASL and the AMQP header.
func (c *conn) handshake() error {
	_ = c.net.SetDeadline(time.Now().Add(idleTimeout))
	if err := c.header(amqp.HeaderSASL, amqp.AppendFrame(append([]byte{}, amqp.HeaderSASL...), amqp.TypeSASL, 0, &amqp.SASLMechanisms{Mechanisms: mechanisms})); err != nil {
		return err
	}
	kind, _, body, err := amqp.ReadFrame(c.in, &c.frame, maxFrameSize)
	if err != nil {
		return err
	}
	p, err := amqp.Parse(body)
	if err != nil {
		return err
	}
	init, ok := p.(*amqp.SASLInit)
	if !ok || kind != amqp.TypeSASL {
		return errors.New("expected sasl-init")
	}
	outcome, refused := &amqp.SASLOutcome{}, c.admit(init)
	if refused != nil {
		outcome.Code = 1
	}
	if _, err := c.net.Write(amqp.AppendFrame(nil, amqp.TypeSASL, 0, outcome)); err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	if err := c.header(amqp.HeaderAMQP, amqp.HeaderAMQP); err != nil {
		return err
	}
	return c.net.SetDeadline(time.Time{})
}

// header reads a protocol header and answers it.
func (c *conn) header(want, answer []byte) error {
	var got [8]byte
	if _, err := io.ReadFull(c.in, got[:]); err != nil {
		return err
	}
	if !bytes.Equal(got[:], want) {
		_, _ = c.net.Write(want) // tells the peer what would be understood
		return fmt.Errorf("protocol header %q is not supported here", got)
	}
	_, err := c.net.Write(answer)
	return err
}

// read handles frames until the peer closes the connection, which is not an error.
func (c *conn) read() error {
	var deadline time.Time
	for opened := false; ; {
		// The deadline is coarse: setting it for each frame would cost more than the frame.
		if now := time.Now(); deadline.Sub(now) < 2*idleTimeout-idleTimeout/8 {
			deadline = now.Add(2 * idleTimeout)
			if err := c.net.SetReadDeadline(deadline); err != nil {
				return err
			}
		}
		kind, channel, body, err := amqp.ReadFrame(c.in, &c.frame, maxFrameSize)
		if err != nil {
			return err
		}
		if len(body) == 0 {
			continue // heartbeat
		}
		if kind != amqp.TypeAMQP {
			return &amqp.Error{Condition: "amqp:connection:framing-error", Description: "unexpected frame type"}
		}
		p, err := amqp.Parse(body)
		if err != nil {
			return &amqp.Error{Condition: "amqp:decode-error", Description: err.Error()}
		}
		if open, ok := p.(*amqp.Open); ok != !opened {
			return &amqp.Error{Condition: "amqp:illegal-state", Description: "a connection has one open, at its start"}
		} else if ok {
			opened = true
			c.open(open)
			continue
		}
		if _, ok := p.(*amqp.Close); ok {
			return nil
		}
		if err := c.handle(channel, p); err != nil {
			return err
		}
	}
}

func (c *conn) open(p *amqp.Open) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peerMax = max(512, min(p.MaxFrameSize, 1<<20))
	c.peerIdle = time.Duration(p.IdleTimeout) * time.Millisecond
	c.out = amqp.AppendFrame(c.out, amqp.TypeAMQP, 0, &amqp.Open{
		ContainerID:  "local-servicebus",
		MaxFrameSize: maxFrameSize, ChannelMax: 65535, IdleTimeout: uint32(idleTimeout.Milliseconds()),
	})
	c.signal()
}

// handle gives a performative to its session. An error ends the connection.
func (c *conn) handle(channel uint16, p any) error {
	s := c.sessions[channel]
	if begin, ok := p.(*amqp.Begin); ok {
		if s != nil {
			return &amqp.Error{Condition: "amqp:illegal-state", Description: fmt.Sprintf("channel %d is in use", channel)}
		}
		c.sessions[channel] = beginSession(c, channel, begin)
		return nil
	}
	if s == nil && c.past[channel] {
		return nil // Python detaches links after the End of their session
	}
	if s == nil {
		return &amqp.Error{Condition: "amqp:illegal-state", Description: fmt.Sprintf("channel %d has no session", channel)}
	}
	if _, ok := p.(*amqp.End); ok {
		s.close()
		delete(c.sessions, channel)
		c.past[channel] = true
		if !s.ended { // a second End is an error for which clients drop the connection
			s.send(&amqp.End{})
		}
		return nil
	}
	if err := s.handle(p); err != nil {
		var ae *amqp.Error
		if !errors.As(err, &ae) {
			ae = &amqp.Error{Condition: "amqp:internal-error", Description: err.Error()}
		}
		s.fail(ae)
	}
	return nil
}

// send lets f append frames to the output buffer.
func (c *conn) send(f func(b []byte) []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.out = f(c.out)
		c.signal()
	}
}

// signal wakes the writer; c.mu is held.
func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write flushes the output buffer and sends heartbeats.
func (c *conn) write() error {
	heartbeat := time.NewTimer(time.Hour)
	defer heartbeat.Stop()
	var spare []byte
	for {
		beat := false
		select {
		case <-c.wake:
		case <-heartbeat.C:
			beat = true
		}
		c.mu.Lock()
		if beat && len(c.out) == 0 {
			c.out = append(c.out, amqp.Heartbeat...)
		}
		batch, ended, idle := c.out, c.ended, c.peerIdle
		c.out = spare[:0]
		c.mu.Unlock()
		if len(batch) > 0 {
			if _, err := c.net.Write(batch); err != nil {
				_ = c.net.Close() // ends the reader
				return err
			}
		}
		if ended {
			return nil
		}
		if spare = batch; cap(spare) > 1<<20 {
			spare = nil
		}
		if idle > 0 {
			heartbeat.Reset(max(idle/2, 10*time.Millisecond))
		}
	}
}
