package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args   string
		status int
		says   string
	}{
		{"nothing", 2, `unknown command "nothing"`},
		{"batch", 2, "see matoolkit batch --help"},
		{"batch start", 2, `unknown command "start" for "matoolkit batch"`},
		{"batch get", 2, "the id is missing: matoolkit batch get <id>"},
		{"batch get 1 2", 2, `too many arguments, from "2" on`},
		{"batch get -1", 2, "unknown shorthand flag"},
		{"batch set 1", 2, "nothing to change: give --name, --note or --owner"},
		{"batch get 0", 2, `invalid batch "0"`},
		{"batch list --status", 2, "flag needs an argument"},
		{"batch list --limit 0", 2, "--limit is 0"},
		{"batch list --limit many", 2, "invalid argument"},
		{"batch list --limit 5 --all", 2, "--all and --limit cannot be given together"},
		{"batch steps 1 --member=", 2, "--member is empty; omit it to list the steps of all members"},
		{"batch watch 1 --interval 1ms", 2, "--interval is 1ms"},
		{"batch create moves", 2, "the file is missing"},
		{"batch cancel", 2, "the id is missing"},
		{"batch cancel 0", 2, `give the number or the name of a batch, as matoolkit batch list shows it`},
		{"batch cancel 1", 2, "cannot ask for confirmation without a terminal; give --yes"},
		{"member set 1 u1 Mail", 2, `invalid correction "Mail": write column=value`},
		{"member set 1 u1 Mail=a Mail=b", 2, `column "Mail" is given twice`},
		{"batch remove-member 1 2", 2, "give --yes"},
		{"batch approve 1", 2, "the phase is missing: matoolkit batch approve <id> <phase>"},
		{"batch retry 1 --member=", 2, "--member is empty; omit it to select all failed members"},
		{"batch retry 1 --phase=", 2, "--phase is empty; omit it to select all failed members"},
		{"batch retry 1 --error=", 2, "--error is empty"},
		{"batch retry 1 --error-group=", 2, "--error-group is empty"},
		{"batch retry 1 --from=", 2, "--from is empty"},
		{"batch skip-step 1", 2, "--reason is missing"},
		{"batch skip-step 1 2 --step x --reason x", 2, "--step selects failed members; omit the step-id"},
		{"batch mark-done 1", 2, "--reason is missing"},
		{"batch skip-step 1 2", 2, "--reason is missing"},
		{"batch skip-step 1 copy --reason x", 2, `invalid step "copy"`},
		{"batch mark-done 1 2", 2, "--reason is missing"},
		{"batch mark-done 1 2 --reason x --result done", 2, "--result is not JSON"},
		{"batch mark-done 1 2 --reason x --result=", 2, "--result is not JSON"},
		{"batch mark-done 1 2 --reason x --result @none.json", 2, "none.json: no such file"},
		{"batch add-members 1 none.csv", 2, "none.csv: no such file"},
		{"batch removals", 2, "the id is missing"},
		{"batch removals 0", 2, `give the number or the name of a batch, as matoolkit batch list shows it`},
		{"batch confirm-removals 0 --yes", 2, `give the number or the name of a batch, as matoolkit batch list shows it`},
		{"batch confirm-removals 1", 2, "cannot ask for confirmation without a terminal; give --yes"},
		{"batch discard-removals 0", 2, `give the number or the name of a batch, as matoolkit batch list shows it`},
		{"automation", 2, "see matoolkit automation --help"},
		{"automation status", 2, "the runbook is missing: matoolkit automation status <runbook>"},
		{"automation enable", 2, "the runbook is missing"},
		{"automation disable a b", 2, `too many arguments, from "b" on`},
		{"query", 2, "see matoolkit query --help"},
		{"query preview", 2, "the runbook is missing"},
		{"batch list all", 2, `too many arguments, from "all" on: matoolkit batch list`},
		{"auth login ada", 2, `too many arguments, from "ada" on: matoolkit auth login`},
		{"query preview moves.yaml", 2, `"moves.yaml" is a file; give the name of a runbook`},
		{"automation status ./moves", 2, "give the name of a runbook"},
		{"automation enable runbooks/moves.yaml", 2, "give the name of a runbook"},
		{"automation disable moves.YML", 2, "give the name of a runbook"},
		{`runbook get C:\moves`, 2, "give the name of a runbook"},
		{"template download moves.yml", 2, "give the name of a runbook"},
		{"batch create moves.yaml members.csv", 2, "give the name of a runbook"},
		{"batch list --runbook moves.yaml", 2, "give the name of a runbook"},
		{"query preview moves --rows 0", 2, "--rows is 0; use 1 to 1000"},
		{"runbook publish none.yaml --overdue skip", 2, `--overdue is "skip"; use ignore or rerun`},
		{"batch create moves none.csv", 2, "none.csv: no such file"},
		{"runbook diff", 2, "the runbook is missing: matoolkit runbook diff"},
		{"runbook diff moves", 2, "the version or file to compare with is missing"},
		{"runbook diff a.yaml 2", 2, `"a.yaml" is a file and can be compared only with another file`},
		{"runbook diff a.yaml b.yaml 2", 2, `too many arguments, from "2" on`},
		{"runbook diff moves b.yaml 2", 2, "a file is compared with the active version"},
		{"runbook diff moves one", 2, `invalid version "one"`},
		{"runbook diff moves 1 0", 2, `invalid version "0"`},
		{"runbook diff moves 1 2 3", 2, `too many arguments, from "3" on`},
		{"runbook diff - -", 2, "only one of the two can be standard input"},
		{"runbook diff a.yaml b.yaml --text --output json", 2, "--text and --output json cannot be given together"},
		{"runbook diff none.yaml b.yaml", 2, "none.yaml: no such file"},
		{"runbook lint", 2, "the file is missing"},
		{"runbook lint none.yaml", 2, "none.yaml: no such file"},
		{"runbook lint .", 2, ".: read .: is a directory"},
		{"batch audit", 2, "the id is missing"},
		{"messages get", 2, "the message is missing"},
		{"messages replay", 2, "the message is missing: matoolkit messages replay"},
		{"messages replay --all a", 2, `--all replays every open message; remove the argument "a"`},
		{"messages replay a --topic worker-results", 2, "--topic needs --all"},
		{"messages discard", 2, "the message is missing"},
		{"messages discard a --api-url=http://127.0.0.1:1", 2, "cannot ask for confirmation without a terminal; give --yes"},
		{"config set colour red", 2, `unknown setting "colour"`},
		{"config set api-url http://api.example.org", 2, "use https"},
		{"config set authority http://login.example.org", 2, "not an https address"},
		{"config set token-store paper", 2, "use auto, system or file"},
		{"config show --output xml", 2, "table, wide, json, yaml, csv or name"},
		{"config show --api-url api.example.org", 2, `--api-url: invalid address of the admin API "api.example.org"`},
		{"config show --auth paper", 2, `--auth: "paper" is invalid: use one of device-code`},
		{"bathc list", 2, `unknown command "bathc" for "matoolkit"; did you mean batch?`},
		{"batch lst", 2, `unknown command "lst" for "matoolkit batch"; did you mean get, list or set?`},
		{"batch frobnicate", 2, `unknown command "frobnicate" for "matoolkit batch"; see matoolkit batch --help`},
		{"batch list --status removed", 2, `--status is "removed"; use detected, init_dispatched,`},
		{"batch list --status failed,removed", 2, `--status is "removed"; use detected, init_dispatched,`},
		{"messages list --topic workers --api-url=http://127.0.0.1:1", 2, `--topic is "workers"; use orchestrator-events, worker-results or worker-jobs`},
		{"batch list --api-url=", 2, "config set api-url"},
		{"batch list --api-url=", 2, `For the system on this machine: eval "$(matoolkit local env)"`},
		{"batch list --ca-file none.pem", 2, "none.pem"},
		{"auth login --client-id=", 2, "config set tenant-id"},
	} {
		p := newPerson(t)
		args := strings.Fields(tt.args)
		if args[0] == "batch" && !strings.Contains(tt.args, "--api-url") {
			p.env["MATOOLKIT_API_URL"] = "http://127.0.0.1:1"
		}
		out, err, status := p.run(args...)
		if status != tt.status || !strings.Contains(err, tt.says) || out != "" {
			t.Errorf("%s: status %d, want %d: %s%s", tt.args, status, tt.status, out, err)
		}
	}
}

