// Package runbook is the runbook format: it parses YAML into a runbook, checks all that the
// text alone can tell, with positions, and computes offsets, quiet hours and durations. Its
// templates are resolved by package template, its calls are compared with the workers'
// functions by package lint, and its versions with each other by package diff.
//
// It is pure. It must not know the clock, files, the store, the bus, which
// functions the workers have, or what a data source answers.
package runbook

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook/condition"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// DefaultTimeout is how long a dispatched step waits for its result when the
// runbook gives it no timeout of its own.
const DefaultTimeout = 30 * time.Minute

// What a source that is queried has when the runbook does not say, and the longest
// time a query can be given.
const (
	DefaultQueryTimeout = 2 * time.Minute
	MaxQueryTimeout     = 8 * time.Minute
	DefaultRemovalGuard = 20.0 // percent
)

// DefaultAdditionGuard is the addition guard of a source whose runbook sets none.
var DefaultAdditionGuard = AdditionGuard{Share: 20, Number: 100}

// MaxAdditions is the largest number that an addition guard can have.
const MaxAdditions = 1_000_000

// MaxRetryWait bounds the wait before a retry, before jitter, where the runbook sets no other
// bound: growing waits stay there, and a worker cannot ask for more. A longer interval causes a
// warning.
const MaxRetryWait = 24 * time.Hour

// Special variables, known for every batch. All names that begin with "_" are
// reserved for them.
const (
	VariableBatchID        = "_batch_id"
	VariableBatchStartTime = "_batch_start_time"
	VariableBatchOwner     = "_batch_owner"
	VariableBatchShadow    = "_batch_shadow"
)

// Special variables of a phase's on_complete steps, known nowhere else: how many
// members the phase had, and how many of them ended each way, and the artifact with
// their outputs.
const (
	VariablePhaseMembers   = "_phase_members"
	VariablePhaseSucceeded = "_phase_succeeded"
	VariablePhaseFailed    = "_phase_failed"
	VariablePhaseCancelled = "_phase_cancelled"
	VariableOutputs        = "_outputs"
)

// Runbook is one parsed and checked definition of a migration.
type Runbook struct {
	Name            string
	Description     string
	DataSource      DataSource  // of [SourceRequest] if Request is not nil
	Request         *Request    // nil unless requests start the batches
	QuietHours      *QuietHours // nil when there are none
	Retry           *Retry      // for every step without its own; nil when there is none
	Display         string      // the column that is shown for a member beside the key; empty for none
	Secret          []string    // columns and outputs whose values are stored encrypted and never shown
	Checks          []Step      // for each member when they are added, and on demand; they only read
	Init            []Step      // once a batch, before its phases
	Phases          []Phase
	OnMemberRemoved []Step
	Rollbacks       map[string][]Step
}

// Phase is a list of steps that falls due at an offset before or after the batch's start.
type Phase struct {
	Name   string
	Offset Offset
	When   *condition.Condition // of the members who take part; nil: all
	Steps  []Step
	// Approval holds the phase until an administrator approves it.
	Approval bool
	// SecondApprover has another person approve the phase than those who requested it: the creator of the
	// batch, the person who moved its start last, and in a manual batch the person who starts the phase.
	SecondApprover bool
	// RequireSuccess is the least share, in percent, of the members of the phase
	// before that must have succeeded in it; with fewer the phase is held. 0 means
	// that it does not ask.
	RequireSuccess float64
	// StopWhen pauses the batch when so many members have failed in the phase; nil when
	// no number of them does.
	StopWhen *StopWhen
	// OnComplete runs once for the batch when all members of the phase have ended,
	// however they did. Its steps have no member: they know the special variables
	// and the outputs of earlier steps of the same list.
	OnComplete []Step
}

