package login

import (
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// refusals keeps the last refusal of Entra ID. The libraries report only that a request was
// refused, or that a person must sign in, without the reason. It is safe for concurrent use.
type refusals struct {
	through http.RoundTripper
	last    atomic.Pointer[string]
}

// countRefusals returns a client that records refusals. Without a client it returns none.
func countRefusals(web *http.Client) (*http.Client, *refusals) {
	if web == nil {
		return nil, nil
	}
	r := &refusals{through: web.Transport}
	if r.through == nil {
		r.through = http.DefaultTransport
	}
	client := *web
	client.Transport = r
	return &client, r
}

// RoundTrip sends a request and records a refusal.
func (r *refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := r.through.RoundTrip(request)
	if err == nil && (answer.StatusCode == http.StatusBadRequest || answer.StatusCode == http.StatusUnauthorized) {
		if text := serverMessage(answer); text != "" {
			r.last.Store(&text)
		}
	}
	return answer, err
}

// ofScope are the errors of Entra ID that a new sign-in does not solve: the API is unknown, the
// app may not use it, or the consent is missing.
var ofScope = []string{"AADSTS500011", "AADSTS65001", "AADSTS650053", "AADSTS650057", "AADSTS70011"}

// scope returns the refusal of a scope, or nil if the last refusal had another reason.
func (r *refusals) scope(scope string) error {
	text := r.last.Load()
	if text == nil {
		return nil
	}
	number := code.FindString(*text)
	if !slices.Contains(ofScope, number) {
		return nil
	}
	return &exit.Error{Status: exit.NotSignedIn, Text: "no token for api-scope " + scope + ": " + *text, Hint: remedies[number]}
}
