// Package amqp is the part of AMQP 1.0 that a server needs and that no public Go
// package offers: the encoding of values, frames and performatives, and the split
// of a message into its sections.
//
// It follows the OASIS AMQP 1.0 standard, parts 1 to 3 and 5, and refuses what it
// does not know. It must not know Service Bus: entities, locks and tokens are the
// business of its callers.
package amqp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Descriptor codes of the performatives and of their fields.
const (
	codeOpen        = 0x10
	codeBegin       = 0x11
	codeAttach      = 0x12
	codeFlow        = 0x13
	codeTransfer    = 0x14
	codeDisposition = 0x15
	codeDetach      = 0x16
	codeEnd         = 0x17
	codeClose       = 0x18
	codeError       = 0x1d
	codeSource      = 0x28
	codeTarget      = 0x29
	codeCoordinator = 0x30

	codeSASLMechanisms = 0x40
	codeSASLInit       = 0x41
	codeSASLOutcome    = 0x44
)

// Delivery states that a client may settle a message with.
const (
	StateAccepted = 0x24
	StateRejected = 0x25
	StateReleased = 0x26
	StateModified = 0x27
)

// Roles of a link's end.
const (
	RoleSender   = false
	RoleReceiver = true
)

// Settlement modes of a link.
const (
	SenderSettled  = 1
	ReceiverSecond = 1
)

// Error is the error composite of AMQP.
type Error struct {
	Condition   string
	Description string
	Info        map[any]any
}

// Error renders condition and description.
func (e *Error) Error() string { return e.Condition + ": " + e.Description }

// Open starts a connection.
type Open struct {
	ContainerID, Hostname string
	MaxFrameSize          uint32
	ChannelMax            uint16
	IdleTimeout           uint32 // milliseconds, 0 for none
}

// Begin starts a session. RemoteChannel is nil in the one that initiates it.
type Begin struct {
	RemoteChannel                                  *uint16
	NextOutgoingID, IncomingWindow, OutgoingWindow uint32
	HandleMax                                      uint32
}

// Attach starts a link. Source and Target are kept as encoded, so that they can
// be answered as they came; nil says that there is no such terminus.
type Attach struct {
	Name                         string
	Handle                       uint32
	Role                         bool
	SndSettleMode, RcvSettleMode uint8
	Source, Target               []byte
	InitialDeliveryCount         uint32
	MaxMessageSize               uint64
}

// Flow updates windows and credit. Handle is nil when it concerns the session only.
type Flow struct {
	NextIncomingID                                 *uint32
	IncomingWindow, NextOutgoingID, OutgoingWindow uint32
	Handle, DeliveryCount, LinkCredit              *uint32
	Drain, Echo                                    bool
}

// Transfer carries a message or a part of it. Byte slices point into the frame.
type Transfer struct {
	Handle                 uint32
	DeliveryID             *uint32
	DeliveryTag            []byte
	MessageFormat          *uint32
	Settled, More, Aborted bool
	Payload                []byte
}

// Disposition tells or confirms the state of deliveries First to Last.
type Disposition struct {
	Role        bool
	First, Last uint32
	Settled     bool
	State       *State
}

// State is a delivery state: Code is one of the State constants. Error belongs
// to rejected, the other fields to modified.
type State struct {
	Code              uint64
	Error             *Error
	DeliveryFailed    bool
	UndeliverableHere bool
	Annotations       map[any]any
}

// Remaining is the rest of an allowance: a session's window or a link's credit. The
// peer granted it when it had counted from, and count is reached now. All three are
// unsigned 32-bit numbers, and counts wrap around.
func Remaining(allowance, from, count uint32) uint32 {
	left := int64(allowance) - int64(int32(count-from))
	return uint32(min(max(left, 0), math.MaxUint32))
}

// Detach ends a link.
type Detach struct {
	Handle uint32
	Closed bool
	Error  *Error
}

// End ends a session.
type End struct{ Error *Error }

// Close ends a connection.
type Close struct{ Error *Error }

