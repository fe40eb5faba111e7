package tds

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
)

// The options of PRELOGIN ([MS-TDS] 2.2.6.5).
const (
	optionVersion    = 0x00
	optionEncryption = 0x01
	optionInstance   = 0x02
	optionThread     = 0x03
	optionMARS       = 0x04
	optionTrace      = 0x05
	optionFedAuth    = 0x06
	optionEnd        = 0xFF
)

const (
	encryptOn           = 0x01
	encryptNotSupported = 0x02
	encryptRequired     = 0x03
	encryptStrict       = 0x04
)

// prelogin is a client's PRELOGIN request.
type prelogin struct {
	encryption byte
	fedAuth    bool // it means to sign in with a token
}

func parsePrelogin(body []byte) (prelogin, error) {
	var p prelogin
	seen := []byte{}
	for at := 0; ; at += 5 {
		if at >= len(body) {
			return p, errors.New("a PRELOGIN without its end")
		}
		option := body[at]
		if option == optionEnd {
			break
		}
		if at+5 > len(body) {
			return p, errors.New("a truncated PRELOGIN option")
		}
		offset, length := int(binary.BigEndian.Uint16(body[at+1:])), int(binary.BigEndian.Uint16(body[at+3:]))
		if offset+length > len(body) {
			return p, errors.New("a PRELOGIN option outside the message")
		}
		if slices.Contains(seen, option) {
			return p, fmt.Errorf("the PRELOGIN option %#02x twice", option)
		}
		seen = append(seen, option)
		value := body[offset : offset+length]
		switch {
		case option == optionVersion && length == 6, option == optionInstance, option == optionThread && length <= 4, option == optionTrace && length == 36:
		case option == optionEncryption && length == 1:
			p.encryption = value[0]
		case option == optionMARS && length == 1:
			if value[0] != 0 {
				return p, errors.New("several result sets at once (MARS)")
			}
		case option == optionFedAuth && length == 1:
			p.fedAuth = value[0] != 0
		default:
			return p, fmt.Errorf("the PRELOGIN option %#02x of %d bytes", option, length)
		}
	}
	if len(seen) == 0 || seen[0] != optionVersion || !slices.Contains(seen, byte(optionEncryption)) {
		return p, errors.New("a PRELOGIN without version or encryption")
	}
	return p, nil
}

// bytes is the server's answer.
func (p prelogin) bytes() []byte {
	options := []struct {
		option byte
		value  []byte
	}{
		{optionVersion, []byte{16, 0, 0x10, 0, 0, 0}},
		{optionEncryption, []byte{p.encryption}},
		{optionInstance, []byte{0}},
		{optionThread, nil},
		{optionMARS, []byte{0}},
	}
	if p.fedAuth {
		options = append(options, struct {
			option byte
			value  []byte
		}{optionFedAuth, []byte{1}})
	}
	var head, data []byte
	start := len(options)*5 + 1
	for _, o := range options {
		head = append(head, o.option)
		head = binary.BigEndian.AppendUint16(head, uint16(start+len(data)))
		head = binary.BigEndian.AppendUint16(head, uint16(len(o.value)))
		data = append(data, o.value...)
	}
	return append(append(head, optionEnd), data...)
}

// greet answers PRELOGIN and sets up TLS. It gives the connection to go on with, and
// whether the client said that it has a token.
func (s *Server) greet(c net.Conn) (conn net.Conn, asked prelogin, encrypted bool, err error) {
	first := &peeked{Conn: c}
	b, err := first.peek()
	if err != nil {
		return nil, asked, false, err
	}
	conn = first
	strict := b == 0x16 // a TLS handshake: TDS 8.0
	if strict {
		t := tls.Server(conn, s.tlsConfig(true))
		if err := t.Handshake(); err != nil {
			return nil, asked, false, fmt.Errorf("TLS: %w", err)
		}
		conn = t
	}
	m, err := readMessage(conn)
	if err != nil {
		return nil, asked, false, err
	}
	if m.kind != packetPrelogin {
		return nil, asked, false, fmt.Errorf("a message of the type %#02x where PRELOGIN was expected", m.kind)
	}
	if asked, err = parsePrelogin(m.body); err != nil {
		return nil, asked, false, err
	}
	answer := prelogin{encryption: encryptRequired, fedAuth: asked.fedAuth}
	switch {
	case strict && asked.encryption == encryptNotSupported: // there is nothing left to encrypt
	case strict != (asked.encryption == encryptStrict):
		return nil, asked, false, fmt.Errorf("the encryption %#02x in a connection that is encrypted: %v", asked.encryption, strict)
	case s.config.NoEncryption:
		answer.encryption = encryptNotSupported
	case asked.encryption == encryptOn:
		answer.encryption = encryptOn
	case strict:
		answer.encryption = encryptStrict
	}
	r := newReply(conn, packetReply)
	r.add(answer.bytes())
	if err := r.end(); err != nil {
		return nil, asked, false, err
	}
	if strict || s.config.NoEncryption {
		return conn, asked, strict, nil
	}
	h := &handshake{Conn: conn}
	t := tls.Server(h, s.tlsConfig(false))
	if err := t.Handshake(); err != nil {
		return nil, asked, false, fmt.Errorf("TLS: %w", err)
	}
	h.done = true
	return t, asked, true, nil
}

// peeked is a connection of which the first byte was looked at.
type peeked struct {
	net.Conn
	first []byte
}

func (p *peeked) peek() (byte, error) {
	b := make([]byte, 1)
	if _, err := io.ReadFull(p.Conn, b); err != nil {
		return 0, err
	}
	p.first = b
	return b[0], nil
}

func (p *peeked) Read(b []byte) (int, error) {
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// handshake carries TLS in PRELOGIN packets until the handshake is done, and unwrapped
// from then on. Until then one goroutine uses it.
type handshake struct {
	net.Conn
	rest []byte
	done bool
}

func (h *handshake) Read(b []byte) (int, error) {
	if h.done && len(h.rest) == 0 {
		return h.Conn.Read(b)
	}
	for len(h.rest) == 0 {
		kind, _, body, err := readPacket(h.Conn)
		if err != nil {
			return 0, err
		}
		if kind != packetPrelogin {
			return 0, fmt.Errorf("a packet of the type %#02x within the TLS handshake", kind)
		}
		h.rest = body
	}
	n := copy(b, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

func (h *handshake) Write(b []byte) (int, error) {
	if h.done {
		return h.Conn.Write(b)
	}
	r := newReply(h.Conn, packetPrelogin)
	r.add(b)
	return len(b), r.end()
}
