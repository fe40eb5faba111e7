package app

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/store"
)

// facts are what a line of an audit trail tells of a state, before or after: no more
// of it than the change is about, and nothing of what members' data hold.
type facts map[string]any

func (f facts) text() json.RawMessage {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // texts, numbers, times and marks always marshal
	}
	return text
}

// batchFacts tells what holds a batch, and which phase it is in.
func batchFacts(b *engine.Batch) facts {
	f := facts{"status": b.Status}
	if b.CurrentPhase != "" {
		f["phaseName"] = b.CurrentPhase
	}
	if b.Paused != nil {
		f["paused"] = markView(b.Paused)
	}
	if b.Cancelled != nil {
		f["cancelled"] = markView(b.Cancelled)
	}
	return f
}

// creation is the line of a batch's trail that tells where it comes from.
func creation(by Caller, b *engine.Batch, now time.Time) store.AuditRecord {
	made := facts{"status": b.Status, "runbookName": b.Runbook, "runbookVersion": b.Version, "memberCount": b.Members}
	if b.StartTime != nil {
		made["batchStartTime"] = b.StartTime.UTC()
	}
	if b.Shared {
		made["allowInOtherBatches"] = true
	}
	return store.AuditRecord{At: now, Actor: by.actor(), Action: "create", Batch: b.ID, After: made.text()}
}

// phaseFacts tells what a phase execution waits for.
func phaseFacts(b *engine.Batch, id int) facts {
	p, ok := b.Phase(id)
	if !ok {
		return facts{}
	}
	f := facts{"phaseId": p.ID, "status": p.Status}
	if p.Reason != "" {
		f["waitsFor"] = p.Reason
	}
	if p.Approved != nil {
		f["approved"] = markView(p.Approved)
	}
	return f
}

// memberFacts tells how members stand, by their numbers.
func memberFacts(members map[int]engine.MemberStatus) facts { return facts{"members": members} }

// holdFacts tells whose removal is held, and how many are kept. Of very many members the
// first are named.
func holdFacts(h store.RemovalHold, confirmed *engine.Mark) facts {
	f := facts{"held": len(h.Members), "kept": len(h.Kept)}
	if len(h.Members) > 0 {
		f["revision"], f["members"] = revisionOf(h), h.Members[:min(len(h.Members), 1000)]
	}
	if confirmed != nil {
		f["confirmed"] = markView(confirmed)
	}
	return f
}

// activeFacts tells which version of a runbook is active; null is none.
func activeFacts(version int) facts {
	if version == 0 {
		return facts{"activeVersion": nil}
	}
	return facts{"activeVersion": version}
}

// publication is the line of the trail that tells who published a version, and which one
// was active before.
func publication(by Caller, active int, v store.RunbookVersion) store.AuditRecord {
	after := activeFacts(v.Version)
	after["overdueBehavior"], after["rerunInit"] = v.Overdue, v.RerunInit
	return store.AuditRecord{
		At: v.PublishedAt, Actor: by.actor(), Action: "publish", Runbook: v.Name, Target: fmt.Sprintf("version %d", v.Version), Before: activeFacts(active).text(), After: after.text(),
	}
}

// messageFacts tells what has become of a message.
func messageFacts(u store.Unprocessable) facts {
	return facts{"status": u.Status, "replays": u.Replays}
}
