package e2e_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/local/demo"
)

// The commands and routes of the specification, each of which has to be there under its
// name and do what it is for.
var (
	specifiedCommands = []string{
		"runbook publish", "runbook list", "runbook get", "runbook versions", "runbook delete",
		"automation status", "automation enable", "automation disable",
		"query preview", "template download",
		"batch list", "batch get", "batch create", "batch advance", "batch cancel",
		"batch members", "batch add-members", "batch remove-member", "batch phases", "batch steps",
		"auth login", "auth status", "config show", "config set", "config path",
	}
	specifiedRoutes = []string{
		"POST /api/runbooks",
		"GET /api/runbooks",
		"GET /api/runbooks/{name}",
		"GET /api/runbooks/{name}/versions",
		"GET /api/runbooks/{name}/versions/{v}",
		"DELETE /api/runbooks/{name}/versions/{v}",
		"GET /api/runbooks/{name}/automation",
		"PUT /api/runbooks/{name}/automation",
		"POST /api/runbooks/{name}/query/preview",
		"GET /api/runbooks/{name}/template",
		"GET /api/batches",
		"GET /api/batches/{id}",
		"POST /api/batches",
		"GET /api/batches/{id}/members",
		"POST /api/batches/{id}/members",
		"DELETE /api/batches/{id}/members/{memberId}",
		"GET /api/batches/{id}/phases",
		"GET /api/batches/{id}/steps",
		"POST /api/batches/{id}/advance",
		"POST /api/batches/{id}/cancel",
	}
)

// TestSpecification tells one story on a running system in which every command of the
// specification is given and every route is asked, and sees to it that each had its
// effect. What the story leaves out, or what no longer answers well, is a failure.
func TestSpecification(t *testing.T) {
	t.Parallel()
	s := newSpecified(t)
	s.configures()
	s.signsIn()
	s.publishes()
	s.runsABatch()
	s.cancels()
	s.followsAList()
	s.retires()
	for _, c := range specifiedCommands {
		if !s.given[c] {
			t.Errorf("no command %q did its job", c)
		}
	}
	for _, r := range specifiedRoutes {
		if !s.routes.answered(r) {
			t.Errorf("no request of %s was answered well", r)
		}
	}
}

// specified plays an administrator who uses every feature of the specification.
type specified struct {
	*machine
	*admin
	t      *testing.T
	given  map[string]bool // commands that ended well
	routes *routes
}

func newSpecified(t *testing.T) *specified {
	t.Helper()
	seed, err := os.ReadFile(filepath.Join(example, "tenant.json"))
	if err != nil {
		t.Fatal(err)
	}
	people := filepath.Join(root, "examples", scheduled, "people.csv")
	m := newMachineWith(t, seed, environment{
		handler: map[string]string{"PEOPLE": people}, worker: map[string]string{"LAG_TIMEOUT_SECONDS": "0"},
	}, everything)
	s := &specified{machine: m, t: t, given: map[string]bool{}, routes: newRoutes(t, m.endpoints.CLI["MATOOLKIT_API_URL"])}
	s.admin = &admin{t: t, patience: patience, env: map[string]string{}}
	for name, value := range m.endpoints.CLI {
		if name != "MATOOLKIT_API_URL" { // which is configured
			s.env[name] = value
		}
	}
	s.env["MATOOLKIT_HOME"], s.env["MATOOLKIT_TOKEN_STORE"] = m.path("home"), "file"
	return s
}

// do gives a command that has to end well.
func (s *specified) do(args ...string) string {
	s.t.Helper()
	out := s.must(args...)
	s.given[strings.Join(args[:2], " ")] = true
	return out
}

// look gives a command that prints a view.
func look[V any](s *specified, args ...string) V {
	s.t.Helper()
	var v V
	s.ask(&v, args...)
	s.given[strings.Join(args[:2], " ")] = true
	return v
}

// want compares what came of a command with what it is for.
func want[V comparable](s *specified, what string, got, want V) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func (s *specified) configures() {
	file := strings.TrimSpace(s.do("config", "path"))
	s.do("config", "set", "api-url", s.routes.url)
	body, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(body, []byte(s.routes.url)) {
		s.t.Errorf("the file that config path names holds %s (%v)", body, err)
	}
	shown := s.do("config", "show")
	if !strings.Contains(shown, s.routes.url) {
		s.t.Errorf("config show does not show what was set:\n%s", shown)
	}
}