// SASLInit names the mechanism that the client chose and has its first response.
type SASLInit struct {
	Mechanism string
	Response  []byte
}

// Frame types.
const (
	TypeAMQP = 0
	TypeSASL = 1
)

// ReadFrame reads one frame of at most max bytes. The body is valid until the
// next call with the same buf; it is empty for a heartbeat.
func ReadFrame(r io.Reader, buf *[]byte, max uint32) (frameType byte, channel uint16, body []byte, err error) {
	var head [8]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	size, offset := binary.BigEndian.Uint32(head[:]), uint32(head[4])*4
	if size < 8 || offset < 8 || offset > size {
		return 0, 0, nil, fmt.Errorf("amqp: malformed frame header % x", head)
	}
	if size > max {
		return 0, 0, nil, fmt.Errorf("amqp: frame of %d bytes exceeds the maximum of %d", size, max)
	}
	if uint32(cap(*buf)) < size-8 {
		*buf = make([]byte, size-8)
	}
	body = (*buf)[:size-8]
	if _, err = io.ReadFull(r, body); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, 0, nil, err
	}
	return head[5], binary.BigEndian.Uint16(head[6:]), body[offset-8:], nil
}

// Parse reads the performative of a frame body. The result is a pointer to one of
// the structs of this package.
func Parse(body []byte) (any, error) {
	code, r, n, err := composite(body)
	if err != nil {
		return nil, err
	}
	if code != codeTransfer && n != len(body) {
		return nil, fmt.Errorf("amqp: performative %#x is followed by %d bytes", code, len(body)-n)
	}
	switch code {
	case codeOpen:
		p := &Open{
			ContainerID: r.string("container-id"), Hostname: r.string("hostname"),
			MaxFrameSize: r.uint("max-frame-size", 1<<32-1), ChannelMax: r.ushort("channel-max", 65535),
			IdleTimeout: r.uint("idle-time-out", 0),
		}
		for range 5 { // locales, capabilities, properties
			r.next()
		}
		return p, r.end("open")
	case codeBegin:
		p := &Begin{}
		if ch := r.next(); ch != nil {
			return nil, errors.New("amqp: begin with a remote channel, but no session was initiated here")
		}
		p.NextOutgoingID, p.IncomingWindow = r.uint("next-outgoing-id", 0), r.uint("incoming-window", 0)
		p.OutgoingWindow, p.HandleMax = r.uint("outgoing-window", 0), r.uint("handle-max", 1<<32-1)
		for range 3 { // capabilities, properties
			r.next()
		}
		return p, r.end("begin")
	case codeAttach:
		return parseAttach(&r)
	case codeFlow:
		p := &Flow{
			NextIncomingID: r.optUint("next-incoming-id"), IncomingWindow: r.uint("incoming-window", 0),
			NextOutgoingID: r.uint("next-outgoing-id", 0), OutgoingWindow: r.uint("outgoing-window", 0),
			Handle: r.optUint("handle"), DeliveryCount: r.optUint("delivery-count"), LinkCredit: r.optUint("link-credit"),
		}
		r.next() // available
		p.Drain, p.Echo = r.bool("drain"), r.bool("echo")
		r.next() // properties
		return p, r.end("flow")
	case codeTransfer:
		p := &Transfer{
			Handle: r.uint("handle", 0), DeliveryID: r.optUint("delivery-id"),
			DeliveryTag: r.binary("delivery-tag"), MessageFormat: r.optUint("message-format"),
			Settled: r.bool("settled"), More: r.bool("more"),
		}
		r.ubyte("rcv-settle-mode", 0)
		if r.next() != nil {
			return nil, errors.New("amqp: a delivery state on a transfer (transactions, resumption) is not supported")
		}
		if r.bool("resume") {
			return nil, errors.New("amqp: resuming a delivery is not supported")
		}
		p.Aborted = r.bool("aborted")
		r.bool("batchable")
		p.Payload = body[n:]
		return p, r.end("transfer")
	case codeDisposition:
		p := &Disposition{Role: r.bool("role"), First: r.uint("first", 0)}
		p.Last = r.uint("last", p.First)
		p.Settled = r.bool("settled")
		if f := r.next(); f != nil {
			if p.State, err = parseState(f); err != nil {
				return nil, err
			}
		}
		r.bool("batchable")
		return p, r.end("disposition")
	case codeDetach:
		p := &Detach{Handle: r.uint("handle", 0), Closed: r.bool("closed")}
		p.Error = r.error()
		return p, r.end("detach")
	case codeEnd:
		p := &End{Error: r.error()}
		return p, r.end("end")
	case codeClose:
		p := &Close{Error: r.error()}
		return p, r.end("close")
	case codeSASLInit:
		p := &SASLInit{Mechanism: r.string("mechanism"), Response: r.binary("initial-response")}
		r.string("hostname")
		return p, r.end("sasl-init")
	}
	return nil, fmt.Errorf("amqp: unexpected performative %#x", code)
}

