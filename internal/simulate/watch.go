package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// watched is a batch as it was when it was looked at last.
type watched struct {
	doc      model.Batch
	reported bool // that it was made
}

// pending are the phases that the clock is to begin.
func (w *watched) pending() []model.Phase {
	var out []model.Phase
	if w.doc.Status.Terminal() {
		return nil
	}
	for _, p := range w.doc.Phases {
		if p.Status == model.PhasePending && p.DueAt != nil {
			out = append(out, p)
		}
	}
	return out
}

// find takes note of batches that were made.
func (r *simulation) find(ctx context.Context) error {
	continuation := ""
	for {
		page, err := r.app.Batches(ctx, api.ListOptions{Limit: 1000, Continuation: continuation})
		if err != nil {
			return err
		}
		for _, b := range page.Items {
			if r.watched(b.ID) == nil {
				r.batches = append(r.batches, &watched{doc: model.Batch{ID: b.ID}})
			}
		}
		if continuation = page.Continuation; continuation == "" {
			slices.SortFunc(r.batches, func(a, b *watched) int { return cmp.Compare(a.doc.ID, b.doc.ID) })
			return nil
		}
	}
}

func (r *simulation) watched(id int) *watched {
	for _, w := range r.batches {
		if w.doc.ID == id {
			return w
		}
	}
	return nil
}

// batch is a batch as it was when it was looked at last, or as it is where a phase came since.
func (r *simulation) batch(ctx context.Context, id, phase int) (*model.Batch, error) {
	if w := r.watched(id); w != nil && len(w.doc.Phases) > 0 && (phase <= len(w.doc.Phases) || phase == model.CheckPhase) {
		return &w.doc, nil
	}
	b, err := store.Read[model.Batch](ctx, r.store, store.BatchKey(id))
	return &b.Doc, err
}

