package signin

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/logkey"
)

// held is a cached token with its renewal. Times are by Config.Now, independent of the
// issuer's clock.
type held struct {
	token  azcore.AccessToken
	before string    // the token before this one
	renew  time.Time // from then on another is wanted
	until  time.Time // until then this one will do
	again  time.Time // before that a renewal that failed is not repeated
	forced time.Time // when this one was got because an API refused the one before; zero once one took it
	flight *flight
}

// flight is a request for a token under way. token and err are there once done is
// closed.
type flight struct {
	done  chan struct{}
	token azcore.AccessToken
	err   error
}

// GetToken returns a token, from the cache where possible. Towards the end of a
// token's life it requests another while it still returns this one, so that no caller
// waits or fails. Many callers cause one request, which continues when the caller
// that caused it leaves.
func (c *Credential) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	r := requestFor(options)
	if options.Claims != "" {
		return c.replace(ctx, r, options.Claims, "")
	}
	c.mu.Lock()
	h := c.held(r)
	now := c.config.Now()
	if now.Before(h.renew) && now.Before(h.until) {
		defer c.mu.Unlock()
		return h.token, nil
	}
	usable := now.Before(h.until)
	token, f := h.token, h.flight
	if f == nil && (!usable || !now.Before(h.again)) {
		f = c.start(h, r, "", false)
	}
	c.mu.Unlock()
	if usable {
		return token, nil
	}
	return f.wait(ctx)
}

// lasting is how much of a token's life a caller who keeps the token wants to have left, without the last minute.
const lasting = 9 * time.Minute

// GetLastingToken is GetToken for a caller who keeps the token. Towards the end of a token's life it waits for another,
// and returns the old one only if there is no other.
func (c *Credential) GetLastingToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	old, err := c.GetToken(ctx, options) // starts the renewal
	if err != nil {
		return old, err
	}
	c.mu.Lock()
	h := c.held(requestFor(options))
	token, f := h.token, h.flight
	ends := h.until.Sub(c.config.Now()) < lasting
	c.mu.Unlock()
	if !ends || f == nil {
		return token, nil
	}
	if another, err := f.wait(ctx); err == nil {
		return another, nil
	}
	return token, ctx.Err()
}

// held returns the cache entry of a request. The caller holds c.mu.
func (c *Credential) held(r request) *held {
	h := c.tokens[r]
	if h == nil {
		h = &held{}
		c.tokens[r] = h
	}
	return h
}

// start asks for a token, with c.mu held.
func (c *Credential) start(h *held, r request, claims string, forced bool) *flight {
	f := &flight{done: make(chan struct{})}
	if f.err = c.ctx.Err(); f.err != nil {
		close(f.done) // the credential is closed
		return f
	}
	h.flight = f
	c.group.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, asking)
		defer cancel()
		f.token, f.err = c.acquire(ctx, r, claims)
		c.mu.Lock()
		defer c.mu.Unlock()
		h.flight = nil
		if f.err == nil {
			h.keep(f.token, c.config.Now())
			if forced {
				h.forced = c.config.Now()
			}
		} else {
			h.again = c.config.Now().Add(atOnce)
			c.config.Log.Warn("cannot get a token of the target tenant", logkey.Scope, r.scopes, logkey.Error, f.err.Error())
		}
		close(f.done)
	})
	return f
}

func (f *flight) wait(ctx context.Context) (azcore.AccessToken, error) {
	select {
	case <-f.done:
		return f.token, f.err
	case <-ctx.Done():
		return azcore.AccessToken{}, ctx.Err()
	}
}

// keep stores a new token. The token is renewed when the issuer suggests, otherwise in
// the last ten minutes of its life; it is not used in the last minute.
func (h *held) keep(token azcore.AccessToken, now time.Time) {
	life := time.Until(token.ExpiresOn)
	h.before, h.token = h.token.Token, token
	h.until = now.Add(life - min(life/10, time.Minute))
	h.renew = now.Add(life - min(life/4, 10*time.Minute))
	if !token.RefreshOn.IsZero() {
		h.renew = now.Add(min(time.Until(token.RefreshOn), life-min(life/4, 10*time.Minute)))
	}
	h.again, h.forced = time.Time{}, time.Time{}
}

// replace gets a new token, past the cache. If refused is not empty, a token that
// replaced it meanwhile suffices.
func (c *Credential) replace(ctx context.Context, r request, claims, refused string) (azcore.AccessToken, error) {
	for {
		c.mu.Lock()
		h := c.held(r)
		token, f := h.token, h.flight
		replaced := refused != "" && token.Token != refused
		mine := f == nil && !replaced
		if mine {
			f = c.start(h, r, claims, true)
		}
		c.mu.Unlock()
		if replaced {
			return token, nil
		}
		another, err := f.wait(ctx)
		if mine || claims == "" || ctx.Err() != nil {
			return another, err
		}
	}
}

// instead returns another token in place of one that an API refused. There is none
// where the token was not given out here, or where the refused one itself was got
// for that reason a moment ago and was never taken: then it is not the token that is
// wrong.
func (c *Credential) instead(ctx context.Context, refused, claims string) (string, bool) {
	c.mu.Lock()
	r, h := c.heldAs(refused)
	now := c.config.Now()
	vain := h == nil || claims == "" && h.token.Token == refused && h.flight == nil &&
		(!h.forced.IsZero() && now.Sub(h.forced) < atOnce || now.Before(h.again))
	c.mu.Unlock()
	if vain {
		return "", false
	}
	token, err := c.replace(ctx, r, claims, refused)
	return token.Token, err == nil && token.Token != refused
}

// noteToken notes that an API took a token.
func (c *Credential) noteToken(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, h := c.heldAs(token); h != nil && h.token.Token == token {
		h.forced = time.Time{}
	}
}

// heldAs finds the cache entry of a returned token. The caller holds c.mu.
func (c *Credential) heldAs(token string) (request, *held) {
	for r, h := range c.tokens {
		if token != "" && (h.token.Token == token || h.before == token) {
			return r, h
		}
	}
	return request{}, nil
}
