// Package topology reads which queues, topics, subscriptions and rules a namespace
// has, from the Config.json of the official Service Bus emulator.
//
// It takes every file that the emulator takes. What the file says and this module cannot
// do is a warning that names the place, never a silent difference: the entity is there and
// is marked as unsupported. The package must not know how entities work.
package topology

import (
	"time"

	"github.com/matoolkit/matoolkit/local/servicebus/filter"
)

// Topology is the content of one namespace.
type Topology struct {
	Queues []Queue
	Topics []Topic
	// Warnings name what the file says without effect, or what makes an entity unsupported.
	Warnings []string
}

// Delivery holds the settings that a queue and a subscription share.
type Delivery struct {
	LockDuration           time.Duration
	MaxDeliveryCount       uint32
	TimeToLive             time.Duration // 0 for no limit
	DeadLetterOnExpiration bool
	// Unsupported names what the entity needs and this module does not do, such as
	// sessions. Empty means that the entity can be used.
	Unsupported string
}

// Queue is a queue.
type Queue struct {
	Name            string
	DuplicateWindow time.Duration // 0 for no duplicate detection
	Delivery
}

// Topic is a topic with its subscriptions.
type Topic struct {
	Name            string
	DuplicateWindow time.Duration // 0 for no duplicate detection
	TimeToLive      time.Duration // 0 for no limit
	Subscriptions   []Subscription
}

// Subscription is a subscription. A message is taken once when any rule without an action
// matches it.
type Subscription struct {
	Name  string
	Rules []Rule
	Delivery
}

// Rule is a named filter. A message that matches a rule with an action is taken once more,
// changed by the action.
type Rule struct {
	Name   string
	Filter filter.Filter
	Action *filter.Action // nil for none
}

// Defaults of Service Bus.
const (
	defaultLockDuration     = time.Minute
	defaultMaxDeliveryCount = 10
	defaultDuplicateWindow  = 10 * time.Minute
)
