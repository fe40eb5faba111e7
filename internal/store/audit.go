package store

import (
	"context"
	"encoding/json"
	"time"
)

// Audit are the named reads of audit records. Each costs about 3 RU and 1 RU for every 20
// records that it returns. Both fail with ErrUnavailable and ErrContinuation.
type Audit interface {
	// AuditRecords lists the audit records of one partition, the newest first; it takes no other
	// order. It is one query within the partition.
	AuditRecords(ctx context.Context, partition string, filter AuditFilter, page Paging) (Page[AuditRecord], error)

	// AuditEverywhere lists the audit records of all partitions, in any order. It is a query
	// across partitions: its cost grows with the number of physical partitions, about 3 RU each.
	AuditEverywhere(ctx context.Context, filter AuditFilter, page Paging) (Page[AuditRecord], error)
}

// AuditFilter narrows audit records. An empty field takes all; those that are given must all
// hold.
type AuditFilter struct {
	Action  string
	By      string // Actor.By, compared exactly
	Runbook string
	Target  string
	Why     string
	From    time.Time // from this moment on
	To      time.Time // before this moment
}

// Actor is who did something.
type Actor struct {
	By       string    `json:"by"` // the name that is shown
	Kind     ActorKind `json:"byKind,omitempty"`
	TenantID string    `json:"byTenantId,omitempty"` // in Entra ID
	ObjectID string    `json:"byObjectId,omitempty"`
}

// ActorKind says what kind of actor did something.
type ActorKind string

// The kinds. The system acts by itself, on what a data source has.
const (
	ActorUser        ActorKind = "user"
	ActorApplication ActorKind = "application"
	ActorSystem      ActorKind = "system"
)

// AuditRecord says who did what, when and why. It is in the partition of the batch, the
// runbook or the notification rule that it is about; a record that names none is about an unprocessable
// message.
type AuditRecord struct {
	At time.Time `json:"at"`
	Actor
	Action       string          `json:"action"`
	Batch        int             `json:"batchId,omitempty"`
	Runbook      string          `json:"runbook,omitempty"`
	Notification string          `json:"notification,omitempty"` // the name of a rule
	Target       string          `json:"target,omitempty"`       // a part of the batch or the runbook, or the id of a message
	Why          string          `json:"why,omitempty"`
	Before       json.RawMessage `json:"before,omitempty"`
	After        json.RawMessage `json:"after,omitempty"`
}

// Partition returns the partition that the record belongs to.
func (r AuditRecord) Partition() string {
	switch {
	case r.Batch != 0:
		return BatchPartition(r.Batch)
	case r.Runbook != "":
		return PartitionRunbooks
	case r.Notification != "":
		return PartitionNotifications
	}
	return PartitionUnprocessable
}
