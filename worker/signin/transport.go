package signin

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// Transport sends requests again, once, when an API answers 401 to a token of the
// credential: with another token, since that one may have been revoked. A request that
// was refused so has done nothing. What the answer asks of the new token (claims of
// continuous access evaluation) is asked of Entra ID. base nil means the default.
func (c *Credential) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{c, base}
}

type transport struct {
	credential *Credential
	base       http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return t.base.RoundTrip(r)
	}
	body, err := read(r)
	if err != nil {
		return nil, err
	}
	response, err := t.send(r, body, token)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	another, ok := t.credential.instead(r.Context(), token, claimsIn(response.Header))
	if !ok {
		return response, nil
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // so that the connection is used again
	_ = response.Body.Close()
	return t.send(r, body, another)
}

func (t *transport) send(r *http.Request, body []byte, token string) (*http.Response, error) {
	response, err := t.base.RoundTrip(with(r, body, token))
	if err == nil && response.StatusCode != http.StatusUnauthorized {
		t.credential.noteToken(token)
	}
	return response, err
}

// read reads the body, which is small: a request to a tenant concerns one object.
func read(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

// with is the request with a token. The original is left as it is.
func with(r *http.Request, body []byte, token string) *http.Request {
	again := r.Clone(r.Context())
	again.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		again.Body = io.NopCloser(bytes.NewReader(body))
		again.ContentLength = int64(len(body))
	}
	return again
}

var claimsParameter = regexp.MustCompile(`(?i)\bclaims="([^"]+)"`)

// claimsIn are the claims that an API asks for in place of those of the refused token;
// empty when it asks for none.
func claimsIn(header http.Header) string {
	for _, challenge := range header.Values("WWW-Authenticate") {
		found := claimsParameter.FindStringSubmatch(challenge)
		if found == nil {
			continue
		}
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			if claims, err := encoding.DecodeString(found[1]); err == nil {
				return string(claims)
			}
		}
	}
	return ""
}
