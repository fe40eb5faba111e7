package audit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Facts are the state before or after a change in an audit record: only the part that changes, and
// no data of members.
type Facts map[string]any

// JSON returns the facts as a document of an audit record has them.
func (f Facts) JSON() json.RawMessage {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // texts, numbers, times and marks always marshal
	}
	return text
}

// BatchFacts returns the status of a batch, its phase, and its pause or cancellation.
func BatchFacts(b *model.Batch) Facts {
	f := Facts{"status": b.Status}
	if b.CurrentPhase != "" {
		f["phaseName"] = b.CurrentPhase
	}
	if b.Paused != nil {
		f["paused"] = apiview.Attribution(b.Paused)
	}
	if b.Cancelled != nil {
		f["cancelled"] = apiview.Attribution(b.Cancelled)
	}
	return f
}

// BatchCreated returns the audit record of the creation of a batch.
func BatchCreated(c Caller, b *model.Batch, now time.Time) store.AuditRecord {
	made := Facts{"status": b.Status, "runbookName": b.Runbook, "runbookVersion": b.Version, "memberCount": b.Members}
	if b.StartTime != nil {
		made["batchStartTime"] = b.StartTime.UTC()
	}
	if b.Shared {
		made["allowInOtherBatches"] = true
	}
	return store.AuditRecord{At: now, Actor: c.Actor(), Action: "create", Batch: b.ID, After: made.JSON()}
}

// PhaseFacts returns the status, the waiting reason and the approval of a phase execution.
func PhaseFacts(b *model.Batch, id int) Facts {
	p, ok := b.Phase(id)
	if !ok {
		return Facts{}
	}
	f := Facts{"phaseId": p.ID, "status": p.Status}
	if p.Reason != "" {
		f["waitsFor"] = p.Reason
	}
	if p.Approved != nil {
		f["approved"] = apiview.Attribution(p.Approved)
	}
	return f
}

// MemberFacts returns the statuses of members by their ids.
func MemberFacts(members map[int]model.MemberStatus) Facts { return Facts{"members": members} }

// HoldFacts returns the members whose removal is held, at most 1000 of them, and the number of kept
// members.
func HoldFacts(h store.RemovalHold, confirmed *model.Mark) Facts {
	f := Facts{"held": len(h.Members), "kept": len(h.Kept)}
	if len(h.Members) > 0 {
		f["revision"], f["members"] = apiview.RemovalRevision(h), h.Members[:min(len(h.Members), 1000)]
	}
	if confirmed != nil {
		f["confirmed"] = apiview.Attribution(confirmed)
	}
	return f
}

// ActiveFacts returns the active version of a runbook; null if there is none.
func ActiveFacts(version int) Facts {
	if version == 0 {
		return Facts{"activeVersion": nil}
	}
	return Facts{"activeVersion": version}
}

// RunbookPublished returns the audit record of the publication of a version. Active is the version
// that was active before.
func RunbookPublished(c Caller, active int, v store.RunbookVersion) store.AuditRecord {
	after := ActiveFacts(v.Version)
	after["overdueBehavior"], after["rerunInit"] = v.Overdue, v.RerunInit
	return store.AuditRecord{
		At: v.PublishedAt, Actor: c.Actor(), Action: "publish", Runbook: v.Name, Target: fmt.Sprintf("version %d", v.Version), Before: ActiveFacts(active).JSON(), After: after.JSON(),
	}
}

// MessageFacts returns the status of an unprocessable message.
func MessageFacts(u store.Unprocessable) Facts {
	return Facts{"status": u.Status, "replays": u.Replays}
}
