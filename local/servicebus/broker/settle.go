package broker

import (
	"cmp"
	"slices"
	"time"
)

// Disposition is how a receiver settles a message.
type Disposition int

// The dispositions. Release gives a message back without counting the delivery.
const (
	Complete Disposition = iota
	Abandon
	Defer
	DeadLetter
	Release
)

// Settle ends the lock of a message. set are application properties to change.
func (q *Queue) Settle(token Token, d Disposition, set map[string]any) error {
	now := q.e.b.now()
	q.e.mu.Lock()
	defer q.e.mu.Unlock()
	en, err := q.holding(token)
	if err != nil {
		return err
	}
	if d == DeadLetter && q.dead == nil {
		return refuse("amqp:not-allowed", "a message of a dead-letter queue cannot be dead-lettered")
	}
	if len(set) > 0 && d != Complete && d != DeadLetter {
		section, err := withProperties(en.application(), set)
		if err != nil {
			return refuse("amqp:invalid-field", "properties to modify: %v", err)
		}
		en.properties = section
	}
	switch d {
	case Complete:
		q.drop(en)
		q.stats.Completed++
	case Abandon:
		q.stats.Abandoned++
		q.failed(en, now)
	case Release:
		q.unlock(en)
		q.changed(en)
	case Defer:
		en.wasDeferred = true
		q.unlock(en)
		q.changed(en)
	case DeadLetter:
		q.deadLetter(en, set, now)
	}
	q.pump(now)
	return nil
}

// holding finds the entry that a token locks. A lock whose time is up is lost even
// when no tick came by yet.
func (q *Queue) holding(token Token) (*entry, error) {
	en := q.tokens[token]
	if en == nil {
		return nil, ErrLockLost
	}
	if en.lockedUntil <= q.e.b.locks().UnixMilli() {
		now := q.e.b.now()
		q.failed(en, now)
		q.pump(now)
		return nil, ErrLockLost
	}
	return en, nil
}

// Renew prolongs locks by the lock duration and returns when they end now.
func (q *Queue) Renew(tokens []Token) ([]time.Time, error) {
	q.e.mu.Lock()
	defer q.e.mu.Unlock()
	entries := make([]*entry, len(tokens))
	for i, t := range tokens {
		en, err := q.holding(t)
		if err != nil {
			return nil, err
		}
		entries[i] = en
	}
	until := make([]time.Time, len(tokens))
	for i, en := range entries {
		until[i] = q.e.b.locks().Add(q.options.LockDuration)
		q.hold(en, until[i])
	}
	q.stats.Renewed += int64(len(entries))
	return until, nil
}

// Peek encodes up to n messages from a sequence number on, in any state. The scheduled
// messages of a queue are among them; those of a topic are in no subscription yet.
func (q *Queue) Peek(from int64, n int) [][]byte {
	q.e.mu.Lock()
	defer q.e.mu.Unlock()
	q.stats.Peeked++
	var found []*entry
	for en := q.head; en != nil && len(found) < n; en = en.next {
		if en.seq >= from {
			found = append(found, en)
		}
	}
	if q == q.e.queue {
		for seq, en := range q.e.scheduled {
			if seq >= from {
				found = append(found, en)
			}
		}
		slices.SortFunc(found, func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) })
	}
	out := make([][]byte, min(n, len(found)))
	for i := range out {
		out[i] = found[i].append(nil, nil)
	}
	return out
}

// ReceiveDeferred takes deferred messages by their sequence numbers: all or none.
// With deletes they are settled at once, else locked.
func (q *Queue) ReceiveDeferred(sequences []int64, deletes bool) ([]Token, [][]byte, error) {
	now := q.e.b.now()
	q.e.mu.Lock()
	defer q.e.mu.Unlock()
	entries := make([]*entry, len(sequences))
	for i, s := range sequences {
		en := q.deferred[s]
		if en != nil && en.expiresAt != 0 && en.expiresAt <= now.UnixMilli() {
			q.expire(en, now)
			en = nil
		}
		if en == nil {
			return nil, nil, refuse("com.microsoft:message-not-found", "there is no deferred message with sequence number %d", s)
		}
		if slices.Contains(entries, en) {
			return nil, nil, refuse("amqp:invalid-field", "sequence number %d is given twice", s)
		}
		entries[i] = en
	}
	tokens, out := make([]Token, len(entries)), make([][]byte, len(entries))
	for i, en := range entries {
		q.stats.Delivered++
		if deletes {
			q.drop(en)
			q.stats.Completed++
		} else {
			q.lock(en)
		}
		if tokens[i] = en.token; deletes {
			out[i] = en.append(nil, nil)
		} else {
			out[i] = en.append(nil, &en.token)
		}
	}
	return tokens, out, nil
}
