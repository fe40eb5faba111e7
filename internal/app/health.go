package app

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/buildinfo"
	"github.com/matoolkit/matoolkit/internal/logkey"
)

// Health asks the store and the bus; it answers within the context's time.
func (a *App) Health(ctx context.Context) api.Health {
	h := api.Health{Status: "ok", Version: buildinfo.Version, Parts: map[string]string{}}
	for part, check := range map[string]func(context.Context) error{"store": a.store.Ping, "bus": a.bus.Ping} {
		h.Parts[part] = "ok"
		if err := check(ctx); err != nil {
			a.log.WarnContext(ctx, "health check failed", logkey.Part, part, logkey.Error, err)
			h.Parts[part], h.Status = "cannot be reached", "degraded"
		}
	}
	return h
}
