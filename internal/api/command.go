package api

import "time"

// BatchDetails are the name, note and owner of a batch. A nil field is not given; an empty text
// is none.
type BatchDetails struct {
	Name  *string `json:"name,omitempty"`
	Note  *string `json:"note,omitempty"`
	Owner *string `json:"owner,omitempty"` // who answers for the batch
}

// How many characters the details of a batch may have.
const (
	MaxBatchName  = 100
	MaxBatchOwner = 200
	MaxBatchNote  = 1000
)

// AdvanceResult is the answer to an advance: the phase that was started, now or by an
// earlier request, with its counts, and the phases that can be started after it.
type AdvanceResult struct {
	Batch     Batch    `json:"batch"`
	Advanced  string   `json:"advanced"`  // the phase, or "init"
	Members   int      `json:"members"`   // active in the batch now
	Repeated  bool     `json:"repeated"`  // the phase had been started before: this request started nothing
	Phase     Phase    `json:"phase"`     // the phase in Advanced, as it is now
	Remaining []string `json:"remaining"` // phases that can still be advanced to, in order
	NextPhase string   `json:"nextPhase,omitempty"`
}

// RescheduleResult is the effect of another start on a batch: its phases that have not started, in their
// order. In a dry run nothing is changed.
type RescheduleResult struct {
	Batch     Batch       `json:"batch"` // as it is, or in a dry run as it would be
	From      time.Time   `json:"from"`  // the start before
	DryRun    bool        `json:"dryRun,omitempty"`
	Unchanged bool        `json:"unchanged,omitempty"` // the batch has this start already
	Phases    []PhaseMove `json:"phases"`
	Preview   *Preview    `json:"preview,omitempty"` // of a dry run
}

// PhaseMove is a phase that moves with the start of its batch.
type PhaseMove struct {
	PhaseID    int        `json:"phaseId"`
	Phase      string     `json:"phase"`
	From       time.Time  `json:"from"`                 // when it was due
	To         time.Time  `json:"to"`                   // when it is due
	Due        bool       `json:"due"`                  // it is due at once
	QuietUntil *time.Time `json:"quietUntil,omitempty"` // when the quiet hours end that keep it from starting; nil for none
	Reason     string     `json:"reason,omitempty"`     // what it waits for although it is due
}

// UploadOptions says how an uploaded member CSV is read, and which members are accepted.
type UploadOptions struct {
	AllowInOtherBatches bool   // accept people who are members of other batches that have not ended
	Delimiter           string // comma, semicolon, tab or bar; empty: the header decides
	Details             BatchDetails
}

// UploadOption sets an option of an upload.
type UploadOption func(*UploadOptions)

// AllowInOtherBatches permits people who are members of other batches that have not ended.
func AllowInOtherBatches(o *UploadOptions) { o.AllowInOtherBatches = true }

// DelimitedBy names the delimiter of the file.
func DelimitedBy(name string) UploadOption { return func(o *UploadOptions) { o.Delimiter = name } }

// WithDetails gives a new batch details. Without an owner, the creator of the batch is the owner.
func WithDetails(d BatchDetails) UploadOption {
	return func(o *UploadOptions) { o.Details = d }
}

// UploadOptionsOf returns the options that are set.
func UploadOptionsOf(options []UploadOption) UploadOptions {
	var o UploadOptions
	for _, set := range options {
		set(&o)
	}
	return o
}

// UploadCheck is the answer to a dry run of an upload: the upload would be accepted now.
type UploadCheck struct {
	DryRun    bool     `json:"dryRun"` // true
	BatchID   int      `json:"batchId,omitempty"`
	Runbook   string   `json:"runbook"`
	Version   int      `json:"runbookVersion"`
	Delimiter string   `json:"delimiter"`
	Members   int      `json:"members"`           // that the upload would add
	Present   []string `json:"present,omitempty"` // keys that are members already; they would be left unchanged
	Warnings  []string `json:"warnings,omitempty"`

	Jobs   int            `json:"jobs"`   // of these members until the batch ends, at most; polls and retries are not counted
	Phases []PhasePreview `json:"phases"` // that they take part in

	Duration *PhaseDuration `json:"duration,omitempty"` // of these phases, one after another; nil where one was not measured
}

// AddResult is the answer to an upload of members to a batch.
type AddResult struct {
	Batch    Batch    `json:"batch"`
	Added    int      `json:"added"`
	Present  []string `json:"present,omitempty"` // keys that were members before; they are left unchanged
	Warnings []string `json:"warnings,omitempty"`
	Replayed bool     `json:"-"` // the idempotency key's request had been carried out before
}

// MaxResult is how many bytes the result of a step that is marked as done may have.
const MaxResult = 128 << 10