func (s *specified) signsIn() {
	_, status, _ := s.give("auth", "status")
	want(s, "the status before a sign-in", status, exit.NotSignedIn)
	_, status, _ = s.give("runbook", "list")
	want(s, "a list before a sign-in", status, exit.NotSignedIn)
	s.do("auth", "login")
	who := look[struct {
		SignedIn bool
		Username string
	}](s, "auth", "status")
	if !who.SignedIn || !strings.Contains(who.Username, "@") {
		s.t.Errorf("auth status tells %+v", who)
	}
}

func (s *specified) publishes() {
	file := filepath.Join(example, "runbook.yaml")
	yaml, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	want(s, "the first version", look[api.Runbook](s, "runbook", "publish", file, "--force").Version, 1)
	s.write("second.yaml", bytes.Replace(yaml, []byte("description: "), []byte("description: Once more. "), 1))
	want(s, "the second version", look[api.Runbook](s, "runbook", "publish", s.path("second.yaml"), "--force").Version, 2)
	list := look[api.Page[api.Runbook]](s, "runbook", "list").Items
	if len(list) != 1 || list[0].Name != "user-migration" || list[0].Version != 2 {
		s.t.Errorf("runbook list shows %+v", list)
	}
	want(s, "the YAML of version 1", look[api.Runbook](s, "runbook", "get", "user-migration", "--version", "1").YAML, string(yaml))
	want(s, "the active version", look[api.Runbook](s, "runbook", "get", "user-migration").Version, 2)
	versions := look[api.Page[api.RunbookVersion]](s, "runbook", "versions", "user-migration").Items
	want(s, "how many versions there are", len(versions), 2)
	columns, _, _ := strings.Cut(s.do("template", "download", "user-migration", "--file", "-"), "\n")
	for _, c := range []string{"UserPrincipalName", "Alias", "SourceEmail", "ExchangeGuid"} {
		if !slices.Contains(strings.Split(strings.Trim(columns, "\ufeff\r"), ","), c) {
			s.t.Errorf("the template has the columns %q, without %s", columns, c)
		}
	}
}

func (s *specified) runsABatch() {
	body, err := os.ReadFile(filepath.Join(example, "members.csv"))
	if err != nil {
		s.t.Fatal(err)
	}
	rows := bytes.SplitAfter(body, []byte("\n"))
	s.write("three.csv", bytes.Join(rows[:4], nil))
	s.write("fourth.csv", slices.Concat(rows[0], rows[4]))
	want(s, "the batch's members", look[api.Batch](s, "batch", "create", "user-migration", s.path("three.csv")).MemberCount, 3)
	want(s, "the batches in the list", len(look[api.Page[api.Batch]](s, "batch", "list").Items), 1)
	want(s, "who was added", look[api.AddResult](s, "batch", "add-members", "1", s.path("fourth.csv")).Added, 1)
	removed := look[api.Member](s, "batch", "remove-member", "1", "2", "--yes")
	want(s, "who was removed", removed.Status, "removed")
	batch := look[api.Batch](s, "batch", "get", "1")
	want(s, "the members, and who of them was removed", [2]int{batch.MemberCount, batch.RemovedCount}, [2]int{4, 1})
	members := look[api.Page[api.Member]](s, "batch", "members", "1").Items
	if len(members) != 4 || members[1].Key != removed.Key || members[1].Status != "removed" || members[3].Status != "active" {
		s.t.Errorf("batch members shows %+v", members)
	}
	for range 2 { // the init steps, and the first phase
		s.do("batch", "advance", "1", "--yes", "--wait")
	}
	var stood []string
	for _, p := range look[api.Page[api.Phase]](s, "batch", "phases", "1").Items {
		stood = append(stood, p.Name+" "+p.Status)
	}
	want(s, "the phases", strings.Join(stood[:3], ", "), "init completed, pre-stage completed, verify pending")
	steps := look[api.Page[api.Step]](s, "batch", "steps", "1", "--phase", "pre-stage").Items
	want(s, "the steps of three members", len(steps), 9)
	for _, step := range steps {
		want(s, "step "+step.Name+" of "+step.MemberKey, step.Status, "succeeded")
	}
	state, err := demo.State(s.t.Context(), s.endpoints.TenantURL)
	if err != nil {
		s.t.Fatal(err)
	}
	arrived := 0
	for _, u := range state.Users {
		for _, m := range members {
			alias, _, _ := strings.Cut(m.Key, "@")
			if u.Text("mailNickname") == alias {
				want(s, "the status of who is in the tenant", m.Status, "active")
				arrived++
			}
		}
	}
	want(s, "who is in the tenant", arrived, 3)
}

