package bundle

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/examples/context-bundle/github"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// item is a repository in the answer of List-Repositories, with the fields that the runbook uses.
type item struct {
	Repository string
	PushedAt   string
}

type lister struct{ from *github.Client }

func (l lister) list(ctx context.Context, p catalog.Params) (any, error) {
	found, err := l.from.Repositories(ctx, p.String("Owner"))
	if err != nil {
		return nil, err
	}
	items := make([]item, len(found))
	for i, r := range found {
		items[i] = item{r.Name, r.PushedAt.UTC().Format(time.RFC3339)}
	}
	return struct{ Repositories []item }{items}, nil
}
