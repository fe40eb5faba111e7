package store

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Notifications are the named reads of notification rules and of their deliveries, which are all in
// one partition. Each is one query within it, which costs about 3 RU and 1 RU for every 20 documents
// that it returns. All fail with ErrUnavailable.
type Notifications interface {
	// NotificationRules returns all rules, in any order.
	NotificationRules(ctx context.Context) ([]Item[NotificationRule], error)

	// DueDeliveries returns the deliveries of all rules whose WakeAt is before a time, in any order.
	DueDeliveries(ctx context.Context, now time.Time) ([]Item[Delivery], error)

	// DeliveriesByKey returns those deliveries with the given keys that exist, in any order. It takes
	// one query for every 200 keys.
	DeliveriesByKey(ctx context.Context, keys []Key) ([]Item[Delivery], error)

	// Deliveries lists the deliveries of a rule, the newest first; it takes no other order. It also
	// fails with ErrContinuation.
	Deliveries(ctx context.Context, rule string, page Paging) (Page[Delivery], error)
}

// NotificationRule says which events are announced, and where. It never changes.
type NotificationRule struct {
	Name          string              `json:"name"`
	Events        []string            `json:"events"`
	Runbook       string              `json:"runbook,omitempty"`       // only events of this runbook
	Owner         string              `json:"owner,omitempty"`         // only events of batches with this owner
	FailedPercent int                 `json:"failedPercent,omitempty"` // of the members of a phase, from which failures are an event
	Target        NotificationTarget  `json:"target"`
	Quiet         *runbook.QuietHours `json:"quiet,omitempty"`  // no event is announced in them
	Urgent        []string            `json:"urgent,omitempty"` // events that are announced in quiet hours, too
	LinkURL       string              `json:"linkUrl,omitempty"`
	CreatedAt     time.Time           `json:"createdAt"`
	CreatedBy     string              `json:"createdBy"`
}

// NotificationTarget is where a rule announces events. It names settings of the handler, and has no
// address and no key.
type NotificationTarget struct {
	Type       string   `json:"type"`
	URLSetting string   `json:"urlSetting,omitempty"`
	KeySetting string   `json:"keySetting,omitempty"`
	WorkerID   string   `json:"workerId,omitempty"`
	To         []string `json:"to,omitempty"`
}

// DeliveryStatus is the status of a Delivery.
type DeliveryStatus string

// The statuses. Only a pending delivery is sent.
const (
	DeliveryPending DeliveryStatus = "pending"
	DeliverySent    DeliveryStatus = "sent"
	DeliveryFailed  DeliveryStatus = "failed"
	DeliveryDropped DeliveryStatus = "dropped" // the event ended before it was announced
)

// Delivery is the announcement of one event by one rule. Its creation precedes the sending, so
// that no two processes send it, and each attempt is stored before it is made.
type Delivery struct {
	Rule      string    `json:"rule"`
	Event     string    `json:"event"` // the kind of event
	Subject   string    `json:"subject"`
	Text      string    `json:"text"`
	Link      string    `json:"link,omitempty"`
	Batch     int       `json:"batchId,omitempty"`
	Runbook   string    `json:"runbookName,omitempty"`
	Phase     string    `json:"phaseName,omitempty"`
	Worker    string    `json:"workerId,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	Place     string    `json:"place"` // in the list: CreatedAt and the id, as text that sorts

	Status   DeliveryStatus `json:"status"`
	Attempts int            `json:"attempts"`
	// WakeAt is when the scheduler comes back to the delivery: to send it if it is pending, and to
	// delete it otherwise.
	WakeAt time.Time  `json:"wakeAt"`
	SentAt *time.Time `json:"sentAt,omitempty"`
	Error  string     `json:"error,omitempty"` // of the last attempt
}
