package cli_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/local/entra"
)

// newer is the next version of moves: another function, a phase more, one step gone.
var newer = strings.NewReplacer(
	"function: Move-User", "function: Move-Mailbox", "offset: T-1d", "offset: T-2d",
).Replace(moves) + `  - name: clean
    offset: T+1d
    steps:
      - {name: tidy, worker_id: worker-01, function: Tidy, params: {Id: "{{UserId}}"}}
`

// A version is compared, tried and published while batches are under way.
func TestPublishingSafely(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.signedIn()}
	first, next := s.file("moves.yaml", moves), s.file("moves-2.yaml", newer)
	s.type_(0, "runbook", "publish", first, "--dry-run")
	s.type_(4, "runbook", "get", "moves")
	s.type_(5, "runbook", "publish", first)
	s.type_(4, "runbook", "get", "moves")
	s.type_(0, "runbook", "publish", first, "--force")
	s.type_(0, "batch", "create", "moves", s.file("two.csv", "UserId,Mail\nu1,a@x\nu2,b@x\n"))
	for range 2 { // the init steps, and prepare
		s.type_(0, "batch", "advance", "1", "--yes")
		s.untilNot("dispatched", "batch", "phases", "1")
	}
	s.type_(5, "runbook", "publish", s.file("doubtful.yaml", newer+unused), "--strict")
	s.type_(5, "runbook", "publish", s.file("faulty.yaml", newer+"retries: 3\n"), "--dry-run")
	s.type_(0, "runbook", "publish", next, "--dry-run")
	s.type_(0, "runbook", "publish", next, "--dry-run", "--overdue", "rerun", "--rerun-init")
	s.type_(0, "runbook", "publish", next, "--dry-run", "--output", "json")
	s.type_(0, "runbook", "publish", next, "--dry-run", "--quiet")
	s.type_(1, "runbook", "diff", "moves", next, "--exit-code")
	s.type_(0, "runbook", "versions", "moves", "--quiet")
	s.type_(2, "runbook", "publish", next, "--overdue", "rerun")
	s.type_(2, "runbook", "publish", next, "--rerun-init")
	s.type_(0, "runbook", "versions", "moves", "--quiet")
	s.type_(0, "runbook", "publish", next, "--rerun-init", "--yes", "--force")
	s.type_(0, "runbook", "publish", next, "--rerun-init", "--force")
	s.type_(0, "runbook", "diff", "moves", next, "--exit-code")
	s.type_(0, "runbook", "diff", "moves", "1")
	s.type_(0, "runbook", "diff", "moves", "2", "1")
	s.type_(0, "runbook", "diff", "moves", "1", "2", "--text")
	s.type_(4, "runbook", "diff", "moves", "1", "3")
	s.type_(4, "runbook", "diff", "others", "1")
	golden(t, "publish", s.withoutVarying())
}

// Files are compared without a sign-in, and without an API.
func TestDiffOfFiles(t *testing.T) {
	t.Parallel()
	s := &transcript{person: newPerson(t)}
	older, err := os.ReadFile("../runbook/diff/testdata/old.yaml")
	check(t, err)
	newer, err := os.ReadFile("../runbook/diff/testdata/new.yaml")
	check(t, err)
	from, to := s.file("old.yaml", string(older)), s.file("new.yaml", string(newer))
	same := s.file("same.yml", "# As it was.\n"+string(older))
	s.type_(0, "runbook", "diff", from, to)
	s.type_(1, "runbook", "diff", from, to, "--text", "--exit-code")
	const groups, licence = `{name: groups, worker_id: w1, function: JoinGroups, params: {Groups: "{{groups}}"}}`, `{name: licence, worker_id: w1, function: SetLicence, poll: {interval: 1m, timeout: 1h}}`
	few := s.file("few.yaml", strings.NewReplacer(
		"description: Mailboxes, old tenant to new\n", "", "T-1d", "T-2d", "retry: {", "retry: {jitter: 20%, ", groups, licence, licence, groups,
	).Replace(string(older)))
	s.type_(0, "runbook", "diff", from, few, "--quiet")
	s.type_(0, "runbook", "diff", from, few, "--output", "csv")
	s.type_(1, "runbook", "diff", from, few, "--output", "json", "--exit-code")
	s.type_(0, "runbook", "diff", from, from, "--exit-code")
	s.type_(0, "runbook", "diff", from, same, "--exit-code")
	s.type_(1, "runbook", "diff", from, same, "--exit-code", "--text")
	s.type_(0, "runbook", "diff", from, same, "--output", "json")
	s.in = string(newer)
	s.type_(0, "runbook", "diff", "-", to, "--exit-code")
	s.type_(5, "runbook", "diff", from, s.file("faulty.yaml", string(older)+"retries: 3\n"), "--exit-code")
	s.type_(0, "runbook", "diff", from, s.file("faulty.yaml", string(older)+"retries: 3\n"), "--text")
	golden(t, "diff", s.String())
}

