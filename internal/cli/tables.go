package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/engine"
)

// These show what a batch consists of in tables and in words.

func (c *console) batchTable(views ...app.BatchView) *sheet {
	t := c.table("batch", "runbook", "version", "status", "phase", "members", "created", "by", "completed")
	for _, v := range views {
		t.row(v.ID, v.RunbookName, v.RunbookVersion, batchStatus(v), v.CurrentPhase, v.MemberCount, v.DetectedAt, v.CreatedBy, v.CompletedAt)
	}
	return t
}

// batchStatus is where a batch stands, and whether it stands still.
func batchStatus(v app.BatchView) string {
	if v.Paused != nil && !terminal(v) {
		return v.Status + ", paused"
	}
	return v.Status
}

// notes are what there is to tell of a batch beside its table.
func notes(v app.BatchView) []string {
	var all []string
	if v.Error != "" {
		all = append(all, v.Error)
	}
	if v.Paused != nil {
		all = append(all, "Paused by "+marked(*v.Paused))
	}
	if v.Cancelled != nil {
		all = append(all, "Cancelled by "+marked(*v.Cancelled))
	}
	return all
}

// marked tells who did something, when and why.
func marked(m app.MarkView) string { return because(m.By+" on "+stamp(m.At), m.Why) }

func (c *console) memberTable(views ...app.MemberView) *sheet {
	t := c.table("member", "key", "status", "phase", "failed", "in phase", "at step", "removed", "error")
	for _, v := range views {
		t.row(v.ID, v.Key, v.Status, v.Phase, v.FailedAt, v.FailedIn, v.FailedStep, v.RemovedAt, v.Error)
	}
	return t
}

// phaseTable has the versions only where there is more than one.
func (c *console) phaseTable(phases []app.PhaseView) *sheet {
	head := []string{"phase", "status", "members", "succeeded", "failed", "cancelled", "running", "waiting", "due", "began", "took", "note"}
	versions := severalVersions(phases)
	if versions {
		head = slices.Insert(head, 1, "version")
	}
	t := c.table(head...)
	for _, v := range phases {
		took := ""
		if elapsed, _ := times(v, c.env.Now()); v.DispatchedAt != nil {
			took = round(elapsed)
		}
		row := []any{v.Name, v.Status, v.Members, v.Succeeded, v.Failed, v.Cancelled, v.Running, v.Waiting, v.DueAt, v.DispatchedAt, took, phaseNote(v)}
		if versions {
			row = slices.Insert(row, 1, any(v.RunbookVersion))
		}
		t.row(row...)
	}
	return t
}

// phaseNote tells why a phase waits, was skipped or failed, and how its gates and its
// on_complete steps stand.
func phaseNote(v app.PhaseView) string {
	var parts []string
	if v.Reason != "" {
		parts = append(parts, v.Reason)
	}
	pending := v.Status == string(engine.PhasePending)
	switch {
	case v.Approved != nil:
		parts = append(parts, "approved by "+because(v.Approved.By, v.Approved.Why))
	case pending && v.Reason == "":
		if v.RequireSuccess > 0 {
			parts = append(parts, fmt.Sprintf("requires that %s%% succeed in the phase before", strconv.FormatFloat(v.RequireSuccess, 'f', -1, 64)))
		}
		if v.Approval {
			parts = append(parts, "needs approval")
		}
	}
	if v.OnComplete != "" && v.OnComplete != string(engine.StepPending) {
		parts = append(parts, "on_complete "+words(v.OnComplete))
	}
	return strings.Join(parts, "; ")
}

// gated tells whether a phase waits for an administrator.
func gated(v app.PhaseView) bool {
	return v.Status == string(engine.PhasePending) && v.Approved == nil && (v.Approval || v.RequireSuccess > 0 && v.Reason != "")
}

func (c *console) stepTable(views ...app.StepView) *sheet {
	t := c.table("step", "phase", "kind", "member", "name", "function", "status", "retries", "done", "note")
	for _, v := range views {
		member := v.MemberKey
		if member == "" && v.MemberID > 0 {
			member = strconv.Itoa(v.MemberID)
		}
		kind := v.Kind
		if v.Rollback != "" {
			kind = "rollback " + v.Rollback
		}
		t.row(v.ID, v.Phase, kind, member, v.Name, v.Function, v.Status, v.RetryCount, v.CompletedAt, stepNote(v))
	}
	return t
}

// stepNote tells why a step failed, who took its place and what came too late.
func stepNote(v app.StepView) string {
	var parts []string
	if v.Error != "" {
		parts = append(parts, v.Error)
	}
	if v.Resolved != nil {
		done := "marked done by "
		if v.Status == string(engine.StepSkipped) {
			done = "skipped by "
		}
		parts = append(parts, done+because(v.Resolved.By, v.Resolved.Why))
	}
	for _, late := range v.Late {
		switch {
		case late.At == nil:
		case late.Succeeded:
			parts = append(parts, late.JobID+" succeeded too late")
		default:
			parts = append(parts, because(late.JobID+" failed too late", late.Error))
		}
	}
	return strings.Join(parts, "; ")
}

// words makes of a status what people say.
func words(status string) string { return strings.ReplaceAll(status, "_", " ") }

// oneOf names all statuses of something.
func oneOf[S ~string](all []S) string {
	var names []string
	for _, s := range all {
		names = append(names, string(s))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
