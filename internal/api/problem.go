package api

// Code identifies the kind of a failure. It is the member "error" of a problem document.
type Code string

// The codes, with the HTTP status of each.
const (
	CodeInvalid     Code = "invalid"     // the request is wrong: 400 (422 where it is well-formed but breaks a rule)
	CodeNotFound    Code = "not_found"   // 404
	CodeConflict    Code = "conflict"    // the state does not allow it: 409
	CodeChanged     Code = "changed"     // the item no longer has the ETag of If-Match: 412
	CodeKeyReused   Code = "key_reused"  // the idempotency key belongs to another request: 422
	CodeTooLarge    Code = "too_large"   // 413
	CodeUnstorable  Code = "unstorable"  // the store refuses it permanently: 422
	CodeFull        Code = "full"        // the store has no room left for it: 507
	CodeUnavailable Code = "unavailable" // the store or the bus cannot be reached: 503, retry
	CodeSourceAway  Code = "source_away" // a runbook's data source does not answer: 503, retry
	CodeInternal    Code = "internal"    // 500

	CodeUnauthenticated  Code = "unauthenticated"        // 401
	CodeForbidden        Code = "forbidden"              // 403
	CodeMethodNotAllowed Code = "method_not_allowed"     // 405
	CodeUnsupportedMedia Code = "unsupported_media_type" // 415
	CodeTooManyRequests  Code = "too_many_requests"      // 429
)

// InputProblem is one error of an input, with its place.
type InputProblem struct {
	Severity string `json:"severity,omitempty"` // error or warning; empty is an error
	Line     int    `json:"line,omitempty"`     // in the file, from 1
	Column   int    `json:"column,omitempty"`   // in the line, from 1
	Field    string `json:"field,omitempty"`    // a CSV column, a YAML path
	Code     string `json:"code,omitempty"`
	Message  string `json:"message"`
}

// Problem is the body of a failed request (RFC 9457). Type is about:blank, so that
// Title is the phrase of the status; programs go by Error, people read Detail. TraceID
// finds the request in the handler's log.
type Problem struct {
	Type     string         `json:"type"`
	Title    string         `json:"title"`
	Status   int            `json:"status"`
	Detail   string         `json:"detail"`
	Error    Code           `json:"error"`
	TraceID  string         `json:"traceId"`
	Problems []InputProblem `json:"problems,omitempty"`

	// CurrentPhase and NextPhase are set when an advance is refused.
	CurrentPhase string `json:"currentPhase,omitempty"`
	NextPhase    string `json:"nextPhase,omitempty"`
}
