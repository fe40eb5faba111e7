// Package scaler decides which container groups of Azure Container Instances to create and to
// delete: one group for each message that waits in the subscriptions of a topic, sized by the
// size that the message names.
//
// It is pure. It knows neither Azure's clients nor the store: package aci reads the groups and
// the messages and carries a plan out, package scaling runs the ticks.
package scaler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// PerTick is how many groups one tick creates at most, and how many it deletes. The service
// permits 300 creations and 300 deletions an hour; a tick runs each minute.
const PerTick = 5

// Verdict says what a tick does about a message. Every message has exactly one.
type Verdict string

// The verdicts.
const (
	Create           Verdict = "create"                // a group is created for it
	CreateFailed     Verdict = "create_failed"         // its creation failed, also if it may exist: a later tick looks again. No plan has it
	NoCapacity       Verdict = "waiting_for_capacity"  // ACI_MAX_INSTANCES groups are active, or will be
	NextTick         Verdict = "waiting_for_next_tick" // this tick creates PerTick other groups, or can create no more
	HasContainer     Verdict = "has_container"         // an active group has its id
	ContainerEnded   Verdict = "container_ended"       // a group with its id has ended; after its deletion, the message gets another
	Duplicate        Verdict = "duplicate"             // another message of this tick has its id
	DeliveryLimit    Verdict = "delivery_limit"        // it was delivered as often as its subscription permits
	MessageIDMissing Verdict = "message_id_missing"
	BodyNotJSON      Verdict = "body_not_json" // the body is not a JSON object
	SizeMissing      Verdict = "size_missing"  // the body has no file_size_mb
	SizeInvalid      Verdict = "size_invalid"  // file_size_mb is not a number, or not one of 0 to MaxSizeMB
)

// Verdicts has all verdicts.
var Verdicts = []Verdict{
	Create, CreateFailed, NoCapacity, NextTick, HasContainer, ContainerEnded, Duplicate, DeliveryLimit,
	MessageIDMissing, BodyNotJSON, SizeMissing, SizeInvalid,
}

// Unusable are the verdicts on messages that get no group at any capacity, until a
// person does something.
var Unusable = []Verdict{DeliveryLimit, MessageIDMissing, BodyNotJSON, SizeMissing, SizeInvalid}

// Inventory has the groups that carry the scaler's tag, each once.
type Inventory []Container

// Container is a container group that exists.
type Container struct {
	Name         string     `json:"name"`
	MessageID    string     `json:"messageId"`
	Subscription string     `json:"subscription,omitempty"`
	SizeMB       string     `json:"sizeMb,omitempty"`
	Ended        bool       `json:"ended"`
	State        string     `json:"state"` // the state of its containers, or that of the provisioning if there is none yet
	ExitCode     *int       `json:"exitCode,omitempty"`
	StartedAt    *time.Time `json:"startedAt,omitempty"`
	FinishedAt   *time.Time `json:"finishedAt,omitempty"`
	Detail       string     `json:"detail,omitempty"` // why it failed, in the words of the service
}

// active counts the groups that have not ended.
func (inv Inventory) active() (n int) {
	for _, c := range inv {
		if !c.Ended {
			n++
		}
	}
	return n
}

// HasEnded reports whether a group of these states has run for the last time. A group that was
// provisioned has provisioningState Succeeded while its container runs. A group whose provisioning
// failed can still start later: it counts as ended, for its deletion, unless it runs now.
func HasEnded(provisioningState, instanceState string) bool {
	switch instanceState {
	case "Succeeded", "Failed", "Stopped":
		return true
	case "Running":
		return false
	}
	return provisioningState == "Failed"
}

// Waiting has what the subscriptions of the topic contain.
type Waiting struct {
	Subscriptions []Subscription
	Messages      []Message
}

// Subscription is a subscription of the topic.
type Subscription struct {
	Name          string
	MaxDeliveries int
	LockDuration  time.Duration
	Blocked       string // why no container can receive from it, such as that it requires sessions; empty if one can
	Partial       bool   // it contains more messages than were read
}

// Message is a message that waits in a subscription, or that a container has locked: a peek shows no
// locks.
type Message struct {
	Subscription string
	ID           string
	Sequence     int64
	Deliveries   int // how often it was delivered before: 0 for a message that no one has received
	EnqueuedAt   time.Time
	Size         Size
}

// Decision is a message with its verdict.
type Decision struct {
	Message
	Verdict Verdict
}

// Plan has the decisions of a tick.
type Plan struct {
	Decisions []Decision // on every message, by subscription, then in the order of the messages
	Create    []Message  // in this order
	Next      []Message  // to create in place of those that are refused, in this order
	Delete    []string   // names of groups, after the creations
	Active    int        // groups that count towards the limit, before the creations
}