// Step is one call of a worker's function.
type Step struct {
	Name     string
	WorkerID string
	Function string // may be a template: see [template.ResolveString]
	// When skips the step, and its rollback, if it is false; nil: never.
	When *condition.Condition
	// Params holds strings (which may be templates), bool, nil, json.Number,
	// []any and map[string]any: see [template.ResolveParams].
	Params       map[string]any
	OutputParams map[string]string // template variable → field of the result
	OnFailure    string            // key of Runbook.Rollbacks, or empty
	Poll         *Poll             // nil when the function answers at once
	Retry        *Retry            // replaces Runbook.Retry; nil when absent
	Timeout      time.Duration     // from dispatch to result; never 0 after Parse
	Require      bool              // of a check: the member starts no phase before it has passed
	Cache        *Cache            // its result is used again; nil when it is not
	Detached     bool              // of on_complete: nothing waits for it; see [Phase.Detached]
}

// The ways in which the waits between retries grow.
const (
	BackoffFixed       = "fixed"       // each is as long as Interval
	BackoffExponential = "exponential" // each is twice the one before, up to MaxInterval and MaxRetryWait
)

// Retry repeats a failed step up to MaxRetries times. The first wait is Interval.
type Retry struct {
	MaxRetries  int
	Interval    time.Duration
	Backoff     string        // empty is BackoffFixed
	MaxInterval time.Duration // of one wait, before jitter; 0 when only MaxRetryWait bounds it
	Jitter      int           // percent of a wait, by up to which it is lengthened at random
}

// Poll repeats an unfinished step every Interval until Timeout has passed.
type Poll struct {
	Interval time.Duration
	Timeout  time.Duration
}

// The types of a data source.
const (
	SourceDataverse  = "dataverse"
	SourceDatabricks = "databricks"
	SourceSQL        = "sql"
	SourcePostgres   = "postgres"
	SourceCSV        = "csv"
	SourceGraph      = "graph"
	// SourceRequest is not written: a runbook with trigger: request has it.
	SourceRequest = "request"
)

// BatchTimeImmediate is the one value of DataSource.BatchTime.
const BatchTimeImmediate = "immediate"

// DataSource says where the members come from. Connection and WarehouseID name
// environment variables; the secrets themselves are never in a runbook.
type DataSource struct {
	Type            string
	Connection      string // empty only for csv: members are then uploaded
	WarehouseID     string // databricks only
	Query           string // empty for csv and graph
	Graph           *Graph // graph only
	PrimaryKey      string
	BatchTimeColumn string // at most one of BatchTimeColumn and BatchTime
	BatchTime       string
	// TimeZone is the IANA name of the zone of batch times that carry none; empty is
	// UTC. See [DataSource.Location].
	TimeZone    string
	MultiValued []MultiValued
	// Timeout is how long the query may take. Like RemovalGuard, it is never 0 after
	// Parse of a source that is queried, and always 0 for another.
	Timeout time.Duration
	// RemovalGuard is the largest share, in percent, of a batch's members that one
	// result may remove without being asked about.
	RemovalGuard float64
	// AdditionGuard limits the additions of one result without confirmation. Like
	// RemovalGuard, it is empty without a query.
	AdditionGuard AdditionGuard
}

// AdditionGuard bounds the people whom one result adds. The additions are held when they are
// more than Number people, or more than a few people and Share percent of the members of the
// runbook's batches. A Share of 100 leaves the Number alone.
type AdditionGuard struct {
	Share  float64
	Number int
}

// Queried tells whether members are found by asking the source. Those of a csv
// without a connection are uploaded.
func (d DataSource) Queried() bool { return d.Connection != "" }

// Location is the time zone of batch times that carry none.
func (d DataSource) Location() *time.Location {
	if l, ok := lookUp(d.TimeZone); ok {
		return l
	}
	return time.UTC
}

// The formats of a multi-valued column.
const (
	FormatSemicolonDelimited = "semicolon_delimited"
	FormatCommaDelimited     = "comma_delimited"
	FormatJSONArray          = "json_array"
)

// MultiValued names a column that holds a list, and how the list is written.
type MultiValued struct {
	Name   string
	Format string
}

