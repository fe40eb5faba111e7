package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/humanize"
)

// BatchTable returns the table of batches. The name is shown only if a batch has one, and the start only
// if a batch has a schedule.
func (c *Printer) BatchTable(views ...api.Batch) *Sheet {
	t := c.Table("batch", "name", "runbook", "version", "status", "start", "phase", "members", "created", "by", "owner", "completed", "active", "failed", "removed", "waiting", "note")
	t.extra = []string{"active", "failed", "removed", "waiting", "note"}
	if !slices.ContainsFunc(views, func(v api.Batch) bool { return v.Name != "" }) {
		t.extra = append(t.extra, "name")
	}
	if !slices.ContainsFunc(views, func(v api.Batch) bool { return v.Owner != v.CreatedBy }) {
		t.extra = append(t.extra, "owner")
	}
	if !slices.ContainsFunc(views, scheduled) {
		t.extra = append(t.extra, "start")
	}
	for _, v := range views {
		by := v.CreatedBy
		if by == "" && scheduled(v) {
			by = "automation"
		}
		start := v.BatchStartTime
		if !scheduled(v) {
			start = nil
		}
		t.Row(v.ID, v.Name, v.RunbookName, v.RunbookVersion, BatchStatus(v), start, v.CurrentPhase, Shown{v.MemberCount - v.RemovedCount, MemberCount(v)}, v.DetectedAt, by, v.Owner, v.CompletedAt, v.ActiveCount, v.FailedCount, v.RemovedCount, WaitingText(v), v.Note)
	}
	return t
}

// WaitingText returns what a batch waits for; empty for nothing.
func WaitingText(v api.Batch) string {
	if v.WaitingReason == nil {
		return ""
	}
	return v.WaitingReason.Reason
}

// MemberCount returns the number of members of a batch, and of removed members.
func MemberCount(v api.Batch) string {
	in := strconv.Itoa(v.MemberCount - v.RemovedCount)
	if v.RemovedCount > 0 {
		in += fmt.Sprintf(" (+%d removed)", v.RemovedCount)
	}
	return in
}

// scheduled reports whether the phases of a batch start by a schedule. The start of a batch
// that was created by hand is only the time of its first advance.
func scheduled(v api.Batch) bool { return !v.IsManual && v.BatchStartTime != nil }

// BatchStatus returns the status of a batch, with whether it needs attention.
func BatchStatus(v api.Batch) string {
	word := v.Status
	if v.Status == api.BatchCompleted && v.FailedCount > 0 {
		return CompletedWithFailures
	}
	if v.Terminal() {
		return word
	}
	if v.Filling {
		word += ", filling"
	}
	if v.Paused != nil {
		word += ", paused"
	}
	if v.Held != nil && v.Held.Confirmed == nil {
		word += ", removals held"
	}
	return word
}

// ScheduleNote returns the start and the next phase of a batch with a schedule.
func ScheduleNote(v api.Batch, phases []api.Phase, now time.Time) string {
	if !scheduled(v) || v.Terminal() {
		return ""
	}
	var all []string
	if v.BatchStartTime.After(now) {
		all = append(all, fmt.Sprintf("Starts on %s, in %s.", Stamp(*v.BatchStartTime), far(v.BatchStartTime.Sub(now))))
	}
	if v.Filling {
		all = append(all, "Its members are being written; no phase has started.")
	} else if next, ok := nextPhase(phases); ok && v.Paused == nil && next.DueAt.After(now) {
		all = append(all, fmt.Sprintf("Next phase: %s, due on %s, in %s.", next.Name, Stamp(*next.DueAt), far(next.DueAt.Sub(now))))
	}
	return strings.Join(all, " ")
}

// nextPhase returns the first pending phase with a due time.
func nextPhase(phases []api.Phase) (api.Phase, bool) {
	for _, p := range phases {
		if p.Status == api.PhasePending && p.DueAt != nil {
			return p, true
		}
	}
	return api.Phase{}, false
}

