package app

// Caller is who asks for something.
type Caller struct {
	// Name is what records of the caller's doings show. Two people can have the same.
	Name string
	// Kind is ActorUser where it is empty.
	Kind ActorKind
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

// scheduler is the system as the caller of what a data source brings about. A person who
// has its name is another kind of actor.
var scheduler = Caller{Name: "scheduler", Kind: ActorSystem}

// actor is who did something, as an audit record has it.
type actor struct {
	By       string    `json:"by"` // Caller.Name
	Kind     ActorKind `json:"byKind,omitempty"`
	TenantID string    `json:"byTenantId,omitempty"`
	ObjectID string    `json:"byObjectId,omitempty"`
}

func (by Caller) actor() actor {
	if by.Kind == "" {
		by.Kind = ActorUser
	}
	return actor{by.Name, by.Kind, by.TenantID, by.ObjectID}
}
