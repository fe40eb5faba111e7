package apiclient

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Error is why a call failed. Status is the HTTP status, 0 when there was no answer.
type Error struct {
	Status   int
	Code     string // as the problem document has it, or unreachable, or not_the_api
	Detail   string // for people
	TraceID  string // where the API's log has more
	Problems []api.InputProblem
	Cause    error

	NextPhase string // of an advance that was refused; empty where no phase is left
}

// The codes that no problem document has.
const (
	CodeUnreachable = "unreachable" // there was no answer
	CodeNotTheAPI   = "not_the_api" // something answered that is not the admin API
)

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %v", e.Detail, e.Cause)
	}
	return e.Detail
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Temporary tells whether the same call may succeed a little later.
func (e *Error) Temporary() bool {
	switch e.Status {
	case 0:
		return e.Code == CodeUnreachable
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// refusal reads the problem document of an answer. Any other body came from a
// program between the client and the API: a gateway, a sign-in page, another program on the port. The
// header has the trace id if such a program replaced the body of the API.
func refusal(r *http.Response, body []byte, where string) *Error {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var p api.Problem
	if media == "application/problem+json" && json.Unmarshal(body, &p) == nil && p.Error != "" {
		return &Error{Status: r.StatusCode, Code: string(p.Error), Detail: p.Detail, TraceID: p.TraceID, Problems: p.Problems, NextPhase: p.NextPhase}
	}
	e := &Error{Status: r.StatusCode, Code: CodeNotTheAPI, TraceID: r.Header.Get("X-Trace-Id"), Detail: fmt.Sprintf("%s answered %s, but not as the admin API does", where, r.Status)}
	if location := r.Header.Get("Location"); location != "" {
		e.Detail += "; it redirects"
	}
	if e.Temporary() {
		e.Code, e.Detail = string(api.CodeUnavailable), fmt.Sprintf("%s answered %s", where, r.Status)
	}
	e.Detail = strings.TrimSpace(e.Detail)
	return e
}
