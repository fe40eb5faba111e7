package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/matoolkit/matoolkit/internal/message"
)

// An id that is given a second time, after the orchestrator's store was set back, does not
// bring one person the answer for another; the same job, written otherwise, does.
func TestOnlyTheSameJobIsAnsweredFromMemory(t *testing.T) {
	t.Parallel()
	f := &function{run: func(_ context.Context, name string, parameters []byte) (any, error) {
		var p struct{ Upn string }
		err := json.Unmarshal(parameters, &p)
		return map[string]string{"For": name + " " + p.Upn}, err
	}}
	b := start(t, f, options{topology: withoutDuplicateDetection})
	for i, tc := range []struct {
		function, parameters, want string
		calls                      int
	}{
		{"Do", `{"Upn":"ann@x","N":1}`, "Do ann@x", 1},
		{"Do", `{ "N": 1.0, "Upn": "ann@x" }`, "Do ann@x", 1},
		{"Do", `{"Upn":"bob@x","N":1}`, "Do bob@x", 2},
		{"Undo", `{"Upn":"bob@x","N":1}`, "Undo bob@x", 3},
		{"Do", `{"Upn":"ann@x","N":1}`, "Do ann@x", 3},
	} {
		j := job(1)
		j.FunctionName, j.Parameters = tc.function, json.RawMessage(tc.parameters)
		b.send(t, j)
		got := b.result(t)
		if got.Status != message.StatusSuccess || string(got.Result) != fmt.Sprintf(`{"For":%q}`, tc.want) {
			t.Errorf("%d: got %s, %+v", i, got.Result, got.Error)
		}
		if calls, _ := f.counts(); calls != tc.calls {
			t.Errorf("%d: %d calls, want %d", i, calls, tc.calls)
		}
	}
}
