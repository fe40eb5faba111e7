package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/humanize"
)

// These show what a batch consists of in tables and in words.

// BatchTable has the starts only where a batch follows its schedule. As CSV it always has
// the same columns, and how many were removed in one of their own.
func (c *Printer) BatchTable(views ...api.Batch) *Sheet {
	head := []string{"batch", "runbook", "version", "status", "phase", "members", "created", "by", "completed"}
	starts := c.Format == FormatCSV || slices.ContainsFunc(views, scheduled)
	if starts {
		head = slices.Insert(head, 4, "start")
	}
	if c.Format == FormatCSV {
		head = append(head, "removed")
	}
	t := c.Table(head...)
	for _, v := range views {
		by := v.CreatedBy
		if by == "" && scheduled(v) {
			by = "automation"
		}
		row := []any{v.ID, v.RunbookName, v.RunbookVersion, BatchStatus(v), v.CurrentPhase, MemberCount(v), v.DetectedAt, by, v.CompletedAt}
		if starts {
			start := v.BatchStartTime
			if !scheduled(v) {
				start = nil
			}
			row = slices.Insert(row, 4, any(start))
		}
		if c.Format == FormatCSV {
			row[slices.Index(head, "members")] = v.MemberCount - v.RemovedCount
			row = append(row, v.RemovedCount)
		}
		t.Row(row...)
	}
	return t
}

// MemberCount is how many are in a batch, and how many were.
func MemberCount(v api.Batch) string {
	in := strconv.Itoa(v.MemberCount - v.RemovedCount)
	if v.RemovedCount > 0 {
		in += fmt.Sprintf(" (+%d removed)", v.RemovedCount)
	}
	return in
}

// scheduled tells whether a batch begins its phases by itself. The start of one that is
// made by hand is only when it was first advanced.
func scheduled(v api.Batch) bool { return !v.IsManual && v.BatchStartTime != nil }

