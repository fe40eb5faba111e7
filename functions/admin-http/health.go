package adminhttp

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

// healthCache keeps the last answer for a moment: the route is open to everyone and
// must not be a way to load the store.
type healthCache struct {
	mu   sync.Mutex
	at   time.Time
	last api.Health
}

// getHealth tells anyone whether the system works, and nothing else about it.
func (a *server) getHealth(c *gin.Context) {
	a.health.mu.Lock()
	defer a.health.mu.Unlock()
	if now := a.Now(); a.health.at.IsZero() || now.Sub(a.health.at) >= keepHealth {
		// The answer serves other callers too, so it does not end with this one.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), maxHealth)
		defer cancel()
		a.health.last, a.health.at = a.Health.Health(ctx), now
	}
	status := http.StatusOK
	if a.health.last.Status != "ok" {
		status = http.StatusServiceUnavailable
		c.Header("Retry-After", retryAfter)
	}
	write(c, status, gin.H{"status": a.health.last.Status})
}
