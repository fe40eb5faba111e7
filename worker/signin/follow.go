package signin

import (
	"context"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/logkey"
)

// soon is how long before its end a secret is warned of.
const soon = 14 * 24 * time.Hour

// follow asks Key Vault for new versions until the credential is closed.
func (c *Credential) follow() {
	wait := c.config.Refresh
	for {
		timer := time.NewTimer(wait)
		select {
		case <-c.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		ctx, cancel := context.WithTimeout(c.ctx, asking)
		_, err := c.Refresh(ctx)
		cancel()
		wait = c.config.Refresh
		if err != nil {
			wait = min(wait, afterTrouble)
		}
	}
}

// Refresh reads the secret and changes to it where it is another one and Entra ID
// takes it. An error leaves everything as it was, and is in the log as well.
func (c *Credential) Refresh(ctx context.Context) (changed bool, err error) {
	if err := c.take(ctx); err != nil {
		return false, err
	}
	defer c.release()
	return c.adopt(ctx)
}

// another returns the secret to use instead of one that Entra ID refused: the one
// that another call changed to meanwhile, or the current one of the source.
func (c *Credential) another(ctx context.Context, refused secret) (secret, bool) {
	if c.take(ctx) != nil {
		return secret{}, false
	}
	defer c.release()
	if s := c.current(); s.version != refused.version {
		return s, true
	}
	now := c.config.Now()
	if !c.reread.IsZero() && now.Sub(c.reread) < atOnce {
		return secret{}, false
	}
	c.reread = now
	changed, err := c.adopt(ctx)
	return c.current(), changed && err == nil
}

func (c *Credential) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Credential) release() { <-c.turn }

// adopt reads the source and changes to what it has, on c.turn.
func (c *Credential) adopt(ctx context.Context) (bool, error) {
	old := c.current()
	next, err := c.source.read(ctx)
	if err != nil {
		c.config.Log.Warn("cannot read the credential of the target tenant: keeping the current one", logkey.Credential, old.String(), logkey.Error, err.Error())
		return false, err
	}
	if next.version == old.version {
		c.warn(old)
		return false, nil
	}
	trial := request{scopes: c.config.Scope, cae: true} // as Graph's client asks
	err = next.usable(c.config.Now())
	if err == nil {
		token, refused := c.ask(ctx, next, trial, "")
		if refused == nil {
			c.change(next, trial, func(h *held) { h.keep(token, c.config.Now()) })
			c.config.Log.Info("signing in to the target tenant with a new credential", logkey.Credential, next.String(), logkey.ExpiresAt, next.end(), logkey.Before, old.String())
			c.warn(next)
			return true, nil
		}
		err = refused
	}
	err = fmt.Errorf("%s: %w", next, err)
	c.config.Log.Warn("the new credential of the target tenant is not usable: keeping the current one", logkey.Credential, old.String(), logkey.ExpiresAt, old.end(), logkey.Error, err.Error())
	return false, err
}

// change makes next the secret. Tokens that the old one got stay good and are given
// out until there are new ones, which the next calls request.
func (c *Credential) change(next secret, trial request, keep func(*held)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.secret
	c.secret, c.former, c.looked = next, &old, true
	now := c.config.Now()
	for _, h := range c.tokens {
		h.renew, h.again = now, time.Time{}
	}
	keep(c.held(trial))
}

// warn tells of a secret that is about to end.
func (c *Credential) warn(s secret) {
	if left := s.expires.Sub(c.config.Now()); !s.expires.IsZero() && left < soon {
		c.config.Log.Warn("the credential of the target tenant expires soon: add a new version to Key Vault", logkey.Credential, s.String(), logkey.ExpiresAt, s.end())
	}
}
