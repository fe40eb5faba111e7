package membership

import (
	"encoding/json"
	"strconv"

	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// Items are the members of a batch that a request starts.
type Items struct {
	People      []Newcomer
	Fingerprint string // of the keys and of the columns that the runbook uses, and of the version
}

// ItemsOf gives the members of a batch under a version of its runbook, in the order of their rows.
func ItemsOf(version int, rows []schedule.Row) Items {
	items := Items{People: make([]Newcomer, len(rows))}
	parts := make([]string, 0, 2*len(rows))
	for i, row := range rows {
		items.People[i] = Newcomer{Key: row.Key, Hash: row.Hash, Data: func() (map[string]json.RawMessage, error) { return row.Data, nil }}
		parts = append(parts, row.Key, row.Hash)
	}
	items.Fingerprint = idempotency.Digest(strconv.Itoa(version), idempotency.Digest(parts...))
	return items
}
