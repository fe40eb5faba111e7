package datasync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	// maxAdditionStarts is how many starts of held additions are kept and shown.
	maxAdditionStarts = 100
	// additionsAPage is how many people of held additions one document has. With keys of
	// the greatest length it stays well under the limit of the store.
	additionsAPage = 500
)

// additions gives what this tick holds, in place of what the tick before it held. It writes
// the people where they are others than before.
func (s *syncRun) additions(ctx context.Context, was *store.HeldAdditions) (*store.HeldAdditions, error) {
	plan := s.plan.Additions
	if plan == nil {
		if was == nil {
			return nil, nil
		}
		return nil, s.deleteAdditions(ctx, "")
	}
	held := &store.HeldAdditions{Revision: s.plan.Revision, People: len(plan.People), Of: plan.Of, Reason: plan.Reason, Since: s.now, List: listOf(plan.People)}
	if was == nil || was.List != held.List {
		if err := s.writeAdditions(ctx, held.List, plan.People); err != nil {
			return was, err
		}
	}
	if was != nil && was.Revision == held.Revision {
		held.Since = was.Since
	} else {
		s.syncer.log.WarnContext(ctx, "additions are held", logkey.Event, alert.AdditionsHeld, logkey.Runbook, s.name, logkey.Members, held.People, logkey.Of, held.Of, logkey.Reason, held.Reason)
	}
	at := map[time.Time]int{}
	for _, p := range plan.People {
		at[p.Start]++
	}
	for _, start := range slices.SortedFunc(maps.Keys(at), time.Time.Compare) {
		held.Starts = append(held.Starts, store.AdditionStart{Start: start, People: at[start]})
	}
	held.Starts = held.Starts[:min(len(held.Starts), maxAdditionStarts)]
	return held, nil
}

