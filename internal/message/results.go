package message

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// TypeWorkerResults is the value of PropertyMessageType on TopicWorkerResults of Results.
const TypeWorkerResults = "worker-results"

// MaxResults is how many results a worker puts into one message.
const MaxResults = 50

// Results is a group: several results that were ready together, in one message. The
// orchestrator takes it apart: each result is decided, kept or requeued as if it had come in
// a message of its own. A worker groups only the results of jobs with AcceptsGroups.
type Results struct {
	Results []json.RawMessage `json:"Results"` // each a GroupedResult
}

// GroupedResult is one result of Results: what its message would have. Type is not among the
// properties.
type GroupedResult struct {
	MessageID  string            `json:"MessageId"` // Result.ID
	Properties map[string]string `json:"Properties,omitempty"`
	Body       json.RawMessage   `json:"Body"` // a Result
}

// ResultsBuilder builds the message of Results. Its zero value is an empty group.
type ResultsBuilder struct {
	body []byte
	ids  []string
}

const resultsBegin, resultsEnd = `{"Results":[`, `]}`

// Add adds a result and reports whether it fits: into Limit and MaxResults. Only a result whose
// body is no JSON makes it fail.
func (b *ResultsBuilder) Add(r GroupedResult) (fits bool, err error) {
	if !json.Valid(r.Body) {
		return false, fmt.Errorf("the body of %s is no JSON", r.MessageID)
	}
	head, err := json.Marshal(struct {
		MessageID  string            `json:"MessageId"`
		Properties map[string]string `json:"Properties,omitempty"`
	}{r.MessageID, r.Properties})
	if err != nil {
		return false, err
	}
	head = append(head[:len(head)-1], `,"Body":`...) // to encode the body within the entry would copy it once more
	if len(b.ids) == MaxResults || max(len(b.body), len(resultsBegin))+len(",")+len(head)+len(r.Body)+len(`}`)+len(resultsEnd) > Limit {
		return false, nil
	}
	if len(b.ids) == 0 {
		b.body = append(b.body, resultsBegin...)
	} else {
		b.body = append(b.body, ',')
	}
	b.body = append(append(append(b.body, head...), r.Body...), '}')
	b.ids = append(b.ids, r.MessageID)
	return true, nil
}

// Len returns the number of results.
func (b *ResultsBuilder) Len() int { return len(b.ids) }

// Message returns the message id and the body. The id is the same for the same results, so that the
// broker drops a group that is sent again.
func (b *ResultsBuilder) Message() (id string, body []byte) {
	digest := sha256.Sum256([]byte(strings.Join(b.ids, "\n")))
	return "results-" + hex.EncodeToString(digest[:16]), append(b.body, resultsEnd...)
}

// ResultDelivery is one result of a delivery of Results, as a delivery of its own. Err says why
// the entry cannot be read; the body is then the whole entry.
type ResultDelivery struct {
	Delivery
	Err error
}

// Results returns the results of a delivery of Results. It fails if the body is no group.
func (m Delivery) Results() ([]ResultDelivery, error) {
	var whole struct{ Results []GroupedResult }
	if err := json.Unmarshal(m.Body, &whole); err == nil && len(whole.Results) > 0 && !slices.ContainsFunc(whole.Results, GroupedResult.incomplete) {
		results := make([]ResultDelivery, len(whole.Results))
		for i, r := range whole.Results {
			results[i] = m.result(r)
		}
		return results, nil
	}
	return m.resultsOneByOne()
}

// resultsOneByOne reads each entry by itself, so that one that cannot be read does not spoil the others.
func (m Delivery) resultsOneByOne() ([]ResultDelivery, error) {
	var group Results
	if err := json.Unmarshal(m.Body, &group); err != nil {
		return nil, Reject("the body is not the JSON of a %T: %v", group, err)
	}
	if len(group.Results) == 0 {
		return nil, Reject("the group has no results")
	}
	results := make([]ResultDelivery, len(group.Results))
	for i, entry := range group.Results {
		var grouped GroupedResult
		err := json.Unmarshal(entry, &grouped)
		if err == nil && grouped.incomplete() {
			err = errors.New("it has no MessageId or no Body")
		}
		if err != nil {
			grouped = GroupedResult{MessageID: fmt.Sprintf("%s-%d", m.FirstID(), i+1), Body: entry}
			err = Reject("result %d of the group cannot be read: %v", i+1, err)
		}
		results[i] = m.result(grouped)
		results[i].Err = err
	}
	return results, nil
}

func (r GroupedResult) incomplete() bool { return len(r.Body) == 0 || r.MessageID == "" }

// result returns a result of a delivery of Results.
func (m Delivery) result(r GroupedResult) ResultDelivery {
	d := ResultDelivery{Delivery: Delivery{
		ID: r.MessageID, Type: TypeWorkerResult, Body: r.Body, DeliveryCount: m.DeliveryCount, EnqueuedAt: m.EnqueuedAt,
		Properties: make(map[string]any, len(r.Properties)),
	}}
	for name, value := range r.Properties {
		d.Properties[name] = value
	}
	return d
}