// fake is an API whose every answer is the same.
func fake(t *testing.T, status int, media, body string) *person {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	p := newPerson(t)
	p.env["MATOOLKIT_API_URL"] = s.URL
	return p
}

// as gives a command without a sign-in, on a terminal of this width; 0 is none.
func (p *person) as(width int, args ...string) (stdout, stderr string, status int) {
	var out, err bytes.Buffer
	root := cli.NewRoot(command.Environment{
		Stdin: strings.NewReader(p.in), Stdout: &out, Stderr: &err, Getenv: func(name string) string { return p.env[name] }, Terminal: width > 0, Width: width,
		Token: func(context.Context) (string, error) { return "token", nil },
	})
	root.SetArgs(args)
	status = cli.Execute(p.ctx, root)
	return out.String(), err.String(), status
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		http, exit int
		says       string
	}{
		{400, 5, "why"},
		{401, 3, "auth login"},
		{403, 3, "why"},
		{404, 4, "why"},
		{409, 5, "why"},
		{413, 5, "why"},
		{415, 5, "why"},
		{422, 5, "why"},
		{500, 1, "trace id 0af7"},
		{503, 6, "trace id 0af7"},
	} {
		p := fake(t, tt.http, "application/problem+json", `{"detail":"why","error":"x","traceId":"0af7"}`)
		// A discard is sent once: nothing is waited for.
		out, err, status := p.as(0, "messages", "discard", "1", "--yes")
		if status != tt.exit || !strings.Contains(err, tt.says) || out != "" {
			t.Errorf("HTTP %d: status %d, want %d: %s%s", tt.http, status, tt.exit, out, err)
		}
	}
	p := fake(t, 200, "text/html", "<html>")
	if _, err, status := p.as(0, "batch", "get", "1"); status != 1 || !strings.Contains(err, "not as the admin API does") {
		t.Errorf("a page: status %d: %s", status, err)
	}
	// The statuses of another server mean nothing for the request, except those of authentication.
	for http, want := range map[int]int{400: 1, 404: 1, 409: 1, 401: 3, 403: 3, 413: 5} {
		p := fake(t, http, "text/html", "<html>")
		if _, err, status := p.as(0, "batch", "get", "1"); status != want || !strings.Contains(err, "not as the admin API does") || want == 1 && !strings.Contains(err, "config show") {
			t.Errorf("a page with HTTP %d: status %d, want %d: %s", http, status, want, err)
		}
	}
	// The API was reached, and tells of a data source that was not.
	p = fake(t, 503, "application/problem+json", `{"detail":"no answer from the database","error":"source_away","traceId":"0af7"}`)
	if _, err, status := p.as(0, "query", "preview", "moves"); status != 5 || !strings.Contains(err, "no answer from the database") {
		t.Errorf("a data source that is away: status %d: %s", status, err)
	}
}

