package admin

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// UpdateBatch gives a batch another name, note or owner, also after its end. A field that is not given
// stays as it is. With tags, it changes the batch only if it has one of these ETags. Errors:
// CodeNotFound, CodeInvalid, CodeChanged, CodeConflict (the owner of a request), CodeUnavailable.
func (a *Admin) UpdateBatch(ctx context.Context, by audit.Caller, batch int, d api.BatchDetails, why string, tags ...string) (api.Batch, error) {
	d, err := membership.CheckDetails(d)
	if err != nil {
		return api.Batch{}, err
	}
	if d == (api.BatchDetails{}) {
		return api.Batch{}, problem.New(api.CodeInvalid, "nothing to change: give a name, a note or an owner")
	}
	if _, err := a.control(ctx, by, batch, &command{
		action: "update_batch", why: why, state: audit.DetailsState, tags: tags,
		event: func(*model.Batch, model.Attribution) (model.Event, error) {
			return model.BatchUpdated{Name: d.Name, Note: d.Note, Owner: d.Owner}, nil
		},
	}); err != nil {
		return api.Batch{}, err
	}
	return a.Batch(ctx, by, batch)
}
