package adminhttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// retryAfter is how many seconds a caller is asked to wait for a part of the system
// that is away.
const retryAfter = "5"

var statuses = map[api.Code]int{
	api.CodeInvalid:     http.StatusBadRequest,
	api.CodeNotFound:    http.StatusNotFound,
	api.CodeForbidden:   http.StatusForbidden,
	api.CodeConflict:    http.StatusConflict,
	api.CodeKeyReused:   http.StatusUnprocessableEntity,
	api.CodeChanged:     http.StatusPreconditionFailed,
	api.CodeTooLarge:    http.StatusRequestEntityTooLarge,
	api.CodeUnstorable:  http.StatusUnprocessableEntity,
	api.CodeFull:        http.StatusInsufficientStorage,
	api.CodeUnavailable: http.StatusServiceUnavailable,
	api.CodeSourceAway:  http.StatusServiceUnavailable,
	api.CodeInternal:    http.StatusInternalServerError,
}

// refuse ends the request with a problem document.
func refuse(c *gin.Context, status int, code api.Code, format string, args ...any) {
	answer(c, api.Problem{Status: status, Error: code, Detail: fmt.Sprintf(format, args...)})
}

func answer(c *gin.Context, p api.Problem) {
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

// fail ends the request with the error of a use case. This is the one place where errors
// become problems: a use case returns them as they come. Of an internal error the caller
// gets the trace id only; the log has the rest.
func fail(c *gin.Context, err error) {
	e := problem.Explain(err)
	_ = c.Error(e) // record logs it
	if e.Code == api.CodeInternal {
		refuse(c, http.StatusInternalServerError, api.CodeInternal,
			"internal error; find the trace id %s in the handler's log", traceOf(c))
		return
	}
	status, ok := statuses[e.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	if e.Code == api.CodeInvalid && len(e.Problems) > 0 {
		status = http.StatusUnprocessableEntity
	}
	answer(c, api.Problem{Status: status, Error: e.Code, Detail: e.Message, Problems: e.Problems, CurrentPhase: e.CurrentPhase, NextPhase: e.NextPhase})
}

func (a *server) noRoute(c *gin.Context) {
	refuse(c, http.StatusNotFound, api.CodeNotFound, "the API has no such route")
}

// noMethod answers a method that the address does not have; gin has set Allow, in which
// HEAD goes with GET.
func (a *server) noMethod(c *gin.Context) {
	allow := strings.Split(c.Writer.Header().Get("Allow"), ", ")
	if slices.Contains(allow, http.MethodGet) {
		allow = append(allow, http.MethodHead)
	}
	slices.Sort(allow)
	c.Header("Allow", strings.Join(allow, ", "))
	refuse(c, http.StatusMethodNotAllowed, api.CodeMethodNotAllowed, "method not allowed: use %s", strings.Join(allow, ", "))
}
