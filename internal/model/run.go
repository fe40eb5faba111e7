package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Run is one member's passage through one phase, a batch's init sequence, the call that lists its items or a
// phase's on_complete or detached steps (Member 0): its steps in order, of which Current is in
// hand. The checks of a member are a run, too: it goes on after a step that failed. Rollback steps are added when they are called for.
type Run struct {
	Batch        int                        `json:"batchId"`
	Phase        int                        `json:"phaseId"`
	Member       int                        `json:"memberId"`
	Page         int                        `json:"page"` // the shard that counts it; 0 for a run without a member
	Key          string                     `json:"key,omitempty"`
	Kind         PhaseKind                  `json:"kind"`
	PhaseName    string                     `json:"phase"`
	Runbook      string                     `json:"fromRunbook"` // this and the version have names of their own, which are not indexed
	Version      int                        `json:"fromVersion"`
	Status       RunStatus                  `json:"status"`
	Current      int                        `json:"current"`
	Steps        []Step                     `json:"steps"`
	StepStatuses []StepStatus               `json:"stepStatuses,omitempty"` // those of the steps, each once and in order, for queries; see NoteStatuses
	Outputs      map[string]json.RawMessage `json:"outputs,omitempty"`      // output_params of this run so far
	Variables    map[string]json.RawMessage `json:"variables,omitempty"`    // of the member, that the templates of its steps and their rollbacks use; none while it waits and after its end
	Secrets      map[string]json.RawMessage `json:"secrets,omitempty"`      // encrypted values that the parameters of the step in hand refer to
	Of           int                        `json:"ofPhaseId,omitempty"`    // of detached steps only: the phase execution that they belong to
	Counts       *Counts                    `json:"counts,omitempty"`       // of on_complete and detached steps only: how the phase ended
	StartTime    *time.Time                 `json:"startTime,omitempty"`    // the batch's
	Owner        string                     `json:"batchOwner,omitempty"`   // the batch's, when the run was made
	Shadow       bool                       `json:"batchShadow,omitempty"`  // the batch is a shadow
	NotBefore    *time.Time                 `json:"notBefore,omitempty"`    // of a forced request: no result of work that began before is used again; nil: any is
	LastEvent    string                     `json:"lastEvent,omitempty"`    // the event applied last, to know it when it comes again
	Task         string                     `json:"task,omitempty"`         // the work that released or retried it last, to know that when it comes again
	CreatedAt    time.Time                  `json:"createdAt"`
	EndedAt      *time.Time                 `json:"endedAt,omitempty"`
	Error        string                     `json:"error,omitempty"`
	PausedAt     *time.Time                 `json:"pausedAt,omitempty"`     // since when it waits for its batch to be resumed
	CancelReason string                     `json:"cancelReason,omitempty"` // why it ends as soon as the job in flight has ended; empty: it does not
	Yielded      bool                       `json:"yielded,omitempty"`      // it has once had no job in flight, or ended: it no longer counts towards the fan-out window
	WakeAt       *time.Time                 `json:"wakeAt,omitempty"`       // when a poll or a retry must have come; for the sweep
	DeadlineAt   *time.Time                 `json:"deadlineAt,omitempty"`   // when the job in flight must have been answered; for the sweep
	Worker       string                     `json:"worker,omitempty"`       // that has, or will have, the job in flight; with SentAt, to count the jobs that wait for it
	SentAt       *time.Time                 `json:"sentAt,omitempty"`       // when that job becomes, or became, visible to the worker
	RolledBack   bool                       `json:"rolledBack,omitempty"`
	Switches     int                        `json:"switches,omitempty"`  // how often a retry took it over to another version: ids of its jobs name it
	CheckTask    string                     `json:"checkTask,omitempty"` // of checks only: the request that they are made for
	Holds        bool                       `json:"holds,omitempty"`     // of checks only: the member waits for them, and fails with a required one
	Next         int                        `json:"next,omitempty"`      // the execution that the member entered when this run ended; 0 for none
}

// EffectID is the idempotency key of the step at index: the same for each attempt, retry
// and poll, and another one when the run has ended and begins the step anew.
func (r *Run) EffectID(index int) string {
	return fmt.Sprintf("%d/%d/%d", r.Batch, r.StepID(index), r.Steps[index].Round+1)
}

// Label names the member of the run, or its kind, in texts.
func (r *Run) Label() string {
	if r.Member == 0 {
		return strings.ReplaceAll(string(r.Kind), "_", " ")
	}
	return fmt.Sprintf("member %d", r.Member)
}

