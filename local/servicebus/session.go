package servicebus

import (
	"errors"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/local/servicebus/amqp"
	"github.com/matoolkit/matoolkit/local/servicebus/broker"
)

const (
	sessionWindow = 5000 // transfers that the client may send ahead
	senderCredit  = 1000 // messages that a sending client may have on their way
)

// session is an AMQP session. Its channel numbers are the same in both directions.
type session struct {
	c       *conn
	channel uint16
	links   map[uint32]*link // by handle, which is the same in both directions
	ended   bool             // this end sent its End with an error and waits for the client's

	nextIncomingID uint32
	received       uint32 // transfers since the window was last told

	// Guarded by c.mu.
	nextOutgoingID uint32
	remoteWindow   uint32
	nextDeliveryID uint32
	unsettled      map[uint32]unsettled
	blocked        []blockedFrame // transfers that wait for the window to open
}

type unsettled struct {
	queue *broker.Queue
	token broker.Token
}

type blockedFrame struct{ bytes []byte }

func beginSession(c *conn, channel uint16, p *amqp.Begin) *session {
	s := &session{
		c: c, channel: channel, links: map[uint32]*link{}, nextIncomingID: p.NextOutgoingID,
		remoteWindow: p.IncomingWindow, unsettled: map[uint32]unsettled{},
	}
	s.send(&amqp.Begin{RemoteChannel: &channel, IncomingWindow: sessionWindow, OutgoingWindow: sessionWindow, HandleMax: 4095})
	return s
}

func (s *session) send(p amqp.Performative) {
	s.c.send(func(b []byte) []byte { return amqp.AppendFrame(b, amqp.TypeAMQP, s.channel, p) })
}

// fail ends the session with an error.
func (s *session) fail(e *amqp.Error) {
	if !s.ended {
		s.ended = true
		s.close()
		s.send(&amqp.End{Error: e})
	}
}

func (s *session) close() {
	for _, l := range s.links {
		l.close()
	}
	s.links = map[uint32]*link{}
}

// handle takes a performative. An error ends the session.
func (s *session) handle(p any) error {
	if s.ended {
		return nil
	}
	switch p := p.(type) {
	case *amqp.Attach:
		return s.attach(p)
	case *amqp.Flow:
		return s.flow(p)
	case *amqp.Transfer:
		return s.transfer(p)
	case *amqp.Disposition:
		return s.disposition(p)
	case *amqp.Detach:
		l := s.links[p.Handle]
		if l == nil {
			return unattached(p.Handle)
		}
		l.close()
		delete(s.links, p.Handle)
		if !l.detached {
			s.send(&amqp.Detach{Handle: p.Handle, Closed: true})
		}
		return nil
	}
	return &amqp.Error{Condition: "amqp:not-allowed", Description: fmt.Sprintf("%T within a session", p)}
}

func unattached(handle uint32) error {
	return &amqp.Error{Condition: "amqp:session:unattached-handle", Description: fmt.Sprintf("handle %d has no link", handle)}
}

// attach opens a link, or answers with one that has no terminus and ends it.
func (s *session) attach(p *amqp.Attach) error {
	if s.links[p.Handle] != nil {
		return &amqp.Error{Condition: "amqp:session:handle-in-use", Description: fmt.Sprintf("handle %d", p.Handle)}
	}
	l := &link{s: s, name: p.Name, handle: p.Handle, rcvSecond: p.RcvSettleMode == amqp.ReceiverSecond}
	answer := &amqp.Attach{
		Name: p.Name, Handle: p.Handle, Role: !p.Role, SndSettleMode: p.SndSettleMode,
		RcvSettleMode: p.RcvSettleMode, Source: p.Source, Target: p.Target, MaxMessageSize: broker.Limit,
	}
	s.links[p.Handle] = l
	if err := l.resolve(p); err != nil {
		l.detached = true
		if p.Role == amqp.RoleReceiver {
			answer.Source = nil
		} else {
			answer.Target = nil
		}
		s.send(answer)
		s.send(&amqp.Detach{Handle: p.Handle, Closed: true, Error: amqpError(err)})
		return nil
	}
	s.send(answer)
	if p.Role == amqp.RoleSender {
		l.grant()
	}
	return nil
}

// amqpError renders an error of the broker for the client.
func amqpError(err error) *amqp.Error {
	var be *broker.Error
	if errors.As(err, &be) {
		return &amqp.Error{Condition: be.Condition, Description: be.Description}
	}
	var ae *amqp.Error
	if errors.As(err, &ae) {
		return ae
	}
	return &amqp.Error{Condition: "amqp:internal-error", Description: err.Error()}
}

