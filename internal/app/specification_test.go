package app_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
)

// These tests hold behaviour that the specification describes.

// The reference's CorrelationData has no batch id: two batches with the same people wait for the same
// steps of the same runbook.
func TestSpecificationResultWithTheFourCorrelationFieldsIsAccepted(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errLost)} // no job is answered
		first, second := s.startBatch(oneStep(""), people(2)), s.batch("one", strings.ReplaceAll(people(2), "@x", "@y"))
		s.advance(second.ID)
		for _, j := range slices.Clone(s.jobs) {
			if j.BatchID != second.ID {
				continue
			}
			body := must(json.Marshal(map[string]any{
				"JobId": j.JobID, "Status": "Success", "ResultType": "Boolean", "Result": true, "Error": nil, "DurationMs": 1, "Timestamp": time.Now().UTC(),
				"CorrelationData": map[string]any{
					"StepExecutionId": j.CorrelationData.StepExecutionID, "IsInitStep": j.CorrelationData.IsInitStep,
					"RunbookName": j.CorrelationData.RunbookName, "RunbookVersion": j.CorrelationData.RunbookVersion,
				},
			}))(t)
			noError(t, s.app.HandleResult(s.ctx, message.Delivery{ID: "r-" + j.ID(), Body: body}))
		}
		s.deliverAll()
		s.wantStatus(second.ID, "completed")
		s.wantStatus(first.ID, "active")
	})
}
