package directory

// Mail is a message that a user of the tenant sent.
type Mail struct {
	From    string            `json:"from"` // object id of the sender
	To      []string          `json:"to"`
	Subject string            `json:"subject"`
	Body    string            `json:"body"`
	Headers map[string]string `json:"headers,omitempty"` // of the sender's own, with names in lower case
}
