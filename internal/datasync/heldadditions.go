package datasync

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// HeldAdditions gives the held additions of a runbook with a page of the people. It records first
// that the caller read them. Errors: CodeNotFound, also where the runbook has no held additions;
// CodeInvalid for a continuation token of another list; CodeConflict for one of a list that has
// changed since; CodeUnavailable.
func (s *Syncer) HeldAdditions(ctx context.Context, by audit.Caller, name string, o api.ListOptions) (api.AdditionHold, error) {
	last, setting, err := s.readAdditions(ctx, name)
	if err != nil {
		return api.AdditionHold{}, err
	}
	held := apiview.AdditionHold(&last.Doc, &setting.Doc)
	if held == nil {
		return api.AdditionHold{}, problem.New(api.CodeNotFound, "runbook %q has no held additions", name)
	}
	from, err := additionsFrom(o.Continuation, last.Doc.Additions)
	if err != nil {
		return api.AdditionHold{}, err
	}
	if err := s.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadAdditions, Runbook: name}); err != nil {
		return api.AdditionHold{}, err
	}
	page, err := store.OrNone(store.Read[store.AdditionsPage](ctx, s.store, store.AdditionsKey(name, last.Doc.Additions.List, from/additionsPerPage)))
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
	first := min(from%additionsPerPage, len(page.Doc.People))
	for _, p := range page.Doc.People[first:min(first+o.PageSize(), len(page.Doc.People))] {
		view.Items = append(view.Items, api.HeldAddition{Key: p.Key, Display: p.Display, BatchStartTime: p.Start})
	}
	if next := from + len(view.Items); next < held.People {
		view.Continuation = fmt.Sprintf("%s-%d", last.Doc.Additions.List, next)
	}
	return view, nil
}

// additionsFrom reads a continuation token, which has the id of the list and how many of its
// people the pages before had.
func additionsFrom(token string, held *store.HeldAdditions) (int, error) {
	if token == "" {
		return 0, nil
	}
	list, number, _ := strings.Cut(token, "-")
	from, err := strconv.Atoi(number)
	if err != nil || from < 0 || !additionsRevision.MatchString(list) || list == held.List && from >= held.People {
		return 0, problem.New(api.CodeInvalid, "the continuation token %q does not belong to this list", clip(token))
	}
	if list != held.List {
		return 0, problem.New(api.CodeConflict, "the held additions have changed since the previous page: list them from the beginning")
	}
	return from, nil
}

// additionsChanged is the error for a list that a tick replaces at the moment.
func additionsChanged(name string) error {
	return problem.New(api.CodeConflict, "the held additions of runbook %q are changing: list them again", name)
}

// readAdditions reads the records that have the held additions of a runbook and their
// confirmation.
func (s *Syncer) readAdditions(ctx context.Context, name string) (last store.Item[store.SyncRecord], setting store.Item[store.Automation], err error) {
	if _, setting, err = s.readAutomation(ctx, name); err != nil {
		return last, setting, err
	}
	last, err = store.OrNone(store.Read[store.SyncRecord](ctx, s.store, store.SyncKey(name)))
	return last, setting, err
}

// additionsRevision is the form of a revision, and of the id of a list.
var additionsRevision = regexp.MustCompile(`^[0-9a-f]{16}$`)
