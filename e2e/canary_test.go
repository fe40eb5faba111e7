package e2e_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/local/entra"
)

// canary begins every secret value of TestNobodyButTheWorkerReadsASecret. It is long enough
// to be found in base64 wherever it begins.
const canary = "Canary7ClearText"

// canaryOf is a secret value: with a quote and an ampersand, which some formats escape.
func canaryOf(kind, name string) string { return canary + kind + `-"&` + name }

// canaryForms are the forms of a canary in text, in base64 and in hex.
var canaryForms = func() *regexp.Regexp {
	forms := []string{"(?i:" + canary + ")", "(?i:" + hex.EncodeToString([]byte(canary)) + ")"}
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + canary))
		begin := []int{0, 2, 3}[shift] // of the first character that the bytes before do not change
		end := len(encoded) - 1        // the last one depends on the bytes behind
		forms = append(forms, encoded[begin:end])
	}
	return regexp.MustCompile(strings.Join(forms, "|"))
}()

// canaries is a system with secrets in every place that can have one.
type canaries struct {
	*machine
	*admin
	t      *testing.T
	notes  string // the folder in which the functions note what they were given
	tokens map[string]string
	asked  string // the batch that a request started
}

const canaryRunbook = `name: moves
data_source: {type: csv, primary_key: Upn}
secret: [First, Token]
phases:
  - name: create
    offset: T-1d
    steps:
      - name: make
        worker_id: worker-01
        function: Make
        params: {Upn: "{{Upn}}", Password: "{{First}}", Pin: "{{Code}}", Note: "for {{Upn}}: {{First}}."}
        output_params: {AccountId: Id, Token: Token}
        retry: {max_retries: 1, interval: 1s}
        on_failure: undo
  - name: verify
    offset: T-0
    steps:
      - {name: check, worker_id: worker-01, function: Check, params: {Upn: "{{Upn}}", Token: "{{Token}}"}, poll: {interval: 1s, timeout: 1m}}
rollbacks:
  undo:
    - {name: undo, worker_id: worker-01, function: Undo, params: {Upn: "{{Upn}}", Initial: "{{First}}"}}
on_member_removed:
  - {name: drop, worker_id: worker-01, function: Undo, params: {Upn: "{{Upn}}", Initial: "{{First}}"}}
`

const canarySource = `name: found
data_source:
  type: sql
  connection: PEOPLE
  query: SELECT Upn, First, Start FROM people
  primary_key: Upn
  batch_time_column: Start
secret: [First]
phases:
  - name: create
    offset: T-1d
    steps:
      - {name: undo, worker_id: worker-01, function: Undo, params: {Upn: "{{Upn}}", Initial: "{{First}}"}}
`

// canaryRequested has its members from a request, and a secret in its result.
const canaryRequested = `name: asked
trigger: request
items: {primary_key: Upn}
secret: [First, Token]
phases:
  - name: create
    steps:
      - {name: undo, worker_id: worker-01, function: Undo, params: {Upn: "{{Upn}}", Initial: "{{First}}"}}
    on_complete:
      - name: make
        worker_id: worker-01
        function: Make
        params: {Upn: all, Password: none, Pin: none, Note: none}
        output_params: {AccountId: Id, Token: Token}
`

