package directory

import "time"

// MigrationBatch is a move of mailboxes from another tenant.
type MigrationBatch struct {
	Name                 string          `json:"name"`
	SourceEndpoint       string          `json:"sourceEndpoint"`
	TargetDeliveryDomain string          `json:"targetDeliveryDomain"`
	Users                []MigrationUser `json:"users"`
	Started              time.Time       `json:"started"`
	StartAfter           time.Time       `json:"startAfter,omitzero"`    // zero: at once
	CompleteAfter        time.Time       `json:"completeAfter,omitzero"` // zero: not to be completed yet
	Stopped              time.Time       `json:"stopped,omitzero"`       // zero: it was not stopped, or started again since
}

// MigrationUser is a mailbox of a batch.
type MigrationUser struct {
	Email string `json:"email"`           // of the target mail user
	ID    string `json:"id,omitempty"`    // of the target mail user
	Error string `json:"error,omitempty"` // why it cannot be moved
	Moved bool   `json:"moved,omitempty"` // the mailbox is here
	// Skipped: some items could not be copied, and the move does not complete until an administrator approves that.
	Skipped       bool      `json:"skipped,omitempty"`
	CompleteAfter time.Time `json:"completeAfter,omitzero"` // zero: that of the batch
	Retried       time.Time `json:"retried,omitzero"`       // when the move was started again; zero: it was not
	// Of a batch whose endpoint is another tenant of the system.
	Copied bool `json:"copied,omitempty"` // the source has the mailbox, and lets it go
	Left   bool `json:"left,omitempty"`   // a mail user has taken its place in the source
}

// batchKeys are the keys of a batch: the addresses of its users.
func batchKeys(b MigrationBatch) []key {
	keys := make([]key, 0, len(b.Users))
	for _, u := range b.Users {
		keys = append(keys, key{"batchUser", Fold(u.Email)})
	}
	return keys
}