// listOf identifies a set of people whose addition is held.
func listOf(people []schedule.Addition) string {
	digest := sha256.New()
	for _, p := range people {
		fmt.Fprintf(digest, "%q %s\n", p.Key, p.Start.UTC().Format(time.RFC3339Nano))
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// writeAdditions writes the pages of a list and deletes those of other lists. A tick that
// dies in between leaves pages that the next change of the list deletes.
func (s *syncRun) writeAdditions(ctx context.Context, list string, people []schedule.Addition) error {
	page := 0
	for some := range slices.Chunk(people, additionsAPage) {
		doc := store.AdditionsPage{Runbook: s.name, List: list}
		for _, p := range some {
			doc.People = append(doc.People, store.HeldAddition(p))
		}
		if _, err := s.syncer.store.Apply(ctx, store.Writes{store.Upsert(store.AdditionsKey(s.name, list, page), doc)}); err != nil {
			return err
		}
		page++
	}
	return s.deleteAdditions(ctx, list)
}

// deleteAdditions deletes the pages of all lists of the runbook but one.
func (s *syncRun) deleteAdditions(ctx context.Context, but string) error {
	all, err := s.syncer.store.AdditionsPages(ctx, s.name)
	if err != nil {
		return err
	}
	for _, page := range all {
		if page.Doc.List == but {
			continue
		}
		_, err := s.syncer.store.Apply(ctx, store.Writes{store.Delete(page.Key, page.ETag)})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// expireConfirmation ends a confirmation when the query returns other people than those
// who were confirmed. Without automation the tick has another revision than the preview,
// whose confirmation stays until automation is on.
func (s *syncRun) expireConfirmation(ctx context.Context, setting store.Item[store.Automation]) error {
	if s.dry || !s.enabled || setting.Doc.Additions == nil || setting.Doc.Additions.Revision == s.plan.Revision {
		return nil
	}
	next := setting.Doc
	next.Additions = nil
	_, err := s.syncer.store.Apply(ctx, store.Writes{store.Replace(store.AutomationKey(s.name), next, setting.Version)})
	if errors.Is(err, store.ErrChanged) { // an administrator has decided again: the next tick looks
		return nil
	}
	return err
}

// HeldAdditions shows the additions of a runbook that are held, and why, with a page of the
// people. That the caller read the people is recorded first. Errors: CodeNotFound, also
// where nothing is held; CodeInvalid for a continuation of another list; CodeConflict for
// one of a list that has changed since; CodeUnavailable.
func (sy *Syncer) HeldAdditions(ctx context.Context, by audit.Caller, name string, o api.ListOptions) (api.AdditionHold, error) {
	last, setting, err := sy.additionsOf(ctx, name)
	if err != nil {
		return api.AdditionHold{}, err
	}
	held := apiview.AdditionHold(&last.Doc, &setting.Doc)
	if held == nil {
		return api.AdditionHold{}, problem.New(api.CodeNotFound, "no additions are held in runbook %q", name)
	}
	from, err := additionsFrom(o.Continuation, last.Doc.Additions)
	if err != nil {
		return api.AdditionHold{}, err
	}
	if err := sy.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadAdditions, Runbook: name}); err != nil {
		return api.AdditionHold{}, err
	}
	page, err := store.OrNone(store.Read[store.AdditionsPage](ctx, sy.store, store.AdditionsKey(name, last.Doc.Additions.List, from/additionsAPage)))
	if err != nil {
		return api.AdditionHold{}, err
	}
	if page.ETag == "" { // a tick is replacing the list
		return api.AdditionHold{}, additionsChanged(name)
	}
	view := api.AdditionHold{RunbookName: name, AdditionHoldSummary: *held, Starts: []api.AdditionStart{}, Items: []api.HeldAddition{}}
	for _, s := range last.Doc.Additions.Starts {
		view.Starts = append(view.Starts, api.AdditionStart{BatchStartTime: s.Start, People: s.People})
	}
	first := min(from%additionsAPage, len(page.Doc.People))
	for _, p := range page.Doc.People[first:min(first+o.PageSize(), len(page.Doc.People))] {
		view.Items = append(view.Items, api.HeldAddition{Key: p.Key, BatchStartTime: p.Start})
	}
	if next := from + len(view.Items); next < held.People {
		view.Continuation = fmt.Sprintf("%s-%d", last.Doc.Additions.List, next)
	}
	return view, nil
}

// additionsFrom reads a continuation token: the list and how many of its people the pages
// before had.
func additionsFrom(token string, held *store.HeldAdditions) (int, error) {
	if token == "" {
		return 0, nil
	}
	list, number, _ := strings.Cut(token, "-")
	from, err := strconv.Atoi(number)
	if err != nil || from < 0 || !additionsRevision.MatchString(list) || list == held.List && from >= held.People {
		return 0, problem.New(api.CodeInvalid, "%q is no continuation token of this list", clip(token))
	}
	if list != held.List {
		return 0, problem.New(api.CodeConflict, "the held additions have changed since the page before: list them from the beginning")
	}
	return from, nil
}

func additionsChanged(name string) error {
	return problem.New(api.CodeConflict, "the additions that are held in runbook %q are changing: list them again", name)
}

// additionsOf reads what the last tick held of a runbook, and what was confirmed.
func (sy *Syncer) additionsOf(ctx context.Context, name string) (last store.Item[store.SyncRecord], setting store.Item[store.Automation], err error) {
	if _, err = sy.runbooks.Head(ctx, name); err != nil {
		return last, setting, err
	}
	if setting, err = store.OrNone(store.Read[store.Automation](ctx, sy.store, store.AutomationKey(name))); err != nil {
		return last, setting, err
	}
	if last, err = store.OrNone(store.Read[store.SyncRecord](ctx, sy.store, store.SyncKey(name))); err != nil {
		return last, setting, err
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
func (sy *Syncer) ConfirmAdditions(ctx context.Context, by audit.Caller, name, revision, why string) (api.AdditionsConfirmation, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.AdditionsConfirmation{}, err
	}
	if !additionsRevision.MatchString(revision) {
		return api.AdditionsConfirmation{}, invalidRevision(revision)
	}
	for {
		_, rb, err := sy.runbooks.Active(ctx, name)
		if err != nil {
			return api.AdditionsConfirmation{}, err
		}
		if !rb.DataSource.Queried() {
			return api.AdditionsConfirmation{}, problem.New(api.CodeConflict, "the members of runbook %q are uploaded: it has no query whose additions could be held", name)
		}
		last, setting, err := sy.additionsOf(ctx, name)
		if err != nil {
			return api.AdditionsConfirmation{}, err
		}
		if err := otherAdditions(&last.Doc, &setting.Doc, revision); err != nil {
			return api.AdditionsConfirmation{}, err
		}
		if setting.Doc.Confirmed(revision) {
			return confirmationView(name, setting.Doc.Additions), nil
		}
		now := sy.now().UTC()
		next := setting.Doc
		next.Runbook, next.Additions = name, &store.ConfirmedAdditions{Revision: revision, Mark: model.Mark{By: by.Name, At: now, Why: why}}
		write := store.Create(store.AutomationKey(name), next)
		if setting.ETag != "" {
			write = store.Replace(store.AutomationKey(name), next, setting.Version)
		}
		facts := additionFacts(last.Doc.Additions, revision)
		_, err = sy.store.Apply(ctx, store.Writes{write, sy.audit.Record(store.AuditRecord{
			At: now, Actor: by.Actor(), Action: "confirm-additions", Runbook: name, Why: why, After: facts.JSON(),
		})})
		if store.Overtaken(err) {
			continue
		}
		if err != nil {
			return api.AdditionsConfirmation{}, err
		}
		sy.log.InfoContext(ctx, "additions confirmed", logkey.Runbook, name, logkey.Revision, revision, logkey.By, by.Name)
		return confirmationView(name, next.Additions), nil
	}
}

func invalidRevision(revision string) error {
	return problem.New(api.CodeInvalid, "invalid revision %q: use the revision that the held additions or the preview of the query have", clip(revision))
}

// confirmable refuses a revision when other additions are held; an empty one is none.
func (sy *Syncer) confirmable(ctx context.Context, name string, setting *store.Automation, revision string) error {
	if revision == "" || !setting.Enabled {
		return nil
	}
	last, err := store.OrNone(store.Read[store.SyncRecord](ctx, sy.store, store.SyncKey(name)))
	if err != nil {
		return err
	}
	return otherAdditions(&last.Doc, setting, revision)
}

// otherAdditions refuses a revision when a tick under automation has held another one.
// What a tick held before automation was on has a revision of its own, which no preview
// shows.
func otherAdditions(last *store.SyncRecord, setting *store.Automation, revision string) error {
	held := last.Additions
	if held == nil || held.Revision == revision || !setting.Enabled {
		return nil
	}
	if last.LastRunAt != nil && setting.EnabledAt != nil && last.LastRunAt.Before(*setting.EnabledAt) {
		return nil
	}
	return problem.New(api.CodeConflict, "the additions that are held in runbook %q have changed: look at them again (revision %s)", setting.Runbook, held.Revision)
}

func confirmationView(name string, c *store.ConfirmedAdditions) api.AdditionsConfirmation {
	return api.AdditionsConfirmation{RunbookName: name, Revision: c.Revision, Confirmed: apiview.Attribution(&c.Mark)}
}

// additionFacts gives what was held when an administrator confirmed it.
func additionFacts(held *store.HeldAdditions, revision string) audit.Facts {
	f := audit.Facts{"revision": revision}
	if held != nil {
		f["held"], f["of"] = held.People, held.Of
	}
	return f
}
