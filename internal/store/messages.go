package store

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Messages are the named reads of unprocessable messages, which are all in one partition.
type Messages interface {
	// UnprocessableMessages lists unprocessable messages, those kept last first unless Sort asks
	// for another order: FieldPlace, FieldTopic or FieldMessageType. It is one query within the
	// partition, which costs about 3 RU and more with the bodies: 1 RU for each KB that it
	// returns. It fails with ErrUnavailable and ErrContinuation.
	UnprocessableMessages(ctx context.Context, filter MessageFilter, page Paging) (Page[Unprocessable], error)
}

// MessageFilter narrows a list of unprocessable messages. An empty field takes all.
type MessageFilter struct {
	Statuses []UnprocessableStatus // in one of them
	Topic    string
}

// UnprocessableStatus is the status of an unprocessable message.
type UnprocessableStatus string

// The statuses. A replayed message that cannot be processed either is open again.
const (
	UnprocessableOpen      UnprocessableStatus = "open"
	UnprocessableReplayed  UnprocessableStatus = "replayed"
	UnprocessableDiscarded UnprocessableStatus = "discarded"
)

// Unprocessable is a message that could not be processed: one document for the message and all
// of its replays.
type Unprocessable struct {
	Topic         string              `json:"topic"`
	MessageID     string              `json:"messageId"`
	Type          string              `json:"messageType"`      // also where it is empty: a list that is sorted by it has only messages with the field
	Body          []byte              `json:"body"`             // only the beginning of a long body
	Sealed        bool                `json:"sealed,omitempty"` // the body is encrypted, for it may hold secrets
	Size          int                 `json:"size"`             // of the body as it came, in bytes
	Properties    map[string]any      `json:"properties,omitempty"`
	Status        UnprocessableStatus `json:"status"`
	Reason        string              `json:"reason"`    // the last one
	Count         int                 `json:"count"`     // how often it could not be processed
	Replays       int                 `json:"replays"`   // how often it was sent again
	Requested     int                 `json:"requested"` // the replay that Handled asked for and that may not have been sent yet; 0 for none
	Failed        int                 `json:"failed"`    // the last replay that could not be processed; 0 is the message itself
	Handled       *model.Attribution  `json:"handled,omitempty"`
	HandledKey    string              `json:"handledKey,omitempty"` // a digest of the idempotency key of the request in Handled; empty for none
	EnqueuedAt    time.Time           `json:"enqueuedAt"`
	FirstStoredAt time.Time           `json:"firstStoredAt"`
	StoredAt      time.Time           `json:"storedAt"`
	DeliveryCount int                 `json:"deliveryCount"`
	Place         string              `json:"place"`                // in the list: StoredAt and the id, as text that sorts
	DeadLetter    *DeadLetterSource   `json:"deadLetter,omitempty"` // the dead-letter queue that it came from the last time; nil: it came from the handler
	Returns       int                 `json:"returns"`              // how often in a row it was sent again without a request
}

// DeadLetterSource says which dead-letter queue a message was taken from, and why it was there.
type DeadLetterSource struct {
	Subscription string `json:"subscription"`
	Sequence     int64  `json:"sequence"` // identifies it within the queue
	Reason       string `json:"reason"`
	Description  string `json:"description,omitempty"`
}

// Attempts counts the attempts to process one message that failed, or that ended with the
// process. A message that is replayed has a count of its own for each replay.
type Attempts struct {
	Topic     string    `json:"topic"`
	MessageID string    `json:"messageId"`
	Count     int       `json:"count"`
	Reason    string    `json:"reason,omitempty"` // of the last that failed; empty while one is under way
	At        time.Time `json:"at"`
}