func parseAttach(r *reader) (*Attach, error) {
	p := &Attach{
		Name: r.string("name"), Handle: r.uint("handle", 0), Role: r.bool("role"),
		SndSettleMode: r.ubyte("snd-settle-mode", 2), RcvSettleMode: r.ubyte("rcv-settle-mode", 0),
	}
	p.Source = append([]byte(nil), r.next()...)
	p.Target = append([]byte(nil), r.next()...)
	if len(r.fields("unsettled")) > 0 {
		return nil, errors.New("amqp: resuming a link with unsettled deliveries is not supported")
	}
	r.bool("incomplete-unsettled")
	p.InitialDeliveryCount = r.uint("initial-delivery-count", 0)
	p.MaxMessageSize = r.ulong("max-message-size")
	for range 3 { // capabilities, properties
		r.next()
	}
	return p, r.end("attach")
}

// Terminus is a source or target of a link.
type Terminus struct {
	Address     string
	Dynamic     bool
	Filter      map[any]any // of a source
	Coordinator bool        // the target is the coordinator of transactions
}

// ParseTerminus reads an encoded source or target.
func ParseTerminus(b []byte) (Terminus, error) {
	code, r, _, err := composite(b)
	if err != nil {
		return Terminus{}, err
	}
	if code == codeCoordinator {
		return Terminus{Coordinator: true}, nil
	}
	if code != codeSource && code != codeTarget {
		return Terminus{}, fmt.Errorf("amqp: terminus with descriptor %#x is not supported", code)
	}
	t := Terminus{Address: r.string("address")}
	for range 3 { // durable, expiry-policy, timeout
		r.next()
	}
	t.Dynamic = r.bool("dynamic")
	r.next() // dynamic-node-properties
	if code == codeSource {
		r.next() // distribution-mode
		t.Filter = r.fields("filter")
		r.next() // default-outcome
		r.next() // outcomes
	}
	r.next() // capabilities
	return t, r.end("terminus")
}

func parseState(b []byte) (*State, error) {
	code, r, _, err := composite(b)
	if err != nil {
		return nil, err
	}
	s := &State{Code: code}
	switch code {
	case StateAccepted, StateReleased:
	case StateRejected:
		s.Error = r.error()
	case StateModified:
		s.DeliveryFailed, s.UndeliverableHere = r.bool("delivery-failed"), r.bool("undeliverable-here")
		s.Annotations = r.fields("message-annotations")
	default:
		return nil, fmt.Errorf("amqp: delivery state %#x is not supported", code)
	}
	return s, r.end("delivery state")
}

func (r *reader) error() *Error {
	f := r.next()
	if f == nil {
		return nil
	}
	code, er, _, err := composite(f)
	if err == nil && code != codeError {
		err = fmt.Errorf("amqp: error with descriptor %#x", code)
	}
	if err == nil {
		e := &Error{Condition: er.string("condition"), Description: er.string("description"), Info: er.fields("info")}
		if err = er.end("error"); err == nil {
			return e
		}
	}
	if r.err == nil {
		r.err = err
	}
	return nil
}
