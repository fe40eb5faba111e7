package audit

import (
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Caller identifies the sender of a request.
type Caller struct {
	// Name is the name in audit records. Two people can have the same name.
	Name string
	// Kind is ActorUser where it is empty.
	Kind api.ActorKind
	// TenantID and ObjectID are the caller's in Entra ID. They tell callers apart; where
	// ObjectID is empty, Name does.
	TenantID, ObjectID string
	// Key is the idempotency key of the request; empty if it has none. A request that is repeated
	// with the same key changes nothing twice. CreateBatch, AddMembers, PublishRunbook, Repair,
	// Replay, Discard and the decisions on held removals use it; other commands change nothing twice
	// without a key.
	Key string
	// HostKey reports that the Functions host gave the key: only the host can repeat the request,
	// after it lost the connection before the answer.
	HostKey bool
}

// Identity distinguishes the caller from all others.
func (c Caller) Identity() string {
	if c.ObjectID != "" {
		return c.TenantID + "/" + c.ObjectID
	}
	return c.Name
}

// Scheduler is the caller of the changes that a data source causes. A person of the same name is
// another kind of actor.
var Scheduler = System("scheduler")

// System returns the caller of a change that no person asked for.
func System(name string) Caller { return Caller{Name: name, Kind: api.ActorSystem} }

// Actor returns the caller as audit records have it.
func (c Caller) Actor() store.Actor {
	if c.Kind == "" {
		c.Kind = api.ActorUser
	}
	return store.Actor{By: c.Name, Kind: store.ActorKind(c.Kind), TenantID: c.TenantID, ObjectID: c.ObjectID}
}
