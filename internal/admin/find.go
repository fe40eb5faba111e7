package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// batchesPerFind is how many batches one request searches at most.
const batchesPerFind = 50

// Find finds the members of all batches by a text within the key, the display column or another
// column, in any case, the newest batches first. It finds removed members, too, and never looks at
// secrets. It takes one query for the batches, one for each of them, at most 50, and for a batch with
// members that it returns a read of the batch, an audit record, and a read for each member who is in a
// phase. A page can have fewer members than the limit, or none, although others follow. Errors:
// CodeInvalid, CodeUnavailable.
func (a *Admin) Find(ctx context.Context, by audit.Caller, text string, o api.ListOptions) (api.Page[api.FoundMember], error) {
	none := api.Page[api.FoundMember]{}
	if err := checkFindText(text); err != nil {
		return none, err
	}
	newest, within, err := parsePlace(o.Continuation)
	if err != nil {
		return none, err
	}
	batches, err := a.store.Batches(ctx, store.BatchFilter{Newest: newest}, store.Paging{Limit: batchesPerFind})
	if err != nil {
		return none, err
	}
	page := api.Page[api.FoundMember]{Items: []api.FoundMember{}}
	for _, b := range batches.Items {
		if b.Doc.ID != newest {
			within = ""
		}
		room := o.PageSize() - len(page.Items)
		if room == 0 {
			page.Continuation = place(b.Doc.ID, "")
			return page, nil
		}
		found, err := a.store.Members(ctx, b.Doc.ID, store.MemberFilter{Text: model.FoldText(text)}, store.Paging{Limit: room, Continuation: within})
		if err != nil {
			return none, err
		}
		views, err := a.foundIn(ctx, by, b.Doc.ID, text, found.Items)
		if err != nil {
			return none, err
		}
		page.Items = append(page.Items, views...)
		if found.Continuation != "" {
			page.Continuation = place(b.Doc.ID, found.Continuation)
			return page, nil
		}
	}
	if last := len(batches.Items) - 1; batches.Continuation != "" && batches.Items[last].Doc.ID > 1 {
		page.Continuation = place(batches.Items[last].Doc.ID-1, "")
	}
	return page, nil
}

// checkFindText refuses a text that finds nothing, or that is too long. Errors: CodeInvalid.
func checkFindText(text string) error {
	if n := utf8.RuneCountInString(text); n > api.MaxFind {
		return problem.New(api.CodeInvalid, "the text to find has %d characters; at most %d are allowed", n, api.MaxFind)
	}
	if r, found := csvtext.Control(text); found {
		return problem.New(api.CodeInvalid, "the text to find has the control character %U", r)
	}
	if strings.TrimSpace(text) == "" {
		return problem.New(api.CodeInvalid, "the text to find is empty")
	}
	return nil
}

// place is the continuation of a search that goes on in a batch, and there after a page of its members.
func place(batch int, within string) string { return fmt.Sprintf("%d:%s", batch, within) }

func parsePlace(continuation string) (batch int, within string, err error) {
	if continuation == "" {
		return 0, "", nil
	}
	number, within, _ := strings.Cut(continuation, ":")
	if batch, err = strconv.Atoi(number); err != nil || batch < 1 || batch > 1<<31-1 {
		return 0, "", fmt.Errorf("find members: %w", store.ErrContinuation)
	}
	return batch, within, nil
}

// foundIn shows the members of a batch whom a search found. It records first that the caller read them.
// Members in whom no value that the caller may see has the text are left out.
func (a *Admin) foundIn(ctx context.Context, by audit.Caller, batch int, text string, found []store.Item[model.Member]) ([]api.FoundMember, error) {
	if len(found) == 0 {
		return nil, nil
	}
	b, err := a.applier.ReadBatch(ctx, batch)
	if err != nil {
		return nil, err
	}
	secrets, err := a.runbooks.SecretsOf(ctx, &b.Doc)
	if err != nil {
		return nil, err
	}
	if err := a.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadMembers, Batch: batch}); err != nil {
		return nil, err
	}
	summary := apiview.Batch(b.Doc, a.now())
	var views []api.FoundMember
	for _, m := range found {
		matched, ok := matchedBy(&m.Doc, &b.Doc, secrets, model.FoldText(text))
		if !ok {
			continue
		}
		v := apiview.Member(&b.Doc, m.Doc, secrets)
		one := api.FoundMember{
			BatchID: batch, BatchName: summary.Name, RunbookName: summary.RunbookName, BatchStatus: summary.Status, BatchFailed: summary.FailedCount,
			ID: v.ID, Key: v.Key, Display: v.Display, Status: v.Status, Phase: v.Phase, Error: v.Error, RemovedAt: v.RemovedAt, Matched: matched,
		}
		if v.FailedIn != "" {
			one.Phase, one.Step = v.FailedIn, v.FailedStep
		} else if one.Step, err = a.currentStep(ctx, &b.Doc, &m.Doc); err != nil {
			return nil, err
		}
		views = append(views, one)
	}
	return views, nil
}

// matchedBy reports whether a value of a member that a caller may see has the text, and in which
// column; nil for the key and the display column.
func matchedBy(m *model.Member, b *model.Batch, secrets []string, text string) (*api.ColumnMatch, bool) {
	if strings.Contains(model.FoldText(m.Key), text) || strings.Contains(model.FoldText(apiview.Display(b, m.Data[b.Display], secrets)), text) {
		return nil, true
	}
	for _, name := range slices.Sorted(maps.Keys(m.Data)) {
		value := model.Text(m.Data[name])
		if !slices.Contains(secrets, name) && strings.Contains(model.FoldText(value), text) {
			return &api.ColumnMatch{Column: name, Value: humanize.Clip(value, api.MaxFind)}, true
		}
	}
	return nil, false
}

// currentStep names the step that a member is at; empty for one who is in no phase.
func (a *Admin) currentStep(ctx context.Context, b *model.Batch, m *model.Member) (string, error) {
	if m.OpenPhase == 0 {
		return "", nil
	}
	run, err := store.OrNone(store.Read[model.Run](ctx, a.store, store.RunKey(b.ID, m.OpenPhase, m.ID)))
	if err != nil || run.ETag == "" || run.Doc.Current >= len(run.Doc.Steps) {
		return "", err
	}
	rb, err := a.runbooks.Load(ctx, run.Doc.Runbook, run.Doc.Version)
	if err != nil {
		return "", err
	}
	definition, err := run.Doc.Definition(rb, run.Doc.Current)
	return definition.Name, err
}
