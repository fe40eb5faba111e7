package servicebus

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/local/servicebus/amqp"
	"github.com/matoolkit/matoolkit/local/servicebus/broker"
)

// link is one end of an AMQP link. One of its fields names the other side: entity
// (the client sends), receiver (the client receives), requests (the client sends
// requests) or address (the client receives their answers).
type link struct {
	s         *session
	name      string
	handle    uint32
	rcvSecond bool
	detached  bool // refused; wait for the client's detach

	entity   *broker.Entity
	requests func(request) (answer, error)
	node     string // path of the node that requests go to or answers come from, in lower case

	queue    *broker.Queue
	receiver *broker.Receiver

	replies bool   // the client receives answers
	replyTo string // the target address of answers, which may be empty
	// Guarded by the connection's mu.
	answers [][]byte
	credit  uint32
	count   uint32 // deliveries sent by this end of an answering link

	partial    []byte // of a message that comes in several transfers
	deliveryID uint32
	format     uint32
	inDelivery bool
	settled    bool
	tooLarge   bool   // the rest of the delivery is dropped
	taken      uint32 // deliveries since credit was last granted
	received   uint32 // deliveries in all
}

// resolve connects the link to the node that the client names.
func (l *link) resolve(p *amqp.Attach) error {
	raw := p.Source
	if p.Role == amqp.RoleSender {
		raw = p.Target
	}
	if len(raw) == 0 {
		return &amqp.Error{Condition: "amqp:invalid-field", Description: "the link names no node"}
	}
	t, err := amqp.ParseTerminus(raw)
	if err != nil {
		return &amqp.Error{Condition: "amqp:not-implemented", Description: err.Error()}
	}
	if err := supported(t); err != nil {
		return err
	}
	address := nodePath(t.Address)
	l.node = strings.ToLower(address)
	path, management := managed(address)
	if l.node == cbsNode {
		l.requests = l.s.c.putToken
	} else if err := l.authorize(address); err != nil {
		return err
	} else if management {
		if l.requests, err = l.s.c.server.management(path); err != nil {
			return err
		}
	}
	switch {
	case l.requests != nil && p.Role == amqp.RoleReceiver:
		l.requests, l.replies = nil, true
		if len(p.Target) == 0 {
			return nil
		}
		target, err := amqp.ParseTerminus(p.Target)
		l.replyTo = target.Address
		return err
	case l.requests != nil:
		return nil
	case p.Role == amqp.RoleSender:
		var ok bool
		if l.entity, ok = l.s.c.server.broker.Entity(path); !ok {
			return notFound(path)
		}
		return usable(l.entity)
	default:
		return l.receive(path, p.SndSettleMode == amqp.SenderSettled)
	}
}

// supported refuses what no node here offers.
func supported(t amqp.Terminus) error {
	refuse := func(format string, args ...any) error {
		return &amqp.Error{Condition: "amqp:not-implemented", Description: "The local Service Bus does not support " + fmt.Sprintf(format, args...) + "."}
	}
	if t.Coordinator {
		return refuse("transactions")
	}
	if t.Dynamic {
		return refuse("dynamic nodes")
	}
	for name := range t.Filter {
		if name == amqp.Symbol("com.microsoft:session-filter") {
			return refuse("sessions")
		}
		return refuse("the link filter %v", name)
	}
	return nil
}

func (l *link) receive(path string, deletes bool) error {
	var ok bool
	if l.queue, ok = l.s.c.server.broker.Queue(path); !ok {
		return notFound(path)
	}
	if err := usable(l.queue); err != nil {
		return err
	}
	l.receiver = l.queue.Receive(l, deletes)
	return nil
}

// usable refuses an entity that needs what this server does not do.
func usable(e interface {
	Path() string
	Unsupported() string
},
) error {
	if what := e.Unsupported(); what != "" {
		return &amqp.Error{Condition: "amqp:not-implemented", Description: fmt.Sprintf("The local Service Bus does not support %s, which the topology sets for %q.", what, e.Path())}
	}
	return nil
}

