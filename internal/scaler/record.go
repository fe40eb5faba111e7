package scaler

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Record is the stored state of the scaler: the result of its latest tick, the attempts at messages, and the containers
// that were lost.
type Record struct {
	Tick     Tick      `json:"tick"`
	Attempts []Attempt `json:"attempts,omitempty"` // by group
	Losses   []Loss    `json:"losses,omitempty"`   // of the last days, by subscription and time
	// The tick that runs, and until when at most: two at once could together exceed the limit.
	Holder    string    `json:"holder,omitempty"`
	HeldUntil time.Time `json:"heldUntil,omitzero"`
}

// Tick is the result of a tick.
type Tick struct {
	At         time.Time       `json:"at"`
	Error      string          `json:"error,omitempty"` // why it created nothing, or stopped
	Created    int             `json:"created"`
	Deleted    int             `json:"deleted"`
	Active     int             `json:"active"`               // groups that were active when it began, and those that it created
	Verdicts   map[Verdict]int `json:"verdicts,omitempty"`   // messages by what came of them: as many have Create as groups were created
	Containers []Container     `json:"containers,omitempty"` // before the creations, at most MaxListed
	Skipped    []Skipped       `json:"skipped,omitempty"`    // messages of an Unusable verdict, at most MaxListed
	Failures   []Failure       `json:"failures,omitempty"`
	Blocked    []Blocked       `json:"blocked,omitempty"`
	Partial    []string        `json:"partial,omitempty"` // subscriptions with more messages than were read
}

// MaxListed bounds the lists of a Tick.
const MaxListed = 100

// Skipped is a message that gets no container until a person does something.
type Skipped struct {
	Subscription string    `json:"subscription"`
	MessageID    string    `json:"messageId"`
	Sequence     int64     `json:"sequence"`
	Deliveries   int       `json:"deliveries"`
	EnqueuedAt   time.Time `json:"enqueuedAt,omitzero"`
	Verdict      Verdict   `json:"verdict"`
}

// Failure is a creation or a deletion that failed.
type Failure struct {
	Group     string `json:"group"`
	MessageID string `json:"messageId,omitempty"` // of a creation
	Reason    string `json:"reason"`
}

// Blocked is a subscription from which no container can receive.
type Blocked struct {
	Subscription string `json:"subscription"`
	Reason       string `json:"reason"`
}

// MaxAttempts bounds the attempts that Observe keeps: the record is one document.
const MaxAttempts = 1000

// Attempt has the history of the containers of a message that still waits.
type Attempt struct {
	Group        string      `json:"group"`
	Subscription string      `json:"subscription"`
	MessageID    string      `json:"messageId"`
	Deliveries   int         `json:"deliveries"`      // of the message, when it was last seen
	Open         bool        `json:"open,omitempty"`  // a container was created whose end was not seen
	Ended        []time.Time `json:"ended,omitempty"` // when containers ended that may have received the message
	Lost         int         `json:"lost,omitempty"`  // containers in a row that ended without receiving it
	Detail       string      `json:"detail,omitempty"`
}

// Opened returns the attempts with those at messages for which containers were created in place of the plan's.
func (s *Settings) Opened(attempts []Attempt, created []Message) []Attempt {
	attempts = slices.Clone(attempts)
	for _, m := range created {
		name := s.NameFor(m.Subscription, m.ID)
		at, found := slices.BinarySearchFunc(attempts, name, func(a Attempt, name string) int { return strings.Compare(a.Group, name) })
		if !found {
			attempts = slices.Insert(attempts, at, Attempt{Group: name, Subscription: m.Subscription, MessageID: m.ID, Deliveries: m.Deliveries})
		}
		attempts[at].Open = true
	}
	return attempts
}

// Observe returns the attempts after a tick has read everything and before it creates what the plan says,
// and those of them whose number of lost containers has grown. A tick that could not read the messages
// has an empty waiting: then it only notes which containers have ended. Otherwise the attempts of subscriptions that
// are no longer listed go. It keeps MaxAttempts at most: first those with lost containers, then those whose messages
// were seen.
//
// A container that ends while it has locked its message leaves the delivery count as it is until the
// lock ends. So a container counts as lost only once that time has passed.
func (s *Settings) Observe(attempts []Attempt, inventory Inventory, waiting Waiting, p Plan, now time.Time) (kept, lost []Attempt) {
	subscriptions := map[string]Subscription{}
	for _, sub := range waiting.Subscriptions {
		subscriptions[sub.Name] = sub
	}
	messages := map[string]Message{}
	for _, m := range waiting.Messages {
		if m.ID != "" {
			messages[s.NameFor(m.Subscription, m.ID)] = m
		}
	}
	all := map[string]*Attempt{}
	for _, a := range attempts {
		a.Ended = slices.Clone(a.Ended)
		_, waits := messages[a.Group]
		sub, listed := subscriptions[a.Subscription]
		unread := len(subscriptions) == 0 || listed && (sub.Blocked != "" || sub.Partial)
		if waits || unread {
			all[a.Group] = &a
		}
	}
	attemptAt := func(m Message) *Attempt {
		name := s.NameFor(m.Subscription, m.ID)
		if all[name] == nil {
			all[name] = &Attempt{Group: name, Subscription: m.Subscription, MessageID: m.ID, Deliveries: m.Deliveries, Open: true}
		}
		return all[name]
	}
	for _, c := range inventory {
		if !c.Ended {
			continue
		}
		if m, waits := messages[c.Name]; waits {
			attemptAt(m)
		}
		if a := all[c.Name]; a != nil && a.Open {
			end := now
			if c.FinishedAt != nil {
				end = *c.FinishedAt
			}
			a.Open, a.Ended, a.Detail = false, append(a.Ended, end.UTC()), c.Detail
		}
	}
	for name, a := range all {
		m, waits := messages[name]
		switch {
		case !waits:
		case m.Deliveries != a.Deliveries:
			a.Deliveries, a.Ended, a.Lost, a.Detail = m.Deliveries, nil, 0, ""
		default:
			before := a.Lost
			a.Ended = slices.DeleteFunc(a.Ended, func(end time.Time) bool {
				over := now.Sub(end) >= subscriptions[a.Subscription].LockDuration
				if over {
					a.Lost++
				}
				return over
			})
			if a.Lost > before {
				lost = append(lost, *a)
			}
		}
	}
	for _, m := range p.Create {
		attemptAt(m).Open = true
	}
	for _, a := range all {
		kept = append(kept, *a)
	}
	byGroup := func(a, b Attempt) int { return strings.Compare(a.Group, b.Group) }
	if len(kept) > MaxAttempts {
		last := func(a Attempt) int {
			if _, waits := messages[a.Group]; waits {
				return 0
			}
			return 1
		}
		slices.SortFunc(kept, func(a, b Attempt) int {
			return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(last(a), last(b)), byGroup(a, b))
		})
		kept = kept[:MaxAttempts]
	}
	slices.SortFunc(kept, byGroup)
	slices.SortFunc(lost, byGroup)
	return kept, lost
}