// FailedAt is the place of the step that the run failed at; -1 for none. Of checks it is the first
// required one that failed.
func (r *Run) FailedAt() int {
	return slices.IndexFunc(r.Steps, func(s Step) bool {
		return s.Rollback == "" && s.Status.Failed() && (r.Kind != KindCheck || s.Required)
	})
}

// FailsMember reports whether the end of the run fails its member: the run failed and, if it is of
// checks, a required one did, for which the member waits.
func (r *Run) FailsMember() bool {
	return r.Status == RunFailed && (r.Kind != KindCheck || r.Holds && r.FailedAt() >= 0)
}

// Definitions are the runbook's steps that the run's are made of: its own, or
// those of a rollback.
func (r *Run) Definitions(rb *runbook.Runbook, rollback string) ([]runbook.Step, error) {
	if rollback != "" {
		steps, ok := rb.Rollbacks[rollback]
		if !ok {
			return nil, fmt.Errorf("model: runbook %s has no rollback %q", rb.Name, rollback)
		}
		return steps, nil
	}
	switch r.Kind {
	case KindInit:
		return rb.Init, nil
	case KindItems:
		if !rb.ListsItems() {
			return nil, fmt.Errorf("model: the items of runbook %s have no source", rb.Name)
		}
		return []runbook.Step{rb.Request.Source.Step}, nil
	case KindRemoval:
		return rb.OnMemberRemoved, nil
	case KindCheck:
		return rb.Checks, nil
	}
	p, ok := rb.Phase(r.PhaseName)
	if !ok {
		return nil, fmt.Errorf("model: runbook %s has no phase %q", rb.Name, r.PhaseName)
	}
	switch r.Kind {
	case KindOnComplete:
		return p.Attached(), nil
	case KindDetached:
		return p.Detached(), nil
	}
	return p.Steps, nil
}

// Definition is the runbook's step that the run's step at index is made of.
func (r *Run) Definition(rb *runbook.Runbook, index int) (runbook.Step, error) {
	step := r.Steps[index]
	definitions, err := r.Definitions(rb, step.Rollback)
	if err != nil {
		return runbook.Step{}, err
	}
	place, sequence := index, r.PhaseName // a run begins with its own steps, in their order
	if step.Rollback != "" {
		place, sequence = step.Place, step.Rollback
	}
	if place < 0 || place >= len(definitions) {
		return runbook.Step{}, fmt.Errorf("model: runbook %s version %d has no step %d in %q", r.Runbook, r.Version, place, sequence)
	}
	return definitions[place], nil
}

// NoteStatuses sets StepStatuses. The applier calls it for each run that it writes.
func (r *Run) NoteStatuses() {
	r.StepStatuses = nil
	for _, s := range r.Steps {
		if !slices.Contains(r.StepStatuses, s.Status) {
			r.StepStatuses = append(r.StepStatuses, s.Status)
		}
	}
	slices.Sort(r.StepStatuses)
}

// Clone copies the run with what a decision may change of it.
func (r *Run) Clone() *Run {
	c := *r
	c.Steps = slices.Clone(r.Steps)
	for i := range c.Steps {
		c.Steps[i].Abandoned = slices.Clone(r.Steps[i].Abandoned)
	}
	c.Outputs = maps.Clone(r.Outputs)
	return &c
}

// StepID is the execution id of the run's step at index.
func (r *Run) StepID(index int) int64 { return StepID(r.Phase, r.Member, index) }

// JobID is the id of the last job of the run's step at index; empty if it has none.
func (r *Run) JobID(index int) string {
	job := r.Steps[index].Job
	if job == "" || strings.HasPrefix(job, r.jobKind()) {
		return job
	}
	return r.jobPrefix(index) + job
}

func (r *Run) jobKind() string {
	if r.Kind == KindInit {
		return "init-"
	}
	return "step-"
}

func (r *Run) jobPrefix(index int) string {
	return r.jobKind() + strconv.FormatInt(r.StepID(index), 10) + "-"
}

// ShortJobID returns a job id without what all jobs of the run's step at index have in common, as it is
// stored. It returns the id of another step's job whole: in another version a step may have another place.
func (r *Run) ShortJobID(index int, jobID string) string {
	return strings.TrimPrefix(jobID, r.jobPrefix(index))
}

// AwaitsJob reports whether the run's step at index waits for the result of a job.
func (r *Run) AwaitsJob(index int, jobID string) bool {
	return r.Steps[index].JobInFlight() && r.JobID(index) == jobID
}
