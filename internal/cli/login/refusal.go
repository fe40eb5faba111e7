package login

import (
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// refusals hears what Entra ID says when it refuses. The libraries that sign in tell
// only that it did, or that somebody has to sign in, whatever the reason is. Safe for
// concurrent use.
type refusals struct {
	through http.RoundTripper
	last    atomic.Pointer[string]
}

// countRefusals is the client with what it is refused being heard. There need be no client,
// where nobody is asked.
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

// RoundTrip passes a request on.
func (r *refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := r.through.RoundTrip(request)
	if err == nil && (answer.StatusCode == http.StatusBadRequest || answer.StatusCode == http.StatusUnauthorized) {
		if text := serverMessage(answer); text != "" {
			r.last.Store(&text)
		}
	}
	return answer, err
}

// ofScope are the refusals of Entra ID that no new sign-in helps against: the API that
// is asked for is not known, is not one for this app, or nobody has consented to it.
var ofScope = []string{"AADSTS500011", "AADSTS65001", "AADSTS650053", "AADSTS650057", "AADSTS70011"}

// scope is the refusal of a scope, nil where the last was of something else or there was
// none.
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
