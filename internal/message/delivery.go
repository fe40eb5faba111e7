package message

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"
	"time"
)

// Delivery is a message as a trigger delivers it.
type Delivery struct {
	ID            string
	Type          string // application property MessageType, where there is one
	Body          []byte
	Properties    map[string]any
	DeliveryCount int // 1 on the first delivery
	EnqueuedAt    time.Time
	Size          int // of the body in bytes, if Body is only its beginning; otherwise 0
}

// WithType gives a message's properties with the type that routes it.
func WithType(properties map[string]any, kind string) map[string]any {
	out := maps.Clone(properties)
	if out == nil {
		out = map[string]any{}
	}
	if kind != "" {
		out[PropertyMessageType] = kind
	}
	return out
}

// WithDoneThrough is the message with the id of the last document that was done for it. Without
// an id the message is unchanged.
func (m Delivery) WithDoneThrough(id string) Delivery {
	if id != "" {
		m.Properties = WithType(m.Properties, m.Type)
		m.Properties[PropertyDoneThrough] = id
	}
	return m
}

// RequeueMark stands between the id of a message and the time of its requeue.
const RequeueMark = "-again-"

// FirstID is the id that a message had before its first requeue, so that ids do not grow
// with each time. An id that leaves no room, for the broker takes 128 characters, is replaced
// by its digest. It is empty where the sender gave none.
func (m Delivery) FirstID() string {
	id := m.ID
	if i := strings.LastIndex(id, RequeueMark); i >= 0 {
		id = id[:i]
	}
	if len(id) <= 100 {
		return id
	}
	digest := sha256.Sum256([]byte(id))
	return hex.EncodeToString(digest[:16])
}
