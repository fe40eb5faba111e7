package audit

import (
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Caller is who asks for something.
type Caller struct {
	// Name is what records of the caller's doings show. Two people can have the same.
	Name string
	// Kind is ActorUser where it is empty.
	Kind api.ActorKind
	// TenantID and ObjectID are the caller's in Entra ID. They tell callers apart; where
	// ObjectID is empty, Name does.
	TenantID, ObjectID string
	// Key is what the caller calls this request (Idempotency-Key). Asked for again by the
	// same key, in the same place, it does nothing twice; empty for no such promise. Only
	// CreateBatch, AddMembers and PublishRunbook heed it.
	Key string
}

// Identity is what tells the caller from any other.
func (by Caller) Identity() string {
	if by.ObjectID != "" {
		return by.TenantID + "/" + by.ObjectID
	}
	return by.Name
}

// Scheduler is the system as the caller of what a data source brings about. A person who
// has its name is another kind of actor.
var Scheduler = Caller{Name: "scheduler", Kind: api.ActorSystem}

func (by Caller) Actor() store.Actor {
	if by.Kind == "" {
		by.Kind = api.ActorUser
	}
	return store.Actor{By: by.Name, Kind: store.ActorKind(by.Kind), TenantID: by.TenantID, ObjectID: by.ObjectID}
}
