package api

import (
	"encoding/json"
	"time"
)

// UnprocessableMessage is a message that could not be processed. Lists leave out its body
// and its properties. A body is truncated after 240 KB.
type UnprocessableMessage struct {
	ID            string              `json:"id"`
	Topic         string              `json:"topic"`
	MessageID     string              `json:"messageId"`
	Type          string              `json:"messageType,omitempty"`
	Status        UnprocessableStatus `json:"status"`
	Reason        string              `json:"reason"` // of the last failure
	Count         int                 `json:"count"`  // of the failures
	Replays       int                 `json:"replays"`
	Handled       *Attribution        `json:"handled,omitempty"` // the last replay or discard
	EnqueuedAt    time.Time           `json:"enqueuedAt"`
	FirstStoredAt time.Time           `json:"firstStoredAt"`
	StoredAt      time.Time           `json:"storedAt"` // the last time
	DeliveryCount int                 `json:"deliveryCount"`
	Size          int                 `json:"size"` // of the body, in bytes
	Properties    map[string]any      `json:"properties,omitempty"`
	Body          json.RawMessage     `json:"body,omitempty"`          // if it is JSON
	BodyBase64    []byte              `json:"bodyBase64,omitempty"`    // if it is not, or is truncated
	Truncated     bool                `json:"bodyTruncated,omitempty"` // only its beginning is shown
	DeadLetter    *DeadLetter         `json:"deadLetter,omitempty"`    // the dead letter that it was last; nil: the handler kept the message itself
}

// UnprocessableStatus is the status of an unprocessable message.
type UnprocessableStatus string

// The statuses. A replayed message that cannot be processed either is open again.
const (
	UnprocessableOpen      UnprocessableStatus = "open"
	UnprocessableReplayed  UnprocessableStatus = "replayed"
	UnprocessableDiscarded UnprocessableStatus = "discarded"
)

// DeadLetter says which dead-letter queue a message was taken from, and why it was there.
type DeadLetter struct {
	Subscription string `json:"subscription"`
	Sequence     int64  `json:"sequence"` // identifies it within the queue
	Reason       string `json:"reason"`
	Description  string `json:"description,omitempty"`
}
