// Package api defines the wire form of the admin API: the bodies of requests and answers,
// statuses, problem codes and what lists can be filtered and sorted by. The handler
// encodes these types, the client decodes them, the command line shows them.
//
// JSON names are camelCase, times RFC 3339 in UTC. The package imports encoding and time
// only: it knows no use case, no state machine, no store and no HTTP.
package api

import "time"

// Page is one page of a list. Continuation is empty on the last page.
type Page[T any] struct {
	Items        []T    `json:"items"`
	Continuation string `json:"continuationToken,omitempty"`
}

// Attribution says who did something, when and why.
type Attribution struct {
	By  string    `json:"by"`
	At  time.Time `json:"at"`
	Why string    `json:"reason,omitempty"`
}

// MaxReason is how many characters the reason of a request may have.
const MaxReason = 1000

// Health says whether the handler reaches the services that it depends on.
type Health struct {
	Status  string            `json:"status"` // ok or degraded
	Version string            `json:"version"`
	Parts   map[string]string `json:"parts"` // store, bus: ok or what is wrong
}
