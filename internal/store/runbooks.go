package store

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Runbooks are the named reads of runbooks, which are all in one partition. Each is one query
// within it, which costs about 3 RU and 1 RU for every 20 documents that it returns; the number
// of batches does not count. All fail with ErrUnavailable.
type Runbooks interface {
	// Runbooks lists the heads of runbooks with an active version, by name unless Sort asks for
	// another order: FieldName, FieldPublishedAt or FieldPublishedBy. It also fails with
	// ErrContinuation.
	Runbooks(ctx context.Context, filter RunbookFilter, page Paging) (Page[RunbookHead], error)

	// RunbookHeads returns the heads of all runbooks, in any order.
	RunbookHeads(ctx context.Context) ([]Item[RunbookHead], error)

	// RunbookVersions lists the versions of a runbook without their YAML, the newest first unless
	// Sort asks for another order: FieldVersion. It also fails with ErrContinuation.
	RunbookVersions(ctx context.Context, runbook string, page Paging) (Page[RunbookVersion], error)

	// Automations returns the automation settings of those of the given runbooks that have one,
	// in any order.
	Automations(ctx context.Context, runbooks []string) ([]Item[Automation], error)

	// EnabledAutomations returns the automation settings that are on, in any order.
	EnabledAutomations(ctx context.Context) ([]Item[Automation], error)

	// SyncRecords returns the sync records of those of the given runbooks that have one, in any
	// order.
	SyncRecords(ctx context.Context, runbooks []string) ([]Item[SyncRecord], error)

	// AdditionsPages returns the pages of all people whose addition to a runbook is held, in any
	// order, also those of lists that were replaced. The cost grows with their number: about
	// 10 RU for every 500 people.
	AdditionsPages(ctx context.Context, runbook string) ([]Item[AdditionsPage], error)

	// SyncTurns returns when each runbook was compared with its data source last, in any order.
	SyncTurns(ctx context.Context) ([]SyncTurn, error)
}

// RunbookFilter narrows a list of runbooks. An empty field takes all.
type RunbookFilter struct {
	NamePrefix string // compared exactly
}

// RunbookHead is the entry of a runbook in the list, and the source of its version numbers.
type RunbookHead struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Latest      int       `json:"latest"`
	Active      int       `json:"active"` // 0: no version is active
	PublishedAt time.Time `json:"publishedAt"`
	PublishedBy string    `json:"publishedBy"`
	Secrets     bool      `json:"secrets,omitempty"` // a version has secrets
	Source      string    `json:"source,omitempty"`  // the type of the data source that the active version queries
}

// RunbookVersion is one version of a runbook. Only Deactivated and Secrets ever change; Secrets only
// grows.
type RunbookVersion struct {
	Name        string             `json:"name"`
	Version     int                `json:"version"`
	Description string             `json:"description,omitempty"` // as the YAML has it
	YAML        string             `json:"yaml"`
	Secrets     []string           `json:"secrets,omitempty"` // the names of its secrets: those in the YAML and those that secret parameters take
	Overdue     string             `json:"overdue,omitempty"` // what becomes of overdue phases: ignore or rerun
	RerunInit   bool               `json:"rerunInit,omitempty"`
	PublishedAt time.Time          `json:"publishedAt"`
	PublishedBy string             `json:"publishedBy"`
	Deactivated *model.Attribution `json:"deactivated,omitempty"`
}

// SyncTurn is when a runbook was compared with its data source last.
type SyncTurn struct {
	Runbook string    `json:"runbook"`
	Last    time.Time `json:"last"`
}
