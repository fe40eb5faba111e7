package servicebus

import (
	"strings"

	"github.com/matoolkit/matoolkit/local/servicebus/amqp"
	"github.com/matoolkit/matoolkit/local/servicebus/broker"
)

// management finds what handles the requests to the $management node of an entity.
func (s *Server) management(path string) (func(request) (answer, error), error) {
	e, isEntity := s.broker.Entity(path)
	q, isQueue := s.broker.Queue(path)
	if !isEntity && !isQueue {
		return nil, notFound(path)
	}
	if isEntity {
		if err := usable(e); err != nil {
			return nil, err
		}
	}
	if isQueue {
		if err := usable(q); err != nil {
			return nil, err
		}
	}
	return func(r request) (answer, error) {
		operation, ok := strings.CutPrefix(r.operation, "com.microsoft:")
		body, isMap := r.body.(map[any]any)
		switch {
		case !ok:
			return answer{}, bad("operation %q is not supported", r.operation)
		case !isMap:
			return answer{}, bad("the body of a request is a map")
		}
		args := arguments(body)
		if args["session-id"] != nil {
			return answer{}, unsupported("sessions")
		}
		switch {
		case isEntity && operation == "schedule-message":
			return scheduleMessage(e, args)
		case isEntity && operation == "cancel-scheduled-message":
			return cancelScheduled(e, args)
		case isQueue && operation == "peek-message":
			return peekMessage(q, args)
		case isQueue && operation == "renew-lock":
			return renewLock(q, args)
		case isQueue && operation == "update-disposition":
			return updateDisposition(q, args)
		case isQueue && operation == "receive-by-sequence-number":
			return receiveBySequenceNumber(q, args)
		}
		switch operation {
		case "add-rule", "remove-rule", "enumerate-rules":
			return answer{}, unsupported("rule management (%s): put rules into the topology file", r.operation)
		case "get-message-sessions", "get-session-state", "set-session-state", "renew-session-lock":
			return answer{}, unsupported("sessions (%s)", r.operation)
		}
		return answer{}, unsupported("the operation %s of %s", r.operation, path)
	}, nil
}

func scheduleMessage(e *broker.Entity, args arguments) (answer, error) {
	list, ok := args["messages"].([]any)
	if !ok || len(list) == 0 {
		return answer{}, bad("messages is not a list of messages")
	}
	messages := make([]*broker.Message, len(list))
	for i, item := range list {
		entry, _ := item.(map[any]any)
		encoded, ok := entry["message"].([]byte)
		if !ok {
			return answer{}, bad("messages[%d].message is not a binary", i)
		}
		m, err := broker.Parse(encoded)
		if err != nil {
			return answer{}, bad("messages[%d]: %v", i, err)
		}
		if !m.Scheduled() {
			return answer{}, bad("messages[%d] has no scheduled enqueue time", i)
		}
		messages[i] = m
	}
	return answer{code: 200, text: "OK", body: map[string]any{"sequence-numbers": e.Schedule(messages)}}, nil
}

func cancelScheduled(e *broker.Entity, args arguments) (answer, error) {
	sequences, err := args.longs("sequence-numbers")
	if err == nil {
		err = e.Cancel(sequences)
	}
	return answer{code: 200, text: "OK"}, err
}

func peekMessage(q *broker.Queue, args arguments) (answer, error) {
	from, ok1 := args["from-sequence-number"].(int64)
	count, ok2 := args["message-count"].(int32)
	if !ok1 || !ok2 || count < 1 {
		return answer{}, bad("peek-message takes from-sequence-number (long) and message-count (int, positive)")
	}
	if args["omit-message-body"] == true {
		return answer{}, unsupported("peek without message bodies")
	}
	found := q.Peek(from, min(int(count), maxPeek))
	if len(found) == 0 {
		return answer{code: 204, text: "No messages"}, nil
	}
	messages := make([]any, len(found))
	for i, m := range found {
		messages[i] = map[string]any{"message": m}
	}
	return answer{code: 200, text: "OK", body: map[string]any{"messages": messages}}, nil
}

// maxPeek bounds how many messages one peek returns.
const maxPeek = 250

func renewLock(q *broker.Queue, args arguments) (answer, error) {
	tokens, err := args.tokens()
	if err != nil {
		return answer{}, err
	}
	until, err := q.Renew(tokens)
	return answer{code: 200, text: "OK", body: map[string]any{"expirations": until}}, err
}

func updateDisposition(q *broker.Queue, args arguments) (answer, error) {
	tokens, err := args.tokens()
	if err != nil {
		return answer{}, err
	}
	modify, _ := args["properties-to-modify"].(map[any]any)
	set, err := stringKeys(modify)
	if err != nil {
		return answer{}, bad("properties-to-modify: %v", err)
	}
	status, _ := args["disposition-status"].(string)
	disposition, ok := map[string]broker.Disposition{
		"completed": broker.Complete, "abandoned": broker.Abandon,
		"suspended": broker.DeadLetter, "defered": broker.Defer,
	}[status]
	if !ok {
		return answer{}, bad("disposition-status %q is not supported", status)
	}
	if disposition == broker.DeadLetter {
		if set == nil {
			set = map[string]any{}
		}
		for argument, property := range map[string]string{"deadletter-reason": "DeadLetterReason", "deadletter-description": "DeadLetterErrorDescription"} {
			if text, ok := args[argument].(string); ok {
				set[property] = text
			}
		}
	}
	for _, t := range tokens {
		if err := q.Settle(t, disposition, set); err != nil {
			return answer{}, err
		}
	}
	return answer{code: 200, text: "OK"}, nil
}

func receiveBySequenceNumber(q *broker.Queue, args arguments) (answer, error) {
	sequences, err := args.longs("sequence-numbers")
	if err != nil {
		return answer{}, err
	}
	mode, ok := args["receiver-settle-mode"].(uint32)
	if !ok || mode > 1 {
		return answer{}, bad("receiver-settle-mode is a uint, 0 or 1")
	}
	tokens, found, err := q.ReceiveDeferred(sequences, mode == 0)
	if err != nil {
		return answer{}, err
	}
	messages := make([]any, len(found))
	for i, m := range found {
		messages[i] = map[string]any{"message": m, "lock-token": tokens[i]}
	}
	return answer{code: 200, text: "OK", body: map[string]any{"messages": messages}}, nil
}

// arguments are the body of a management request.
type arguments map[any]any

// longs reads an array of longs.
func (a arguments) longs(name string) ([]int64, error) {
	list, ok := a[name].(amqp.Array)
	out := make([]int64, len(list))
	for i, v := range list {
		n, isLong := v.(int64)
		ok = ok && isLong
		out[i] = n
	}
	if !ok || len(list) == 0 {
		return nil, bad("%s is not an array of longs", name)
	}
	return out, nil
}

func (a arguments) tokens() ([]broker.Token, error) {
	list, ok := a["lock-tokens"].(amqp.Array)
	out := make([]broker.Token, len(list))
	for i, v := range list {
		t, isUUID := v.(amqp.UUID)
		ok = ok && isUUID
		out[i] = t
	}
	if !ok || len(list) == 0 {
		return nil, bad("lock-tokens is not an array of UUIDs")
	}
	return out, nil
}