func (s *session) flow(p *amqp.Flow) error {
	s.c.mu.Lock()
	next := uint32(0)
	if p.NextIncomingID != nil {
		next = *p.NextIncomingID
	}
	s.remoteWindow = amqp.Remaining(p.IncomingWindow, next, s.nextOutgoingID)
	for len(s.blocked) > 0 && s.remoteWindow > 0 {
		s.c.out = append(s.c.out, s.blocked[0].bytes...)
		s.blocked = s.blocked[1:]
		s.nextOutgoingID++
		s.remoteWindow--
	}
	s.c.signal()
	s.c.mu.Unlock()
	if p.Handle == nil {
		if p.Echo {
			s.send(s.state())
		}
		return nil
	}
	l := s.links[*p.Handle]
	if l == nil {
		return unattached(*p.Handle)
	}
	return l.flow(p)
}

// state is a flow that tells the session's windows.
func (s *session) state() *amqp.Flow {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.received = 0
	next := s.nextIncomingID
	return &amqp.Flow{NextIncomingID: &next, IncomingWindow: sessionWindow, NextOutgoingID: s.nextOutgoingID, OutgoingWindow: sessionWindow}
}

func (s *session) transfer(p *amqp.Transfer) error {
	s.nextIncomingID++
	if s.received++; s.received > sessionWindow {
		return &amqp.Error{Condition: "amqp:session:window-violation", Description: "more transfers than the window allows"}
	}
	if s.received >= sessionWindow/2 {
		s.send(s.state())
	}
	l := s.links[p.Handle]
	if l == nil {
		return unattached(p.Handle)
	}
	return l.transfer(p)
}

// disposition settles deliveries. The client is answered when it is on disk.
func (s *session) disposition(p *amqp.Disposition) error {
	if p.Role != amqp.RoleReceiver {
		return nil // confirms a settlement of this end's, which are all settled at once
	}
	if p.Last-p.First > 1<<16 {
		return &amqp.Error{Condition: "amqp:invalid-field", Description: "disposition of too many deliveries"}
	}
	if p.State == nil && !p.Settled {
		return nil
	}
	for id := p.First; ; id++ {
		s.c.mu.Lock()
		u, ok := s.unsettled[id]
		delete(s.unsettled, id)
		s.c.mu.Unlock()
		if ok {
			s.settle(id, u, p)
		}
		if id == p.Last {
			return nil
		}
	}
}

func (s *session) settle(id uint32, u unsettled, p *amqp.Disposition) {
	state := p.State
	d, set, err := outcome(state)
	if err == nil {
		err = u.queue.Settle(u.token, d, set)
	}
	if err != nil {
		s.settled(id, &amqp.State{Code: amqp.StateRejected, Error: amqpError(err)})
		return
	}
	s.c.server.broker.Committed(func(err error) {
		if err != nil {
			state = &amqp.State{Code: amqp.StateRejected, Error: amqpError(err)}
		} else if state != nil && state.Code == amqp.StateRejected {
			state = &amqp.State{Code: amqp.StateRejected} // without an error: it was done
		}
		s.settled(id, state)
	})
}

func (s *session) settled(id uint32, state *amqp.State) {
	s.send(&amqp.Disposition{Role: amqp.RoleSender, First: id, Last: id, Settled: true, State: state})
}

// outcome translates a delivery state into what the broker does.
func outcome(state *amqp.State) (broker.Disposition, map[string]any, error) {
	if state == nil {
		return broker.Release, nil, nil // settled without an outcome
	}
	switch state.Code {
	case amqp.StateAccepted:
		return broker.Complete, nil, nil
	case amqp.StateReleased:
		return broker.Release, nil, nil
	case amqp.StateModified:
		set, err := stringKeys(state.Annotations)
		if state.UndeliverableHere {
			return broker.Defer, set, err
		}
		return broker.Abandon, set, err
	default: // rejected
		if state.Error == nil {
			return broker.DeadLetter, nil, nil
		}
		set, err := stringKeys(state.Error.Info)
		if err == nil && state.Error.Condition != "com.microsoft:dead-letter" {
			set = map[string]any{"DeadLetterReason": state.Error.Condition, "DeadLetterErrorDescription": state.Error.Description}
		}
		return broker.DeadLetter, set, err
	}
}

func stringKeys(m map[any]any) (map[string]any, error) {
	if len(m) == 0 {
		return nil, nil
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		switch k := k.(type) {
		case string:
			out[k] = v
		case amqp.Symbol:
			out[string(k)] = v
		default:
			return nil, &amqp.Error{Condition: "amqp:invalid-field", Description: fmt.Sprintf("property with a key of type %T", k)}
		}
	}
	return out, nil
}

// nodePath is the path of the node that an address names. Clients write a path, a path
// with a leading slash, or a URL.
func nodePath(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		_, address, _ = strings.Cut(rest, "/")
	}
	return strings.Trim(address, "/")
}

// managed splits off what makes a path that of an entity's management node.
func managed(path string) (entity string, management bool) {
	const suffix = "/$management"
	if n := len(path) - len(suffix); n > 0 && strings.EqualFold(path[n:], suffix) {
		return path[:n], true
	}
	return path, false
}
