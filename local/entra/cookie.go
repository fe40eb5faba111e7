package entra

import "net/http"

// cookieName is the name of a cookie without the prefix that it has under TLS, by which browsers hold it to
// this very host.
type cookieName string

func (n cookieName) under(r *http.Request) string {
	if r.TLS == nil {
		return string(n)
	}
	return "__Host-" + string(n)
}

// of is the cookie for the answer to a request. Without TLS a browser takes none that is Secure, nor one
// that it sends from another site.
func (n cookieName) of(r *http.Request, value string, site http.SameSite) *http.Cookie {
	c := &http.Cookie{Name: n.under(r), Value: value, Path: "/", Secure: r.TLS != nil, HttpOnly: true, SameSite: site}
	if r.TLS == nil && site == http.SameSiteNoneMode {
		c.SameSite = http.SameSiteLaxMode
	}
	return c
}

func (n cookieName) read(r *http.Request) (*http.Cookie, error) { return r.Cookie(n.under(r)) }
