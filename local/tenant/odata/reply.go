package odata

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Reply is an answer before it gets the ids of its request.
type Reply struct {
	Status int
	Header map[string]string
	Body   any    // JSON body; nil for none
	Fault  *Fault // instead of Body
	Raw    []byte // instead of both: sent as it is
}

// Fault is an error answer; its JSON shape depends on the service.
type Fault struct {
	Code, Message string
	Body          func(*Fault) any // the shape of Exchange; nil: that of OData
}

// Dropped stands for closing the connection instead of answering.
var Dropped = &Reply{}

// OK is the answer 200.
func OK(body any) *Reply { return &Reply{Status: http.StatusOK, Body: body} }

// Created is the answer 201.
func Created(body any) *Reply { return &Reply{Status: http.StatusCreated, Body: body} }

// NoContent is the answer 204.
func NoContent() *Reply { return &Reply{Status: http.StatusNoContent} }

// Error is an error in the shape of OData.
func Error(status int, code, format string, args ...any) *Reply {
	return &Reply{Status: status, Fault: &Fault{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// Content is the body as JSON, with the ids that every error of OData carries.
func (r *Reply) Content(requestID, clientID string, now time.Time) any {
	if r.Fault == nil {
		return r.Body
	}
	if r.Fault.Body != nil {
		return r.Fault.Body(r.Fault)
	}
	return map[string]any{"error": map[string]any{
		"code": r.Fault.Code, "message": r.Fault.Message,
		"innerError": map[string]any{
			"date":       now.UTC().Format("2006-01-02T15:04:05"),
			"request-id": requestID, "client-request-id": clientID,
		},
	}}
}

// Write sends the answer.
func (r *Reply) Write(w http.ResponseWriter, requestID, clientID string, now time.Time) {
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("request-id", requestID)
	w.Header().Set("client-request-id", clientID)
	if r.Raw != nil {
		w.WriteHeader(r.Status)
		w.Write(r.Raw)
		return
	}
	content := r.Content(requestID, clientID, now)
	if content == nil {
		w.WriteHeader(r.Status)
		return
	}
	body, err := json.Marshal(content)
	if err != nil { // only a defect here can make a body that is not JSON
		http.Error(w, "tenant: encode the answer: "+err.Error(), http.StatusInternalServerError)
		return
	}
	contentType := "application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8"
	if r.Fault != nil {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(r.Status)
	w.Write(body)
}
