package app

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/store"
)

// keptAdditions is how many of the people whose addition is held are kept by name.
const keptAdditions = 100

// heldAdditions is what the addition guard held at the last tick.
type heldAdditions struct {
	Revision string          `json:"revision"`
	People   int             `json:"people"`
	Of       int             `json:"of"` // members of the runbook's batches
	Reason   string          `json:"reason"`
	Since    time.Time       `json:"since"` // when this revision was held first
	First    []heldAddition  `json:"first"`
	Starts   []additionStart `json:"starts"`
}

// heldAddition is a person whose addition is held.
type heldAddition struct {
	Key   string    `json:"key"`
	Start time.Time `json:"start"`
}

// additionStart is how many people wait for the batch of one start.
type additionStart struct {
	Start  time.Time `json:"start"`
	People int       `json:"people"`
}

// confirmedAdditions lets the people in whom a query returns with this revision.
type confirmedAdditions struct {
	Revision string      `json:"revision"`
	Mark     engine.Mark `json:"mark"`
}

// additions gives what this tick holds, in place of what the tick before it held.
func (s *synchronization) additions(was *heldAdditions) *heldAdditions {
	plan := s.plan.Additions
	if plan == nil {
		return nil
	}
	held := &heldAdditions{Revision: s.plan.Revision, People: len(plan.People), Of: plan.Of, Reason: plan.Reason, Since: s.now}
	if was != nil && was.Revision == held.Revision {
		held.Since = was.Since
	} else {
		s.app.log.Warn("additions are held", eventKey, EventAdditionsHeld, "RunbookName", s.name, "Members", held.People, "Of", held.Of, "reason", held.Reason)
	}
	at := map[time.Time]int{}
	for i, p := range plan.People {
		if i < keptAdditions {
			held.First = append(held.First, heldAddition(p))
		}
		at[p.Start]++
	}
	for _, start := range slices.SortedFunc(maps.Keys(at), time.Time.Compare) {
		held.Starts = append(held.Starts, additionStart{start, at[start]})
	}
	held.Starts = held.Starts[:min(len(held.Starts), keptAdditions)]
	return held
}

// expireConfirmation ends a confirmation when the query returns other people than those
// who were confirmed. Without automation the tick has another revision than the preview,
// whose confirmation stays until automation is on.
func (s *synchronization) expireConfirmation(ctx context.Context, setting store.Item[automation]) error {
	if s.dry || !s.enabled || setting.Doc.Additions == nil || setting.Doc.Additions.Revision == s.plan.Revision {
		return nil
	}
	next := setting.Doc
	next.Additions = nil
	_, err := s.app.store.Commit(ctx, store.Replace(store.AutomationKey(s.name), next, setting.ETag))
	if errors.Is(err, store.ErrChanged) { // an administrator has decided again: the next tick looks
		return nil
	}
	return err
}

// heldAdditionsOf gives what the last tick held; nil when nothing.
func heldAdditionsOf(s *synced, setting *automation) *HeldAdditions {
	h := s.Additions
	if h == nil {
		return nil
	}
	view := &HeldAdditions{People: h.People, Of: h.Of, Reason: h.Reason, Since: h.Since, Revision: h.Revision}
	if setting.confirmed(h.Revision) {
		view.Confirmed = markView(&setting.Additions.Mark)
	}
	return view
}

// HeldAdditions shows the additions of a runbook that are held, and why. That the caller
// read the people is recorded first. Errors: CodeNotFound, also where nothing is held;
// CodeUnavailable.
func (a *App) HeldAdditions(ctx context.Context, by Caller, name string) (AdditionsView, error) {
	last, setting, err := a.additionsOf(ctx, name)
	if err != nil {
		return AdditionsView{}, err
	}
	held := heldAdditionsOf(&last.Doc, &setting.Doc)
	if held == nil {
		return AdditionsView{}, fail(CodeNotFound, "no additions are held in runbook %q", name)
	}
	if err := a.noteRead(ctx, by, auditRecord{Action: actReadAdditions, Runbook: name}); err != nil {
		return AdditionsView{}, a.outward(err)
	}
	view := AdditionsView{RunbookName: name, AdditionHoldSummary: *held, Starts: []AdditionStart{}, Items: []HeldAddition{}}
	for _, s := range last.Doc.Additions.Starts {
		view.Starts = append(view.Starts, AdditionStart{BatchStartTime: s.Start, People: s.People})
	}
	for _, p := range last.Doc.Additions.First {
		view.Items = append(view.Items, HeldAddition{Key: p.Key, BatchStartTime: p.Start})
	}
	return view, nil
}

