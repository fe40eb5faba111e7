package graph

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

const maxBatch = 20

type batchStep struct {
	ID        string            `json:"id"`
	Method    string            `json:"method"`
	URL       string            `json:"url"`
	Body      json.RawMessage   `json:"body"`
	Headers   map[string]string `json:"headers"`
	DependsOn []string          `json:"dependsOn"`
}

// batch carries out up to 20 requests in their order. Each is counted, delayed
// and throttled for itself; a step that drops its connection drops the batch.
func (s *Service) batch(c *call) *reply {
	if _, refusal := c.object(); refusal != nil {
		return refusal
	}
	var body struct {
		Requests []batchStep `json:"requests"`
	}
	if err := json.Unmarshal(c.Body, &body); err != nil || len(body.Requests) == 0 {
		return odata.Error(http.StatusBadRequest, "BadRequest", "Invalid batch payload format.")
	}
	if len(body.Requests) > maxBatch {
		return odata.Error(http.StatusBadRequest, "MaximumValueExceeded", "Number of batch request steps exceeds the max value of %d.", maxBatch)
	}
	failed := map[string]bool{}
	done := map[string]bool{}
	responses := []any{}
	for _, step := range body.Requests {
		if step.ID == "" || done[step.ID] {
			return odata.Error(http.StatusBadRequest, "BadRequest", "Request ids of a batch must be present and unique.")
		}
		done[step.ID] = true
		answer := s.batchStep(c, step, failed)
		if answer == odata.Dropped {
			return odata.Dropped
		}
		failed[step.ID] = answer.Status >= 400
		response := map[string]any{"id": step.ID, "status": answer.Status}
		headers := map[string]string{}
		for name, value := range answer.Header {
			headers[name] = value
		}
		id := uuid.NewString()
		now, _ := s.Times()
		if content := answer.Content(id, id, now); content != nil {
			headers["Content-Type"] = "application/json"
			response["body"] = content
		}
		response["headers"] = headers
		responses = append(responses, response)
	}
	return odata.OK(map[string]any{"responses": responses})
}

func (s *Service) batchStep(c *call, step batchStep, failed map[string]bool) *reply {
	for _, before := range step.DependsOn {
		if wasFailed, known := failed[before]; !known || wasFailed {
			return odata.Error(http.StatusFailedDependency, "FailedDependency", "Dependent request failed with statusCode 4xx or 5xx, see the response of request '%s'.", before)
		}
	}
	target, err := url.Parse(step.URL)
	if err != nil || target.Host != "" {
		return odata.Error(http.StatusBadRequest, "BadRequest", "Invalid batch request url '%s'.", step.URL)
	}
	header := http.Header{}
	for name, value := range step.Headers {
		header.Set(name, value)
	}
	content := []byte(step.Body)
	var encoded string
	if json.Unmarshal(content, &encoded) == nil { // SDKs send a JSON body as base64 or as an object
		if plain, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			content = plain
		}
	}
	sub := &call{&odata.Call{
		Method: strings.ToUpper(step.Method), Path: strings.Split(strings.Trim(target.Path, "/"), "/"), Query: target.Query(),
		Header: header, Body: content, Beta: c.Beta, Base: c.Base, Service: "graph", Token: c.Token,
	}}
	if refusal := s.route(sub); refusal != nil {
		return refusal
	}
	if sub.Op == c.Op {
		return odata.Error(http.StatusBadRequest, "BadRequest", "Batch requests cannot be nested.")
	}
	return s.CarryOut(c.Ctx, sub.Call)
}
