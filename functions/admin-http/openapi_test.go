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

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/buildinfo"
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
	for _, r := range newFixture().handler.(interface{ Routes() gin.RoutesInfo }).Routes() {
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
			detail := readProblem(t, w).Detail
			want := "this route has none"
			if names != nil {
				want = "this route has " + strings.Join(names, ", ")
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
		"Runbook": api.Runbook{}, "Batch": api.Batch{}, "Member": api.Member{}, "Phase": api.Phase{}, "Step": api.Step{},
		"Advance": api.AdvanceResult{}, "Problem": api.Problem{}, "InputProblem": api.InputProblem{}, "Diagnostic": api.Diagnostic{},
		"RunbookPage": api.Page[api.Runbook]{}, "BatchPage": api.Page[api.Batch]{}, "MemberPage": api.Page[api.Member]{},
		"Changes": api.VersionChanges{}, "Change": api.Change{}, "BatchForecast": api.BatchForecast{},
		"Simulation": api.Simulation{}, "SimulatedBatch": api.SimulatedBatch{}, "SimulatedPhase": api.SimulatedPhase{}, "SimulatedFunction": api.SimulatedFunction{}, "SimulatedEvent": api.SimulatedEvent{}, "RunbookCheck": api.RunbookCheck{}, "RunbookOutline": api.RunbookOutline{}, "OutlineSection": api.OutlineSection{}, "OutlineStep": api.OutlineStep{}, "OutlineColumn": api.OutlineColumn{},
		"Version": api.RunbookVersion{}, "VersionPage": api.Page[api.RunbookVersion]{},
		"PhasePage": api.Page[api.Phase]{}, "StepPage": api.Page[api.Step]{},
		"Attribution": api.Attribution{}, "AbandonedJob": api.AbandonedJob{}, "StepAttempt": api.StepAttempt{}, "Selection": api.Selection{}, "RescheduleResult": api.RescheduleResult{}, "PhaseMove": api.PhaseMove{}, "RepairResult": api.RepairResult{}, "Task": api.Task{}, "ActionPreview": api.Preview{}, "PhasePreview": api.PhasePreview{}, "PhaseDuration": api.PhaseDuration{}, "RepairEffect": api.RepairEffect{}, "RepairGroup": api.RepairGroup{}, "RefusedMember": api.RefusedMember{}, "AddResult": api.AddResult{},
		"AuditRecord": api.AuditRecord{}, "AuditPage": api.Page[api.AuditRecord]{},
		"Automation": api.Automation{}, "RowProblem": api.RowProblem{}, "Preview": api.QueryPreview{}, "PreviewGroup": api.PreviewGroup{},
		"RemovalHoldSummary": api.RemovalHoldSummary{}, "RemovalHold": api.RemovalHold{}, "HeldMember": api.HeldMember{},
		"Worker": api.Worker{}, "WorkerPage": api.Page[api.Worker]{}, "Function": api.Function{}, "FunctionParameter": api.Parameter{}, "FunctionField": api.Field{},
		"PipelineBatch": api.PipelineBatch{}, "PipelineStep": api.PipelineStep{}, "PipelineItems": api.PipelineItems{}, "PipelineResult": api.PipelineResult{},
		"Routing": api.Routing{}, "ShareRule": api.ShareRule{}, "ShareRequests": api.ShareRequests{}, "ShareReturn": api.ShareReturn{}, "PipelineRoute": api.PipelineRoute{},
		"Comparison": api.Comparison{}, "ComparisonSide": api.ComparisonSide{}, "Comparisons": api.Comparisons{}, "Latency": api.Latency{},
		"UnprocessableMessage": api.UnprocessableMessage{}, "UnprocessablePage": api.Page[api.UnprocessableMessage]{},
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
		ref, _, _ = strings.Cut(ref, `"`)
		kind, name, _ := strings.Cut(ref, "/")
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
	for path, name := range map[string]string{"/api/batches": "BatchStatus", "/api/batches/1/members": "MemberStatus", "/api/batches/1/steps": "StepStatus", "/api/batches/1/checks": "CheckStatus", "/api/messages/unprocessed": "UnprocessableStatus"} {
		p := readProblem(t, newFixture().send(request{"GET", path + "?status=none", "reader", "", ""}))
		if want := strings.Trim(strings.ReplaceAll(fmt.Sprint(d.Components.Schemas[name].Enum), " ", ", "), "[]"); !strings.HasSuffix(p.Detail, "one or more of "+want) {
			t.Errorf("%s: %q, described: %s", path, p.Detail, want)
		}
	}
}

func TestDocumentHasTheActionsOfTheAuditRecords(t *testing.T) {
	t.Parallel()
	d, _ := readDocument(t)
	if got := d.Components.Schemas["AuditAction"].Enum; !slices.Equal(got, api.AuditActions) {
		t.Errorf("described: %v; there are %v", got, api.AuditActions)
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
	if info["x-handler-version"] != buildinfo.Version {
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
			if other := o.Responses.Default(); other == nil || other.Ref != "#/components/responses/Problem" {
				t.Errorf("%s: the default response is not #/components/responses/Problem", where)
			}
			want := []string{"400", "401", "403", "429", "503"}
			if strings.Contains(path, "{") {
				want = append(want, "404")
			}
			if o.RequestBody != nil {
				want = append(want, "413", "415")
			}
			switch path { // open to everyone
			case "/health":
				want = []string{"503"}
			case "/console/config.json":
				want = []string{"404"}
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
	for name, by := range map[string]api.SortFields{
		"RunbookSort": api.RunbookSorts, "VersionSort": api.VersionSorts, "BatchSort": api.BatchSorts,
		"MemberSort": api.MemberSorts, "StepSort": api.StepSorts, "MessageSort": api.UnprocessableSorts,
	} {
		if got := d.Components.Schemas[name].Enum; !slices.Equal(got, by.Values()) {
			t.Errorf("%s is described as %v; there are %v", name, got, by.Values())
		}
	}
}
