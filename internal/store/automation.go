package store

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// Automation says whether batches of a runbook are created from its data source. There is none
// before the first setting.
type Automation struct {
	Runbook    string     `json:"runbook"`
	Enabled    bool       `json:"enabled"`
	EnabledAt  *time.Time `json:"enabledAt,omitempty"`
	EnabledBy  string     `json:"enabledBy,omitempty"`
	DisabledAt *time.Time `json:"disabledAt,omitempty"`
	DisabledBy string     `json:"disabledBy,omitempty"`
	// Additions are the last confirmed additions; nil if the query has returned other
	// people since.
	Additions *ConfirmedAdditions `json:"additions,omitempty"`
	// Discarded are the people whose held addition was discarded; nil for none. They are added to no
	// batch while the query returns them.
	Discarded *DiscardedAdditions `json:"discarded,omitempty"`
}

// Confirmed reports whether the additions of a revision are confirmed.
func (s *Automation) Confirmed(revision string) bool {
	return s.Additions != nil && s.Additions.Revision == revision
}

// Confirm confirms additions, of which some may be held. It takes the discards back where it is about them.
func (s *Automation) Confirm(c ConfirmedAdditions, held *HeldAdditions) {
	s.Additions = &c
	if s.IsDiscarded(c.Revision, held) {
		withdrawn := *s.Discarded
		withdrawn.Withdrawn = true
		s.Discarded = &withdrawn
	}
}

// IsDiscarded reports whether a revision means the people who were discarded last, and not those who are
// held. A revision is of all rows: after a discard, others can be held with the same one.
func (s *Automation) IsDiscarded(revision string, held *HeldAdditions) bool {
	if d := s.Discarded; d == nil || d.Withdrawn || d.Revision != revision {
		return false
	}
	return held == nil || held.Revision != revision || s.DiscardedList(held.List)
}

// DiscardedList reports whether the people of a list were discarded.
func (s *Automation) DiscardedList(list string) bool {
	return s.Discarded != nil && !s.Discarded.Withdrawn && slices.Contains(s.Discarded.Lists, list)
}

// ConfirmedAdditions allows the people to be added whom a query returns with this revision.
type ConfirmedAdditions struct {
	Revision string            `json:"revision"`
	By       model.Attribution `json:"by"`
}

// DiscardedAdditions are the people whose held additions an administrator discarded, until the query no
// longer returns them.
type DiscardedAdditions struct {
	Revision string            `json:"revision"` // of the additions that were discarded last
	People   int               `json:"people"`
	Lists    []string          `json:"lists"` // identify the documents with the people: see AdditionsPage
	By       model.Attribution `json:"by"`    // of the last decision
	// Withdrawn says that an administrator took the decisions back. The next sync deletes the lists.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// SyncRecord is the outcome of the last data source sync of a runbook, and the lease of the
// sync that is under way.
type SyncRecord struct {
	Runbook      string             `json:"runbook"`
	Holder       string             `json:"holder,omitempty"`
	Until        time.Time          `json:"until"`
	LastRunAt    *time.Time         `json:"lastRunAt,omitempty"`
	LastGoodAt   *time.Time         `json:"lastGoodAt,omitempty"`
	LastError    string             `json:"lastError,omitempty"`
	LastErrorAt  *time.Time         `json:"lastErrorAt,omitempty"`
	NotBefore    *time.Time         `json:"notBefore,omitempty"` // the data source asked for no query before
	Milliseconds int64              `json:"milliseconds,omitempty"`
	Rows         int                `json:"rows"`
	Problems     []schedule.Problem `json:"problems,omitempty"` // the first of them
	ProblemCount int                `json:"problemCount,omitempty"`
	Held         []int              `json:"held,omitempty"` // batches of which removals were held then
	Additions    *HeldAdditions     `json:"additions,omitempty"`
	History      []SyncOutcome      `json:"history,omitempty"` // of the last syncs, oldest first
}

// SyncOutcome is the outcome of one sync.
type SyncOutcome struct {
	At           time.Time `json:"at"`
	Milliseconds int64     `json:"milliseconds,omitempty"`
	Rows         int       `json:"rows,omitempty"`
	Added        int       `json:"added,omitempty"`
	Removed      int       `json:"removed,omitempty"`
	Changed      int       `json:"changed,omitempty"` // members whose data changed
	Held         int       `json:"held,omitempty"`    // removals and additions that wait for an administrator
	Problems     int       `json:"problems,omitempty"`
	Error        string    `json:"error,omitempty"`
}

// HeldAdditions are the additions that the guard held at the last sync.
type HeldAdditions struct {
	Revision string          `json:"revision"`
	People   int             `json:"people"`
	Of       int             `json:"of"` // members of the runbook's batches
	Reason   string          `json:"reason"`
	Since    time.Time       `json:"since"` // when this revision was held first
	List     string          `json:"list"`  // identifies the documents with the people: see AdditionsPage
	Starts   []AdditionStart `json:"starts"`
}

// AdditionsPage is a document with some of the people whose addition is held or was discarded, by key.
type AdditionsPage struct {
	Runbook string         `json:"runbook"`
	List    string         `json:"list"`
	People  []HeldAddition `json:"people"`
}

// HeldAddition is a person whose addition is held.
type HeldAddition struct {
	Key     string    `json:"key"`
	Display string    `json:"display,omitempty"` // of the runbook's display column, when the addition was held first
	Start   time.Time `json:"start"`
}

// AdditionStart is how many people wait for the batch of one start time.
type AdditionStart struct {
	Start  time.Time `json:"start"`
	People int       `json:"people"`
}
