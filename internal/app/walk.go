package app

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/engine"
)

// resumePage takes up a page whose runs exist.
func (a *App) resumePage(ctx context.Context, batch, phase, page int) error {
	return a.decide(ctx, batch, engine.PageResumed{Phase: phase, Page: page})
}
