package runbooks

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/diff"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxForecasts is for how many batches a publication has a forecast.
const maxForecasts = 100

// changes compares a version with the active one, or the latest where none is active, and forecasts
// how it would change the batches that are under way, if it were published now. Where the version
// before can no longer be read, the result says so: an administrator can still publish.
func (p *Publisher) changes(ctx context.Context, head store.RunbookHead, version store.RunbookVersion, rb *runbook.Runbook) (*api.VersionChanges, error) {
	view := &api.VersionChanges{Runbook: []api.Change{}, Batches: []api.BatchForecast{}}
	if head.Latest == 0 {
		return view, nil
	}
	view.Against = cmp.Or(head.Active, head.Latest)
	before, err := store.Read[store.RunbookVersion](ctx, p.store, store.VersionKey(head.Name, view.Against))
	if err != nil {
		return nil, err
	}
	if older, found := runbook.Parse([]byte(before.Doc.YAML)); older == nil {
		view.Problem = "the version cannot be read: " + found.Err().Error()
	} else {
		for _, c := range diff.Compare(older, rb) {
			view.Runbook = append(view.Runbook, api.Change{Kind: string(c.Kind), Path: c.Path, From: c.From, To: c.To})
		}
	}
	unfinished, err := p.store.UnfinishedBatches(ctx, head.Name)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(unfinished, func(x, y store.UnfinishedBatch) int { return cmp.Compare(x.ID, y.ID) })
	view.BatchCount = len(unfinished)
	for _, b := range unfinished[:min(len(unfinished), maxForecasts)] {
		forecast, err := p.forecast(ctx, b.ID, version, rb)
		if errors.Is(err, store.ErrNotFound) { // it is being created, or its creation was cut short
			continue
		}
		if err != nil {
			return nil, err
		}
		view.Batches = append(view.Batches, forecast)
	}
	return view, nil
}

// forecast gives how a version would change a batch. For a batch that is damaged it gives a problem
// instead of an error: an administrator can still publish.
func (p *Publisher) forecast(ctx context.Context, batch int, version store.RunbookVersion, rb *runbook.Runbook) (api.BatchForecast, error) {
	b, err := store.Read[model.Batch](ctx, p.store, store.BatchKey(batch))
	if errors.Is(err, store.ErrNotFound) {
		return api.BatchForecast{}, err
	}
	var s engine.Succession
	if err == nil {
		s, err = engine.Foresee(&b.Doc, rb, runbookstore.Publication(version), p.now())
	}
	switch {
	case err == nil:
		view := forecastView(&b.Doc, s)
		if s.Stays == "" {
			view.Lacks, err = p.lackingColumns(ctx, &b.Doc, rb)
		}
		return view, err
	case errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil:
		return api.BatchForecast{}, err
	}
	p.log.ErrorContext(ctx, "failed to forecast the effect of a version on a batch", logkey.BatchID, batch, logkey.Error, err)
	return api.BatchForecast{BatchID: batch, Problem: "the stored batch cannot be read; see the handler's log"}, nil
}

// forecastView gives what a succession of versions changes in a batch.
func forecastView(b *model.Batch, s engine.Succession) api.BatchForecast {
	return api.BatchForecast{
		BatchID: b.ID, Status: string(b.Status), Manual: b.Manual, From: b.Version, Stays: s.Stays,
		UnderWay: s.UnderWay, Superseded: s.Superseded, Skipped: s.Skipped, Again: s.Again, Pending: s.Pending,
		Init: s.Init, InitAgain: s.InitAgain, Ends: s.Ends,
	}
}

// lackingColumns gives the columns that a version uses, and that the batch's own does not, of which
// members of the first page of the batch have no value. A sync gives them to the members of a batch
// that follows the data source.
func (p *Publisher) lackingColumns(ctx context.Context, b *model.Batch, rb *runbook.Runbook) ([]string, error) {
	columns := rb.Columns()
	if own, err := p.runbooks.Load(ctx, b.Runbook, b.Version); err == nil {
		columns = slices.DeleteFunc(columns, func(column string) bool { return slices.Contains(own.Columns(), column) })
	}
	if len(columns) == 0 {
		return nil, nil
	}
	members, err := p.store.MembersOfPage(ctx, b.ID, 1, model.MemberActive)
	if err != nil {
		return nil, err
	}
	var lacking []string
	for _, column := range columns {
		if slices.ContainsFunc(members, func(m store.Item[model.Member]) bool { return lacks(&m.Doc, column) }) {
			lacking = append(lacking, column)
		}
	}
	return lacking, nil
}

// lacks reports whether a member has no value for a variable, neither from its source nor from a step.
func lacks(m *model.Member, name string) bool {
	_, column := m.Data[name]
	_, output := m.WorkerData[name]
	return !column && !output
}
