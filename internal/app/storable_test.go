package app_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

const passingOn = `
name: passing
data_source:
  type: csv
  primary_key: Upn
  multi_valued_columns: [{name: Quotas, format: json_array}]
phases:
  - name: only
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New, params: {Quotas: "{{Quotas}}"}, output_params: {Id: id}}
      - {name: join, worker_id: worker-01, function: Join, params: {Id: "{{Id}}", Text: "id-{{Id}}"}}
`

// A result that the store cannot keep ends its step with that reason, at the first
// delivery.
func TestResultThatCannotBeStoredFailsItsStep(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ result, reason string }{
		"nested too deep":          {`{"id":[` + strings.Repeat("[", 150) + strings.Repeat("]", 150) + `]}`, "its result cannot be stored: at id[0][0]"},
		"a number beyond a double": {`{"id":1,"sizes":[1,1e400]}`, "its result cannot be stored: at sizes[1], the number 1e400 is beyond the range of a double"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"New": func(message.Job) (string, error) { return tt.result, nil }}
				b := s.startBatch(passingOn, "Upn,Quotas\na@x,\n")
				s.wantSteps(b.ID, 1, "new failed, join cancelled")
				if steps := must(s.app.Steps(s.ctx, reader, b.ID, api.ListOptions{}))(t); !strings.Contains(steps.Items[0].Error, tt.reason) {
					t.Errorf("the step's error is %q", steps.Items[0].Error)
				}
				s.wantCalls(1, "New")
			})
		})
	}
}

// A late result that cannot be stored is recorded with the reason.
func TestLateResultThatCannotBeStoredIsRecorded(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"New": fails(errLost)}
	b := s.startBatch(passingOn, "Upn,Quotas\na@x,\n")
	steps := must(s.app.Steps(s.ctx, reader, b.ID, api.ListOptions{}))(t)
	s.markDone(b.ID, steps.Items[0].ID, `{"id":1}`)
	s.answers(1, "New", `{"id":1e999}`, nil)
	steps = must(s.app.Steps(s.ctx, reader, b.ID, api.ListOptions{}))(t)
	late := steps.Items[0].Late
	if len(late) != 1 || late[0].At == nil || !strings.Contains(late[0].Error, "its late result cannot be stored: at id, the number 1e999") {
		t.Errorf("%+v", late)
	}
	s.wantSteps(b.ID, 1, "new succeeded, join succeeded")
	s.verify()
}

// No digit of a number is lost on its way from a list of members or a result, through the
// store, to a worker.
func TestDigitsBeyondADoubleReachTheWorkerAsText(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": func(message.Job) (string, error) { return `{"id":12345678901234567890}`, nil }}
		b := s.startBatch(passingOn, "Upn,Quotas\na@x,\"[9007199254740993,0.1]\"\n")
		s.wantSteps(b.ID, 1, "new succeeded, join succeeded")
		for _, j := range s.jobs {
			want := map[string]string{"New": `{"Quotas":["9007199254740993",0.1]}`, "Join": `{"Id":"12345678901234567890","Text":"id-12345678901234567890"}`}[j.FunctionName]
			if string(j.Parameters) != want {
				t.Errorf("%s was given %s, want %s", j.FunctionName, j.Parameters, want)
			}
		}
	})
}

func TestStepIsNotMarkedDoneWithAResultThatCannotBeStored(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"New": fails(errLost)}
	b := s.startBatch(passingOn, "Upn,Quotas\na@x,\n")
	steps := must(s.app.Steps(s.ctx, reader, b.ID, api.ListOptions{}))(t)
	for result, want := range map[string]api.InputProblem{
		`{`:                          {Field: "result", Code: "bad-result", Message: "is not JSON"},
		`{"id":{"sizes":[1,1e400]}}`: {Field: "result.id.sizes[1]", Code: "bad-result", Message: "the number 1e400 is beyond the range of a double"},
		strings.Repeat("[", 150) + strings.Repeat("]", 150): {Field: "result" + strings.Repeat("[0]", 67) + "…", Code: "bad-result", Message: "is nested more than 120 levels deep"},
	} {
		_, err := s.app.MarkStepDone(s.ctx, ada, b.ID, steps.Items[0].ID, json.RawMessage(result), "")
		var refused *problem.Error
		if !errors.As(err, &refused) || refused.Code != api.CodeInvalid || len(refused.Problems) != 1 || refused.Problems[0] != want {
			t.Errorf("%.40s: %v", result, err)
		}
	}
	s.wantSteps(b.ID, 1, "new queued, join pending")
	s.verify()
}

// What the store refuses for good is no outage: the message is kept with the reason, at
// its first delivery, and a request is answered with what to do.
func TestRefusalsOfTheStoreAreNotRetriedAsOutages(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault        cosmos.Fault
		reason, says string
		code         api.Code
	}{
		"malformed":        {cosmos.Fault{Status: 400}, "refuses the request", "the store refuses the item", api.CodeUnstorable},
		"a full partition": {cosmos.Fault{Status: 403, SubStatus: 1014}, "the partition is full", "the partition is full", api.CodeFull},
		"too large":        {cosmos.Fault{Status: 413}, "too large", "too large for the store", api.CodeTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false, azure)
			s.script = script{"New": fails(errLost)}
			b := s.startBatch(twoSteps, people(1))
			tt.fault.On = []cosmos.Operation{cosmos.Batch, cosmos.Replace, cosmos.Create}
			tt.fault.Match = func(r cosmos.Request) bool { return strings.Contains(r.PartitionKey, `"batch:`) }
			remove := s.cosmos.Inject(tt.fault)
			s.wantRefused(errorOf(s.app.Pause(s.ctx, ada, b.ID, "")), tt.code, tt.says)
			s.answers(1, "New", "true", nil)
			remove()
			messages := s.listUnprocessable(api.ListOptions{})
			if len(messages) != 1 || messages[0].DeliveryCount > 2 || !strings.Contains(messages[0].Reason, tt.reason) {
				t.Fatalf("%+v", messages)
			}
			must(s.app.Replay(s.ctx, ada, messages[0].ID, "there is room again"))(t)
			s.deliverAll()
			s.wantSteps(b.ID, 1, "new succeeded, join succeeded")
		})
	}
}
