package model

import (
	"time"
)

// CacheEntry names the run that does, or has done, the work of a cached step under one key. It does not
// have the result: that is in the run, so that no write has to follow the end of the step, and a result
// that was rolled back is not used. A later run takes the entry over where that one has no result to give.
type CacheEntry struct {
	ID        string    `json:"id"`          // a digest of the key and of the definition of the step
	Runbook   string    `json:"fromRunbook"` // this and the numbers of the run have names that are not indexed
	StepName  string    `json:"step"`
	Batch     int       `json:"batchId"` // this and the next two name the run
	Phase     int       `json:"phase"`
	Member    int       `json:"member"`
	Since     time.Time `json:"since"`     // when the run claimed the work, which is before the run is written
	TTL       int       `json:"ttl"`       // in seconds
	ExpiresAt time.Time `json:"expiresAt"` // from when on a tick looks whether the entry is still of use
}

// HeldBy reports whether the entry names the run.
func (e *CacheEntry) HeldBy(r *Run) bool {
	return e.Batch == r.Batch && e.Phase == r.Phase && e.Member == r.Member
}

// CacheSource names the run that a step waits for, or has its result from.
type CacheSource struct {
	Batch  int        `json:"batchId"`
	Phase  int        `json:"phaseId"`
	Member int        `json:"memberId"`
	Step   int        `json:"step,omitempty"` // the place of the step; 0 also while that is not known
	At     *time.Time `json:"at,omitempty"`   // when the step succeeded; nil while the step in hand waits for it
}