// Words that are chosen from are taken in any case, as the API takes them.
func TestChoicesInAnyCase(t *testing.T) {
	t.Parallel()
	p := fake(t, 200, "application/json", twoBatches)
	if _, err, status := p.as(0, "batch", "list", "--status", "FAILED"); status != 0 {
		t.Errorf("status %d: %s", status, err)
	}
}

const twoBatches = `{"items":[
	{"id":2,"runbook":"moves","runbookVersion":3,"status":"failed","memberCount":7,"detectedAt":"2026-01-02T03:04:05Z","createdBy":"ada\u001b[31m\n@contoso.com"},
	{"id":1,"runbook":"moves","runbookVersion":1,"status":"completed","memberCount":12,"detectedAt":"2026-01-02T03:04:05Z","completedAt":"2026-01-03T03:04:05Z"}
],"continuationToken":"more"}`

func TestTables(t *testing.T) {
	t.Parallel()
	p := fake(t, 200, "application/json", twoBatches)
	for name, run := range map[string]struct {
		width int
		env   string
		args  []string
	}{
		"plain":        {0, "", nil},
		"terminal":     {200, "", nil},
		"narrow":       {40, "", nil},
		"no-color":     {200, "", []string{"--no-color"}},
		"no-color-env": {200, "NO_COLOR", nil},
		"quiet":        {200, "", []string{"--quiet"}},
		"json":         {200, "", []string{"--output", "json"}},
		"yaml":         {200, "", []string{"--output", "yaml"}},
		"csv":          {200, "", []string{"--output", "csv"}},
	} {
		q := *p
		q.env = map[string]string{"MATOOLKIT_API_URL": p.env["MATOOLKIT_API_URL"], "MATOOLKIT_HOME": p.env["MATOOLKIT_HOME"], run.env: "1"}
		out, err, status := q.as(run.width, append([]string{"batch", "list"}, run.args...)...)
		if status != 0 {
			t.Errorf("%s: status %d: %s", name, status, err)
		}
		golden(t, "table/"+name, strings.ReplaceAll(out, "\x1b", "ESC")+"-- notices --\n"+err)
		if strings.Contains(out, "\x1b[31m\n") || strings.Contains(err, "\x1b") {
			t.Errorf("%s: what the API sent reaches the terminal: %q", name, out)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	source := func(args ...string) map[string][2]string {
		t.Helper()
		out, err, status := p.run(append([]string{"config", "show", "-o", "json"}, args...)...)
		if status != 0 {
			t.Fatal(err)
		}
		var all []struct{ Key, Value, Source string }
		check(t, json.Unmarshal([]byte(out), &all))
		from := map[string][2]string{}
		for _, s := range all {
			from[s.Key] = [2]string{s.Value, s.Source}
		}
		return from
	}
	want := func(got [2]string, value, source string) {
		t.Helper()
		if got != [2]string{value, source} {
			t.Errorf("got %v, want %s from %s", got, value, source)
		}
	}
	want(source()["client-id"], "", "none")
	want(source()["api-scope"], "", "none")
	want(source()["authority"], "https://login.microsoftonline.com", "default")
	want(source()["token-store"], "file", "environment")

	if _, err, status := p.run("config", "set", "client-id", "c1"); status != 0 || !strings.Contains(err, "config.json") {
		t.Fatal(err)
	}
	want(source()["client-id"], "c1", "file")
	want(source()["api-scope"], "api://c1/.default", "default")
	p.env["MATOOLKIT_CLIENT_ID"] = "c2"
	want(source()["client-id"], "c2", "environment")
	want(source("--client-id", "c3")["client-id"], "c3", "option")
	want(source("--client-id", "c3")["api-scope"], "api://c3/.default", "default")
	p.env["MATOOLKIT_CLIENT_ID"] = ""
	if _, err, status := p.run("config", "set", "client-id", ""); status != 0 {
		t.Fatal(err)
	}
	want(source()["client-id"], "", "none")
	if _, err, _ := p.run("config", "set", "client-id", ""); !strings.HasPrefix(err, "Removed client-id from ") {
		t.Error(err)
	}

	out, _, _ := p.run("config", "path")
	path := filepath.Join(p.dir, strings.TrimSpace(out))
	info, err := os.Stat(path)
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for _, broken := range []string{"{", `[]`, `{"api-url":7}`, `{"apiUrl":"x"}`} {
		check(t, os.WriteFile(path, []byte(broken), 0o600))
		if _, err, status := p.run("config", "show"); status != exit.WrongUsage || !strings.Contains(err, "config.json") {
			t.Errorf("%s: status %d: %s", broken, status, err)
		}
	}
}

// catalogued calls only what the workers have.
const catalogued = `name: own
data_source:
  type: csv
  primary_key: UserId
phases:
  - name: rename
    offset: T-0
    steps:
      - name: rename
        worker_id: worker-01
        function: Set-EntraUserUPN
        params:
          UserId: "{{UserId}}"
          NewUserPrincipalName: "{{NewName}}"
`

func TestLint(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.in = strings.Replace(moves, "function: Move-User", "func: Move-User", 1)
	good := p.file("good.yaml", catalogued)
	out, err, status := p.run("runbook", "lint", good, "-")
	if status != 1 || !strings.Contains(out, "standard input:") || strings.Contains(out, "good.yaml") || err != "good.yaml: no errors, no warnings\ngood.yaml: each member needs the columns NewName, UserId\n" {
		t.Errorf("status %d: %s%s", status, out, err)
	}
	out, _, status = p.run("runbook", "lint", "-", "-o", "json")
	var found []map[string]any
	check(t, json.Unmarshal([]byte(out), &found))
	if status != 1 || len(found) == 0 || found[0]["file"] != "standard input" || found[0]["line"] == nil {
		t.Errorf("status %d: %s", status, out)
	}
	if out, _, status := p.run("runbook", "lint", "--strict", good, "-o", "json"); status != 0 || out != "[]\n" {
		t.Errorf("status %d: %s", status, out)
	}
	p.in = ""
	calls := p.file("calls.yaml", strings.Replace(catalogued, "NewUserPrincipalName:", "NewUPN:", 1)+"  - name: tell\n    offset: T-0\n    steps:\n      - {name: tell, worker_id: worker-01, function: Send-Word}\n")
	var all strings.Builder
	for _, args := range [][]string{{}, {"--strict"}, {"-o", "csv"}, {"-o", "yaml", "--strict"}, {"-o", "sarif"}, {"-o", "github", "--strict"}, {"-o", "azure"}, {"-o", "gitlab"}} {
		out, err, status := p.run(append([]string{"runbook", "lint", calls}, args...)...)
		fmt.Fprintf(&all, "$ lint %s\n%s%sexit status %d\n", strings.Join(args, " "), out, err, status)
	}
	golden(t, "lint", all.String())
}

// A column without which all steps can do is none that members need.
func TestLintTellsOptionalColumns(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"": "each member needs the columns Mail, UserId; it can have the columns City, Team\n",
		", connection: PEOPLE, batch_time_column: Start": "the data source has to return the columns Mail, Start, UserId; it can have the columns City, Team\n",
	} {
		p := newPerson(t)
		text := "name: some\ndata_source: {type: csv, primary_key: UserId" + source + "}\nphases:\n  - name: a\n    offset: T-0\n    steps:\n" +
			`      - {name: s, worker_id: w, function: F, params: {A: "{{Mail}}", B: "{{City?}}", C: "{{Team | default('none')}}"}}` + "\n"
		if _, notices, status := p.run("runbook", "lint", p.file("some.yaml", text)); status != 0 || !strings.HasSuffix(notices, want) {
			t.Errorf("status %d: %s", status, notices)
		}
	}
}

// Severities have a color on a terminal only, and none with NO_COLOR.
func TestLintColorsSeverities(t *testing.T) {
	t.Parallel()
	file := newPerson(t).file("faulty.yaml", strings.Replace(catalogued, "name: own", "name: own.yaml", 1)+"retries: 3\n")
	for _, tt := range []struct {
		terminal bool
		noColor  string
		want     bool
	}{{true, "", true}, {true, "1", false}, {false, "", false}} {
		var out strings.Builder
		root := cli.NewRoot(command.Environment{
			Stdout: &out, Stderr: io.Discard, Terminal: tt.terminal, Width: 80,
			Getenv: func(name string) string { return map[string]string{"NO_COLOR": tt.noColor}[name] },
		})
		root.SetArgs([]string{"runbook", "lint", file})
		cli.Execute(t.Context(), root)
		if red, yellow := strings.Contains(out.String(), "\x1b[31merror\x1b[0m: "), strings.Contains(out.String(), "\x1b[33mwarning\x1b[0m: "); red != tt.want || yellow != tt.want || strings.Contains(out.String(), "\x1b") != tt.want {
			t.Errorf("terminal %t, NO_COLOR %q: %q", tt.terminal, tt.noColor, out.String())
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if out, _, status := newPerson(t).run("--version"); status != 0 || out != "matoolkit dev\n" {
		t.Errorf("status %d: %s", status, out)
	}
}
