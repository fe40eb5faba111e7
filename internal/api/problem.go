package api

// Code identifies the kind of a failure. It is the member "error" of a problem document.
type Code string

// The codes, with the HTTP status of each.
const (
	CodeInvalid     Code = "invalid"     // 400, 422: the request is invalid; 422 if it is well-formed but breaks a rule
	CodeNotFound    Code = "not_found"   // 404: the item does not exist
	CodeConflict    Code = "conflict"    // 409: the state does not allow the request
	CodeChanged     Code = "changed"     // 412: the item no longer has the ETag of If-Match
	CodeKeyReused   Code = "key_reused"  // 422: the idempotency key belongs to another request
	CodeTooLarge    Code = "too_large"   // 413: the request or an item in it is too large
	CodeUnstorable  Code = "unstorable"  // 422: the store refuses the item; do not repeat the request
	CodeFull        Code = "full"        // 507: the store has no room left for the item
	CodeUnavailable Code = "unavailable" // 503: the store or the broker cannot be reached; repeat the request after Retry-After
	CodeSourceAway  Code = "source_away" // 503: the runbook's data source does not answer; repeat the request
	CodeInternal    Code = "internal"    // 500: an internal error; find the traceId in the handler's log

	CodeUnauthenticated  Code = "unauthenticated"        // 401: the token is missing, expired or invalid
	CodeForbidden        Code = "forbidden"              // 403: the token lacks the required app role, or a second person has to approve
	CodeMethodNotAllowed Code = "method_not_allowed"     // 405: the route has no such method
	CodeUnsupportedMedia Code = "unsupported_media_type" // 415: the route does not accept this Content-Type
	CodeTooManyRequests  Code = "too_many_requests"      // 429: the caller sends too many requests; repeat the request after Retry-After
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
