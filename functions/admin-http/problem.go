package adminhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/app"
)

// Problem is how a failure is told: a problem document of RFC 9457. Type is
// about:blank, so that Title is the phrase of the status; Error is what a program
// goes by, Detail what a person reads. TraceID leads to the log.
type Problem struct {
	Type     string        `json:"type"`
	Title    string        `json:"title"`
	Status   int           `json:"status"`
	Detail   string        `json:"detail"`
	Error    string        `json:"error"`
	TraceID  string        `json:"traceId"`
	Problems []app.Problem `json:"problems,omitempty"`

	// Of an advance that is refused.
	CurrentPhase string `json:"currentPhase,omitempty"`
	NextPhase    string `json:"nextPhase,omitempty"`
}

// The values of Error that no use case gives; the others are those of app.Code.
const (
	errUnauthenticated  = "unauthenticated"
	errForbidden        = "forbidden"
	errMethodNotAllowed = "method_not_allowed"
	errUnsupportedMedia = "unsupported_media_type"
)

// retryAfter is how many seconds a caller is asked to wait for a part of the system
// that is away.
const retryAfter = "5"

var statuses = map[app.Code]int{
	app.CodeInvalid:     http.StatusBadRequest,
	app.CodeNotFound:    http.StatusNotFound,
	app.CodeConflict:    http.StatusConflict,
	app.CodeKeyReused:   http.StatusUnprocessableEntity,
	app.CodeChanged:     http.StatusPreconditionFailed,
	app.CodeTooLarge:    http.StatusRequestEntityTooLarge,
	app.CodeUnstorable:  http.StatusUnprocessableEntity,
	app.CodeFull:        http.StatusInsufficientStorage,
	app.CodeUnavailable: http.StatusServiceUnavailable,
	app.CodeSourceAway:  http.StatusServiceUnavailable,
	app.CodeInternal:    http.StatusInternalServerError,
}

// refuse ends the request with a problem document.
func refuse(c *gin.Context, status int, code, format string, args ...any) {
	answer(c, Problem{Status: status, Error: code, Detail: fmt.Sprintf(format, args...)})
}

func answer(c *gin.Context, p Problem) {
	p.Type, p.Title, p.TraceID = "about:blank", http.StatusText(p.Status), traceOf(c)
	if p.Status == http.StatusServiceUnavailable {
		c.Header("Retry-After", retryAfter)
	}
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers always marshal
		panic(err)
	}
	c.Abort()
	c.Data(p.Status, "application/problem+json", body)
}

// fail ends the request with what a use case reported. An error that is not meant
// for the caller is only logged.
func fail(c *gin.Context, err error) {
	_ = c.Error(err) // record logs it
	var e *app.Error
	if !errors.As(err, &e) || e.Code == app.CodeInternal {
		refuse(c, http.StatusInternalServerError, string(app.CodeInternal),
			"something went wrong on our side; the log has it under the trace id %s", traceOf(c))
		return
	}
	status, ok := statuses[e.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	if e.Code == app.CodeInvalid && len(e.Problems) > 0 {
		status = http.StatusUnprocessableEntity
	}
	answer(c, Problem{Status: status, Error: string(e.Code), Detail: e.Message, Problems: e.Problems, CurrentPhase: e.CurrentPhase, NextPhase: e.NextPhase})
}

func (a *api) noRoute(c *gin.Context) {
	refuse(c, http.StatusNotFound, string(app.CodeNotFound), "the API has nothing at this address")
}

// noMethod answers a method that the address does not have; gin has set Allow.
func (a *api) noMethod(c *gin.Context) {
	refuse(c, http.StatusMethodNotAllowed, errMethodNotAllowed, "this address allows %s", c.Writer.Header().Get("Allow"))
}
