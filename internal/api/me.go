package api

// Me is the caller of a request, as the API sees them.
type Me struct {
	Name     string    `json:"name"`
	Kind     ActorKind `json:"kind"`
	TenantID string    `json:"tenantId"`
	ObjectID string    `json:"objectId"`
	// Roles are the app roles of the API that the caller has. A user can have none, and then may read.
	Roles []string `json:"roles"`
	// Permissions are read, operate, approve and administer, as far as the roles grant them.
	Permissions []string `json:"permissions"`
}
