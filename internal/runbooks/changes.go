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

// maxForeseen is for how many batches a publish tells what becomes of them.
const maxForeseen = 100

// changes tells what a version changes if it were published now. The version that it
// is compared with can be one that can no longer be read: that must not keep anybody
// from publishing a better one.
func (rs *Publisher) changes(ctx context.Context, head store.RunbookHead, version store.RunbookVersion, rb *runbook.Runbook) (*api.VersionChanges, error) {
	view := &api.VersionChanges{Runbook: []api.Change{}, Batches: []api.BatchForecast{}}
	if head.Latest == 0 {
		return view, nil
	}
	if view.Against = head.Active; view.Against == 0 {
		view.Against = head.Latest
	}
	before, err := store.Read[store.RunbookVersion](ctx, rs.store, store.VersionKey(head.Name, view.Against))
	if err != nil {
		return nil, err
	}
	if older, found := runbook.Parse([]byte(before.Doc.YAML)); older == nil {
		view.Problem = "that version can no longer be read: " + found.Err().Error()
	} else {
		for _, c := range diff.Compare(older, rb) {
			view.Runbook = append(view.Runbook, api.Change{Kind: string(c.Kind), Path: c.Path, From: c.From, To: c.To})
		}
	}
	unfinished, err := rs.store.UnfinishedBatches(ctx, head.Name)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(unfinished, func(x, y store.UnfinishedBatch) int { return cmp.Compare(x.ID, y.ID) })
	view.BatchCount = len(unfinished)
	for _, one := range unfinished[:min(len(unfinished), maxForeseen)] {
		id := one.ID
		b, err := store.Read[model.Batch](ctx, rs.store, store.BatchKey(id))
		if errors.Is(err, store.ErrNotFound) { // it is being made, or never was
			continue
		}
		var s engine.Succession
		if err == nil {
			s, err = engine.Foresee(&b.Doc, rb, runbookstore.Publication(version), rs.now())
		}
		switch {
		case errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil:
			return nil, err
		case err != nil: // a batch that is damaged keeps nobody from publishing
			rs.log.ErrorContext(ctx, "batch cannot be looked at", logkey.BatchID, id, logkey.Error, err)
			view.Batches = append(view.Batches, api.BatchForecast{BatchID: id, Problem: "what is stored of it cannot be read: the log of this service tells why"})
		default:
			view.Batches = append(view.Batches, foreseenView(&b.Doc, s))
		}
	}
	return view, nil
}

func foreseenView(b *model.Batch, s engine.Succession) api.BatchForecast {
	return api.BatchForecast{
		BatchID: b.ID, Status: string(b.Status), Manual: b.Manual, From: b.Version, Stays: s.Stays,
		UnderWay: s.UnderWay, Superseded: s.Superseded, Skipped: s.Skipped, Again: s.Again, Pending: s.Pending,
		Init: s.Init, InitAgain: s.InitAgain, Ends: s.Ends,
	}
}
