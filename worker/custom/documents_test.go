package custom

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/e2e/pages"
)

// The documents show calls as functions get them.
func TestDocumentedCalls(t *testing.T) {
	t.Parallel()
	all, err := pages.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, page := range all {
		for _, b := range page.Blocks {
			if b.Mark != "is: a call of a custom function" {
				continue
			}
			shown++
			read := json.NewDecoder(strings.NewReader(b.Text))
			read.DisallowUnknownFields()
			var call input
			if err := read.Decode(&call); err != nil || call.Function == "" || call.Job.ID == "" || call.Job.BatchID == 0 || call.Job.StepExecutionID == 0 {
				t.Errorf("%s: got %+v, %v", b.Where(), call, err)
			}
		}
	}
	if shown == 0 {
		t.Error("no document shows a call")
	}
}