func (l *link) authorize(path string) error {
	if !l.s.c.claims.cover(path) {
		return &amqp.Error{Condition: "amqp:unauthorized-access", Description: fmt.Sprintf("Unauthorized access. There is no valid token for %q on this connection.", path)}
	}
	return nil
}

func notFound(path string) error {
	return &amqp.Error{Condition: "amqp:not-found", Description: fmt.Sprintf("The messaging entity %q could not be found.", path)}
}

func (l *link) close() {
	if l.receiver != nil {
		l.receiver.Close()
	}
}

// grant gives a sending client its credit anew.
func (l *link) grant() {
	l.taken = 0
	f := l.s.state()
	credit, count := uint32(senderCredit), l.received
	f.Handle, f.DeliveryCount, f.LinkCredit = &l.handle, &count, &credit
	l.s.send(f)
}

func (l *link) flow(p *amqp.Flow) error {
	if l.detached {
		return nil
	}
	credit, count := uint32(0), uint32(0)
	if p.LinkCredit != nil {
		credit = *p.LinkCredit
	}
	if p.DeliveryCount != nil {
		count = *p.DeliveryCount
	}
	switch {
	case l.receiver != nil:
		count, credit = l.receiver.Flow(count, credit, p.Drain)
	case l.replies:
		count, credit = l.answerFlow(count, credit, p.Drain)
	default:
		if p.Echo {
			l.grant()
		}
		return nil
	}
	if p.Drain || p.Echo {
		f := l.s.state()
		f.Handle, f.DeliveryCount, f.LinkCredit, f.Drain = &l.handle, &count, &credit, p.Drain
		l.s.send(f)
	}
	return nil
}

// Deliver sends a message to the client. The broker calls it.
func (l *link) Deliver(d broker.Delivery) {
	tag := dotnetOrder(d.Token)
	c := l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return // the lock will expire
	}
	c.scratch = d.Append(c.scratch[:0])
	id := l.s.deliver(l.handle, tag[:], c.scratch, d.Settled)
	if !d.Settled {
		l.s.unsettled[id] = unsettled{l.queue, d.Token}
	}
}

// deliver writes a message as one transfer or more; c.mu is held.
func (s *session) deliver(handle uint32, tag, message []byte, settled bool) uint32 {
	const overhead = 96 // more than the frame and performative take
	room := int(s.c.peerMax) - overhead
	id, format := s.nextDeliveryID, uint32(0)
	s.nextDeliveryID++
	t := amqp.Transfer{Handle: handle, DeliveryID: &id, DeliveryTag: tag, MessageFormat: &format, Settled: settled}
	for {
		part := message[:min(room, len(message))]
		message = message[len(part):]
		t.More = len(message) > 0
		if s.remoteWindow > 0 && len(s.blocked) == 0 {
			s.c.out = amqp.AppendFrame(s.c.out, amqp.TypeAMQP, s.channel, &t, part)
			s.nextOutgoingID++
			s.remoteWindow--
		} else {
			s.blocked = append(s.blocked, blockedFrame{amqp.AppendFrame(nil, amqp.TypeAMQP, s.channel, &t, part)})
		}
		if !t.More {
			break
		}
		t.DeliveryID, t.DeliveryTag, t.MessageFormat = nil, nil, nil
	}
	s.c.signal()
	return id
}

