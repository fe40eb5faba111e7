package servicebus

import (
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/local/servicebus/amqp"
	"github.com/matoolkit/matoolkit/local/servicebus/broker"
)

// request is a message to $cbs or to a $management node.
type request struct {
	operation  string
	properties map[any]any
	body       any
}

// answer is the response: an HTTP-like status and a body.
type answer struct {
	code int32
	text string
	body any
}

// request handles a request and sends the answer when its effects are on disk.
func (l *link) request(encoded []byte) error {
	l.outcome(l.deliveryID, l.settled, &amqp.State{Code: amqp.StateAccepted})
	s, err := amqp.Split(encoded)
	if err != nil {
		return &amqp.Error{Condition: "amqp:decode-error", Description: err.Error()}
	}
	p, err := amqp.ParseProperties(s.Properties)
	if err != nil {
		return &amqp.Error{Condition: "amqp:decode-error", Description: err.Error()}
	}
	to := l.s.replyLink(l.node, p.ReplyTo())
	if to == nil {
		return &amqp.Error{Condition: "amqp:not-found", Description: fmt.Sprintf("no link receives the answers for %q", p.ReplyTo())}
	}
	a, err := l.perform(s)
	if err != nil {
		a = failure(err)
	}
	reply, err := encodeAnswer(p.RawMessageID(), a)
	if err != nil {
		return err
	}
	l.s.c.server.broker.Committed(func(err error) {
		if err != nil {
			reply, _ = encodeAnswer(p.RawMessageID(), failure(err))
		}
		l.s.c.mu.Lock()
		defer l.s.c.mu.Unlock()
		to.answers = append(to.answers, reply)
		to.answer()
	})
	return nil
}

func (l *link) perform(s amqp.Sections) (answer, error) {
	application, err := amqp.ParseMap(s.ApplicationProperties)
	if err != nil {
		return answer{}, bad("application properties: %v", err)
	}
	body, err := amqp.BodyValue(s.Body)
	if err != nil {
		return answer{}, bad("%v", err)
	}
	operation, _ := application["operation"].(string)
	return l.requests(request{operation, application, body})
}

// replyLink finds the link that the client receives a node's answers on.
func (s *session) replyLink(node, replyTo string) *link {
	for _, l := range s.links {
		if !l.detached && l.replyTo != "" && l.replyTo == replyTo && l.node == node {
			return l
		}
	}
	return nil
}

// answerFlow sets the credit for answers and returns count and credit afterwards.
func (l *link) answerFlow(count, credit uint32, drain bool) (uint32, uint32) {
	l.s.c.mu.Lock()
	defer l.s.c.mu.Unlock()
	l.credit = count + credit - l.count
	l.answer()
	if drain {
		l.count, l.credit = l.count+l.credit, 0
	}
	return l.count, l.credit
}

// answer sends answers as far as the credit goes; the connection's mu is held.
func (l *link) answer() {
	for len(l.answers) > 0 && int32(l.credit) > 0 && !l.s.c.ended {
		l.s.deliver(l.handle, []byte{byte(l.count >> 24), byte(l.count >> 16), byte(l.count >> 8), byte(l.count)}, l.answers[0], true)
		l.answers = l.answers[1:]
		l.credit--
		l.count++
	}
}

func encodeAnswer(correlationID any, a answer) ([]byte, error) {
	b, err := amqp.NewReplyProperties(correlationID).Append(nil)
	if err != nil {
		return nil, err
	}
	if b, err = amqp.AppendApplicationProperties(b, map[any]any{"status-code": a.code, "status-description": a.text}); err != nil {
		return nil, err
	}
	if a.body == nil {
		a.body = map[string]any{}
	}
	return amqp.AppendValue(b, a.body)
}

// requestError is a refusal of a request with its status.
type requestError struct {
	code int32
	text string
}

func (e *requestError) Error() string { return e.text }

func bad(format string, args ...any) error { return &requestError{400, fmt.Sprintf(format, args...)} }

func failure(err error) answer {
	var re *requestError
	if errors.As(err, &re) {
		return answer{code: re.code, text: re.text}
	}
	var be *broker.Error
	if errors.As(err, &be) {
		switch be.Condition {
		case broker.ErrLockLost.Condition:
			return answer{code: 410, text: be.Description}
		case "amqp:not-found", "com.microsoft:message-not-found":
			return answer{code: 404, text: be.Description}
		default:
			return answer{code: 400, text: be.Description}
		}
	}
	return answer{code: 500, text: err.Error()}
}