func (s *specified) cancels() {
	s.do("batch", "cancel", "1", "--yes", "--reason", "the story ends")
	_, status, _ := s.give("batch", "watch", "1", "--quiet")
	want(s, "a watch to the end of what is cancelled", status, exit.Failed)
	v := look[api.Batch](s, "batch", "get", "1")
	if v.Status != "cancelled" || v.Cancelled == nil {
		s.t.Errorf("the batch is %+v", v)
	}
	_, status, _ = s.give("batch", "advance", "1", "--phase", "verify")
	want(s, "an advance of what is cancelled", status, exit.Refused)
}

func (s *specified) followsAList() {
	s.do("runbook", "publish", filepath.Join(root, "examples", scheduled, "runbook.yaml"), "--force")
	preview := look[api.QueryPreview](s, "query", "preview", scheduled)
	want(s, "the batches that would be made", len(preview.Groups), 2)
	want(s, "the automation at first", look[api.Automation](s, "automation", "status", scheduled).Enabled, false)
	if preview.Additions == nil {
		s.t.Fatal("the preview has no revision of the first people")
	}
	want(s, "the automation then", look[api.Automation](s, "automation", "enable", scheduled, "--revision", preview.Additions.Revision).Enabled, true)
	s.tick()
	made := look[api.Page[api.Batch]](s, "batch", "list", "--runbook", scheduled).Items
	want(s, "the batches that were made", len(made), 2)
	want(s, "the automation in the end", look[api.Automation](s, "automation", "disable", scheduled).Enabled, false)
	if v := look[api.Automation](s, "automation", "status", scheduled); v.Enabled || v.LastGoodAt == nil {
		s.t.Errorf("automation status shows %+v", v)
	}
}

func (s *specified) retires() {
	s.do("runbook", "delete", "user-migration", "2", "--yes")
	_, status, _ := s.give("runbook", "get", "user-migration")
	want(s, "the runbook afterwards", status, exit.NotFound)
	for _, v := range look[api.Page[api.RunbookVersion]](s, "runbook", "versions", "user-migration").Items {
		want(s, "a version that is in use", v.Active, false)
	}
	_, status, _ = s.give("batch", "create", "user-migration", s.path("three.csv"))
	if status == exit.OK {
		s.t.Error("a batch was made of a runbook that is out of use")
	}
}

// routes stands before the admin API and notes which requests are answered well.
type routes struct {
	url string

	mu   sync.Mutex
	well []string // method and path
}

func newRoutes(t *testing.T, api string) *routes {
	t.Helper()
	base, err := url.Parse(strings.TrimSuffix(api, "/api"))
	if err != nil {
		t.Fatal(err)
	}
	r := &routes{}
	proxy := httputil.NewSingleHostReverseProxy(base)
	proxy.ModifyResponse = func(answer *http.Response) error {
		if answer.StatusCode < http.StatusBadRequest {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.well = append(r.well, answer.Request.Method+" "+answer.Request.URL.Path)
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

var pathParameter = regexp.MustCompile(`\\\{[a-zA-Z]+\\\}`)

// answered tells whether a request of a route was answered well.
func (r *routes) answered(route string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	pattern := regexp.MustCompile("^" + pathParameter.ReplaceAllString(regexp.QuoteMeta(route), "[^/]+") + "$")
	return slices.ContainsFunc(r.well, pattern.MatchString)
}
