package simulate

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// administrator does what people do: advances a manual batch to each phase when it
// would fall due, approves, and adds and removes its members, as the answers say.
type administrator struct {
	r        *simulation
	manual   int                // the batch that is advanced; 0 for none
	refused  string             // what the last advance was refused with
	seen     int                // the batch's revision then, and one: nothing is asked again before it changes
	held     map[gate]time.Time // when a gate was first seen to hold a phase
	approved map[gate]bool
	done     map[int]bool // members' comings that are seen to: twice the index, one more for leaving
	header   []string
	rows     map[string][]string // of the file, by key
}

// gate is a phase execution that is held.
type gate struct{ batch, phase int }

func newAdministrator(r *simulation) *administrator {
	return &administrator{r: r, held: map[gate]time.Time{}, approved: map[gate]bool{}, done: map[int]bool{}}
}

// create makes a manual batch of all members in the file who are there from the start.
func (a *administrator) create(ctx context.Context) error {
	src, err := a.r.members()
	if err != nil {
		return err
	}
	if len(a.r.config.Answers.Members) > 0 || len(a.r.config.Only) > 0 {
		if src, err = a.split(src); err != nil {
			return err
		}
	}
	b, err := a.r.app.CreateBatch(ctx, ada, a.r.runbook.Name, src)
	if err != nil {
		return err
	}
	a.manual = b.ID
	for _, w := range b.Warnings {
		a.r.warn("%s: %s", a.r.config.Members, w)
	}
	return a.r.find(ctx)
}

// split takes those out of a file who join later, or are not among Only.
func (a *administrator) split(src []byte) ([]byte, error) {
	m, err := membercsv.Read(bytes.NewReader(src), a.r.runbook, membercsv.Options{})
	if err != nil || m.Rows == nil {
		return src, nil // the engine reports what is wrong
	}
	delimiter, _ := csvtext.DelimiterOf(m.Delimiter)
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(src, csvtext.BOM)))
	r.Comma = delimiter.Rune
	all, err := r.ReadAll()
	if err != nil || len(all) == 0 {
		return src, nil // the engine reports what is wrong
	}
	a.header = all[0]
	a.rows = map[string][]string{}
	column := slices.Index(a.header, a.r.runbook.DataSource.PrimaryKey)
	if column < 0 {
		return src, nil
	}
	for _, row := range all[1:] {
		a.rows[strings.TrimSpace(row[column])] = row
	}
	first := [][]string{a.header}
	for _, row := range all[1:] {
		key := strings.TrimSpace(row[column])
		if a.r.takes(key) && !slices.ContainsFunc(a.r.config.Answers.Members, func(c Coming) bool { return c.Joins != nil && c.Member == key }) {
			first = append(first, row)
		}
	}
	for _, c := range a.r.config.Answers.Members {
		if a.rows[c.Member] == nil {
			return nil, fmt.Errorf("%s: no row has the key %q (answers, line %d)", a.r.config.Members, c.Member, c.Line)
		}
	}
	return table(first)
}

func table(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	err := w.WriteAll(rows)
	return b.Bytes(), err
}

// act does one of the things whose time has come; false where there is none.
func (a *administrator) act(ctx context.Context) (bool, error) {
	for _, do := range []func(context.Context) (bool, error){a.approve, a.move, a.advance} {
		if did, err := do(ctx); did || err != nil {
			return did, err
		}
	}
	return false, nil
}

// next is when there is something to do next that the clock decides; zero for never.
func (a *administrator) next() time.Time {
	var first time.Time
	sooner := func(t time.Time) {
		if t.After(a.r.clock) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if b := a.batch(); b != nil {
		if p := upcoming(b); p != nil {
			sooner(a.planned(p))
		}
		for i, c := range a.r.config.Answers.Members {
			if c.Joins != nil && !a.done[2*i] {
				sooner(c.Joins.of(a.r.config.Start))
			}
			if c.Leaves != nil && !a.done[2*i+1] {
				sooner(c.Leaves.of(a.r.config.Start))
			}
		}
	}
	for _, w := range a.r.batches {
		for _, p := range w.doc.Phases {
			if at, ok := a.approval(w, &p); ok {
				sooner(at)
			}
		}
	}
	return first
}

func (a *administrator) batch() *model.Batch {
	for _, w := range a.r.batches {
		if w.doc.ID == a.manual && !w.doc.Status.Terminal() {
			return &w.doc
		}
	}
	return nil
}

// upcoming is the phase that an advance would begin; nil while another is under way, or
// where there is none.
func upcoming(b *model.Batch) *model.Phase {
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Status == model.PhasePending && p.Kind != model.KindRemoval {
			return p
		}
	}
	return nil
}

