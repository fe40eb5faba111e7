package api

import "time"

// Runbook is a runbook with one of its versions. YAML is left out in lists.
type Runbook struct {
	Name        string          `json:"name"`
	Version     int             `json:"version"`
	Description string          `json:"description,omitempty"`
	YAML        string          `json:"yamlContent,omitempty"`
	Secrets     []string        `json:"secrets,omitempty"` // names of columns and outputs whose values are never shown; left out in lists
	Active      bool            `json:"isActive"`
	CreatedAt   time.Time       `json:"createdAt"`
	PublishedBy string          `json:"publishedBy"`
	Enabled     bool            `json:"automationEnabled"` // the scheduler creates its batches
	Source      string          `json:"source,omitempty"`  // the type of the data source that is queried; empty: members are uploaded
	LastSyncAt  *time.Time      `json:"lastSyncAt,omitempty"`
	Rows        int             `json:"rowCount,omitempty"`     // of the last sync
	Problems    int             `json:"problemCount,omitempty"` // rows that the last sync did not use
	LastError   string          `json:"lastError,omitempty"`    // of the last tick, if it failed
	LastErrorAt *time.Time      `json:"lastErrorAt,omitempty"`
	Held        int             `json:"batchesHeld,omitempty"` // batches of which removals are held
	Additions   int             `json:"peopleHeld,omitempty"`  // people whose addition is held
	Warnings    []Diagnostic    `json:"warnings,omitempty"`    // only in the answer to a publish
	Unchanged   bool            `json:"unchanged,omitempty"`   // the published text was active before
	DryRun      bool            `json:"dryRun,omitempty"`      // nothing was stored: the version is the one that a publish would make
	Changes     *VersionChanges `json:"changes,omitempty"`     // only in the answer to a publish
	Replayed    bool            `json:"-"`                     // the idempotency key's request had been carried out before
}

// RunbookVersion is one version of a runbook with the options of its publish. YAML and
// ETag are left out in lists.
type RunbookVersion struct {
	Name        string       `json:"name"`
	Version     int          `json:"version"`
	Description string       `json:"description,omitempty"`
	YAML        string       `json:"yamlContent,omitempty"`
	Active      bool         `json:"isActive"`
	CreatedAt   time.Time    `json:"createdAt"`
	PublishedBy string       `json:"publishedBy"`
	Overdue     string       `json:"overdueBehavior"` // OverdueIgnore or OverdueRerun
	RerunInit   bool         `json:"rerunInit"`
	Deactivated *Attribution `json:"deactivated,omitempty"` // nil also where a newer version superseded it
	ETag        string       `json:"etag,omitempty"`        // changes when the version becomes active or inactive
}

// PublishOptions say how a new version treats batches under way, and under which
// conditions to publish it.
type PublishOptions struct {
	// Overdue is OverdueIgnore or OverdueRerun; empty for OverdueIgnore.
	Overdue   string
	RerunInit bool // run the init steps again
	Strict    bool // refuse a runbook that has warnings
	DryRun    bool // check it and report what it would change, and store nothing
}

// What happens, under a new version, to phases that are past due.
const (
	OverdueIgnore = "ignore" // they are skipped
	OverdueRerun  = "rerun"  // they are run again, for all active members
)

// VersionChanges are the changes of a version: in the runbook, and for the batches in
// flight at publication.
type VersionChanges struct {
	Against    int             `json:"againstVersion"`    // the version compared with: the active one, else the latest; 0: there is none
	Problem    string          `json:"problem,omitempty"` // why it could not be compared
	Runbook    []Change        `json:"runbookChanges"`
	BatchCount int             `json:"batchCount"` // batches of the runbook that have not ended
	Batches    []BatchForecast `json:"batches"`    // the first 100 of them, by number
}

