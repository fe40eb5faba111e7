package entra

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// firstByteOfTLS begins a handshake record (RFC 8446, section 5.1); no HTTP request begins with it.
const firstByteOfTLS = 0x16

// maxSilence is how long a connection may say nothing before its protocol is known.
const maxSilence = 10 * time.Second

// protocols are two listeners on one port, one for connections with TLS and one for those without.
// Programs trust the CA and use TLS. Browsers do not know it: a page of the console, which signs its user
// in, reaches the endpoints over HTTP. The server listens on loopback only.
type protocols struct {
	net.Listener
	tls, plain chan net.Conn
	closed     chan struct{}
	once       sync.Once
}

func splitProtocols(l net.Listener) *protocols {
	p := &protocols{Listener: l, tls: make(chan net.Conn), plain: make(chan net.Conn), closed: make(chan struct{})}
	go p.accept()
	return p
}

func (p *protocols) accept() {
	for {
		c, err := p.Listener.Accept()
		if err != nil {
			_ = p.Close()
			return
		}
		go p.sort(c)
	}
}

// sort hands a connection to the listener of its protocol, with the byte that tells it unread.
func (p *protocols) sort(c net.Conn) {
	first := make([]byte, 1)
	err := c.SetReadDeadline(time.Now().Add(maxSilence))
	if err == nil {
		_, err = c.Read(first)
	}
	if err == nil {
		err = c.SetReadDeadline(time.Time{})
	}
	if err != nil {
		_ = c.Close()
		return
	}
	to := p.plain
	if first[0] == firstByteOfTLS {
		to = p.tls
	}
	select {
	case to <- &unread{Conn: c, first: first}:
	case <-p.closed:
		_ = c.Close()
	}
}

// Close ends both listeners. A second call does nothing.
func (p *protocols) Close() (err error) {
	p.once.Do(func() {
		close(p.closed)
		err = p.Listener.Close()
	})
	return err
}

// of is the listener of one of the protocols.
func (p *protocols) of(conns chan net.Conn) net.Listener { return &oneProtocol{p, conns} }

type oneProtocol struct {
	*protocols
	conns chan net.Conn
}

func (o *oneProtocol) Accept() (net.Conn, error) {
	select {
	case c := <-o.conns:
		return c, nil
	case <-o.closed: // by the other server too, which is closed first
		return nil, http.ErrServerClosed
	}
}

// unread is a connection of which a byte was read ahead. Reads of a connection are one after the other.
type unread struct {
	net.Conn
	first []byte
}

func (u *unread) Read(b []byte) (int, error) {
	if len(u.first) == 0 || len(b) == 0 {
		return u.Conn.Read(b)
	}
	n := copy(b, u.first)
	u.first = u.first[n:]
	return n, nil
}