// additionsOf reads what the last tick held of a runbook, and what was confirmed.
func (a *App) additionsOf(ctx context.Context, name string) (last store.Item[synced], setting store.Item[automation], err error) {
	if _, err = a.head(ctx, name); err != nil {
		return last, setting, err
	}
	if setting, err = orNone(store.Read[automation](ctx, a.store, store.AutomationKey(name))); err != nil {
		return last, setting, a.outward(err)
	}
	if last, err = orNone(store.Read[synced](ctx, a.store, store.SyncKey(name))); err != nil {
		return last, setting, a.outward(err)
	}
	return last, setting, nil
}

var additionsRevision = regexp.MustCompile(`^[0-9a-f]{16}$`)

// ConfirmAdditions lets the next tick add the people whom the query returns with this
// revision, and no others. It is the revision of the additions that are held; where none
// are held, or automation is off, it can be that of a preview, so that a first fill can be
// confirmed before automation is turned on. Confirming a revision again changes nothing. Errors: CodeNotFound;
// CodeInvalid for a revision that is missing or malformed; CodeConflict when others are held, or
// the runbook has no query; CodeUnavailable.
func (a *App) ConfirmAdditions(ctx context.Context, by Caller, name, revision, why string) (AdditionsConfirmation, error) {
	if err := checkWhy(why); err != nil {
		return AdditionsConfirmation{}, err
	}
	if !additionsRevision.MatchString(revision) {
		return AdditionsConfirmation{}, invalidRevision(revision)
	}
	for {
		_, rb, err := a.active(ctx, name)
		if err != nil {
			return AdditionsConfirmation{}, err
		}
		if !rb.DataSource.Queried() {
			return AdditionsConfirmation{}, fail(CodeConflict, "the members of runbook %q are uploaded: it has no query whose additions could be held", name)
		}
		last, setting, err := a.additionsOf(ctx, name)
		if err != nil {
			return AdditionsConfirmation{}, err
		}
		if err := otherAdditions(&last.Doc, &setting.Doc, revision); err != nil {
			return AdditionsConfirmation{}, err
		}
		if setting.Doc.confirmed(revision) {
			return confirmationView(name, setting.Doc.Additions), nil
		}
		now := a.now().UTC()
		next := setting.Doc
		next.Runbook, next.Additions = name, &confirmedAdditions{Revision: revision, Mark: engine.Mark{By: by.Name, At: now, Why: why}}
		write := store.Create(store.AutomationKey(name), next)
		if setting.ETag != "" {
			write = store.Replace(store.AutomationKey(name), next, setting.ETag)
		}
		facts := additionFacts(last.Doc.Additions, revision)
		_, err = a.store.Commit(ctx, write, a.auditOp(auditRecord{
			At: now, actor: by.actor(), Action: "confirm-additions", Runbook: name, Why: why, After: facts.text(),
		}))
		if holdChanged(err) {
			continue
		}
		if err != nil {
			return AdditionsConfirmation{}, a.outward(err)
		}
		a.log.Info("additions confirmed", "runbook", name, "revision", revision, "by", by.Name)
		return confirmationView(name, next.Additions), nil
	}
}

func invalidRevision(revision string) error {
	return fail(CodeInvalid, "invalid revision %q: use the revision that the held additions or the preview of the query have", clip(revision))
}

// confirmable refuses a revision when other additions are held; an empty one is none.
func (a *App) confirmable(ctx context.Context, name string, setting *automation, revision string) error {
	if revision == "" || !setting.Enabled {
		return nil
	}
	last, err := orNone(store.Read[synced](ctx, a.store, store.SyncKey(name)))
	if err != nil {
		return err
	}
	return otherAdditions(&last.Doc, setting, revision)
}

// otherAdditions refuses a revision when a tick under automation has held another one.
// What a tick held before automation was on has a revision of its own, which no preview
// shows.
func otherAdditions(last *synced, setting *automation, revision string) error {
	held := last.Additions
	if held == nil || held.Revision == revision || !setting.Enabled {
		return nil
	}
	if last.LastRunAt != nil && setting.EnabledAt != nil && last.LastRunAt.Before(*setting.EnabledAt) {
		return nil
	}
	return fail(CodeConflict, "the additions that are held in runbook %q have changed: look at them again (revision %s)", setting.Runbook, held.Revision)
}

func confirmationView(name string, c *confirmedAdditions) AdditionsConfirmation {
	return AdditionsConfirmation{RunbookName: name, Revision: c.Revision, Confirmed: markView(&c.Mark)}
}

// additionFacts gives what was held when an administrator confirmed it.
func additionFacts(held *heldAdditions, revision string) facts {
	f := facts{"revision": revision}
	if held != nil {
		f["held"], f["of"] = held.People, held.Of
	}
	return f
}
