package entra

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A single-page application redeems codes and refresh tokens from its page. The service tells it from
// other clients by the type of the redirect URI, and its requests by their Origin:
// https://learn.microsoft.com/entra/identity-platform/reference-third-party-cookies-spas.

// originOf returns the origin of a redirect URI.
func originOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// checkRedirectURI refuses what cannot be the redirect URI of a single-page application.
func checkRedirectURI(uri string) error {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return fmt.Errorf("redirect URI %q: %w", uri, err)
	case u.Host == "" || u.Fragment != "" || u.User != nil || strings.Contains(uri, "*"):
		return fmt.Errorf("redirect URI %q: use an absolute address without fragment, user and wildcard", uri)
	case u.Scheme != "https" && (u.Scheme != "http" || !slices.Contains([]string{"localhost", "127.0.0.1", "[::1]"}, strings.TrimSuffix(u.Host, ":"+u.Port()))):
		return errors.New("redirect URI " + uri + ": use https; http is for loopback only")
	}
	return nil
}

// hasOrigin reports whether a page of this origin is a single-page application of the tenant.
func (t Tenant) hasOrigin(origin string) bool {
	return slices.ContainsFunc(t.Applications, func(a Application) bool { return a.hasOrigin(origin) })
}

func (a Application) hasOrigin(origin string) bool {
	return slices.ContainsFunc(a.SPARedirectURIs, func(uri string) bool { return originOf(uri) == origin })
}

// crossOrigin lets pages of registered origins read the answers of an endpoint. Others get no answer
// that a browser would give to them.
func (s *Server) crossOrigin(next func(http.ResponseWriter, *http.Request, Tenant)) func(http.ResponseWriter, *http.Request, Tenant) {
	return func(w http.ResponseWriter, r *http.Request, t Tenant) {
		w.Header().Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" && t.hasOrigin(origin) {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			if r.Method == http.MethodOptions {
				w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
				w.Header().Set("Access-Control-Allow-Headers", "content-type, client-request-id, x-client-sku, x-client-ver")
				w.Header().Set("Access-Control-Max-Age", "600")
			}
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next(w, r, t)
	}
}

// checkOrigin refuses the page of another client type, and the redemption of a code that was issued to a page
// by something that is none.
func checkOrigin(client Application, origin string, spa bool) *refusal {
	switch {
	case spa && origin == "":
		return badRequest("invalid_request", 9002327,
			"Tokens issued for the 'Single-Page Application' client-type may only be redeemed via cross-origin requests.")
	case spa && !client.hasOrigin(origin), !spa && origin != "":
		return badRequest("invalid_request", 9002326,
			"Cross-origin token redemption is permitted only for the 'Single-Page Application' client-type. Request origin: '%s'.", origin)
	}
	return nil
}
