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

// ConsoleConfig has the settings with which a page signs its user in with the authorization code flow.
type ConsoleConfig struct {
	Authority string `json:"authority"` // address of Entra ID with the tenant
	ClientID  string `json:"clientId"`  // app registration of the page
	Scope     string `json:"scope"`     // permission of this API
}