// look tells what has changed since the last look. Between two looks no time passes.
func (r *simulation) look(ctx context.Context) error {
	for _, w := range r.batches {
		b, err := store.Read[model.Batch](ctx, r.store, store.BatchKey(w.doc.ID))
		if err != nil {
			return err
		}
		was := w.doc
		w.doc = b.Doc
		if !w.reported && !b.Doc.Filling {
			w.reported = true
			r.tellBatch(&b.Doc)
		}
		for i := range b.Doc.Phases {
			var before model.Phase
			if i < len(was.Phases) {
				before = was.Phases[i]
			}
			r.compare(&b.Doc, before, b.Doc.Phases[i])
		}
		if b.Doc.RemovalHold != nil && (was.RemovalHold == nil || was.RemovalHold.Members != b.Doc.RemovalHold.Members) {
			r.tell(Event{Batch: b.Doc.ID, Kind: KindRemovalsHeld, Text: b.Doc.RemovalHold.Reason})
		}
		if b.Doc.StoppedBy != 0 && was.StoppedBy == 0 {
			r.tell(Event{Batch: b.Doc.ID, Phase: b.Doc.Phases[b.Doc.StoppedBy-1].Name, Kind: KindPhaseStopped, Text: "pauses the batch: " + b.Doc.Paused.Why})
		}
		if b.Doc.Status != was.Status && b.Doc.Status.Terminal() {
			text := "the batch is " + StatusText(string(b.Doc.Status), b.Doc.Failed())
			if b.Doc.Error != "" {
				text += ": " + b.Doc.Error
			}
			r.tell(Event{Batch: b.Doc.ID, Kind: KindBatchEnded, Text: text})
			if err := r.leaveOut(ctx, b.Doc.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// leaveOut takes the members of an immediate batch that has ended off the list.
func (r *simulation) leaveOut(ctx context.Context, batch int) error {
	if r.runbook.DataSource.BatchTime != runbook.BatchTimeImmediate {
		return nil
	}
	members, err := r.list(ctx, batch)
	for _, m := range members {
		r.source.done(m.Doc.Key)
	}
	return err
}

func (r *simulation) tellBatch(b *model.Batch) {
	text := fmt.Sprintf("automation creates a batch of %s for %s", count(b.Members, "member"), r.startOf(b).Format("2006-01-02 15:04Z"))
	if b.Manual {
		text = fmt.Sprintf("the administrator creates a batch of %s", count(b.Members, "member"))
	}
	r.tell(Event{Batch: b.ID, Kind: KindBatchMade, Text: text})
}

// compare tells what has become of a phase.
func (r *simulation) compare(b *model.Batch, was, is model.Phase) {
	if is.Kind == model.KindRemoval {
		return
	}
	tell := func(kind Kind, format string, args ...any) {
		r.tell(Event{Batch: b.ID, Phase: is.Name, Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	if was.Approved == nil && is.Approved != nil {
		tell(KindApproved, "is approved")
	}
	if is.Status == model.PhasePending && is.Reason != "" && is.Reason != was.Reason {
		r.tellWaiting(b, is)
	}
	if was.DispatchedAt == nil && is.DispatchedAt != nil {
		late := ""
		if due := r.dueOf(b, &is); is.Kind == model.KindPhase && is.DispatchedAt.Sub(due) >= lateBy {
			late = fmt.Sprintf(" %s late", Span(is.DispatchedAt.Sub(due)))
		}
		tell(KindPhaseStarted, "starts%s", late)
	}
	if was.OnCompleteStatus == "" && is.OnCompleteStatus != "" {
		tell(KindOnComplete, "starts its on_complete steps")
	}
	if is.Status.Terminal() && !was.Status.Terminal() {
		r.tellEnd(b, is)
	}
}

func (r *simulation) tellWaiting(b *model.Batch, p model.Phase) {
	kind := KindGate
	if strings.HasPrefix(p.Reason, "quiet hours") {
		kind = KindQuiet
	} else if _, known := r.admin.held[gate{b.ID, p.ID}]; !known {
		r.admin.held[gate{b.ID, p.ID}] = r.clock
	}
	r.tell(Event{Batch: b.ID, Phase: p.Name, Kind: kind, Text: "waits: " + p.Reason})
}

func (r *simulation) tellEnd(b *model.Batch, p model.Phase) {
	text := StatusText(string(p.Status), p.Failed)
	if _, again := r.ended[gate{b.ID, p.ID}]; again {
		text += " for late members"
	} else if p.DispatchedAt != nil {
		r.ended[gate{b.ID, p.ID}] = r.clock
		text += " in " + Span(r.clock.Sub(*p.DispatchedAt))
	}
	var details []string
	add := func(n int, text string) {
		if n > 0 {
			details = append(details, text)
		}
	}
	if p.Kind == model.KindPhase {
		add(p.Succeeded, fmt.Sprintf("%d succeeded", p.Succeeded))
		add(p.Failed, fmt.Sprintf("%d failed", p.Failed))
		add(p.Cancelled, fmt.Sprintf("%d cancelled", p.Cancelled))
	}
	jobs, retries, polls := r.worker.tally(b.ID, p.ID)
	add(jobs, count(jobs, "job"))
	add(retries, count(retries, "retry"))
	add(polls, count(polls, "poll"))
	add(len(p.Reason), p.Reason)
	if len(details) > 0 {
		text += ": " + strings.Join(details, ", ")
	}
	r.tell(Event{Batch: b.ID, Phase: p.Name, Kind: KindPhaseEnded, Text: text})
}

// lateBy is from when on a phase is called late: the scheduler and the broker have some
// seconds.
const lateBy = time.Minute

// startOf is the cut-over of a batch. A batch that is advanced by hand has the
// simulation's start.
func (r *simulation) startOf(b *model.Batch) time.Time {
	if b.Manual || b.StartTime == nil {
		return r.config.Start.UTC()
	}
	return b.StartTime.UTC()
}

func (r *simulation) dueOf(b *model.Batch, p *model.Phase) time.Time {
	return runbook.Offset(p.OffsetMinutes).DueAt(r.startOf(b)).UTC()
}