// canaryFunctions are the worker's own functions. They repeat what they are given in
// results, errors and logs. Make fails for bad@example.com until the file "mended" exists.
var canaryFunctions = map[string]string{
	"make.yaml": `name: Make
description: Makes an account.
params:
  - {name: Upn, description: Name.}
  - {name: Password, description: First password.}
  - {name: Pin, secret: true, description: Code.}
  - {name: Note, description: Text.}
result: [{name: Id, description: Number.}, {name: Token, description: Token.}, {name: Echo, description: Text.}]
environment: [NOTES]
command: [make.sh]
`,
	"check.yaml": "name: Check\ndescription: Checks a token.\nparams: [{name: Upn, description: Name.}, {name: Token, description: Token.}]\nenvironment: [NOTES]\ncommand: [check.sh]\n",
	"undo.yaml":  "name: Undo\ndescription: Removes an account.\nparams: [{name: Upn, description: Name.}, {name: Initial, description: First value.}]\nenvironment: [NOTES]\ncommand: [undo.sh]\n",
	"make.sh": `#!/bin/sh
call=$(cat)
echo "$call" >>"$NOTES/make"
value() { echo "$call" | sed 's/.*"'"$1"'":"\(\([^"\\]\|\\.\)*\)".*/\1/'; }
echo "got $(value Password) and $(value Pin)" >&2
case "$call" in *bad@example.com*)
  if [ ! -e "$NOTES/mended" ]; then
    echo '{"success":false,"error":{"message":"the password '"$(value Password)"' or the pin '"$(value Pin)"' is too simple","type":"TooSimple"}}'
    exit 0
  fi ;;
esac
echo '{"success":true,"result":{"Id":"7","Token":"` + canary + `Token-\"&'"$(value Upn)"'","Echo":"made with '"$(value Password)"' and '"$(value Pin)"'"}}'
`,
	"check.sh": `#!/bin/sh
call=$(cat)
echo "$call" >>"$NOTES/check"
if [ $(grep -c "$(echo "$call" | sed 's/.*"Upn":"\([^"]*\)".*/\1/')" "$NOTES/check") -lt 2 ]; then
  echo '{"success":true,"result":{"complete":false,"data":{}}}'
else
  echo '{"success":true,"result":{"complete":true,"data":{}}}'
fi
`,
	"undo.sh": `#!/bin/sh
call=$(cat)
echo "$call" >>"$NOTES/undo"
echo "undone: $(echo "$call" | sed 's/.*"Initial":"\(\([^"\\]\|\\.\)*\)".*/\1/')" >&2
echo '{"success":true,"result":true}'
`,
}

