package tenant

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// reply is an answer before it gets the ids of its request.
type reply struct {
	status int
	header map[string]string
	body   any       // JSON body; nil for none
	fault  *apiError // instead of body
	raw    []byte    // instead of both: sent as it is
}

// apiError is an error answer; its JSON shape depends on the service.
type apiError struct {
	code, message string
	exchange      *exchangeError // set: the Exchange shape
}

// dropped stands for closing the connection instead of answering.
var dropped = &reply{}

func ok(body any) *reply      { return &reply{status: http.StatusOK, body: body} }
func created(body any) *reply { return &reply{status: http.StatusCreated, body: body} }
func noContent() *reply       { return &reply{status: http.StatusNoContent} }

func graphError(status int, code, format string, args ...any) *reply {
	return &reply{status: status, fault: &apiError{code: code, message: fmt.Sprintf(format, args...)}}
}

func badRequest(format string, args ...any) *reply {
	return graphError(http.StatusBadRequest, "Request_BadRequest", format, args...)
}

func notFound(id string) *reply {
	return graphError(http.StatusNotFound, "Request_ResourceNotFound",
		"Resource '%s' does not exist or one of its queried reference-property objects are not present.", id)
}

func conflict(property string) *reply {
	return badRequest("Another object with the same value for property %s already exists.", property)
}

// content is the body as JSON, with the ids that every error carries.
func (r *reply) content(requestID, clientID string, now time.Time) any {
	if r.fault == nil {
		return r.body
	}
	if r.fault.exchange != nil {
		return r.fault.exchange.body(r.fault)
	}
	return map[string]any{"error": map[string]any{
		"code": r.fault.code, "message": r.fault.message,
		"innerError": map[string]any{
			"date":       now.UTC().Format("2006-01-02T15:04:05"),
			"request-id": requestID, "client-request-id": clientID,
		},
	}}
}

func (r *reply) write(w http.ResponseWriter, requestID, clientID string, now time.Time) {
	for name, value := range r.header {
		w.Header().Set(name, value)
	}
	w.Header().Set("request-id", requestID)
	w.Header().Set("client-request-id", clientID)
	if r.raw != nil {
		w.WriteHeader(r.status)
		w.Write(r.raw)
		return
	}
	content := r.content(requestID, clientID, now)
	if content == nil {
		w.WriteHeader(r.status)
		return
	}
	body, err := json.Marshal(content)
	if err != nil { // only a defect here can make a body that is not JSON
		http.Error(w, "tenant: encode the answer: "+err.Error(), http.StatusInternalServerError)
		return
	}
	contentType := "application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8"
	if r.fault != nil {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(r.status)
	w.Write(body)
}
