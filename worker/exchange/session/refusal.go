package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Refusal is an error response of Exchange Online. kind is the exception's type,
// if given.
type Refusal struct {
	Status int
	kind   string
	text   string
	after  time.Duration
}

func (r *Refusal) Error() string { return r.text }

// refusalFrom finds the informative message: the outer one is always the same; it
// is in the details, sometimes only in the innermost error.
func refusalFrom(response *http.Response, body []byte) *Refusal {
	r := &Refusal{
		Status: response.StatusCode,
		kind:   fmt.Sprintf("HTTP %d", response.StatusCode),
		text:   response.Status,
		after:  throttle.After(response.Header.Get("Retry-After"), time.Now()),
	}
	var answer struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Details []struct {
				Message string `json:"message"`
			} `json:"details"`
			InnerError struct {
				Internal struct {
					Message string `json:"message"`
				} `json:"internalexception"`
			} `json:"innererror"`
		} `json:"error"`
	}
	if json.Unmarshal(bytes.TrimRight(body, "\x00"), &answer) != nil {
		return r
	}
	e := answer.Error
	if e.Code != "" {
		r.kind = e.Code
	}
	var details []string
	for _, d := range e.Details {
		if d.Message != "" {
			details = append(details, d.Message)
		}
	}
	switch {
	case len(details) > 0:
		r.kind, r.text = splitDetail(r.kind, strings.Join(details, "; "))
	case e.InnerError.Internal.Message != "":
		r.text = e.InnerError.Internal.Message
	case e.Message != "":
		r.text = e.Message
	}
	return r
}

// splitDetail takes "ExCODE|Type|text" apart.
func splitDetail(kind, detail string) (string, string) {
	parts := strings.SplitN(detail, "|", 3)
	if len(parts) < 3 || !strings.HasPrefix(parts[0], "Ex") {
		return kind, detail
	}
	return parts[1], parts[2]
}

// Judge says whether a command that failed is worth repeating.
func Judge(err error) throttle.Verdict {
	// An expired deadline is that of this request: after the job's deadline no result is read.
	if errors.Is(err, context.Canceled) {
		return throttle.Verdict{}
	}
	var judged *catalog.Failure
	if errors.As(err, &judged) { // a command that was repeated already
		return throttle.Verdict{}
	}
	var closed *throttle.ClosedError
	if errors.As(err, &closed) {
		return closed.Verdict()
	}
	var stale *StaleError
	if errors.As(err, &stale) {
		return throttle.Verdict{Outcome: throttle.Lagging}
	}
	var r *Refusal
	if errors.As(err, &r) {
		switch {
		case r.Status == http.StatusTooManyRequests, r.Status == http.StatusRequestTimeout,
			r.Status == http.StatusServiceUnavailable, r.Status == http.StatusGatewayTimeout,
			throttle.Said(r.text), throttle.Said(r.kind):
			return throttle.Verdict{Outcome: throttle.Throttled, After: r.after}
		case r.Status >= 500:
			return throttle.Verdict{Outcome: throttle.Transient, After: r.after}
		case r.Status == http.StatusNotFound:
			// For minutes after it was made a recipient may not be found.
			return throttle.Verdict{Outcome: throttle.Lagging, After: r.after}
		}
		return throttle.Verdict{}
	}
	var failed *azidentity.AuthenticationFailedError
	if errors.As(err, &failed) && failed.RawResponse != nil && failed.RawResponse.StatusCode < 500 {
		return throttle.Verdict{} // the credential is wrong
	}
	return throttle.Verdict{Outcome: throttle.Transient} // no answer came
}

// Missing tells whether a read found no such session.Recipient, also after what may be lag was waited out.
func Missing(err error) bool {
	var f *catalog.Failure
	return errors.As(err, &f) && f.NotFound
}

// IsAmbiguous tells whether a command failed because several recipients have the identity.
func IsAmbiguous(err error) bool {
	return Says(err, "matches multiple entries") || Says(err, "recipients have this identity") && !Missing(err)
}

// Says tells whether err is a refusal whose text has a part.
func Says(err error, part string) bool {
	var f *catalog.Failure
	return errors.As(err, &f) && !f.Throttled && strings.Contains(strings.ToLower(f.Message), strings.ToLower(part))
}

// Taken tells whether a command was refused because another object has what the new one needs.
func Taken(err error) bool {
	var f *catalog.Failure
	if !errors.As(err, &f) || f.Throttled {
		return false
	}
	text := strings.ToLower(f.Message)
	return slices.ContainsFunc([]string{"already being used", "is used by another", "already exists"}, func(s string) bool { return strings.Contains(text, s) })
}
