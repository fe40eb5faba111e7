package orchestrator

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/model"
)

// ResumePage takes up a page whose runs exist.
func (or *Orchestrator) ResumePage(ctx context.Context, batch, phase, page int) error {
	return or.applier.Decide(ctx, batch, model.PageResumed{Phase: phase, Page: page})
}