// Change is one difference between two versions of a runbook.
type Change struct {
	Kind string `json:"kind"` // added, removed, changed or moved
	Path string `json:"path"` // such as phases[move].steps[copy].params.Mail
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// BatchForecast is the forecast for a batch that changes to a newer version of its
// runbook, at the next tick or its next advance. It lists phases by name.
type BatchForecast struct {
	BatchID    int      `json:"batchId"`
	Problem    string   `json:"problem,omitempty"` // why the batch could not be read; the other fields are empty then
	Status     string   `json:"status,omitempty"`
	Manual     bool     `json:"isManual"`
	From       int      `json:"fromVersion"`
	Stays      string   `json:"stays,omitempty"`      // why it keeps its version; the fields below are empty then
	UnderWay   []string `json:"underWay,omitempty"`   // begun under an older version, under which they end
	Superseded []string `json:"superseded,omitempty"` // not begun: the newer version's phases replace them
	Skipped    []string `json:"skipped,omitempty"`    // of the newer version, past due
	Again      []string `json:"runAgain,omitempty"`   // of the newer version, though the batch has been in them
	Pending    []string `json:"pending,omitempty"`    // of the newer version, still to come for the first time
	Init       bool     `json:"init,omitempty"`       // its init steps are still to come
	InitAgain  bool     `json:"initAgain,omitempty"`  // though the batch has begun them before
	Ends       bool     `json:"ends,omitempty"`       // nothing is left to do
	Lacks      []string `json:"lacks,omitempty"`      // columns that the newer version uses and its members do not have; the next sync of a data source gives them
}

// Diagnostic is one finding about a runbook's text.
type Diagnostic struct {
	Severity string `json:"severity"` // error or warning
	Code     string `json:"code"`
	Message  string `json:"message"`
	Path     string `json:"path"`   // such as phases[0].steps[1].params.Mail; empty for the file
	Line     int    `json:"line"`   // from 1
	Column   int    `json:"column"` // from 1, in characters
	// AlwaysFails: no call of the step, or no query of the data source, can succeed.
	AlwaysFails bool `json:"alwaysFails,omitempty"`
}

// RunbookCheck has the findings of a runbook's text, as publishing it would have them, and what the runbook is.
type RunbookCheck struct {
	Findings []Diagnostic    `json:"findings"`
	Outline  *RunbookOutline `json:"outline,omitempty"` // nil if the text cannot be read; else of what could be read
}

// RunbookOutline has the parts of a runbook in the order in which they run, with their lines.
type RunbookOutline struct {
	Name     string           `json:"name,omitempty"`
	Source   string           `json:"source,omitempty"` // the type of the data source; empty: members are uploaded
	Sections []OutlineSection `json:"sections"`
	Columns  []OutlineColumn  `json:"columns"`           // that members need, by name
	Outputs  []string         `json:"outputs,omitempty"` // variables that steps give
	Workers  []string         `json:"workers"`           // that steps name
	Quiet    bool             `json:"quietHours,omitempty"`
}

// OutlineSection is a list of steps: the call that lists the items, the checks, init, a phase, the removal of a member or a rollback.
type OutlineSection struct {
	Kind           string        `json:"kind"` // one of the Section constants
	Name           string        `json:"name"`
	Line           int           `json:"line,omitempty"`   // of its first field, from 1
	Offset         string        `json:"offset,omitempty"` // of a phase
	Approval       bool          `json:"approvalRequired,omitempty"`
	SecondApprover bool          `json:"secondApprover,omitempty"`
	RequireSuccess float64       `json:"requireSuccess,omitempty"` // percent
	StopWhen       string        `json:"stopWhen,omitempty"`
	When           string        `json:"when,omitempty"`
	Steps          []OutlineStep `json:"steps"`
	OnComplete     []OutlineStep `json:"onComplete,omitempty"`
}

// The kinds of a section.
const (
	SectionItems    = "items"
	SectionChecks   = "checks"
	SectionInit     = "init"
	SectionPhase    = "phase"
	SectionRemoval  = "removal"
	SectionRollback = "rollback"
)

// OutlineStep is one step of a section.
type OutlineStep struct {
	Name      string `json:"name"`
	Line      int    `json:"line,omitempty"`
	WorkerID  string `json:"workerId"`
	Function  string `json:"functionName"`
	When      string `json:"when,omitempty"`
	Polls     bool   `json:"polls,omitempty"`
	OnFailure string `json:"onFailure,omitempty"` // the rollback that its failure starts
}

// OutlineColumn is a column that members need.
type OutlineColumn struct {
	Name     string `json:"name"`
	Optional bool   `json:"optional,omitempty"` // all that uses it goes without
}
