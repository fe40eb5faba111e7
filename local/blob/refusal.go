package blob

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// refusal is an answer that is an error.
type refusal struct {
	status        int
	code, message string
	details       []detail
}

// detail is a further element of the body of an error, such as HeaderName.
type detail struct{ name, value string }

func (e *refusal) write(w http.ResponseWriter, r *http.Request, now time.Time) {
	h := w.Header()
	h.Set("x-ms-error-code", e.code)
	if e.status == http.StatusNotModified || r.Method == http.MethodHead {
		w.WriteHeader(e.status)
		return
	}
	var body strings.Builder
	body.WriteString(xml.Header + "<Error>")
	element(&body, "Code", e.code)
	element(&body, "Message", fmt.Sprintf("%s\nRequestId:%s\nTime:%s", e.message, h.Get("x-ms-request-id"), now.UTC().Format("2006-01-02T15:04:05.0000000Z")))
	for _, d := range e.details {
		element(&body, d.name, d.value)
	}
	body.WriteString("</Error>")
	h.Set("Content-Type", "application/xml")
	w.WriteHeader(e.status)
	_, _ = w.Write([]byte(body.String())) // the client is gone if this fails
}

// element writes an element with text.
func element(b *strings.Builder, name, text string) {
	b.WriteString("<" + name + ">")
	_ = xml.EscapeText(b, []byte(text)) // a Builder never fails
	b.WriteString("</" + name + ">")
}

// The refusals that several operations have.

func containerNotFound() *refusal {
	return &refusal{status: http.StatusNotFound, code: "ContainerNotFound", message: "The specified container does not exist."}
}

func blobNotFound() *refusal {
	return &refusal{status: http.StatusNotFound, code: "BlobNotFound", message: "The specified blob does not exist."}
}

func conditionNotMet(status int) *refusal {
	return &refusal{status: status, code: "ConditionNotMet", message: "The condition specified using HTTP conditional header(s) is not met."}
}

func invalidHeader(name, value, reason string) *refusal {
	return &refusal{
		status: http.StatusBadRequest, code: "InvalidHeaderValue", message: "The value for one of the HTTP headers is not in the correct format. " + reason,
		details: []detail{{"HeaderName", name}, {"HeaderValue", value}},
	}
}

func unsupportedHeader(name string) *refusal {
	return &refusal{
		status: http.StatusBadRequest, code: "UnsupportedHeader", message: "One of the HTTP headers specified in the request is not supported here.",
		details: []detail{{"HeaderName", name}},
	}
}

func missingHeader(name string) *refusal {
	return &refusal{
		status: http.StatusBadRequest, code: "MissingRequiredHeader", message: "An HTTP header that's mandatory for this request is not specified.",
		details: []detail{{"HeaderName", name}},
	}
}

func invalidParameter(name, value, reason string) *refusal {
	return &refusal{
		status: http.StatusBadRequest, code: "InvalidQueryParameterValue", message: "Value for one of the query parameters specified in the request URI is invalid.",
		details: []detail{{"QueryParameterName", name}, {"QueryParameterValue", value}, {"Reason", reason}},
	}
}

func internal(err error) *refusal {
	return &refusal{status: http.StatusInternalServerError, code: "InternalError", message: "The server encountered an internal error: " + err.Error()}
}

func trimSlash(s string) string { return strings.TrimRight(s, "/") }

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if !hasPrefixFold(s, prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