// far formats a duration in its one or two largest units.
func far(d time.Duration) string {
	d = d.Round(time.Minute)
	days, hours, minutes := int(d/(24*time.Hour)), int(d/time.Hour)%24, int(d/time.Minute)%60
	switch {
	case days >= 3 || days > 0 && hours == 0:
		return Count(days, "day")
	case days > 0:
		return Count(days, "day") + " and " + Count(hours, "hour")
	case hours > 0 && minutes > 0:
		return Count(hours, "hour") + " and " + Count(minutes, "minute")
	case hours > 0:
		return Count(hours, "hour")
	case minutes > 0:
		return Count(minutes, "minute")
	}
	return "less than a minute"
}

// Notes returns what the table of a batch does not show.
func Notes(v api.Batch) []string {
	var all []string
	if v.Note != "" {
		all = append(all, "Note: "+v.Note)
	}
	if v.Shadow {
		all = append(all, "It is a shadow: it is compared with another orchestrator, and no one gets its result.")
	}
	if v.Error != "" {
		all = append(all, v.Error)
	}
	if v.Paused != nil {
		all = append(all, "Paused by "+marked(*v.Paused))
	}
	if v.Cancelled != nil {
		all = append(all, "Cancelled by "+marked(*v.Cancelled))
	}
	if v.Rescheduled != nil && !v.Terminal() {
		all = append(all, "Rescheduled by "+marked(*v.Rescheduled))
	}
	for _, start := range v.EarlierStarts {
		if !v.Terminal() {
			all = append(all, fmt.Sprintf("Rows of the data source with the earlier start %s stay in this batch.", Stamp(start)))
		}
	}
	if v.Checks != nil {
		all = append(all, checksNote(v.ID, *v.Checks))
	}
	if w := v.WaitingReason; w != nil && (w.Code == api.WaitsForGate || w.Code == api.WaitsForQuietHours || w.Code == api.WaitsForCancellation) { // other lines say the rest
		all = append(all, "Waits: "+w.Reason+".")
	}
	for _, w := range v.WaitsFor {
		all = append(all, Capital(waitNote(w)))
	}
	if v.Held != nil && !v.Terminal() {
		all = append(all, Capital(holdNote(*v.Held)))
	}
	if v.DiscardedRemovals > 0 {
		all = append(all, fmt.Sprintf("%s kept although the data source no longer returns them.", are(v.DiscardedRemovals, "member")))
	}
	return all
}

