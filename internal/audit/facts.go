package audit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Facts are what a line of an audit trail tells of a state, before or after: no more
// of it than the change is about, and nothing of what members' data hold.
type Facts map[string]any

func (f Facts) JSON() json.RawMessage {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // texts, numbers, times and marks always marshal
	}
	return text
}

// BatchFacts tells what holds a batch, and which phase it is in.
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

// BatchCreated is the line of a batch's trail that tells where it comes from.
func BatchCreated(by Caller, b *model.Batch, now time.Time) store.AuditRecord {
	made := Facts{"status": b.Status, "runbookName": b.Runbook, "runbookVersion": b.Version, "memberCount": b.Members}
	if b.StartTime != nil {
		made["batchStartTime"] = b.StartTime.UTC()
	}
	if b.Shared {
		made["allowInOtherBatches"] = true
	}
	return store.AuditRecord{At: now, Actor: by.Actor(), Action: "create", Batch: b.ID, After: made.JSON()}
}

// PhaseFacts tells what a phase execution waits for.
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

// MemberFacts tells how members stand, by their numbers.
func MemberFacts(members map[int]model.MemberStatus) Facts { return Facts{"members": members} }

// HoldFacts tells whose removal is held, and how many are kept. Of very many members the
// first are named.
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

// ActiveFacts tells which version of a runbook is active; null is none.
func ActiveFacts(version int) Facts {
	if version == 0 {
		return Facts{"activeVersion": nil}
	}
	return Facts{"activeVersion": version}
}

// RunbookPublished is the line of the trail that tells who published a version, and which one
// was active before.
func RunbookPublished(by Caller, active int, v store.RunbookVersion) store.AuditRecord {
	after := ActiveFacts(v.Version)
	after["overdueBehavior"], after["rerunInit"] = v.Overdue, v.RerunInit
	return store.AuditRecord{
		At: v.PublishedAt, Actor: by.Actor(), Action: "publish", Runbook: v.Name, Target: fmt.Sprintf("version %d", v.Version), Before: ActiveFacts(active).JSON(), After: after.JSON(),
	}
}

// MessageFacts tells what has become of a message.
func MessageFacts(u store.Unprocessable) Facts {
	return Facts{"status": u.Status, "replays": u.Replays}
}