// planned is when the administrator means to begin a phase; init at once.
func (a *administrator) planned(p *model.Phase) time.Time {
	if p.Kind == model.KindInit {
		return a.r.begin
	}
	return runbook.Offset(p.OffsetMinutes).DueAt(a.r.config.Start).UTC()
}

// advance begins the next phase of the manual batch, once its time has come and
// nothing stands in the way any more.
func (a *administrator) advance(ctx context.Context) (bool, error) {
	b := a.batch()
	if b == nil || a.seen == b.Revision+1 {
		return false, nil
	}
	p := upcoming(b)
	if p == nil || a.r.clock.Before(a.planned(p)) {
		return false, nil
	}
	_, err := a.r.app.Advance(ctx, ada, b.ID, p.Name)
	if err == nil {
		a.refused = ""
		return true, a.r.look(ctx)
	}
	refused := problem.Explain(err)
	if refused.Code != api.CodeConflict {
		return false, err
	}
	a.seen = b.Revision + 1
	if p.Approval || p.RequireSuccess > 0 {
		if _, known := a.held[gate{b.ID, p.ID}]; !known && !underWay(b) {
			a.held[gate{b.ID, p.ID}] = a.r.clock
		}
	}
	why := refused.Message
	if _, rest, ok := strings.Cut(why, fmt.Sprintf("cannot be advanced to phase %q: ", p.Name)); ok {
		why = rest
	}
	if a.refused == why || b.Status == model.BatchInitDispatched { // init is waited for without a word
		return false, nil
	}
	a.refused = why
	kind := KindWaits
	if !underWay(b) {
		kind = KindGate
	}
	a.r.tell(Event{Batch: b.ID, Phase: p.Name, Kind: kind, Text: "waits: " + why})
	return false, nil
}

func underWay(b *model.Batch) bool {
	return slices.ContainsFunc(b.Phases, func(p model.Phase) bool {
		return p.Status == model.PhaseDispatched && p.Kind != model.KindRemoval && p.Kind != model.KindDetached
	})
}

// approval is when a phase that waits is approved, as the answers have it.
func (a *administrator) approval(w *watched, p *model.Phase) (time.Time, bool) {
	g := gate{w.doc.ID, p.ID}
	if p.Status != model.PhasePending || p.Approved != nil || a.approved[g] || !p.Approval && p.RequireSuccess == 0 || w.doc.Status.Terminal() {
		return time.Time{}, false
	}
	held, isHeld := a.held[g]
	for _, said := range a.r.config.Answers.Approvals {
		switch {
		case said.Phase != p.Name || said.Batch != 0 && said.Batch != w.doc.ID:
		case said.At != nil:
			return said.At.of(a.r.startOf(&w.doc)), true
		case isHeld:
			return held.Add(said.After), true
		}
	}
	return time.Time{}, false
}

func (a *administrator) approve(ctx context.Context) (bool, error) {
	for _, w := range a.r.batches {
		for _, p := range w.doc.Phases {
			at, ok := a.approval(w, &p)
			if !ok || at.After(a.r.clock) {
				continue
			}
			a.approved[gate{w.doc.ID, p.ID}] = true
			if _, err := a.r.app.Approve(ctx, approver, w.doc.ID, p.Name, ""); err != nil {
				return false, err
			}
			return true, a.r.look(ctx)
		}
	}
	return false, nil
}

// move adds and removes members of the manual batch.
func (a *administrator) move(ctx context.Context) (bool, error) {
	b := a.batch()
	if b == nil {
		return false, nil
	}
	for i, c := range a.r.config.Answers.Members {
		switch {
		case c.Joins != nil && !a.done[2*i] && !c.Joins.of(a.r.config.Start).After(a.r.clock):
			a.done[2*i] = true
			src, err := table([][]string{a.header, a.rows[c.Member]})
			if err == nil {
				_, err = a.r.app.AddMembers(ctx, ada, b.ID, src)
			}
			return true, a.reportRefusal(b, c.Member, "cannot be added", err)
		case c.Leaves != nil && !a.done[2*i+1] && !c.Leaves.of(a.r.config.Start).After(a.r.clock):
			a.done[2*i+1] = true
			members, err := a.r.list(ctx, b.ID)
			if err != nil {
				return false, err
			}
			for _, m := range members {
				if m.Doc.Key == c.Member {
					_, err = a.r.app.RemoveMember(ctx, ada, b.ID, m.Doc.ID, "")
				}
			}
			return true, a.reportRefusal(b, c.Member, "cannot be removed", err)
		}
	}
	return false, nil
}

// reportRefusal makes an event of a request that the state does not allow.
func (a *administrator) reportRefusal(b *model.Batch, member, what string, err error) error {
	if refused := problem.Explain(err); err != nil && refused.Code == api.CodeConflict {
		a.r.tell(Event{Batch: b.ID, Kind: KindRefused, Members: []string{member}, Text: what + ": " + refused.Message})
		return nil
	}
	return err
}
