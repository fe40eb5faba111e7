package message

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Catalog is the announcement of a worker when it starts: its functions. Publishing
// checks runbooks against it.
type Catalog struct {
	WorkerID string `json:"WorkerId"`
	Version  string `json:"Version,omitempty"` // of the worker's program, as it calls it
	// Timestamp is when the worker started, in UTC: of two catalogues of a worker the
	// later one counts, in any order of arrival.
	Timestamp time.Time         `json:"Timestamp"`
	Functions []CatalogFunction `json:"Functions"`
}

// CatalogFunction is one function of a Catalog. Without Result its answer is true.
type CatalogFunction struct {
	Name        string             `json:"Name"`
	Description string             `json:"Description,omitempty"`
	Parameters  []CatalogParameter `json:"Parameters,omitempty"`
	Result      []CatalogField     `json:"Result,omitempty"`
	Permissions []string           `json:"Permissions,omitempty"`
	// TimeoutSeconds is how long one call of the function may take; 0 means that it is not
	// known.
	TimeoutSeconds int `json:"TimeoutSeconds,omitempty"`
	// ReadOnly: the function changes nothing.
	ReadOnly bool `json:"ReadOnly,omitempty"`
}

// CatalogParameter is a parameter of a CatalogFunction. Type is string, boolean, guid,
// email, domain, string list, or some words with | between them, one of which it is; of any other type
// values are not checked. The orchestrator stores the values of a Secret parameter
// encrypted and never shows them.
type CatalogParameter struct {
	Name        string `json:"Name"`
	Type        string `json:"Type,omitempty"`
	Required    bool   `json:"Required,omitempty"`
	Description string `json:"Description,omitempty"`
	Secret      bool   `json:"Secret,omitempty"`
}

// CatalogField is a field of the object that a CatalogFunction answers.
type CatalogField struct {
	Name        string `json:"Name"`
	Description string `json:"Description,omitempty"`
}

// CatalogID is the message id of a catalogue with this body. The body contains the
// time of the start: the broker drops a repeated message, but not the announcement of a
// worker that was rolled back to an earlier version.
func CatalogID(workerID string, body []byte) string {
	digest := sha256.Sum256(append([]byte(workerID+"\x00"), body...))
	return "catalog-" + hex.EncodeToString(digest[:16])
}