// BatchStatus is where a batch stands, whether it stands still, and whether somebody
// has to look at it.
func BatchStatus(v api.Batch) string {
	word := v.Status
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

// ScheduleNote tells of a batch that follows its schedule when it starts and what
// comes next; nothing of others.
func ScheduleNote(v api.Batch, phases []api.Phase, now time.Time) string {
	if !scheduled(v) || v.Terminal() {
		return ""
	}
	var all []string
	if v.BatchStartTime.After(now) {
		all = append(all, fmt.Sprintf("Starts on %s, in %s.", Stamp(*v.BatchStartTime), far(v.BatchStartTime.Sub(now))))
	}
	if v.Filling {
		all = append(all, "Its members are being written; nothing has begun.")
	} else if next, ok := nextPhase(phases); ok && v.Paused == nil && next.DueAt.After(now) {
		all = append(all, fmt.Sprintf("Next is %s, due on %s, in %s.", next.Name, Stamp(*next.DueAt), far(next.DueAt.Sub(now))))
	}
	return strings.Join(all, " ")
}

// nextPhase is the first phase that has not begun and follows the schedule.
func nextPhase(phases []api.Phase) (api.Phase, bool) {
	for _, p := range phases {
		if p.Status == api.PhasePending && p.DueAt != nil {
			return p, true
		}
	}
	return api.Phase{}, false
}

// far is a time to come in the one or two units that say how far away it is.
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

// Notes are what there is to tell of a batch beside its table.
func Notes(v api.Batch) []string {
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
	for _, w := range v.WaitsFor {
		all = append(all, capital(waitNote(w)))
	}
	if v.Held != nil && !v.Terminal() {
		all = append(all, capital(heldNote(*v.Held)))
	}
	if v.Kept > 0 {
		all = append(all, fmt.Sprintf("%s kept whom the data source no longer has in this batch.", are(v.Kept, "member")))
	}
	return all
}

// waitNote says which worker a batch waits for and why.
func waitNote(w api.WorkerWait) string {
	reason := w.Reason
	switch {
	case w.ThrottledUntil != nil:
		reason = "throttled until " + Stamp(*w.ThrottledUntil)
	case (w.State == api.WorkerGone || w.State == api.WorkerSilent) && w.Since != nil:
		reason = "no worker since " + Stamp(*w.Since)
	}
	return fmt.Sprintf("waits for worker %s: %s; %s queued", w.WorkerID, reason, Count(w.JobsQueued, "job"))
}

// marked tells who did something, when and why.
func marked(m api.Attribution) string { return Because(m.By+" on "+Stamp(m.At), m.Why) }

// MemberTable shows members.
func (c *Printer) MemberTable(views ...api.Member) *Sheet {
	t := c.Table("member", "key", "status", "phase", "failed", "in phase", "at step", "removed", "by", "error")
	t.minor = []string{"by", "failed", "removed", "phase"} // when somebody failed, and not how many
	for _, v := range views {
		by := v.RemovedBy
		if v.RemovedAt != nil && by == "" {
			by = "the data source"
		}
		reason := v.Error
		if c.Format == FormatTable { // beside its own columns, which take the room that the cause needs
			reason = strings.TrimPrefix(reason, fmt.Sprintf("phase %s: step %q: ", v.FailedIn, v.FailedStep))
		}
		t.Row(v.ID, v.Key, v.Status, v.Phase, v.FailedAt, v.FailedIn, v.FailedStep, v.RemovedAt, by, reason)
	}
	return t
}

// PhaseTable has the versions only where there is more than one, and in CSV.
func (c *Printer) PhaseTable(phases []api.Phase) *Sheet {
	head := []string{"phase", "status", "members", "succeeded", "failed", "cancelled", "running", "waiting", "due", "began", "took", "note"}
	versions := c.Format == FormatCSV || severalVersions(phases)
	if versions {
		head = slices.Insert(head, 1, "version")
	}
	t := c.Table(head...)
	for _, v := range phases {
		took := ""
		if elapsed, _ := times(v, c.Now()); v.DispatchedAt != nil {
			took = round(elapsed)
		}
		row := []any{v.Name, v.Status, v.Members, v.Succeeded, v.Failed, v.Cancelled, v.Running, v.Waiting, v.DueAt, v.DispatchedAt, took, phaseNote(v)}
		if versions {
			row = slices.Insert(row, 1, any(v.RunbookVersion))
		}
		t.Row(row...)
	}
	return t
}

// phaseNote tells why a phase waits, was skipped or failed, and how its gates and its
// on_complete steps stand.
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
			parts = append(parts, fmt.Sprintf("requires that %s succeed in the phase before", humanize.Percent(v.RequireSuccess)))
		}
		if v.Approval {
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

// Gated tells whether a phase waits for an administrator.
func Gated(v api.Phase) bool {
	return v.Status == api.PhasePending && v.Approved == nil && (v.Approval || v.RequireSuccess > 0 && v.Reason != "")
}

// StepTable shows steps.
func (c *Printer) StepTable(views ...api.Step) *Sheet {
	t := c.Table("step", "phase", "version", "kind", "member", "name", "function", "status", "retries", "done", "note")
	for _, v := range views {
		member := v.MemberKey
		if member == "" && v.MemberID > 0 {
			member = strconv.Itoa(v.MemberID)
		}
		kind := v.Kind
		if v.Rollback != "" {
			kind = "rollback " + v.Rollback
		}
		t.Row(v.ID, v.Phase, v.RunbookVersion, kind, member, v.Name, v.Function, v.Status, v.RetryCount, v.CompletedAt, stepNote(v))
	}
	return t
}

// stepNote tells why a step failed, who took its place and what came too late.
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

// are is how many there are, with the verb.
func are(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return Count(n, noun) + " are"
}

// capital begins a sentence.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// Words makes of a status what people say.
func Words(status string) string { return strings.ReplaceAll(status, "_", " ") }

// OneOf names all statuses of something.
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