// Limits bound a plan.
type Limits struct {
	MaxInstances int // active groups at once
	PerTick      int // creations of one tick, and deletions
}

// NewPlan decides about every message and every group. It depends on the order of neither. Messages of
// subscriptions that are not listed, or blocked, do not occur in waiting.
//
// It goes over the subscriptions by name, twice: first for at most one message of each, then for the
// others in order, until the limits are reached.
func NewPlan(inventory Inventory, waiting Waiting, limits Limits) Plan {
	p := Plan{Active: inventory.active(), Delete: endedGroups(inventory, limits.PerTick)}
	known := map[string]Verdict{} // by message id
	for _, c := range inventory {
		if c.Ended && known[c.MessageID] == "" {
			known[c.MessageID] = ContainerEnded
		} else if !c.Ended {
			known[c.MessageID] = HasContainer
		}
	}
	maxDeliveries := map[string]int{}
	for _, s := range waiting.Subscriptions {
		maxDeliveries[s.Name] = s.MaxDeliveries
	}
	for _, m := range waiting.Messages {
		p.Decisions = append(p.Decisions, Decision{Message: m, Verdict: excluded(m, known, maxDeliveries[m.Subscription])})
	}
	slices.SortFunc(p.Decisions, func(a, b Decision) int { return compare(a.Message, b.Message) })

	capacity := max(limits.MaxInstances-p.Active, 0)
	seen := map[string]bool{}
	served := map[string]bool{}
	for _, first := range []bool{true, false} {
		for i := range p.Decisions {
			d := &p.Decisions[i]
			if d.Verdict != "" || first && served[d.Subscription] {
				continue
			}
			d.Verdict = Create
			switch {
			case seen[d.ID]:
				d.Verdict = Duplicate
				continue
			case len(p.Create) >= capacity:
				d.Verdict, p.Next = NoCapacity, append(p.Next, d.Message)
			case len(p.Create) >= limits.PerTick:
				d.Verdict, p.Next = NextTick, append(p.Next, d.Message)
			default:
				p.Create = append(p.Create, d.Message)
			}
			seen[d.ID], served[d.Subscription] = true, true
		}
	}
	return p
}

// excluded returns the verdict on a message for which no group may be created, empty for others.
func excluded(m Message, known map[string]Verdict, maxDeliveries int) Verdict {
	switch {
	case m.ID == "":
		return MessageIDMissing
	case known[m.ID] != "":
		return known[m.ID]
	case m.Size.Problem != "":
		return m.Size.Problem
	case m.Deliveries >= maxDeliveries:
		return DeliveryLimit
	}
	return ""
}

// compare orders messages by subscription and place. The id decides between messages that a broker
// gives the same place.
func compare(a, b Message) int {
	return cmp.Or(strings.Compare(a.Subscription, b.Subscription), cmp.Compare(a.Sequence, b.Sequence), strings.Compare(a.ID, b.ID))
}

// endedGroups returns the names of the first ended groups.
func endedGroups(inventory Inventory, limit int) []string {
	var names []string
	for _, c := range inventory {
		if c.Ended {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), limit)]
}

// Count counts the decisions by verdict.
func (p *Plan) Count() map[Verdict]int {
	n := map[Verdict]int{}
	for _, d := range p.Decisions {
		n[d.Verdict]++
	}
	return n
}

// CountCarriedOut counts the decisions by verdict after the creations. Tried has the messages whose groups were
// requested, those of Next among them, by id with the result. The others wait.
func (p *Plan) CountCarriedOut(tried map[string]Verdict) map[Verdict]int {
	n := map[Verdict]int{}
	for _, d := range p.Decisions {
		verdict, requested := tried[d.ID]
		switch {
		case !slices.Contains([]Verdict{Create, NoCapacity, NextTick}, d.Verdict): // a duplicate has the same id
			n[d.Verdict]++
		case requested:
			n[verdict]++
		case d.Verdict == Create:
			n[NextTick]++
		default:
			n[d.Verdict]++
		}
	}
	return n
}

// Errors of a creation. After each of them there is no new group.
var (
	// ErrRefused is the error of a creation that the service refuses.
	ErrRefused = errors.New("the container group is refused")
	// ErrNoCapacity is an ErrRefused because the region has no room for a group of this memory: none with more
	// can be created now, but perhaps one with less.
	ErrNoCapacity = fmt.Errorf("no capacity for this size: %w", ErrRefused)
	// ErrExhausted is the error of a creation after which no other can succeed for now: a quota is used up, or
	// Azure throttles the requests.
	ErrExhausted = errors.New("no more container groups can be created now")
)