// transfer takes a message or a part of it from the client.
func (l *link) transfer(p *amqp.Transfer) error {
	if l.detached {
		return nil
	}
	if l.entity == nil && l.requests == nil {
		return &amqp.Error{Condition: "amqp:not-allowed", Description: "transfer on a link that receives"}
	}
	if !l.inDelivery {
		if p.DeliveryID == nil {
			return &amqp.Error{Condition: "amqp:invalid-field", Description: "transfer without a delivery-id"}
		}
		l.inDelivery, l.deliveryID, l.format, l.settled = true, *p.DeliveryID, 0, false
		if p.MessageFormat != nil {
			l.format = *p.MessageFormat
		}
	} else if p.DeliveryID != nil && *p.DeliveryID != l.deliveryID {
		return &amqp.Error{Condition: "amqp:not-allowed", Description: "transfer of another delivery before the last one ended"}
	}
	l.settled = l.settled || p.Settled
	if p.Aborted {
		l.partial, l.inDelivery, l.tooLarge = nil, false, false
		return nil
	}
	if l.tooLarge = l.tooLarge || len(l.partial)+len(p.Payload) > broker.Limit; l.tooLarge {
		l.partial = nil
	} else {
		l.partial = append(l.partial, p.Payload...)
	}
	if p.More {
		return nil
	}
	if l.tooLarge {
		l.refuseSize()
		return nil
	}
	message := l.partial
	l.partial, l.inDelivery = nil, false
	l.received++
	if l.taken++; l.taken >= senderCredit/2 {
		l.grant()
	}
	if l.requests != nil {
		return l.request(message)
	}
	l.accept(message)
	return nil
}

// refuseSize rejects a message that is too large and ends the link, as Service Bus does.
// Some clients report the one, some the other.
func (l *link) refuseSize() {
	e := &amqp.Error{Condition: "amqp:link:message-size-exceeded", Description: fmt.Sprintf("The message is larger than %d bytes, which is the limit of the link.", broker.Limit)}
	l.outcome(l.deliveryID, l.settled, &amqp.State{Code: amqp.StateRejected, Error: e})
	l.detached = true
	l.close()
	l.s.send(&amqp.Detach{Handle: l.handle, Closed: true, Error: e})
}

// accept sends the message to the entity and tells the client when it is on disk.
func (l *link) accept(encoded []byte) {
	messages, err := parseMessages(encoded, l.format)
	if err != nil {
		l.outcome(l.deliveryID, l.settled, &amqp.State{Code: amqp.StateRejected, Error: &amqp.Error{Condition: "amqp:decode-error", Description: err.Error()}})
		return
	}
	l.entity.Send(messages)
	id, settled := l.deliveryID, l.settled
	l.s.c.server.broker.Committed(func(err error) {
		if err != nil {
			l.outcome(id, settled, &amqp.State{Code: amqp.StateRejected, Error: amqpError(err)})
			return
		}
		l.outcome(id, settled, &amqp.State{Code: amqp.StateAccepted})
	})
}

func (l *link) outcome(id uint32, settled bool, state *amqp.State) {
	if !settled {
		l.s.send(&amqp.Disposition{Role: amqp.RoleReceiver, First: id, Last: id, Settled: true, State: state})
	}
}

// batchFormat is the message format of Service Bus batches: each data section is
// an encoded message.
const batchFormat = 0x80013700

func parseMessages(encoded []byte, format uint32) ([]*broker.Message, error) {
	switch format {
	case 0:
		m, err := broker.Parse(encoded)
		return []*broker.Message{m}, err
	case batchFormat:
		s, err := amqp.Split(encoded)
		if err != nil {
			return nil, err
		}
		parts, err := amqp.Data(s.Body)
		if err != nil {
			return nil, err
		}
		out := make([]*broker.Message, len(parts))
		for i, part := range parts {
			if out[i], err = broker.Parse(part); err != nil {
				return nil, fmt.Errorf("message %d of the batch: %w", i, err)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("message format %#x is not supported", format)
}

// dotnetOrder is a token as a delivery tag shows it: as .NET lays out a GUID.
func dotnetOrder(t broker.Token) [16]byte {
	out := [16]byte(t)
	binary.LittleEndian.PutUint32(out[0:], binary.BigEndian.Uint32(t[0:]))
	binary.LittleEndian.PutUint16(out[4:], binary.BigEndian.Uint16(t[4:]))
	binary.LittleEndian.PutUint16(out[6:], binary.BigEndian.Uint16(t[6:]))
	return out
}
