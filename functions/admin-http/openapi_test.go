package adminhttp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"
	"gopkg.in/yaml.v3"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

type parameter struct {
	Ref      string `yaml:"$ref"`
	Name, In string
}

type document struct {
	Paths map[string]map[string]struct {
		Parameters []parameter
		Responses  map[string]any
	}
	Components struct {
		Parameters map[string]parameter
		Schemas    map[string]struct {
			Properties map[string]any
			Required   []string
			Enum       []string
		}
		Headers       map[string]any
		Responses     map[string]any
		RequestBodies map[string]any `yaml:"requestBodies"`
	}
}

var (
	placeholder = regexp.MustCompile(`:(\w+)`)
	described   = regexp.MustCompile(`{\w+}`)
)

func readDocument(t *testing.T) (document, string) {
	t.Helper()
	src, err := os.ReadFile("openapi.yaml")
	check(t, err)
	var d document
	check(t, yaml.Unmarshal(src, &d))
	return d, string(src)
}

func TestDocumentHasEveryRouteAndNoOther(t *testing.T) {
	t.Parallel()
	d, _ := readDocument(t)
	var described, served []string
	for path, operations := range d.Paths {
		for method := range operations {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	for _, r := range newFixture().handler.(*gin.Engine).Routes() {
		path := strings.TrimPrefix(r.Path, "/api")
		path = placeholder.ReplaceAllString(path, "{$1}")
		served = append(served, r.Method+" "+path)
	}
	slices.Sort(described)
	slices.Sort(served)
	if !reflect.DeepEqual(described, served) {
		t.Errorf("described:\n%s\nserved:\n%s", strings.Join(described, "\n"), strings.Join(served, "\n"))
	}
}

// A route takes the query parameters that are described, and tells them when it is
// given another.
func TestDocumentHasEveryQueryParameter(t *testing.T) {
	t.Parallel()
	d, _ := readDocument(t)
	for path, operations := range d.Paths {
		for method, operation := range operations {
			var names []string
			for _, p := range operation.Parameters {
				if p.Ref != "" {
					p = d.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
				}
				if p.In == "query" {
					names = append(names, p.Name)
				}
			}
			address := "/api" + described.ReplaceAllString(path, "1")
			w := newFixture().send(request{strings.ToUpper(method), address + "?other=1", "admin", "", ""})
			detail := problem(t, w).Detail
			want := "this address has none"
			if names != nil {
				want = "this address has " + strings.Join(names, ", ")
			}
			if !strings.HasSuffix(detail, want) {
				t.Errorf("%s %s: %q, described: %q", method, path, detail, want)
			}
		}
	}
}

func TestDocumentHasTheFieldsOfTheViews(t *testing.T) {
	t.Parallel()
	d, src := readDocument(t)
	for name, view := range map[string]any{
		"Runbook": app.RunbookView{}, "Batch": app.BatchView{}, "Member": app.MemberView{}, "Phase": app.PhaseView{}, "Step": app.StepView{},
		"Advance": app.AdvanceView{}, "Problem": adminhttp.Problem{}, "InputProblem": app.Problem{}, "Diagnostic": runbook.Diagnostic{},
		"RunbookPage": app.Page[app.RunbookView]{}, "BatchPage": app.Page[app.BatchView]{}, "MemberPage": app.Page[app.MemberView]{},
		"Changes": app.ChangesView{}, "Change": runbook.Change{}, "Foreseen": app.ForeseenView{},
		"Version": app.VersionView{}, "VersionPage": app.Page[app.VersionView]{},
		"PhasePage": app.Page[app.PhaseView]{}, "StepPage": app.Page[app.StepView]{},
		"Mark": app.MarkView{}, "LateJob": app.LateView{}, "Selection": app.Selection{}, "Retrying": app.RetryView{}, "Added": app.AddedView{},
		"AuditRecord": app.AuditView{}, "AuditPage": app.Page[app.AuditView]{},
		"Automation": app.AutomationView{}, "RowProblem": app.RowProblem{}, "Preview": app.PreviewView{}, "PreviewGroup": app.PreviewGroup{},
		"Held": app.HeldSummary{}, "HeldPage": app.HeldView{}, "HeldMember": app.HeldMember{},
		"Worker": app.WorkerView{}, "WorkerPage": app.Page[app.WorkerView]{}, "Function": app.Function{}, "FunctionParameter": app.Parameter{}, "FunctionField": app.Field{},
		"UnprocessedMessage": app.UnprocessedView{}, "UnprocessedPage": app.Page[app.UnprocessedView]{},
	} {
		var fields, always []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(view)) {
			if f.Anonymous { // its fields are among those of the view
				continue
			}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" { // a header tells it
				continue
			}
			fields = append(fields, name)
			if !strings.HasPrefix(options, "omit") {
				always = append(always, name)
			}
		}
		if required := d.Components.Schemas[name].Required; !slices.Equal(required, always) {
			t.Errorf("%s always has the fields [%s], required: %q", name, strings.Join(always, ", "), required)
		}
		slices.Sort(fields)
		if described := slices.Sorted(maps.Keys(d.Components.Schemas[name].Properties)); !reflect.DeepEqual(described, fields) {
			t.Errorf("%s has the fields %q, described: %q", name, fields, described)
		}
	}
	for _, ref := range strings.Split(src, `$ref: "#/components/`)[1:] {
		kind, name, _ := strings.Cut(ref[:strings.Index(ref, `"`)], "/")
		_, schema := d.Components.Schemas[name]
		_, param := d.Components.Parameters[name]
		_, response := d.Components.Responses[name]
		_, header := d.Components.Headers[name]
		_, body := d.Components.RequestBodies[name]
		if !map[string]bool{"requestBodies": body, "headers": header, "schemas": schema, "parameters": param, "responses": response}[kind] {
			t.Errorf("nothing is at %s/%s", kind, name)
		}
	}
}