// checksNote says how many members passed their checks, and where to see the others.
func checksNote(batch int, v api.CheckCounts) string {
	parts := []string{Count(v.Passed, "member") + " passed"}
	for _, part := range []struct {
		n    int
		what string
	}{{v.Failed, "failed"}, {v.Running, "running"}, {v.NotRun, "not run"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	note := "Checks: " + strings.Join(parts, ", ") + "."
	if v.Failed > 0 {
		note += fmt.Sprintf(" Show them: matoolkit batch checks %d --status failed", batch)
	}
	return note
}

// CheckTable returns the table of checks.
func (c *Printer) CheckTable(views ...api.Check) *Sheet {
	t := c.Table("member", "display", "check", "status", "required", "function", "version", "step", "checked", "error")
	t.minor = []string{"version", "step", "function", "checked", "required"}
	if !slices.ContainsFunc(views, func(v api.Check) bool { return v.MemberDisplay != "" }) {
		t.extra = append(t.extra, "display")
	}
	for _, v := range views {
		t.Row(v.MemberKey, v.MemberDisplay, v.Name, v.Status, v.Required, v.Function, v.RunbookVersion, v.StepID, v.CheckedAt, v.Error)
	}
	return t
}

// waitNote names a worker that a batch waits for, and the reason.
func waitNote(w api.WorkerWait) string {
	reason := w.Reason
	switch {
	case w.ThrottledUntil != nil:
		reason = "throttled until " + Stamp(*w.ThrottledUntil)
	case (w.State == api.WorkerGone || w.State == api.WorkerSilent) && w.Since != nil:
		reason = "last seen on " + Stamp(*w.Since)
	}
	return fmt.Sprintf("waits for worker %s: %s; %s queued", w.WorkerID, reason, Count(w.JobsQueued, "job"))
}

// marked returns who did something, when and why.
func marked(m api.Attribution) string { return Because(m.By+" on "+Stamp(m.At), m.Why) }

// MemberTable returns the table of members.
func (c *Printer) MemberTable(views ...api.Member) *Sheet {
	t := c.Table("member", "key", "display", "status", "phase", "failed", "in phase", "at step", "removed", "by", "note", "error")
	t.minor = []string{"by", "failed", "removed", "phase", "in phase"} // of failed, the time
	if !slices.ContainsFunc(views, func(v api.Member) bool { return v.Display != "" }) {
		t.extra = append(t.extra, "display")
	}
	if !slices.ContainsFunc(views, func(v api.Member) bool { return memberNote(v) != "" }) {
		t.extra = append(t.extra, "note")
	}
	for _, v := range views {
		by := v.RemovedBy
		if v.RemovedAt != nil && by == "" && v.MovedTo == nil && v.MovedToID == 0 {
			by = "the data source"
		}
		// The columns name the phase and the step already.
		cause := strings.TrimPrefix(v.Error, fmt.Sprintf("phase %s: step %q: ", v.FailedIn, v.FailedStep))
		t.Row(v.ID, v.Key, v.Display, v.Status, v.Phase, v.FailedAt, v.FailedIn, v.FailedStep, v.RemovedAt, by, memberNote(v), Shown{v.Error, cause})
	}
	return t
}

// memberNote says what an administrator corrected against the data source, and where a member moved.
func memberNote(v api.Member) string {
	var notes []string
	if moved := movedText(v); moved != "" {
		notes = append(notes, "moved "+moved)
	}
	if len(v.Overrides) > 0 {
		notes = append(notes, "corrected: "+strings.Join(slices.Sorted(maps.Keys(v.Overrides)), ", "))
	}
	return strings.Join(notes, "; ")
}

// FoundTable returns the table of members of several batches.
func (c *Printer) FoundTable(views ...api.FoundMember) *Sheet {
	t := c.Table("key", "display", "batch", "name", "runbook", "batch status", "member", "status", "phase", "step", "removed", "matched", "error")
	t.minor = []string{"runbook", "name", "removed"}
	for column, has := range map[string]func(api.FoundMember) bool{
		"display": func(v api.FoundMember) bool { return v.Display != "" }, "name": func(v api.FoundMember) bool { return v.BatchName != "" },
		"removed": func(v api.FoundMember) bool { return v.RemovedAt != nil }, "matched": func(v api.FoundMember) bool { return v.Matched != nil },
		"error": func(v api.FoundMember) bool { return v.Error != "" },
	} {
		if !slices.ContainsFunc(views, has) {
			t.extra = append(t.extra, column)
		}
	}
	for _, v := range views {
		matched := ""
		if v.Matched != nil {
			matched = v.Matched.Column + ": " + v.Matched.Value
		}
		cause := strings.TrimPrefix(v.Error, fmt.Sprintf("phase %s: step %q: ", v.Phase, v.Step))
		t.Row(v.Key, v.Display, v.BatchID, v.BatchName, v.RunbookName, Shown{v.BatchStatus, BatchStatus(api.Batch{Status: v.BatchStatus, FailedCount: v.BatchFailed})}, v.ID, v.Status, v.Phase, v.Step, v.RemovedAt, matched, Shown{v.Error, cause})
	}
	return t
}

// Person returns the key of a member with its display name.
func Person(key, display string) string {
	if display == "" {
		return Printable(key)
	}
	return Printable(key) + ", " + Printable(display)
}

// PhaseTable returns the table of phases. The version is shown only if there are several.
func (c *Printer) PhaseTable(phases []api.Phase) *Sheet {
	t := c.Table("phase", "version", "status", "members", "succeeded", "failed", "cancelled", "running", "waiting", "due", "began", "took", "note")
	if !severalVersions(phases) {
		t.extra = []string{"version"}
	}
	for _, v := range phases {
		took := ""
		if elapsed, _ := times(v, c.Now()); v.DispatchedAt != nil {
			took = round(elapsed)
		}
		t.Row(v.Name, v.RunbookVersion, Shown{v.Status, PhaseStatus(v)}, v.Members, v.Succeeded, v.Failed, v.Cancelled, v.Running, v.Waiting, v.DueAt, v.DispatchedAt, took, phaseNote(v))
	}
	return t
}

// CompletedWithFailures is the status of a completed phase, or batch, in which members failed.
const CompletedWithFailures = "completed with failures"

// PhaseStatus returns the status of a phase. The API calls a phase completed if any member
// succeeded.
func PhaseStatus(v api.Phase) string {
	if v.Status == api.PhaseCompleted && v.Failed > 0 {
		return CompletedWithFailures
	}
	return v.Status
}

// phaseNote returns why a phase waits, was skipped or failed, and the state of its gates and
// on_complete steps.
func phaseNote(v api.Phase) string {
	var parts []string
	if v.Reason != "" {
		parts = append(parts, v.Reason)
	}
	pending := v.Status == api.PhasePending
	switch {
	case v.Approved != nil:
		parts = append(parts, "approved by "+Because(v.Approved.By, v.Approved.Why))
	case pending && v.Reason == "":
		if v.RequireSuccess > 0 {
			parts = append(parts, fmt.Sprintf("requires %s success in the phase before", humanize.Percent(v.RequireSuccess)))
		}
		switch {
		case v.SecondApprover:
			parts = append(parts, "needs approval by a second person")
		case v.Approval:
			parts = append(parts, "needs approval")
		}
	}
	if pending && v.StopWhen != "" {
		parts = append(parts, "stops when "+v.StopWhen+" failed")
	}
	if v.OnComplete != "" && v.OnComplete != api.StepPending {
		parts = append(parts, "on_complete "+Words(v.OnComplete))
	}
	return strings.Join(parts, "; ")
}

// Gated reports whether a phase waits for an approval.
func Gated(v api.Phase) bool {
	return v.Status == api.PhasePending && v.Approved == nil && (v.Approval || v.RequireSuccess > 0 && v.Reason != "")
}

// StepTable returns the table of steps.
func (c *Printer) StepTable(views ...api.Step) *Sheet {
	t := c.Table("step", "phase", "version", "kind", "member", "display", "name", "function", "status", "retries", "done", "note")
	t.minor = []string{"version", "kind", "function", "done", "retries", "phase"}
	if !slices.ContainsFunc(views, func(v api.Step) bool { return v.MemberDisplay != "" }) {
		t.extra = append(t.extra, "display")
	}
	for _, v := range views {
		t.Row(v.ID, v.Phase, v.RunbookVersion, stepKind(v), stepMember(v), v.MemberDisplay, v.Name, v.Function, v.Status, v.RetryCount, v.CompletedAt, stepNote(v))
	}
	return t
}

// stepMember returns the key of the member of a step, or the number if there is no key.
func stepMember(v api.Step) string {
	if v.MemberKey == "" && v.MemberID > 0 {
		return strconv.Itoa(v.MemberID)
	}
	return v.MemberKey
}

func stepKind(v api.Step) string {
	if v.Rollback != "" {
		return "rollback " + v.Rollback
	}
	return v.Kind
}

// stepNote returns the error of a step, who skipped it or marked it as done, and late results.
func stepNote(v api.Step) string {
	var parts []string
	if v.Error != "" {
		parts = append(parts, v.Error)
	}
	if v.Resolved != nil {
		done := "marked done by "
		if v.Status == api.StepSkipped {
			done = "skipped by "
		}
		parts = append(parts, done+Because(v.Resolved.By, v.Resolved.Why))
	}
	if v.Cached != nil {
		parts = append(parts, cachedNote(*v.Cached))
	}
	for _, late := range v.Late {
		switch {
		case late.At == nil:
		case late.Succeeded:
			parts = append(parts, late.JobID+" succeeded too late")
		default:
			parts = append(parts, Because(late.JobID+" failed too late", late.Error))
		}
	}
	return strings.Join(parts, "; ")
}

// cachedNote says from where a step has its result, or for what it waits.
func cachedNote(c api.CachedResult) string {
	of := fmt.Sprintf("batch %d", c.BatchID)
	if c.MemberID > 0 {
		of += fmt.Sprintf(", member %d", c.MemberID)
	}
	if c.At == nil {
		return "waits for the same work of " + of
	}
	return "from the cache: done on " + Stamp(*c.At) + " by " + of
}

// are returns a number with its noun and verb.
func are(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return Count(n, noun) + " are"
}

// Capital starts a text with a capital letter.
func Capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// Words returns a status as text.
func Words(status string) string { return strings.ReplaceAll(status, "_", " ") }

// OneOf lists values: a, b or c.
func OneOf[S ~string](all []S) string {
	var names []string
	for _, s := range all {
		names = append(names, string(s))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
