package store

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Batches are the named reads of what concerns all batches: their summaries, the start slots
// and the claims, which are in one partition. Each is one query within it, which costs about
// 3 RU and 1 RU for every 20 documents that it returns. All fail with ErrUnavailable.
type Batches interface {
	// Batches lists the summaries of batches, without those that are being created unless the filter
	// asks for them. The newest come first unless Sort asks for another order: FieldID, FieldRunbookName,
	// FieldStatus, FieldStartTime, FieldDetectedAt or FieldMemberCount. It also fails with ErrContinuation.
	Batches(ctx context.Context, filter BatchFilter, page Paging) (Page[BatchSummary], error)

	// BatchesToSweep returns the summaries of batches that are being created, that have not
	// ended or have open detached steps, whose secrets are to be erased by now, or that expired by now, in any order. The cost grows with their
	// number, not with that of all batches.
	BatchesToSweep(ctx context.Context, now time.Time) ([]Item[BatchSummary], error)

	// Remains returns the keys and ETags of up to most documents of a batch, in any order, without the
	// batch itself: those that are to be deleted before it.
	Remains(ctx context.Context, batch, most int) ([]Document, error)

	// BatchesEndedSince returns the summaries of batches that ended at a time or later, in any order.
	BatchesEndedSince(ctx context.Context, since time.Time) ([]Item[BatchSummary], error)

	// UnfinishedBatches returns the batches that are being created or have not ended, in any
	// order: of one runbook, or of all runbooks if none is given.
	UnfinishedBatches(ctx context.Context, runbook string) ([]UnfinishedBatch, error)

	// StartSlots returns those of a runbook's slots for the given start times that are taken, in
	// any order. It takes one query for every 200 start times.
	StartSlots(ctx context.Context, runbook string, starts []time.Time) ([]Item[StartSlot], error)

	// Claims returns the claims on the people with the given member keys, in any order. Their
	// ids are those of ClaimKey.
	Claims(ctx context.Context, people []string) ([]Item[PersonClaim], error)
}

// BatchFilter narrows a list of batches. An empty field takes all.
type BatchFilter struct {
	Statuses      []model.BatchStatus // in one of them
	Runbook       string
	RunbookPrefix string // compared exactly
	Name, Owner   string // compared in any case
	Newest        int    // the highest number; 0 for any
	Creating      bool   // also those that are being created, or whose start has not listed them yet
}

// UnfinishedBatch is a batch that is being created or has not ended.
type UnfinishedBatch struct {
	ID int `json:"id"`
}

// BatchSummary is the read model of the list of batches. It follows the batch itself, which is
// the truth, and is written again after each change of the batch: with ReplaceUnlessNewer, so that
// a late process does not restore an older state.
type BatchSummary struct {
	model.BatchDetails
	ID                int                `json:"id"`
	RunbookName       string             `json:"runbookName"`
	RunbookVersion    int                `json:"runbookVersion"`
	Status            model.BatchStatus  `json:"status"`
	IsManual          bool               `json:"isManual"`
	CreatedBy         string             `json:"createdBy,omitempty"`
	BatchStartTime    *time.Time         `json:"batchStartTime"`
	DetectedAt        time.Time          `json:"detectedAt"`
	CompletedAt       *time.Time         `json:"completedAt,omitempty"`
	CurrentPhase      string             `json:"currentPhase,omitempty"`
	RemovedCount      int                `json:"removedCount,omitempty"` // of the members
	MemberCount       int                `json:"memberCount"`
	Error             string             `json:"error,omitempty"`
	Paused            *model.Attribution `json:"paused,omitempty"`
	Cancelled         *model.Attribution `json:"cancelled,omitempty"`
	Filling           bool               `json:"filling,omitempty"`
	Held              *model.RemovalHold `json:"held,omitempty"`
	DiscardedRemovals int                `json:"discardedRemovals,omitempty"`
	Shared            bool               `json:"shared,omitempty"`
	Requested         bool               `json:"requested,omitempty"` // a request started it
	Shadow            bool               `json:"shadow,omitempty"`    // with Requested: in the shadow of another orchestrator
	FailedChecks      int                `json:"failedChecks,omitempty"`
	Phases            []model.Phase      `json:"phases"`
	Joining           bool               `json:"joining,omitempty"` // members who were added late have not caught up

	Quiet *runbook.QuietHours `json:"quiet,omitempty"`

	Rescheduled   *model.Attribution `json:"rescheduled,omitempty"`
	EarlierStarts []time.Time        `json:"earlierStarts,omitempty"`
	Revision      int                `json:"revision"`                 // of the batch
	Creating      bool               `json:"creating,omitempty"`       // the batch's members are being written, or a request has started it a moment ago
	Claimed       bool               `json:"claimed,omitempty"`        // with Creating: all of them are claimed
	EraseAt       *time.Time         `json:"eraseSecretsAt,omitempty"` // when the secrets of a batch that has ended are erased
	ExpiresAt     *time.Time         `json:"expiresAt,omitempty"`      // when a batch that has ended is deleted
	OpenDetached  bool               `json:"openDetached,omitempty"`   // detached steps have not ended: the batch is swept also after its end
}

