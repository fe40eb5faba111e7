package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
)

const typed = `name: typed
data_source: {type: csv, primary_key: Upn}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: w, function: Move, params: {Id: "{{Id}}", Mail: "{{Mail}}"}}
`

func (w *world) announceMove() {
	w.t.Helper()
	w.announce(announcement(message.Catalog{WorkerID: "w", Timestamp: epoch, Functions: []message.CatalogFunction{{
		Name: "Move", Parameters: []message.CatalogParameter{{Name: "Id", Type: "guid", Required: true}, {Name: "Mail", Type: "email"}},
	}}}))
}

// places are the problems of an error as line:column field.
func places(err error) (places []string) {
	var e *problem.Error
	if errors.As(err, &e) {
		for _, p := range e.Problems {
			places = append(places, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Field))
		}
	}
	return places
}

const (
	firstID  = "00000000-0000-4000-8000-000000000001"
	secondID = "00000000-0000-4000-8000-000000000002"
)

func TestAnUploadIsCheckedAgainstTheFunctionsOfTheWorkerBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(typed)
	const wrong = "Upn;Id;Mail\nada;" + firstID + ";ada@contoso.com\nbob;bob;\neve;;eve\n"
	want := []string{"3:5 Id", "4:5 Id", "4:6 Mail"}
	if b := w.batch("typed", wrong, api.AllowInOtherBatches); b.MemberCount != 3 {
		t.Fatalf("%d members before the worker announced its functions", b.MemberCount)
	}
	w.announceMove()
	w.batch("typed", "Upn,Id,Mail\nzoe,"+firstID+",\n")
	before := must(w.store.Dump(w.ctx, ""))(t)
	for name, err := range map[string]error{
		"create":             errorOf(w.app.CreateBatch(w.ctx, ada, "typed", []byte(wrong), api.AllowInOtherBatches)),
		"add":                errorOf(w.app.AddMembers(w.ctx, ada, 2, []byte(wrong), api.AllowInOtherBatches)),
		"dry run of a batch": errorOf(w.app.CheckBatch(w.ctx, "typed", strings.NewReader(wrong), api.AllowInOtherBatches)),
		"dry run of members": errorOf(w.app.CheckMembers(w.ctx, 2, strings.NewReader(wrong), api.AllowInOtherBatches)),
	} {
		if problem.CodeOf(err) != api.CodeInvalid || !slices.Equal(places(err), want) {
			t.Errorf("%s: %v %v, want %v", name, err, places(err), want)
		}
	}
	if after := must(w.store.Dump(w.ctx, ""))(t); !reflect.DeepEqual(after, before) {
		t.Errorf("a refused upload changed the store from\n%v\nto\n%v", before, after)
	}
}

func TestADryRunSaysWhatAnUploadWouldDoAndWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(typed)
	w.announceMove()
	const file = "Upn\tId\tMail\nada\t" + firstID + "\t\nbob\t" + secondID + "\t\n"
	w.batch("typed", "Upn,Id,Mail\nada,"+firstID+",\n")
	before := must(w.store.Dump(w.ctx, ""))(t)

	check := must(w.app.CheckMembers(w.ctx, 1, strings.NewReader(file), api.DelimitedBy("tab")))(t)
	want := `{"dryRun":true,"batchId":1,"runbook":"typed","runbookVersion":1,"delimiter":"tab","members":1,"present":["ada"],"jobs":1,"phases":[{"phase":"move","effect":"joins","members":1,"jobs":1}]}`
	if got, _ := json.Marshal(check); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := errorOf(w.app.CheckBatch(w.ctx, "typed", strings.NewReader(file))); problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), "ada is in batch 1") {
		t.Errorf("a person in another batch: %v", err)
	}
	check = must(w.app.CheckBatch(w.ctx, "typed", strings.NewReader(file), api.AllowInOtherBatches))(t)
	want = `{"dryRun":true,"runbook":"typed","runbookVersion":1,"delimiter":"tab","members":2,"jobs":2,"phases":[{"phase":"move","effect":"joins","members":2,"jobs":2}]}`
	if got, _ := json.Marshal(check); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := errorOf(w.app.CheckBatch(w.ctx, "none", strings.NewReader(file))); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("an unknown runbook: %v", err)
	}
	if after := must(w.store.Dump(w.ctx, ""))(t); !reflect.DeepEqual(after, before) {
		t.Errorf("a dry run changed the store from\n%v\nto\n%v", before, after)
	}
	must(w.app.Cancel(w.ctx, ada, 1, ""))(t)
	if err := errorOf(w.app.CheckMembers(w.ctx, 1, strings.NewReader(file))); problem.CodeOf(err) != api.CodeConflict {
		t.Errorf("a batch that has ended: %v", err)
	}
}

// A repeated request goes on with its batch, even if the worker has announced other functions since.
func TestARepeatedUploadIsNotCheckedByFunctionsThatWereAnnouncedSince(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(typed)
	by := audit.Caller{Name: ada.Name, Key: "once"}
	first := must(w.app.CreateBatch(w.ctx, by, "typed", []byte("Upn,Id,Mail\nada,none,\n")))(t)
	w.announceMove()
	again := must(w.app.CreateBatch(w.ctx, by, "typed", []byte("Upn,Id,Mail\nada,none,\n")))(t)
	if again.ID != first.ID || !again.Replayed {
		t.Errorf("batch %d, then batch %d, replayed %t", first.ID, again.ID, again.Replayed)
	}
}
