package cosmos

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// signer computes the signature of a request under the account key, as
// described for the service's REST API: verb, resource type, resource link
// and date, each on its own line, signed with HMAC-SHA256.
type signer struct{ pool sync.Pool }

func newSigner(secret []byte) *signer {
	return &signer{pool: sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}}
}

func (s *signer) sign(verb, resourceType, link, date string) string {
	mac := s.pool.Get().(hash.Hash)
	defer s.pool.Put(mac)
	mac.Reset()
	text := make([]byte, 0, 256)
	text = append(text, strings.ToLower(verb)...)
	text = append(text, '\n')
	text = append(text, resourceType...)
	text = append(text, '\n')
	text = append(text, link...)
	text = append(text, '\n')
	text = append(text, strings.ToLower(date)...)
	text = append(text, '\n', '\n')
	mac.Write(text)
	var sum [sha256.Size]byte
	return base64.StdEncoding.EncodeToString(mac.Sum(sum[:0]))
}

// authorize accepts a request signed with the account key, or one that
// carries an Entra token which the configured verifier accepts.
func (s *Server) authorize(r *http.Request, at route) error {
	header := r.Header.Get("Authorization")
	if header == "" {
		return errors.New("the Authorization header is missing")
	}
	if !strings.HasPrefix(header, "type=") {
		unescaped, err := url.QueryUnescape(header)
		if err != nil {
			return errors.New("the Authorization header is not URL-encoded")
		}
		header = unescaped
	}
	kind, rest, _ := strings.Cut(strings.TrimPrefix(header, "type="), "&")
	version, signature, _ := strings.Cut(rest, "&")
	signature, signed := strings.CutPrefix(signature, "sig=")
	if version != "ver=1.0" || !signed {
		return errors.New("the Authorization header must be type=…&ver=1.0&sig=…")
	}
	switch kind {
	case "master":
		date := r.Header.Get("X-Ms-Date")
		if date == "" {
			return errors.New("the x-ms-date header is missing")
		}
		if !hmac.Equal([]byte(signature), []byte(s.auth.sign(r.Method, at.resourceType, at.link, date))) {
			return errors.New("the signature does not match the request and the account key")
		}
		return nil
	case "aad":
		if s.verifyToken == nil {
			return errors.New("this account does not accept Entra tokens")
		}
		if err := s.verifyToken(signature); err != nil {
			return errors.New("invalid Entra token: " + err.Error())
		}
		return nil
	default:
		return errors.New("the authorization type is neither master nor aad")
	}
}
