package orchestrator

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/engine"
)

// ResumePage takes up a page whose runs exist.
func (or *Orchestrator) ResumePage(ctx context.Context, batch, phase, page int) error {
	return or.applier.Decide(ctx, batch, engine.PageResumed{Phase: phase, Page: page})
}
