package audit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// State is the state before or after a change in an audit record: only the part that changes, and
// data of members only where it was corrected.
type State map[string]any

// JSON returns the state as a document of an audit record has them.
func (s State) JSON() json.RawMessage {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts, numbers and times always marshal
	}
	return text
}

// BatchState returns the status of a batch, its phase, and its pause or cancellation.
func BatchState(b *model.Batch) State {
	s := State{"status": b.Status}
	if b.CurrentPhase != "" {
		s["phaseName"] = b.CurrentPhase
	}
	if b.Paused != nil {
		s["paused"] = apiview.Attribution(b.Paused)
	}
	if b.Cancelled != nil {
		s["cancelled"] = apiview.Attribution(b.Cancelled)
	}
	return s
}

// ScheduleState returns the start of a batch and the times of its phases that have not started.
func ScheduleState(b *model.Batch) State {
	due := map[string]time.Time{}
	for _, p := range b.Phases {
		if p.Status == model.PhasePending && p.DueAt != nil {
			due[p.Name] = p.DueAt.UTC()
		}
	}
	return State{"batchStartTime": b.StartTime.UTC(), "phases": due}
}

// DetailsState returns the name, the note and the owner of a batch.
func DetailsState(b *model.Batch) State {
	return State{"name": b.Name, "note": b.Note, "owner": b.Owner}
}

// BatchCreated returns the audit record of the creation of a batch.
func BatchCreated(c Caller, b *model.Batch, now time.Time) store.AuditRecord {
	made := State{"status": b.Status, "runbookName": b.Runbook, "runbookVersion": b.Version, "memberCount": b.Members}
	if b.StartTime != nil {
		made["batchStartTime"] = b.StartTime.UTC()
	}
	if b.Shared {
		made["allowInOtherBatches"] = true
	}
	for name, value := range DetailsState(b) {
		if value != "" {
			made[name] = value
		}
	}
	return store.AuditRecord{At: now, Actor: c.Actor(), Action: "create", Batch: b.ID, After: made.JSON()}
}

// PhaseState returns the status, the waiting reason and the approval of a phase execution.
func PhaseState(b *model.Batch, id int) State {
	p, ok := b.Phase(id)
	if !ok {
		return State{}
	}
	s := State{"phaseId": p.ID, "status": p.Status}
	if p.Reason != "" {
		s["waitsFor"] = p.Reason
	}
	if p.Approved != nil {
		s["approved"] = apiview.Attribution(p.Approved)
	}
	return s
}

// MemberStates returns the statuses of members by their ids.
func MemberStates(members map[int]model.MemberStatus) State { return State{"members": members} }

// RemovalHoldState returns the members whose removal is held, at most 1000 of them, and the number of kept
// members.
func RemovalHoldState(h store.RemovalHoldMembers, confirmed *model.Attribution) State {
	s := State{"held": len(h.Members), "discarded": len(h.Discarded)}
	if len(h.Members) > 0 {
		s["revision"], s["members"] = apiview.RemovalRevision(h), h.Members[:min(len(h.Members), 1000)]
	}
	if confirmed != nil {
		s["confirmed"] = apiview.Attribution(confirmed)
	}
	return s
}

// ActiveVersionState returns the active version of a runbook; null if there is none.
func ActiveVersionState(version int) State {
	if version == 0 {
		return State{"activeVersion": nil}
	}
	return State{"activeVersion": version}
}

// RunbookPublished returns the audit record of the publication of a version. Active is the version
// that was active before.
func RunbookPublished(c Caller, active int, v store.RunbookVersion) store.AuditRecord {
	after := ActiveVersionState(v.Version)
	after["overdueBehavior"], after["rerunInit"] = v.Overdue, v.RerunInit
	return store.AuditRecord{
		At: v.PublishedAt, Actor: c.Actor(), Action: "publish", Runbook: v.Name, Target: fmt.Sprintf("version %d", v.Version), Before: ActiveVersionState(active).JSON(), After: after.JSON(),
	}
}

// MessageState returns the status of an unprocessable message.
func MessageState(u store.Unprocessable) State {
	return State{"status": u.Status, "replays": u.Replays}
}
