package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
)

// RepairCount counts the members and sequences that a repair lets go on, or removes.
func RepairCount(v api.RepairResult) string {
	e := v.Effect
	members := Count(e.Members, "failed member")
	switch {
	case leaves(v) && e.Members == 0:
		return "the members"
	case leaves(v):
		return Count(e.Members, "member")
	case e.Members == 0 && e.Sequences == 0: // the request was carried out before
		return "the failed members"
	case e.Sequences == 0:
		return members
	case e.Members == 0:
		return Count(e.Sequences, "failed sequence")
	}
	return members + " and " + Count(e.Sequences, "failed sequence")
}

// leaves reports whether members leave their batch by a repair.
func leaves(v api.RepairResult) bool {
	return v.Action == api.RepairRemove || v.Action == api.RepairMove
}

// RepairTable is the effect of a repair, one row for each group of members who failed alike.
func (c *Printer) RepairTable(v api.RepairResult) *Sheet {
	switch v.Action {
	case api.RepairRemove:
		t := c.Table("members", "refused", "task")
		t.Row(v.Effect.Members, v.Effect.RefusedCount, v.Task)
		return t
	case api.RepairMove:
		t := c.Table("members", "to", "refused", "task")
		t.Row(v.Effect.Members, v.To, v.Effect.RefusedCount, v.Task)
		return t
	}
	t := c.Table("phase", "step", "members", "from", "steps", "version", "failed in", "then", "status", "error group")
	for _, g := range v.Effect.Groups {
		t.Row(g.Phase, g.Step, g.Members, g.From, g.Steps, g.Version, g.FailedVersion, strings.Join(g.Then, ", "), g.Status, g.ErrorGroup)
	}
	return t
}

// NoticeRepair prints the effect of a repair before its confirmation.
func (c *Printer) NoticeRepair(v api.RepairResult) {
	if leaves(v) {
		if v.Preview != nil && v.Action == api.RepairMove {
			c.NoticePreview(*v.Preview)
		}
		c.NoticeVersions(v)
		return
	}
	e, steps := v.Effect, 0
	var phases []string
	for _, g := range e.Groups {
		steps += g.Steps * max(1, g.Members)
		for _, p := range append([]string{g.Phase}, g.Then...) {
			if !slices.Contains(phases, p) {
				phases = append(phases, p)
			}
		}
	}
	c.Notice("Batch %d: %s, up to %s in the phases where they failed, %s.", v.BatchID, RepairCount(v), Count(steps, "step"), Printable(phasesText(phases)))
	for _, g := range e.Groups {
		who := Count(g.Members, "member")
		if g.Members == 0 {
			who = "steps"
		}
		from := "nothing is left to do in the phase"
		if g.Steps > 0 {
			from = fmt.Sprintf("from step %s (%s)", g.From, Count(g.Steps, "step"))
		}
		then := ""
		if len(g.Then) > 0 {
			then = ", then " + strings.Join(g.Then, ", ")
		}
		c.Notice("  %s", Printable(fmt.Sprintf("%s of phase %s, version %d: %s%s. Failed at %s: %s", who, g.Phase, g.Version, from, then, g.Step, g.ErrorGroup)))
	}
	c.NoticeVersions(v)
}

// phasesText names the phases that a repair concerns.
func phasesText(phases []string) string {
	if len(phases) == 1 {
		return "in 1 phase: " + phases[0]
	}
	return fmt.Sprintf("in %d phases: %s", len(phases), strings.Join(phases, ", "))
}

// NoticeVersions prints which version a repair follows where another one is active, and who cannot
// go on.
func (c *Printer) NoticeVersions(v api.RepairResult) {
	e := v.Effect
	var older []string
	for _, g := range e.Groups {
		if name := fmt.Sprint(g.Version); e.ActiveVersion != 0 && g.Version != e.ActiveVersion && !slices.Contains(older, name) {
			older = append(older, name)
		}
	}
	if len(older) > 0 && v.Action == api.RepairRetry {
		c.Notice("Version %d is active. The members follow version %s, in which they failed; use --version active to follow the active one.", e.ActiveVersion, strings.Join(older, ", "))
	}
	cannot := "cannot continue"
	if leaves(v) {
		cannot = "stays"
	}
	for _, m := range e.Refused {
		c.Notice("  %s %s: %s", c.Cell(Person(m.Key, m.Display)), cannot, Printable(m.Reason))
	}
	if n := e.RefusedCount - len(e.Refused); n > 0 {
		c.Notice("  %s more: %s.", Count(n, "member"), cannot)
	}
}

// TaskTable is one task and its progress.
func (c *Printer) TaskTable(v api.Task) *Sheet {
	t := c.Table("task", "action", "status", "total", "finished", "refused", "by", "at", "ended")
	t.Row(v.ID, v.Action, v.Status, v.Total, v.Finished, v.RefusedCount, v.Requested.By, v.Requested.At, v.EndedAt)
	return t
}

// TaskWords says how far a task is.
func TaskWords(v api.Task) string {
	text := fmt.Sprintf("%s: %d of %d", v.Action, v.Finished, v.Total)
	if v.RefusedCount > 0 {
		text += fmt.Sprintf(", %d left as they are", v.RefusedCount)
	}
	switch v.Status {
	case api.TaskCompleted:
		return text + ". Completed."
	case api.TaskCancelled:
		return text + ". The batch was cancelled."
	}
	return text + "."
}
