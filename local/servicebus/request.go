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

// answer is the response: an HTTP-like status and a body. A refusal has the condition
// that clients turn into their errors.
type answer struct {
	code      int32
	text      string
	condition string
	body      any
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

// replyLink finds the link that the client receives a node's answers on. The reply-to of
// a request is the link's target address or its name. Without a match, the answer goes to
// the only link from that node.
func (s *session) replyLink(node, replyTo string) *link {
	var links []*link
	for _, l := range s.links {
		if l.detached || !l.replies || l.node != node {
			continue
		}
		if replyTo != "" && (l.replyTo == replyTo || l.name == replyTo) {
			return l
		}
		links = append(links, l)
	}
	if len(links) == 1 {
		return links[0]
	}
	return nil
}

// answerFlow sets the credit for answers and returns count and credit afterwards.
func (l *link) answerFlow(count, credit uint32, drain bool) (uint32, uint32) {
	l.s.c.mu.Lock()
	defer l.s.c.mu.Unlock()
	l.credit = amqp.Remaining(credit, count, l.count)
	l.answer()
	if drain {
		l.count, l.credit = l.count+l.credit, 0
	}
	return l.count, l.credit
}

// answer sends answers as far as the credit goes; the connection's mu is held.
func (l *link) answer() {
	for len(l.answers) > 0 && l.credit > 0 && !l.s.c.ended {
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
	// Some clients read one spelling, some the other.
	properties := map[any]any{
		"status-code": a.code, "statusCode": a.code,
		"status-description": a.text, "statusDescription": a.text,
	}
	if a.condition != "" {
		properties["error-condition"], properties["errorCondition"] = amqp.Symbol(a.condition), amqp.Symbol(a.condition)
	}
	if b, err = amqp.AppendApplicationProperties(b, properties); err != nil {
		return nil, err
	}
	if a.body == nil && a.code == 200 {
		a.body = map[string]any{}
	}
	return amqp.AppendValue(b, a.body)
}

// requestError is a refusal of a request with its status and AMQP condition.
type requestError struct {
	code      int32
	condition string
	text      string
}

func (e *requestError) Error() string { return e.text }

func bad(format string, args ...any) error {
	return &requestError{400, "com.microsoft:argument-error", fmt.Sprintf(format, args...)}
}

// unsupported refuses an operation that Service Bus has and this server does not.
func unsupported(format string, args ...any) error {
	return &requestError{501, "amqp:not-implemented", "The local Service Bus does not support " + fmt.Sprintf(format, args...) + "."}
}

func failure(err error) answer {
	var re *requestError
	if errors.As(err, &re) {
		return answer{code: re.code, condition: re.condition, text: re.text}
	}
	var be *broker.Error
	if errors.As(err, &be) {
		code := int32(400)
		switch be.Condition {
		case broker.ErrLockLost.Condition:
			code = 410
		case "amqp:not-found", "com.microsoft:message-not-found":
			code = 404
		}
		return answer{code: code, condition: be.Condition, text: be.Description}
	}
	return answer{code: 500, condition: "amqp:internal-error", text: err.Error()}
}
