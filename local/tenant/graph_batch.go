package tenant

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
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
func (s *Server) batch(c *call) *reply {
	if _, refusal := c.object(); refusal != nil {
		return refusal
	}
	var body struct {
		Requests []batchStep `json:"requests"`
	}
	if err := json.Unmarshal(c.body, &body); err != nil || len(body.Requests) == 0 {
		return graphError(http.StatusBadRequest, "BadRequest", "Invalid batch payload format.")
	}
	if len(body.Requests) > maxBatch {
		return graphError(http.StatusBadRequest, "MaximumValueExceeded", "Number of batch request steps exceeds the max value of %d.", maxBatch)
	}
	failed := map[string]bool{}
	done := map[string]bool{}
	responses := []any{}
	for _, step := range body.Requests {
		if step.ID == "" || done[step.ID] {
			return graphError(http.StatusBadRequest, "BadRequest", "Request ids of a batch must be present and unique.")
		}
		done[step.ID] = true
		answer := s.batchStep(c, step, failed)
		if answer == dropped {
			return dropped
		}
		failed[step.ID] = answer.status >= 400
		response := map[string]any{"id": step.ID, "status": answer.status}
		headers := map[string]string{}
		for name, value := range answer.header {
			headers[name] = value
		}
		id := uuid.NewString()
		if content := answer.content(id, id, s.cfg.Now()); content != nil {
			headers["Content-Type"] = "application/json"
			response["body"] = content
		}
		response["headers"] = headers
		responses = append(responses, response)
	}
	return ok(map[string]any{"responses": responses})
}

func (s *Server) batchStep(c *call, step batchStep, failed map[string]bool) *reply {
	for _, before := range step.DependsOn {
		if wasFailed, known := failed[before]; !known || wasFailed {
			return graphError(http.StatusFailedDependency, "FailedDependency", "Dependent request failed with statusCode 4xx or 5xx, see the response of request '%s'.", before)
		}
	}
	target, err := url.Parse(step.URL)
	if err != nil || target.Host != "" {
		return graphError(http.StatusBadRequest, "BadRequest", "Invalid batch request url '%s'.", step.URL)
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
	sub := &call{
		method: strings.ToUpper(step.Method), path: strings.Split(strings.Trim(target.Path, "/"), "/"), query: target.Query(),
		header: header, body: content, beta: c.beta, base: c.base, service: "graph", token: c.token,
	}
	if refusal := s.routeGraph(sub); refusal != nil {
		return refusal
	}
	if sub.op == c.op {
		return graphError(http.StatusBadRequest, "BadRequest", "Batch requests cannot be nested.")
	}
	return s.carryOut(c.ctx, sub)
}