// Format gives the format of a multi-valued column; empty for any other.
func (d DataSource) Format(column string) string {
	for _, m := range d.MultiValued {
		if m.Name == column {
			return m.Format
		}
	}
	return ""
}

// EffectiveRetry is the step's own retry, else the runbook's, else none. The two
// are never merged.
func (r *Runbook) EffectiveRetry(s Step) Retry {
	switch {
	case s.Retry != nil:
		return *s.Retry
	case r.Retry != nil:
		return *r.Retry
	}
	return Retry{}
}

// IsSecret tells whether the values of a column or an output are secret.
func (r *Runbook) IsSecret(name string) bool { return slices.Contains(r.Secret, name) }

// Phase finds a phase by its exact name.
func (r *Runbook) Phase(name string) (Phase, bool) {
	for _, p := range r.Phases {
		if p.Name == name {
			return p, true
		}
	}
	return Phase{}, false
}

// Columns names the data columns a member needs: the primary key, the display column, and every
// variable of the phases, the checks, the rollbacks and on_member_removed that is neither
// special nor an output of a step. Variables of on_complete are not columns.
// The list is sorted and without duplicates.
func (r *Runbook) Columns() []string {
	var steps, complete []Step
	for _, p := range r.Phases {
		steps = append(steps, p.Steps...)
		complete = append(complete, p.OnComplete...)
	}
	for _, s := range r.Rollbacks {
		steps = append(steps, s...)
	}
	steps = append(steps, r.OnMemberRemoved...)
	steps = append(steps, r.Checks...)

	names := map[string]bool{}
	if r.Display != "" {
		names[r.Display] = true
	}
	for _, s := range steps {
		for _, name := range s.References() {
			names[name] = !strings.HasPrefix(name, "_")
		}
	}
	for _, s := range slices.Concat(steps, complete) {
		for name := range s.OutputParams {
			names[name] = false
		}
	}
	for _, p := range r.Phases {
		for _, name := range p.When.Names() {
			if _, known := names[name]; !known {
				names[name] = !strings.HasPrefix(name, "_")
			}
		}
	}
	names[r.DataSource.PrimaryKey] = true
	maps.DeleteFunc(names, func(_ string, needed bool) bool { return !needed })
	return slices.Sorted(maps.Keys(names))
}

// Optional reports whether a column may be absent: all that uses it says so, with {{name?}} or the
// filter default.
func (r *Runbook) Optional(column string) bool {
	if ds := r.DataSource; column == ds.PrimaryKey || column == ds.BatchTimeColumn ||
		slices.ContainsFunc(ds.MultiValued, func(m MultiValued) bool { return m.Name == column }) {
		return false
	}
	optional := true
	r.EachStep(func(s Step, _ []any) {
		template.EachVariable([]any{s.Function, s.Params, s.Cache.key()}, func(v template.Segment) {
			optional = optional && (v.Text != column || v.MayLack())
		})
		optional = optional && !slices.Contains(s.When.Names(), column)
	})
	for _, p := range r.Phases {
		optional = optional && !slices.Contains(p.When.Names(), column)
	}
	return optional
}

// HasOutput reports whether a step gives a variable.
func (r *Runbook) HasOutput(variable string) bool {
	has := false
	r.EachStep(func(s Step, _ []any) {
		_, gives := s.OutputParams[variable]
		has = has || gives
	})
	return has
}

// OutputStep names a step whose output_params have a variable that would else be a column; empty
// where none has.
func (r *Runbook) OutputStep(variable string) (name string) {
	r.EachStep(func(s Step, path []any) {
		if _, gives := s.OutputParams[variable]; gives && name == "" && path[0] != "init" {
			name = s.Name
		}
	})
	return name
}

// References names the variables that the step's function, parameters, condition and cache use,
// sorted, each once.
func (s Step) References() []string {
	names := template.References([]any{s.Function, s.Params, s.Cache.key()})
	if s.When == nil {
		return names
	}
	names = append(names, s.When.Names()...)
	slices.Sort(names)
	return slices.Compact(names)
}