func newCanaries(t *testing.T) *canaries {
	t.Helper()
	functions, notes := filepath.Join(t.TempDir(), "functions"), t.TempDir()
	if err := os.Mkdir(functions, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range canaryFunctions {
		mode := os.FileMode(0o600)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o700
		}
		if err := os.WriteFile(filepath.Join(functions, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	l := newListOf(t, "Upn TEXT, First TEXT, Start TEXT")
	m := newMachineWith(t, []byte("{}"), environment{
		handler: map[string]string{"PEOPLE": "sqlite:" + l.file, "LOG_LEVEL": "debug", "API_REQUESTS_PER_SECOND": "10000"},
		worker:  map[string]string{"CUSTOM_FUNCTIONS_DIR": functions, "NOTES": notes, "LOG_LEVEL": "debug"},
		noTimer: true,
	}, everything)
	c := &canaries{machine: m, admin: signIn(m), t: t, notes: notes}
	c.announced(anyWorker)
	c.signTokens()
	c.follow(l)
	return c
}

// follow has a runbook follow a data source with secrets, and additions and removals of it
// held.
func (c *canaries) follow(l *list) {
	c.t.Helper()
	add := func(days, from, to int) {
		start := time.Now().AddDate(0, 0, days).UTC().Format(time.RFC3339)
		var rows [][]any
		for i := from; i < to; i++ {
			upn := fmt.Sprintf("row%d@example.com", i)
			rows = append(rows, []any{upn, canaryOf("Row", upn), start})
		}
		l.doAll("INSERT INTO people VALUES (?, ?, ?)", rows)
	}
	c.write("found.yaml", []byte(canarySource))
	c.must("runbook", "publish", c.path("found.yaml"), "--force")
	add(30, 0, 10)
	c.must("automation", "enable", "found")
	c.must("notification", "add", "alarm", "--event", "failures", "--mail", "worker-01")
	c.must("notification", "test", "alarm")
	c.tick()
	var batches api.Page[api.Batch]
	if c.ask(&batches, "batch", "list", "--runbook", "found"); len(batches.Items) != 1 || batches.Items[0].MemberCount != 10 {
		c.t.Fatalf("the data source made %+v", batches.Items)
	}
	c.must("batch", "remove-member", fmt.Sprint(batches.Items[0].ID), "--search", "row9", "--reason", "left", "--yes")
	l.do("DELETE FROM people WHERE Upn < 'row8'")
	c.tick()
	l.do("UPDATE people SET First = ?", canaryOf("Row", "changed"))
	add(40, 100, 250)
	c.tick()
}

// signTokens makes a token for each role, with the keys of the local Entra ID.
func (c *canaries) signTokens() {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.path("data"), "entra", "signing-keys.pem"))
	if err != nil {
		c.t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		c.t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(c.path("home"), "tokens.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.tokens = map[string]string{}
	for _, token := range regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`).FindAllString(string(kept), -1) {
		claims := jwt.MapClaims{}
		parsed, _, err := jwt.NewParser().ParseUnverified(token, claims)
		if err != nil || claims["roles"] == nil {
			continue
		}
		for name, roles := range map[string][]string{"admin": {entra.RoleAdmin}, "reader": {entra.RoleReader}, "no role": {}} {
			claims["roles"] = roles
			signed := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
			signed.Header["kid"] = parsed.Header["kid"]
			if c.tokens[name], err = signed.SignedString(key); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	if len(c.tokens) == 0 {
		c.t.Fatal("the sign-in has no token of the API")
	}
	c.tokens["anonymous"] = ""
}

// absent fails the test where a text has a canary.
func (c *canaries) absent(where string, text []byte) {
	c.t.Helper()
	for _, at := range canaryForms.FindAllIndex(text, 3) {
		c.t.Errorf("%s has a secret: …%q…", where, text[max(0, at[0]-300):min(len(text), at[1]+40)])
	}
}

// get asks the admin API.
func (c *canaries) get(role, address string) (status int, body []byte) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if token := c.tokens[role]; token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		c.t.Fatal(err)
	}
	c.absent(fmt.Sprintf("as %s: GET %s", role, address), append(fmt.Appendf(nil, "%v ", response.Header), body...))
	return response.StatusCode, body
}

// openAPI is the part of the API's description that the test reads.
type openAPI struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Parameters map[string]parameter
		Schemas    map[string]schema
	}
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
	Required bool
	Schema   schema
}

type schema struct {
	Ref   string `json:"$ref"`
	Enum  []string
	Items *schema // of a list of values, of which the test gives one at a time
}

// unlisted are values of the query parameters that have no enumeration.
var unlisted = map[string][]string{
	"limit": {"1000"}, "search": {"a"}, "continuationToken": nil, "runbook": {"moves"}, "topic": {message.TopicWorkerResults, message.TopicWorkerJobs},
	"name": {"none"}, "owner": {"nobody"}, "text": {"a", canary},
	"phase": {"create"}, "member": {"1"}, "by": {"nobody"}, "from": {"2020-01-01T00:00:00Z"}, "to": {"2099-01-01T00:00:00Z"},
}

// expected are the statuses that a GET route may answer the test with. A batch without held
// removals and a runbook without a data source answer 404 and 409.
var expected = []int{http.StatusOK, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict}

// askEverything sends a request to each GET route of the API's description, with each value
// of each parameter and as each role. A route that it cannot fill fails the test.
func (c *canaries) askEverything() {
	c.t.Helper()
	base := strings.TrimSuffix(c.endpoints.CLI["MATOOLKIT_API_URL"], "/")
	var document openAPI
	if _, body := c.get("admin", base+"/openapi.json"); json.Unmarshal(body, &document) != nil || len(document.Paths) < 20 {
		c.t.Fatalf("the description of the API has %d paths", len(document.Paths))
	}
	fill := map[string][]string{"/runbooks/{name}": {"moves", "found"}, "/runbooks/{name}/versions/{version}": {"1"}, "/workers/{id}": {"worker-01"}, "/pipelines/{name}": {"asked"}, "/pipelines/{name}/batches/{id}": {c.asked}, "/notifications/{name}": {"alarm"}, "/batches/{id}/members/{member}": {"1", "2", "3"}, "/batches/{id}/tasks/{task}": c.tasks()}
	for _, b := range c.batches() {
		fill["/batches/{id}"] = append(fill["/batches/{id}"], fmt.Sprint(b.ID))
	}
	for _, b := range c.batches() {
		var steps api.Page[api.Step]
		c.ask(&steps, "batch", "steps", fmt.Sprint(b.ID), "--all")
		for _, s := range steps.Items {
			fill["/batches/{id}/steps/{stepId}"] = append(fill["/batches/{id}/steps/{stepId}"], fmt.Sprint(s.ID))
		}
	}
	for _, m := range c.messages() {
		fill["/messages/unprocessed/{id}"] = append(fill["/messages/unprocessed/{id}"], m.ID)
	}
	for path, methods := range document.Paths {
		if _, reads := methods["get"]; !reads {
			continue
		}
		addresses := []string{""}
		for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
			values := []string{part}
			if strings.HasPrefix(part, "{") {
				prefix := path[:strings.Index(path, part)+len(part)]
				if values = fill[prefix]; len(values) == 0 {
					c.t.Fatalf("GET %s: the test has no value for %s: add it to askEverything", path, prefix)
				}
			}
			var next []string
			for _, address := range addresses {
				for _, value := range values {
					next = append(next, address+"/"+url.PathEscape(value))
				}
			}
			addresses = next
		}
		var operation struct{ Parameters []parameter }
		if err := json.Unmarshal(methods["get"], &operation); err != nil {
			c.t.Fatal(err)
		}
		queries, needed := []string{""}, ""
		for _, p := range operation.Parameters {
			if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
				p = document.Components.Parameters[name]
			}
			if p.In != "query" {
				continue
			}
			if p.Schema.Items != nil {
				p.Schema = *p.Schema.Items
			}
			if name, ok := strings.CutPrefix(p.Schema.Ref, "#/components/schemas/"); ok {
				p.Schema = document.Components.Schemas[name]
			}
			values, known := p.Schema.Enum, len(p.Schema.Enum) > 0
			if !known {
				values, known = unlisted[p.Name]
			}
			if !known {
				c.t.Fatalf("GET %s: the test has no value for the query parameter %s: add it to unlisted", path, p.Name)
			}
			if p.Required {
				needed = p.Name + "=" + url.QueryEscape(values[0])
				queries[0] = "?" + needed
				values = values[1:]
			}
			for _, value := range values {
				query := "?" + p.Name + "=" + url.QueryEscape(value)
				if needed != "" && !p.Required {
					query = "?" + needed + "&" + query[1:]
				}
				queries = append(queries, query)
			}
		}
		answered := false
		for _, address := range addresses {
			for _, query := range queries {
				for role := range c.tokens {
					if query != queries[0] && role != "admin" && role != "reader" {
						continue // it is answered or refused as without the query
					}
					status, body := c.get(role, base+address+query)
					answered = answered || role == "admin" && status == http.StatusOK
					if !slices.Contains(expected, status) || role == "anonymous" && status == http.StatusOK && path != "/health" && path != "/console/config.json" {
						c.t.Errorf("as %s: GET %s: %d %s", role, address+query, status, body)
					}
				}
			}
		}
		if !answered {
			c.t.Errorf("GET %s: no request was answered with 200", path)
		}
	}
}

// tasks are the tasks of all batches, from the audit records.
func (c *canaries) tasks() (all []string) {
	c.t.Helper()
	var records api.Page[api.AuditRecord]
	c.ask(&records, "audit", "list", "--action", "remove_member")
	for _, r := range records.Items {
		var after struct{ Task string }
		if err := json.Unmarshal(r.After, &after); err == nil && after.Task != "" {
			all = append(all, after.Task)
		}
	}
	return all
}

func (c *canaries) batches() []api.Batch {
	c.t.Helper()
	var page api.Page[api.Batch]
	c.ask(&page, "batch", "list", "--all")
	return page.Items
}

// messages are all kept messages.
func (c *canaries) messages() (all []api.UnprocessableMessage) {
	c.t.Helper()
	for _, status := range []string{"open", "replayed", "discarded"} {
		var page api.Page[api.UnprocessableMessage]
		c.ask(&page, "messages", "list", "--all", "--status", status)
		all = append(all, page.Items...)
	}
	return all
}

// changing are the commands that change something, or that read nothing of the API.
const changing = `auth login|auth logout|auth status|config set|config show|config path|completion|version|
	pipeline start|pipeline shadow|pipeline share|pipeline limit|pipeline compare|runbook publish|runbook delete|runbook lint|runbook init|runbook schema|automation enable|automation disable|runbook confirm-additions|runbook discard-additions|
	batch create|batch set|batch check|batch advance|batch cancel|batch pause|batch resume|batch approve|batch add-members|batch remove-member|
	batch confirm-removals|batch discard-removals|batch move-members|batch reschedule|batch update-members|member set|member clear-override|member move|batch retry|batch skip-step|batch mark-done|batch task|messages replay|messages discard|
	notification add|notification test|notification remove|tenant export`

// refused has the refusals of the commands that read what this system does not have.
var refused = map[string]string{"scaler plan": "the container scaler is not configured"}

// runEverything runs each command that reads, in each form and as each role. A command that
// the test does not know fails it.
func (c *canaries) runEverything() {
	c.t.Helper()
	var batches, messages [][]string
	for _, b := range c.batches() {
		batches = append(batches, []string{fmt.Sprint(b.ID)})
	}
	for _, m := range c.messages() {
		messages = append(messages, []string{m.ID})
	}
	var members, steps [][]string
	for _, b := range c.batches() {
		id := fmt.Sprint(b.ID)
		var people api.Page[api.Member]
		c.ask(&people, "batch", "members", id, "--all")
		for _, m := range people.Items {
			members = append(members, []string{id, fmt.Sprint(m.ID)})
		}
		var all api.Page[api.Step]
		c.ask(&all, "batch", "steps", id, "--all")
		for _, s := range all.Items {
			steps = append(steps, []string{id, fmt.Sprint(s.ID)})
		}
	}
	one := [][]string{{}}
	runbooks := [][]string{{"moves"}, {"found"}}
	with := func(list [][]string, more ...string) (all [][]string) {
		for _, l := range list {
			all = append(all, append(slices.Clone(l), more...))
		}
		return all
	}
	reads := map[string][][]string{
		"runbook list": one, "runbook get": append(runbooks, []string{"moves", "--version", "1"}), "runbook versions": runbooks, "runbook audit": runbooks,
		"runbook diff": {{"moves", "1", "1"}, {"moves", c.path("found.yaml")}}, "template download": with(runbooks, "--file", "-"),
		"query preview": {{"found", "--rows", "1000"}}, "automation status": runbooks, "automation history": runbooks, "runbook additions": runbooks,
		"find": {{"x"}, {canary}}, "batch list": one, "batch get": batches, "batch members": with(batches, "--all"), "batch phases": batches, "batch steps": with(batches, "--all"), "batch checks": with(batches, "--all"),
		"member list": with(batches, "--all"), "member get": members, "step list": with(batches, "--all"), "step get": steps, "batch errors": batches, "batch actions": batches,
		"batch audit": with(batches, "--all"), "batch removals": batches, "batch watch": {{"2", "--until-idle"}},
		"batch report":    append(with(batches, "--format", "csv", "--file", "-"), with(batches, "--format", "html", "--file", "-")...),
		"pipeline status": {{"asked", c.asked}}, "pipeline routing": {{"asked"}}, "pipeline comparisons": {{"asked"}}, "pipeline route": {{"asked", "--owner", "nobody"}}, "pipeline result": {{"asked", c.asked}, {"asked", "--owner", "nobody"}},
		"messages list": {{"--all"}, {"--status", "replayed"}, {"--status", "discarded"}}, "messages get": messages, "messages audit": {{"--all"}},
		"me": {{}}, "summary": {{}}, "scaler status": {{}}, "scaler plan": {{}}, "worker list": one, "worker get": {{"worker-01"}}, "notification list": one, "notification get": {{"alarm"}}, "notification deliveries": {{"alarm"}}, "audit list": one,
	}
	root := cli.NewRoot(command.Environment{})
	others := strings.FieldsFunc(changing, func(r rune) bool { return strings.ContainsRune("|\n\t", r) })
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if children := cmd.Commands(); len(children) > 0 {
			for _, child := range children {
				walk(child)
			}
			return
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "matoolkit ")
		lines, known := reads[name]
		switch {
		case known:
			c.runCommand(name, lines)
		case !slices.Contains(others, name):
			c.t.Errorf("the test does not know the command %q: add it to reads or to changing", name)
		}
	}
	walk(root)
}

func (c *canaries) runCommand(name string, lines [][]string) {
	c.t.Helper()
	succeeded, failure := false, ""
	for _, line := range lines {
		for _, format := range []string{"table", "json", "yaml", "csv"} {
			for _, role := range []string{"admin", "reader"} {
				var out, errs bytes.Buffer
				root := cli.NewRoot(command.Environment{
					Stdout: &out, Stderr: &errs, Terminal: format == "table", Width: 400,
					Getenv: func(name string) string { return c.env[name] },
					Token:  func(context.Context) (string, error) { return c.tokens[role], nil },
				})
				root.SetArgs(slices.Concat(strings.Fields(name), line, []string{"--output", format}))
				ctx, cancel := context.WithTimeout(c.t.Context(), patience)
				status := cli.Execute(ctx, root)
				cancel()
				c.absent(fmt.Sprintf("as %s: %s %v as %s", role, name, line, format), append(out.Bytes(), errs.Bytes()...))
				succeeded = succeeded || status == exit.OK && role == "admin" && out.Len() > 0
				if role == "admin" && format == "table" {
					failure = errs.String()
				}
				if status == exit.Unavailable {
					c.t.Errorf("%s %v: status %d: %s", name, line, status, errs.String())
				}
			}
		}
	}
	switch refused := refused[name]; {
	case refused == "" && !succeeded:
		c.t.Errorf("%s never succeeded: %s", name, failure)
	case refused != "" && (succeeded || !strings.Contains(failure, refused)):
		c.t.Errorf("%s is not refused with %q: %s", name, refused, failure)
	}
}

// look looks for the canaries in all answers, in the logs and in the files of the system,
// which have all documents of the store. Only the broker's files have secrets in the clear:
// the worker's jobs and the messages that this test sends. The notes of the functions, which
// stand for the tenant, are not searched.
func (c *canaries) look(when string) {
	c.t.Helper()
	c.t.Logf("%s: %s", time.Since(c.began).Round(time.Millisecond), when)
	c.askEverything()
	c.runEverything()
	for _, name := range []string{everything, workerProcess} {
		text, err := os.ReadFile(c.path(name + ".log"))
		if err != nil || len(text) == 0 {
			c.t.Fatalf("%s has no log: %v", name, err)
		}
		c.absent(when+": the log of "+name, text)
	}
	found := map[string]bool{} // parts of the system whose files have a secret
	err := filepath.WalkDir(c.path("data"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(c.path("data"), path)
		part, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if found[part] = found[part] || canaryForms.Match(text); part != "servicebus" {
			c.absent(when+": the file "+name, text)
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, part := range []string{"cosmos", "servicebus"} {
		if has, looked := found[part]; !looked || has != (part == "servicebus") {
			c.t.Errorf("%s: files of %s: read %t, with a secret %t", when, part, looked, has)
		}
	}
}

// awaitNotes waits until the functions have noted so many calls.
func (c *canaries) awaitNotes(name string, part string, n int) string {
	c.t.Helper()
	var text []byte
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		text, _ = os.ReadFile(filepath.Join(c.notes, name)) // not there before the first call
		if strings.Count(string(text), part) >= n {
			return string(text)
		}
	}
	c.t.Fatalf("%s noted %q %d times, want %d", name, part, strings.Count(string(text), part), n)
	return ""
}

func (c *canaries) people(names ...string) string {
	c.t.Helper()
	rows := "Upn,First,Code\n"
	for _, name := range names {
		quoted := func(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
		rows += fmt.Sprintf("%s@example.com,%s,%s\n", name, quoted(canaryOf("Column", name)), quoted(canaryOf("Pin", name)))
	}
	file := c.path(names[0] + ".csv")
	c.write(names[0]+".csv", []byte(rows))
	return file
}

// create creates a batch of the runbook moves and gives its number.
func (c *canaries) create(names ...string) {
	c.t.Helper()
	var b api.Batch
	c.ask(&b, "batch", "create", "moves", c.people(names...))
	c.batch = fmt.Sprint(b.ID)
}

// untilPhase waits until members of a phase of the batch stand as wanted.
func (c *canaries) untilPhase(name string, is func(api.Phase) bool) {
	c.t.Helper()
	if err := c.await(name, is); err != nil {
		c.t.Fatal(err)
	}
}

// TestNobodyButTheWorkerReadsASecret sends secrets through success, failure, retry,
// rollback, removal, dead letters and messages that cannot be processed. Then it looks for them
// in every answer of the API and of the command line, in all logs and in the whole store.
func TestNobodyButTheWorkerReadsASecret(t *testing.T) {
	t.Parallel()
	c := newCanaries(t)
	c.write("moves.yaml", []byte(canaryRunbook))
	c.must("runbook", "publish", c.path("moves.yaml"), "--force")
	var view api.Runbook
	if c.ask(&view, "runbook", "get", "moves"); !slices.Equal(view.Secrets, []string{"Code", "First", "Token"}) {
		t.Fatalf("the secrets are %v", view.Secrets)
	}

	c.create("ann", "bad", "cid")
	c.must("batch", "advance", c.batch, "--phase", "create", "--yes")
	c.untilPhase("create", func(p api.Phase) bool { return p.Succeeded == 2 && p.Failed == 1 })
	c.awaitNotes("undo", "bad@example.com", 1)
	for _, want := range []string{canaryOf("Column", "ann"), canaryOf("Pin", "ann")} {
		encoded, _ := json.Marshal(want)
		if quick := strings.ReplaceAll(string(encoded), `\u0026`, "&"); !strings.Contains(strings.ReplaceAll(c.awaitNotes("make", "ann@example.com", 1), `\u0026`, "&"), quick) {
			t.Errorf("the worker's function did not get %s", quick)
		}
	}
	c.write("asked.yaml", []byte(canaryRequested))
	c.must("runbook", "publish", c.path("asked.yaml"), "--force")
	items, err := json.Marshal([]map[string]string{{"Upn": "req@example.com", "First": canaryOf("Column", "req")}})
	if err != nil {
		t.Fatal(err)
	}
	c.write("items.json", items)
	var asked api.PipelineBatch
	c.ask(&asked, "pipeline", "start", "asked", "--owner", "nobody", "--items", c.path("items.json"), "--wait")
	c.asked = fmt.Sprint(asked.ID)
	c.unprocessable()
	c.look("a member has failed, and messages are kept")

	if err := os.WriteFile(filepath.Join(c.notes, "mended"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.must("batch", "retry", c.batch, "--reason", "mended", "--yes")
	c.untilPhase("create", func(p api.Phase) bool { return p.Succeeded == 3 })
	c.must("batch", "remove-member", c.batch, "3", "--yes", "--reason", "left")
	c.awaitNotes("undo", "cid@example.com", 1)
	c.must("batch", "advance", c.batch, "--phase", "verify", "--yes")
	c.untilPhase("verify", ended)
	c.awaitNotes("check", canary, 4)
	c.look("a member was retried, another removed")

	c.deadLetters()
	c.look("jobs were dead-lettered")
}

// TestCanariesAreFound: the search finds a canary in each form in which it can leave the
// system.
func TestCanariesAreFound(t *testing.T) {
	t.Parallel()
	value := canaryOf("Column", "ann")
	quoted, _ := json.Marshal(value)
	forms := []string{value, string(quoted), strings.ToUpper(value), url.QueryEscape(value), hex.EncodeToString([]byte(value)), fmt.Sprintf("%q", string(quoted))}
	for shift := range 3 {
		before := strings.Repeat("{", shift)
		forms = append(forms, base64.StdEncoding.EncodeToString([]byte(before+value)), base64.RawURLEncoding.EncodeToString([]byte(before+value)))
	}
	for _, form := range forms {
		if !canaryForms.MatchString("before " + form + " behind") {
			t.Errorf("a secret is not found in %s", form)
		}
	}
	if found := canaryForms.FindString("the canary is (secret)"); found != "" {
		t.Errorf("%q is taken for a secret", found)
	}
}