// SummaryOf projects a batch to its summary.
func SummaryOf(b *model.Batch) BatchSummary {
	return BatchSummary{
		BatchDetails: b.BatchDetails,
		ID:           b.ID, RunbookName: b.Runbook, RunbookVersion: b.Version, Status: b.Status, IsManual: b.Manual,
		CreatedBy: b.CreatedBy, BatchStartTime: b.StartTime, DetectedAt: b.DetectedAt, CompletedAt: b.CompletedAt,
		CurrentPhase: b.CurrentPhase, MemberCount: b.Members, RemovedCount: b.Removed, Error: b.Error,
		Paused: b.Paused, Cancelled: b.Cancelled, Filling: b.Filling, Held: b.RemovalHold, DiscardedRemovals: b.DiscardedRemovals, Shared: b.Shared, Requested: b.Requested != nil, Shadow: b.IsShadow(), FailedChecks: b.FailedChecks,
		EraseAt: b.EraseSecretsAt(), ExpiresAt: b.ExpiresAt(), OpenDetached: b.HasOpenDetached(), Revision: b.Revision, Rescheduled: b.Rescheduled, EarlierStarts: b.EarlierStarts,
		Phases: b.Phases, Joining: len(b.Joining) > 0, Quiet: b.Quiet,
	}
}

// Outline returns the batch as far as its summary has it: enough for what it waits for, and for the
// counts of its members.
func (s *BatchSummary) Outline() *model.Batch {
	b := &model.Batch{
		BatchDetails: s.BatchDetails,
		ID:           s.ID, Runbook: s.RunbookName, Version: s.RunbookVersion, Status: s.Status, Manual: s.IsManual,
		CreatedBy: s.CreatedBy, StartTime: s.BatchStartTime, DetectedAt: s.DetectedAt, CompletedAt: s.CompletedAt,
		CurrentPhase: s.CurrentPhase, Members: s.MemberCount, Removed: s.RemovedCount, Error: s.Error,
		Paused: s.Paused, Cancelled: s.Cancelled, Filling: s.Filling, RemovalHold: s.Held, DiscardedRemovals: s.DiscardedRemovals, Shared: s.Shared, FailedChecks: s.FailedChecks,
		Revision: s.Revision, Rescheduled: s.Rescheduled, EarlierStarts: s.EarlierStarts, Phases: s.Phases, Quiet: s.Quiet,
	}
	if s.Requested {
		b.Requested = &model.Requested{Shadow: s.Shadow}
	}
	if s.Joining {
		b.Joining = []model.Join{{}}
	}
	return b
}

// BatchSequence holds the number of the newest batch.
type BatchSequence struct {
	Last int `json:"last"`
}

// StartSlot says which batch a runbook has for a start time. It outlives the batch: members
// whose batch has ended do not get another one for the same start time. A batch that is
// rescheduled takes the slot of its new start first, and keeps that of the one before while rows
// of the data source have it.
type StartSlot struct {
	Runbook string    `json:"runbook"`
	Start   time.Time `json:"start"`
	Batch   int       `json:"batchId"`
	At      time.Time `json:"at"`              // when the batch took it
	Ended   bool      `json:"ended,omitempty"` // the batch was seen to have ended, which spares a read
}

// PersonClaim names the batches that have one person as a member, or are about to. There is one
// document for each person, for any number of batches, and it is written before the member is: of two batches that add a person at the same moment, one finds the claim of the other.
// Nothing deletes a claim when a batch ends or a member is removed; the next batch that adds the
// person checks whether the claim still holds.
type PersonClaim struct {
	Holders []ClaimHolder `json:"holders"` // one, unless an administrator allowed more
}

// ClaimHolder is a batch that claims a person.
type ClaimHolder struct {
	Batch   int       `json:"batchId"`
	Key     string    `json:"key"`             // as the batch's member has it
	Workers []string  `json:"workers"`         // that the batch's runbook calls
	Round   string    `json:"round,omitempty"` // the addition or retry; empty for the creation of a manual batch
	At      time.Time `json:"at"`
}