// On a terminal the command asks if batches take up the version, after it has shown them.
// Without a question it publishes in one request.
func TestPublishAsks(t *testing.T) {
	t.Parallel()
	const (
		question = "Publish version 3 of moves? 2 batches take up the new version. [y/N] "
		none     = `{"againstVersion":2,"runbookChanges":[],"batchCount":0,"batches":[]}`
		staying  = `{"againstVersion":2,"runbookChanges":[],"batchCount":1,"batches":[{"batchId":4,"status":"cancelling","fromVersion":2,"stays":"it is being cancelled"}]}`
		failing  = `{"againstVersion":2,"runbookChanges":[],"batchCount":0,"batches":[]},"warnings":[{"severity":"warning","code":"file-name","message":"harmless","path":"name","line":1,"column":1},` +
			`{"severity":"warning","code":"unknown-function","message":"calls Mvoe","path":"phases[0].steps[0].function","line":9,"column":9,"alwaysFails":true},` +
			`{"severity":"warning","code":"unknown-worker","message":"no worker w","path":"phases[0].steps[0].worker_id","line":8,"column":9,"alwaysFails":true}]`
		summary = "Publish version 3 of moves? Every call of a step would fail (1 unknown-function, 1 unknown-worker). [y/N] "
		going   = `{"againstVersion":2,"runbookChanges":[{"kind":"changed","path":"phases[move].offset","from":"T-1d","to":"T-0"}],"batchCount":4,
			"batches":[{"batchId":4,"status":"cancelling","fromVersion":2,"stays":"it is being cancelled"},{"batchId":6,"problem":"it cannot be read"},{"batchId":5,"status":"active","fromVersion":2,"superseded":["move"],"pending":["move"]}]}`
	)
	for name, tt := range map[string]struct {
		changes  string
		answer   string
		terminal bool
		args     string
		status   int
		sent     string // of each request, what was asked for
		says     string
	}{
		"yes":                          {going, "y\n", true, "", 0, "dryRun=true; ", question},
		"no":                           {going, "n\n", true, "", 1, "dryRun=true", question + "matoolkit: nothing was changed"},
		"nothing said":                 {going, "", true, "", 1, "dryRun=true", question},
		"no batches":                   {none, "", true, "", 0, "dryRun=true; ", ""},
		"none that goes over":          {staying, "", true, "", 0, "dryRun=true; ", ""},
		"not asked":                    {going, "", true, "--yes", 0, "dryRun=true; ", ""},
		"strict all the way":           {going, "y\n", true, "--strict", 0, "dryRun=true&strict=true; strict=true", question},
		"a pipeline":                   {going, "", false, "", 0, "dryRun=true; ", ""},
		"a pipeline that repeats":      {going, "", false, "--overdue rerun", 2, "dryRun=true&overdueBehavior=rerun", "give --yes"},
		"a pipeline that repeats init": {going, "", false, "--rerun-init", 2, "dryRun=true&rerunInit=true", "give --yes"},
		"nothing to repeat":            {none, "", false, "--rerun-init", 0, "dryRun=true&rerunInit=true; rerunInit=true", ""},
		"a pipeline that means it":     {going, "", false, "--rerun-init --yes", 0, "dryRun=true&rerunInit=true; rerunInit=true", ""},
		"calls that fail, yes":         {failing, "y\n", true, "", 0, "dryRun=true; ", summary},
		"calls that fail, no":          {failing, "n\n", true, "--yes", 1, "dryRun=true", summary + "matoolkit: nothing was changed"},
		"calls that fail, forced":      {failing, "", true, "--force --yes", 0, "", "harmless"},
		"a pipeline of failing calls":  {failing, "", false, "--yes", 5, "dryRun=true", "moves.yaml:9:9: warning: phases[0].steps[0].function: calls Mvoe [unknown-function]"},
		"a forced pipeline":            {failing, "", false, "--force", 0, "", ""},
		"a forced pipeline repeats":    {going, "", false, "--force --rerun-init", 2, "dryRun=true&rerunInit=true", "give --yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var sent []string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				sent = append(sent, r.URL.RawQuery)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"name":"moves","version":3,"isActive":true,"createdAt":"2026-01-02T03:04:05Z","publishedBy":"ada","changes":`+tt.changes+`}`)
			}))
			t.Cleanup(s.Close)
			file := newPerson(t).file("moves.yaml", moves)
			var out, notices strings.Builder
			root := cli.NewRoot(command.Environment{
				Stdin: strings.NewReader(tt.answer), Stdout: &out, Stderr: &notices, Terminal: tt.terminal, Width: 80,
				Token:  func(context.Context) (string, error) { return "token", nil },
				Getenv: func(name string) string { return map[string]string{"MATOOLKIT_API_URL": s.URL}[name] },
			})
			root.SetArgs(append([]string{"runbook", "publish", file}, strings.Fields(tt.args)...))
			status := cli.Execute(t.Context(), root)
			if got := strings.Join(sent, "; "); status != tt.status || got != tt.sent {
				t.Errorf("status %d, sent %q; want %d, %q:\n%s", status, got, tt.status, tt.sent, notices.String())
			}
			if !strings.Contains(notices.String(), tt.says) || strings.Contains(notices.String(), "[y/N]") != strings.Contains(tt.says, "[y/N]") {
				t.Errorf("it says:\n%s\nwant: %s", notices.String(), tt.says)
			}
			if asked := strings.Count(notices.String(), "batch 5 (active, version 2): pending: move; superseded: move"); tt.changes == going && asked != 1 {
				t.Errorf("the effect on a batch is shown %d times:\n%s", asked, notices.String())
			}
			if tt.changes == going && !strings.Contains(notices.String(), "batch 6: its effect is unknown: it cannot be read") {
				t.Errorf("the batch with an unknown effect is not shown:\n%s", notices.String())
			}
			if status == 0 != strings.Contains(out.String(), "moves") {
				t.Errorf("result: %s", out.String())
			}
		})
	}
}

// A runbook from standard input leaves no input for the confirmation.
func TestPublishFromStandardInputCannotAsk(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("dryRun") != "true" {
			t.Error("it was published")
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"name":"moves","version":3,"changes":{"againstVersion":2,"runbookChanges":[],"batchCount":1,"batches":[{"batchId":5,"status":"active","fromVersion":2}]}}`)
	}))
	t.Cleanup(s.Close)
	var out, notices strings.Builder
	root := cli.NewRoot(command.Environment{
		Stdin: strings.NewReader(moves), Stdout: &out, Stderr: &notices, Terminal: true, Width: 80,
		Token:  func(context.Context) (string, error) { return "token", nil },
		Getenv: func(name string) string { return map[string]string{"MATOOLKIT_API_URL": s.URL}[name] },
	})
	root.SetArgs([]string{"runbook", "publish", "-"})
	if status := cli.Execute(t.Context(), root); status != 2 || !strings.Contains(notices.String(), "the runbook comes from standard input") {
		t.Errorf("status %d: %s", status, notices.String())
	}
}
