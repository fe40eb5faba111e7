package api

// Action is something that a caller can do to a batch, a phase, a member or a step, and whether the
// caller may do it now. Its name is that of the audit records of the action.
type Action struct {
	Name      string `json:"name"` // one of AuditActions
	Allowed   bool   `json:"allowed"`
	Reason    string `json:"reason,omitempty"`    // why it is not allowed: the answer to the request says the same
	Unchanged bool   `json:"unchanged,omitempty"` // it is allowed and would change nothing
	Phase     string `json:"phase,omitempty"`     // that an advance of the batch starts
}
