package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/model"
)

const whatToDo = `
What is stored, and what is on its way, is read by the versions that come after. See docs/decisions/0032-upgrades.md.
 - A field is never renamed or removed, nor does it become another kind of thing: a new field is added beside it.
 - A new field is absent in what was stored before. Its zero value has to mean that.
 - Then write the state of this version anew, and commit what changed in ` + states + "/" + currentState + `:
     go test ./internal/app -run TestState -update
   The scene in state_scene_test.go should come to use the new field.
 - Say so in CHANGELOG.md, under "Upgrade": the version before refuses what has the new field.`

// TestShapeOfWhatIsKept fails when a stored or sent type gets a field, until the state of
// this version is regenerated, and always when one is removed or changed.
func TestShapeOfWhatIsKept(t *testing.T) {
	t.Parallel()
	now := shapes()
	for _, version := range folders(t) {
		text := must(os.ReadFile(filepath.Join(states, version, "shape.txt")))(t)
		was := strings.Split(strings.TrimSpace(string(text)), "\n")
		for _, line := range was {
			if !slices.Contains(now, line) {
				t.Errorf("version %s has %s; this one does not%s", version, line, whatToDo)
			}
		}
		for _, line := range now {
			if version == currentState && !slices.Contains(was, line) {
				t.Errorf("%s is new%s", line, whatToDo)
			}
		}
	}
}

// TestStateLosesNothing: each document and message of each version is read, and written
// again, with all that it has.
func TestStateLosesNothing(t *testing.T) {
	t.Parallel()
	for _, version := range folders(t) {
		k := readState(t, version)
		for _, d := range k.Documents {
			losesNothing(t, version+": "+d.PK+"/"+d.ID, StoredTypes[d.Type], d.Doc)
		}
		for _, l := range k.Messages {
			if l.typed() != "odd" {
				losesNothing(t, version+": "+l.ID, SentTypes[l.typed()], l.Body)
			}
		}
	}
}

// TestStateHasSomethingOfEverything: the state of this version has each type of document
// and message, and each status.
func TestStateHasSomethingOfEverything(t *testing.T) {
	t.Parallel()
	k := readState(t, currentState)
	there := map[string]bool{}
	for _, l := range k.Messages {
		there["message "+l.typed()] = true
	}
	for _, d := range k.Documents {
		there["document "+d.Type] = true
		var doc any
		noError(t, json.Unmarshal(d.Doc, &doc))
		whatIs(doc, d.Type, there)
	}
	var want []string
	for name := range StoredTypes {
		want = append(want, "document "+name)
	}
	for name := range SentTypes {
		want = append(want, "message "+name)
	}
	for _, s := range model.BatchStatuses {
		want = append(want, "batch.status "+string(s))
	}
	for _, s := range model.MemberStatuses {
		want = append(want, "member.status "+string(s))
	}
	for _, s := range model.StepStatuses {
		want = append(want, "run.steps.status "+string(s))
	}
	for _, s := range []model.RunStatus{model.RunWaiting, model.RunRunning, model.RunRollingBack, model.RunSucceeded, model.RunFailed, model.RunCancelled} {
		want = append(want, "run.status "+string(s))
	}
	for _, s := range []model.PhaseStatus{model.PhasePending, model.PhaseDispatched, model.PhaseCompleted, model.PhaseFailed, model.PhaseSkipped, model.PhaseSuperseded, model.PhaseCancelled} {
		want = append(want, "batch.phases.status "+string(s))
	}
	for _, s := range []model.PhaseKind{model.KindPhase, model.KindInit, model.KindRemoval, model.KindOnComplete} {
		want = append(want, "run.kind "+string(s))
	}
	want = append(want,
		"batch.paused", "batch.cancelled", "batch.filling", "batch.removalHold.confirmed", "batch.discardedRemovals", "batch.joining", "batch.quiet", "batch.phases.reason", "batch.phases.approved", "batch.phases.onCompleteStatus running",
		"member.leaving", "member.queue", "hold.moves", "hold.discarded", "entry.creating", "sync.additions", "request.next", "request.batchId", "sync.holder",
		"batch.requested.force", "run.pausedAt", "run.wakeAt", "run.deadlineAt", "run.steps.retryAfter", "run.steps.abandoned.lateAt", "run.steps.resolved")
	for _, w := range want {
		if !there[w] {
			t.Errorf("there is no %s", w)
		}
	}
}

// whatIs tells of all that is in a document, where it is, and of texts what they say.
func whatIs(v any, path string, there map[string]bool) {
	switch v := v.(type) {
	case nil:
		return
	case map[string]any:
		for name, of := range v {
			whatIs(of, path+"."+name, there)
		}
	case []any:
		for _, of := range v {
			whatIs(of, path, there)
		}
	case string:
		there[path+" "+v] = true
	}
	there[path] = true
}

// TestEveryTypeOfDocumentIsKnown compares the types that the store's keys have with those
// whose shape is held.
func TestEveryTypeOfDocumentIsKnown(t *testing.T) {
	t.Parallel()
	file := must(parser.ParseFile(token.NewFileSet(), filepath.Join("..", "store", "items.go"), nil, 0))(t)
	named := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if kind, ok := lit.Elts[len(lit.Elts)-1].(*ast.BasicLit); ok && len(lit.Elts) == 3 {
			name, _ := strconv.Unquote(kind.Value)
			named[name] = true
		}
		return true
	})
	got, want := slices.Sorted(maps.Keys(StoredTypes)), slices.Sorted(maps.Keys(named))
	if !slices.Equal(got, want) {
		t.Errorf("the shape of these is held: %v; package store has %v", got, want)
	}
}

// losesNothing checks that JSON keeps all its fields after decoding and encoding.
func losesNothing(t *testing.T, what string, as reflect.Type, text []byte) {
	t.Helper()
	if as == nil {
		t.Errorf("%s is of a type that is not known", what)
		return
	}
	v := reflect.New(as)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v.Interface()); err != nil {
		t.Errorf("%s: %v\n%s", what, err, text)
		return
	}
	again, err := json.Marshal(v.Interface())
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	var was, is any
	for from, into := range map[string]*any{string(text): &was, string(again): &is} {
		d := json.NewDecoder(strings.NewReader(from))
		d.UseNumber()
		if err := d.Decode(into); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if lost := missing(was, is, ""); lost != "" {
		t.Errorf("%s loses %s when it is written again:\n%s\n%s", what, lost, text, again)
	}
}

// missing tells the first place of a value that is not, or is another, in a second one.
func missing(was, is any, path string) string {
	switch was := was.(type) {
	case map[string]any:
		there, _ := is.(map[string]any)
		for name, v := range was {
			if _, ok := there[name]; !ok && v != nil { // null is what is absent
				return path + "." + name
			}
			if lost := missing(v, there[name], path+"."+name); lost != "" {
				return lost
			}
		}
	case []any:
		there, _ := is.([]any)
		if len(there) != len(was) {
			return path + "[]"
		}
		for i, v := range was {
			if lost := missing(v, there[i], fmt.Sprintf("%s[%d]", path, i)); lost != "" {
				return lost
			}
		}
	default:
		if !reflect.DeepEqual(was, is) {
			return path
		}
	}
	return ""
}
