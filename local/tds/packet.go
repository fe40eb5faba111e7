package tds

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The types of packets ([MS-TDS] 2.2.3.1.1).
const (
	packetBatch       = 0x01
	packetRPC         = 0x03
	packetReply       = 0x04
	packetAttention   = 0x06
	packetFedAuth     = 0x08
	packetTransaction = 0x0E
	packetLogin       = 0x10
	packetPrelogin    = 0x12
)

const (
	headerSize = 8
	packetSize = 4096
	// maxMessage bounds what a client can make the server keep.
	maxMessage = 1 << 20

	statusEnd   = 0x01 // the last packet of a message
	statusReset = 0x08 // the session begins anew with this message
)

// message is all packets of one request together.
type message struct {
	kind  byte
	reset bool
	body  []byte
}

// readMessage reads packets to the end of the message. io.EOF means that the client
// went between two messages.
func readMessage(r io.Reader) (message, error) {
	var m message
	for first := true; ; first = false {
		kind, status, body, err := readPacket(r)
		if err != nil {
			if !first && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return m, err
		}
		switch {
		case !first && kind != m.kind:
			return m, fmt.Errorf("a packet of the type %#02x within a message of %#02x", kind, m.kind)
		case first && status&statusReset != 0 && (kind == packetBatch || kind == packetRPC || kind == packetTransaction):
			m.reset = true
		case status&^(statusEnd|statusReset) != 0, status&statusReset != 0 && !m.reset:
			return m, fmt.Errorf("the packet status %#02x", status)
		}
		if len(m.body)+len(body) > maxMessage {
			return m, fmt.Errorf("a message of more than %d bytes", maxMessage)
		}
		m.kind, m.body = kind, append(m.body, body...)
		if status&statusEnd != 0 {
			return m, nil
		}
	}
}

func readPacket(r io.Reader) (kind, status byte, body []byte, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, 0, nil, err
	}
	size := int(binary.BigEndian.Uint16(header[2:]))
	if size < headerSize || size > packetSize {
		return 0, 0, nil, fmt.Errorf("a packet of %d bytes", size)
	}
	body = make([]byte, size-headerSize)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, 0, nil, io.ErrUnexpectedEOF
	}
	return header[0], header[1], body, nil
}

// reply writes one message of the server, cut into packets.
type reply struct {
	w      *bufio.Writer
	kind   byte
	number byte
	body   []byte
	err    error
}

func newReply(w io.Writer, kind byte) *reply {
	return &reply{w: bufio.NewWriterSize(w, packetSize), kind: kind}
}

func (r *reply) add(b []byte) {
	for len(r.body)+len(b) > packetSize-headerSize {
		n := packetSize - headerSize - len(r.body)
		r.body = append(r.body, b[:n]...)
		b = b[n:]
		r.packet(0)
	}
	r.body = append(r.body, b...)
}

// flush sends what there is, without ending the message.
func (r *reply) flush() error {
	if len(r.body) > 0 {
		r.packet(0)
	}
	return r.err
}

// end sends the rest and ends the message.
func (r *reply) end() error {
	r.packet(statusEnd)
	return r.err
}

func (r *reply) packet(status byte) {
	if r.err != nil {
		return
	}
	r.number++
	header := [headerSize]byte{r.kind, status, 0, 0, 0, 52, r.number, 0}
	binary.BigEndian.PutUint16(header[2:], uint16(headerSize+len(r.body)))
	_, _ = r.w.Write(header[:])
	_, _ = r.w.Write(r.body)
	r.err = r.w.Flush() // also tells of the writes
	r.body = r.body[:0]
}