func TestDocumentHasTheStatuses(t *testing.T) {
	t.Parallel()
	d, _ := readDocument(t)
	for path, name := range map[string]string{"/api/batches": "BatchStatus", "/api/batches/1/members": "MemberStatus", "/api/batches/1/steps": "StepStatus", "/api/messages/unprocessed": "UnprocessedStatus"} {
		p := problem(t, newFixture().send(request{"GET", path + "?status=none", "reader", "", ""}))
		if want := strings.Trim(strings.ReplaceAll(fmt.Sprint(d.Components.Schemas[name].Enum), " ", ", "), "[]"); !strings.HasSuffix(p.Detail, "one of "+want) {
			t.Errorf("%s: %q, described: %s", path, p.Detail, want)
		}
	}
}

func TestDocumentHasTheActionsOfTheAuditTrail(t *testing.T) {
	t.Parallel()
	d, _ := readDocument(t)
	if got := d.Components.Schemas["AuditAction"].Enum; !slices.Equal(got, app.AuditActions) {
		t.Errorf("described: %v; there are %v", got, app.AuditActions)
	}
}

func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	w := newFixture().send(request{"GET", "/api/openapi.json", "reader", "", ""})
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("status %d, %s", w.Code, w.Header().Get("Content-Type"))
	}
	src, err := os.ReadFile("openapi.yaml")
	check(t, err)
	var written, served any
	check(t, yaml.Unmarshal(src, &written))
	check(t, json.Unmarshal(w.Body.Bytes(), &served))
	again, err := json.Marshal(written)
	check(t, err)
	check(t, json.Unmarshal(again, &written))
	info := served.(map[string]any)["info"].(map[string]any)
	if info["x-handler-version"] != app.Version {
		t.Errorf("the handler's version is told as %v", info["x-handler-version"])
	}
	delete(info, "x-handler-version")
	if !reflect.DeepEqual(written, served) {
		t.Error("beside the handler's version, what is served is not what openapi.yaml says")
	}
	if w := newFixture().send(request{"GET", "/api/openapi.json", "", "", ""}); w.Code != 401 {
		t.Errorf("status %d without a token", w.Code)
	}
}

// The document is one of OpenAPI 3.1, with its schemas and examples, and says of each
// operation what a caller has to know.
func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	w := newFixture().send(request{"GET", "/api/openapi.json", "reader", "", ""})
	d, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	check(t, err)
	check(t, d.Validate(t.Context(), openapi3.EnableExamplesValidation()))
	ids := map[string]string{}
	for path, item := range d.Paths.Map() {
		for method, o := range item.Operations() {
			where := method + " " + path
			if o.OperationID == "" || ids[o.OperationID] != "" {
				t.Errorf("%s: the operationId %q is missing or that of %q too", where, o.OperationID, ids[o.OperationID])
			}
			ids[o.OperationID] = where
			if o.Summary == "" || strings.HasSuffix(o.Summary, ".") {
				t.Errorf("%s: the summary is %q", where, o.Summary)
			}
			if o.Responses.Default() != nil {
				t.Errorf("%s: there is a default response; say which statuses there are, as the other operations do", where)
			}
			want := []string{"400", "401", "403", "429", "503"}
			if strings.Contains(path, "{") {
				want = append(want, "404")
			}
			if o.RequestBody != nil {
				want = append(want, "413", "415")
			}
			if path == "/health" { // open to everyone
				want = []string{"503"}
			}
			for _, status := range want {
				if o.Responses.Value(status) == nil {
					t.Errorf("%s: status %s is not described", where, status)
				}
			}
		}
	}
}

func TestDocumentHasWhatListsCanBeSortedBy(t *testing.T) {
	t.Parallel()
	d, _ := readDocument(t)
	for name, by := range map[string]app.Sorts{
		"RunbookSort": app.RunbookSorts, "VersionSort": app.VersionSorts, "BatchSort": app.BatchSorts,
		"MemberSort": app.MemberSorts, "StepSort": app.StepSorts, "MessageSort": app.UnprocessedSorts,
	} {
		if got := d.Components.Schemas[name].Enum; !slices.Equal(got, by.Values()) {
			t.Errorf("%s is described as %v; there are %v", name, got, by.Values())
		}
	}
}
