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
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/batches"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/local/entra"
)

const waves = `name: waves
data_source:
  type: csv
  connection: PEOPLE
  primary_key: UserId
  batch_time_column: Start
  addition_guard: {number: 3}
phases:
  - name: prepare
    offset: T-1d
    steps:
      - name: check
        worker_id: worker-01
        function: Test-User
        params: {Mail: "{{Mail}}"}
  - name: move
    offset: T-0
    steps:
      - name: move
        worker_id: worker-01
        function: Move-User
        params: {Id: "{{UserId}}"}
on_member_removed:
  - name: tell
    worker_id: worker-01
    function: Send-Mail
    params: {Mail: "{{Mail}}"}
`

// found writes the file in which the data source finds people.
func (s *system) found(lines ...string) {
	s.t.Helper()
	check(s.t, os.WriteFile(s.people, []byte("UserId,Mail,Start\n"+strings.Join(lines, "\n")+"\n"), 0o600))
}

func (s *system) tick() {
	s.t.Helper()
	check(s.t, s.app.Tick(s.ctx))
}

// What differs from run to run: how far away the start is, and how long a query took.
var varying = []struct {
	found *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`in \d+ days`), "in N days"},
	{regexp.MustCompile(`since \d{4}-\d\d-\d\d \d\d:\d\d UTC`), "since DATE"},
	{regexp.MustCompile(`\n *"durationMs": \d+,`), ""}, // of less than one there is none
	{regexp.MustCompile(`--continue '[0-9a-f]{16}-`), "--continue 'LIST-"},
	{regexp.MustCompile(`(etag"?: "?)[0-9a-f]{24}`), "${1}E"},
	{regexp.MustCompile(`The query took \S+\. `), "The query took <1s. "},
	{tookAndNote, "Z  <1s   "},
}

// withoutVarying gives the recorded text, the same for each run.
func (s *transcript) withoutVarying() string {
	shown := s.String()
	for _, v := range varying {
		shown = v.found.ReplaceAllString(shown, v.shown)
	}
	return shown
}

// Batches that follow the data of their people, as an administrator sees them.
func TestAutomation(t *testing.T) {
	t.Parallel()
	const when = "2086-05-04T18:00:00Z" // long after this test is of use to anyone
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.signedIn()}
	s.type_(0, "runbook", "publish", s.file("waves.yaml", waves), "--force")
	s.type_(0, "runbook", "publish", s.file("moves.yaml", moves), "--force")
	s.type_(4, "automation", "status", "others")
	s.type_(0, "automation", "status", "waves")
	s.type_(5, "automation", "enable", "moves")
	s.type_(5, "query", "preview", "moves")
	s.type_(5, "query", "preview", "waves")

	system.found("u1,a@contoso.com,"+when, "u2,b@contoso.com,"+when, "u3,c@contoso.com,"+when, "u4,,"+when, "u4,d@contoso.com,"+when, "u5,e@contoso.com,soon")
	s.type_(0, "query", "preview", "waves", "--rows", "2")
	s.type_(0, "automation", "enable", "waves")
	system.tick()
	s.type_(0, "automation", "status", "waves")
	s.type_(4, "batch", "removals", "1")

	system.found("u1,a@contoso.com,"+when, "u4,d@contoso.com,"+when, "u5,e@contoso.com,"+when)
	s.type_(0, "query", "preview", "waves", "--rows", "1")
	s.type_(0, "query", "preview", "waves", "--rows", "1", "--output", "json")
	system.tick()
	s.type_(0, "automation", "status", "waves")
	s.type_(0, "runbook", "list")
	left := must(os.ReadFile(system.people))
	check(t, os.Remove(system.people)) // the next tick fails
	system.tick()
	s.type_(0, "runbook", "get", "waves")
	check(t, os.WriteFile(system.people, left, 0o600))
	s.type_(0, "batch", "list")
	s.type_(0, "batch", "get", "1")
	s.type_(0, "batch", "removals", "1")
	s.type_(0, "batch", "removals", "1", "--quiet")
	s.type_(5, "batch", "removals", "1", "--continue", "x")
	s.type_(0, "summary")
	s.type_(0, "summary", "--output", "csv")
	s.type_(2, "batch", "confirm-removals", "1")
	s.type_(5, "batch", "confirm-removals", "1", "--yes", "--revision", "0123456789abcdef")
	s.type_(0, "batch", "discard-removals", "1", "--reason", "the export was cut off")
	s.type_(4, "batch", "confirm-removals", "1", "--yes")
	s.type_(0, "batch", "get", "1")

	// Those who stay have been found again, and are gone again.
	system.found("u1,a@contoso.com,"+when, "u2,b@contoso.com,"+when, "u3,c@contoso.com,"+when, "u4,d@contoso.com,"+when, "u5,e@contoso.com,"+when)
	system.tick()
	system.found()
	system.tick()
	system.found("u1,a@contoso.com,"+when, "u4,d@contoso.com,"+when, "u5,e@contoso.com,"+when)
	system.tick()
	s.type_(0, "batch", "confirm-removals", "1", "--yes", "--reason", "they have left")
	s.until("no removals are held", "batch", "removals", "1")
	for _, key := range []string{"u2", "u3"} {
		s.until(key, "batch", "steps", "1", "--status", "succeeded")
	}
	s.untilNot("on_member_removed", "batch", "members", "1")
	s.type_(0, "batch", "members", "1")
	s.type_(0, "batch", "list")

	// The query returns many more people than there are members.
	many := []string{"u1,a@contoso.com," + when, "u4,d@contoso.com," + when, "u5,e@contoso.com," + when}
	kept := many
	for i := range 4 {
		many = append(many, fmt.Sprintf("v%03d,v%d@contoso.com,%s", i, i, when))
	}
	s.type_(4, "runbook", "additions", "waves")
	system.found(many...)
	s.type_(0, "query", "preview", "waves", "--rows", "1")
	system.tick()
	s.type_(0, "automation", "status", "waves")
	s.type_(0, "runbook", "list")
	s.type_(0, "runbook", "additions", "waves")
	s.type_(0, "runbook", "additions", "waves", "--limit", "2")
	s.type_(0, "runbook", "additions", "waves", "--all", "--quiet")
	s.type_(2, "runbook", "confirm-additions", "waves")
	s.type_(5, "runbook", "confirm-additions", "waves", "--revision", "0123456789abcdef")
	held, _, _ := s.run("runbook", "additions", "waves", "--output", "json")
	var additions api.AdditionHold
	check(t, json.Unmarshal([]byte(held), &additions))
	s.type_(0, "runbook", "confirm-additions", "waves", "--revision", additions.Revision, "--dry-run")
	s.type_(0, "runbook", "confirm-additions", "waves", "--revision", additions.Revision, "--reason", "wave 2")
	s.type_(0, "automation", "status", "waves")
	s.type_(0, "runbook", "additions", "waves", "--quiet")
	system.found(kept...) // it was a mistake after all
	system.tick()
	s.type_(4, "runbook", "additions", "waves")
	s.type_(2, "runbook", "discard-additions", "waves")
	system.found(many...)
	system.tick()
	s.type_(5, "runbook", "discard-additions", "waves", "--revision", "0123456789abcdef")
	s.type_(0, "runbook", "discard-additions", "waves", "--revision", additions.Revision, "--dry-run")
	s.type_(0, "runbook", "discard-additions", "waves", "--revision", additions.Revision, "--reason", "the query lost its filter")
	s.type_(4, "runbook", "additions", "waves")
	s.type_(0, "automation", "status", "waves")
	system.tick()
	s.type_(0, "query", "preview", "waves", "--rows", "1")
	s.type_(0, "runbook", "confirm-additions", "waves", "--revision", additions.Revision, "--dry-run")
	system.found(kept...)
	system.tick()

	// Another batch has one of the people.
	s.type_(0, "batch", "create", "moves", s.file("moves.csv", "UserId,Mail\nw1,w1@contoso.com\n"))
	system.found(append(kept, "w1,w1@contoso.com,"+when, "w2,w2@contoso.com,"+when)...)
	s.type_(0, "query", "preview", "waves", "--rows", "1")
	system.found(kept...)

	// The file is away: the runbook tells, and its batch stays as it is.
	system.tick()
	check(t, os.Remove(system.people))
	system.tick()
	s.type_(0, "automation", "status", "waves")
	s.type_(0, "runbook", "list")
	s.type_(0, "summary")
	s.type_(0, "automation", "history", "waves")
	s.type_(0, "automation", "history", "waves", "--output", "csv", "--columns", "rows,added,removed,changed,held,problems")
	s.type_(0, "automation", "disable", "waves")
	s.type_(0, "automation", "status", "waves", "--output", "json")
	golden(t, "automation", s.withoutVarying())
}

func TestAutomationIsForAdministrators(t *testing.T) {
	t.Parallel()
	p := newSystem(t, entra.DefaultReaderUPN).signedIn()
	for args, want := range map[string]int{
		"automation enable moves": 3, "automation disable moves": 3, "query preview moves": 3, "automation status moves": 4, "batch removals 1": 4,
		"runbook additions moves": 4, "runbook confirm-additions moves --revision 0123456789abcdef": 3,
	} {
		if _, err, status := p.run(strings.Fields(args)...); status != want {
			t.Errorf("a reader's %s: status %d, want %d: %s", args, status, want, err)
		}
	}
}

const twoHeld = `{"batchId":7,"memberCount":2,"activeCount":4,"reason":"the query returned no rows","since":"2026-01-02T03:04:05Z","revision":"r1",
	"items":[{"id":3,"memberKey":"u3","status":"active","data":{},"addedAt":"2026-01-02T03:04:05Z","movesTo":"2026-02-02T03:04:05Z"}],"continuationToken":"1"}`

// The command confirms the removals that it asks about, though others are held by the time of
// the answer.
func TestConfirmRemovalsAsks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer string
		args   []string
		status int
		sent   string
	}{
		{"y\n", nil, 0, `{"revision":"r1"}`},
		{"n\n", nil, 1, ""},
		{"", nil, 1, ""},
		{"y\n", []string{"--revision", "r1", "--reason", "gone"}, 0, `{"revision":"r1","reason":"gone"}`},
		{"y\n", []string{"--revision", "r0"}, 5, ""},
	} {
		var mu sync.Mutex
		sent := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, twoHeld)
				return
			}
			sent += string(body)
			_, _ = io.WriteString(w, `{"id":7,"runbook":"moves","status":"active","memberCount":4}`)
		}))
		var out, notices strings.Builder
		root := cli.NewRoot(command.Environment{
			Stdin: strings.NewReader(tt.answer), Stdout: &out, Stderr: &notices, Terminal: true, Width: 80,
			Token:  func(context.Context) (string, error) { return "token", nil },
			Getenv: func(name string) string { return map[string]string{"MATOOLKIT_API_URL": s.URL}[name] },
		})
		root.SetArgs(append([]string{"batch", "confirm-removals", "7"}, tt.args...))
		status := cli.Execute(t.Context(), root)
		s.Close()
		asked := strings.Contains(notices.String(), "the query returned no rows\n  u3, moves to 2026-02-02 03:04:05Z\n  and 1 more\nRemove 2 of the 4 active members of batch 7? [y/N] ")
		if status != tt.status || sent != tt.sent || asked != (tt.status != 5) {
			t.Errorf("%q %v: status %d, sent %s: %s", tt.answer, tt.args, status, sent, notices.String())
		}
	}
}

// A wave that moved: the list names all four answers, and move-members asks.
func TestMoveMembersAsks(t *testing.T) {
	t.Parallel()
	moved := strings.Replace(twoHeld, `"reason":`, `"movingCount":2,"movesTo":"2026-03-06T09:00:00Z","reason":`, 1)
	for answer, want := range map[string]struct {
		status int
		sent   string
	}{"y\n": {0, `POST /api/batches/7/removals/move {"revision":"r1","reason":"late"}`}, "n\n": {1, ""}} {
		sent := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, moved)
				return
			}
			body, _ := io.ReadAll(r.Body)
			sent = r.Method + " " + r.URL.Path + " " + string(body)
			_, _ = io.WriteString(w, `{"id":7,"runbook":"moves","status":"active","memberCount":4}`)
		}))
		do := func(args ...string) (string, int) {
			var out, notices strings.Builder
			root := cli.NewRoot(command.Environment{
				Stdin: strings.NewReader(answer), Stdout: &out, Stderr: &notices, Terminal: true, Width: 80,
				Token:  func(context.Context) (string, error) { return "token", nil },
				Getenv: func(name string) string { return map[string]string{"MATOOLKIT_API_URL": s.URL}[name] },
			})
			root.SetArgs(append([]string{"batch"}, args...))
			status := cli.Execute(t.Context(), root)
			return notices.String(), status
		}
		listed, _ := do("removals", "7")
		notices, status := do("move-members", "7", "--reason", "late")
		s.Close()
		for _, command := range []string{"batch reschedule 7 --start 2026-03-06T09:00:00Z", "batch move-members 7 --revision r1", "batch confirm-removals 7 --revision r1", "batch discard-removals 7 --revision r1"} {
			if !strings.Contains(listed, command) {
				t.Errorf("the list does not name %s: %s", command, listed)
			}
		}
		if status != want.status || sent != want.sent || !strings.Contains(notices, "Move 2 of the 4 active members of batch 7? [y/N] ") {
			t.Errorf("%q: status %d, sent %s: %s", answer, status, sent, notices)
		}
	}
}

// Another batch has the start of the wave: a reschedule, which would be refused, is not named.
func TestRemovalsOfAWaveWhoseNewStartIsTaken(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Replace(twoHeld, `"reason":`, `"movingCount":2,"movesTo":"2026-03-06T09:00:00Z","movesToBatchId":9,"reason":`, 1))
	}))
	t.Cleanup(s.Close)
	p := newPerson(t)
	p.env["MATOOLKIT_API_URL"] = s.URL
	_, notices, status := p.as(80, "batch", "removals", "7")
	if status != 0 || strings.Contains(notices, "batch reschedule") {
		t.Errorf("status %d: %s", status, notices)
	}
	for _, words := range []string{"Batch 9 has the start 2026-03-06 09:00:00Z", "batch move-members 7 --revision r1", "batch confirm-removals 7 --revision r1", "batch discard-removals 7 --revision r1"} {
		if !strings.Contains(notices, words) {
			t.Errorf("the list does not say %q: %s", words, notices)
		}
	}
}

// A list that changes while it is read must not be taken for one of its revisions.
func TestRemovalsThatChangeWhileTheyAreRead(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := twoHeld
		if r.URL.Query().Has("continuationToken") {
			body = strings.NewReplacer(`"r1"`, `"r2"`, `,"continuationToken":"1"`, "").Replace(body)
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	p := newPerson(t)
	p.env["MATOOLKIT_API_URL"] = s.URL
	if out, err, status := p.as(0, "batch", "removals", "7", "--all"); status != 1 || out != "" || !strings.Contains(err, "repeat the command") {
		t.Errorf("status %d: %s%s", status, out, err)
	}
	if out, err, status := p.as(80, "batch", "removals", "7"); status != 0 || !strings.Contains(err, "--continue '1'") || !strings.Contains(out, "MOVES TO") || !strings.Contains(out, "2026-02-02 03:04:05Z") {
		t.Errorf("status %d: %s%s", status, out, err)
	}
}

const preview = `{"runbook":"my moves","version":3,"automationEnabled":false,"durationMs":2345,"rowCount":812,
	"columns":["UserId","status","Aliases","Note","Due"],
	"sample":[
		{"UserId":17,"status":"failed","Aliases":["a@contoso.com", "b@contoso.com"],"Note":"","Due":null},
		{"UserId":18,"status":"\u001b[31mx","Aliases":[],"Note":"a line\nand another that is longer than there is room for","Due":null}
	],
	"groups":[
		{"batchStartTime":"2026-01-02T03:04:05Z","rowCount":700,"add":700,"refresh":0,"remove":0,"held":0,"note":"1 phase due already"},
		{"batchStartTime":"2026-02-02T03:04:05Z","batchId":3,"status":"active","rowCount":100,"add":1,"refresh":2,"remove":0,"held":40,"note":"too many"},
		{"batchStartTime":"2026-03-02T03:04:05Z","rowCount":10,"add":0,"refresh":0,"remove":0,"held":0,"note":"no batch is created"}
	],
	"problemCount":3,"problems":[{"row":2,"memberKey":"u2","column":"Start","code":"bad-time","message":"column Start: \"soon\" is no time"},{"row":0,"code":"long-past","message":"all phases were due"}]}`

func TestPreviewFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]struct {
		width int
		args  []string
	}{"plain": {0, nil}, "terminal": {72, []string{"--no-color"}}, "colored": {200, nil}, "quiet": {72, []string{"--quiet"}}} {
		out, err, status := fake(t, 200, "application/json", preview).as(run.width, append([]string{"query", "preview", "my moves"}, run.args...)...)
		if status != 0 {
			t.Errorf("%s: status %d: %s", name, status, err)
		}
		if strings.Contains(out, "\x1b[31mx") {
			t.Errorf("%s: what a data source holds reaches the terminal: %q", name, out)
		}
		golden(t, "preview/"+name, strings.ReplaceAll(out, "\x1b", "ESC")+"-- notices --\n"+err)
	}
	out, err, status := fake(t, 200, "application/json", `{"runbook":"moves","automationEnabled":true,"columns":["UserId"],"sample":[],"groups":[],"problems":[]}`).as(72, "query", "preview", "moves")
	if status != 0 || !strings.Contains(out, "No batch would be created or changed.") || !strings.Contains(out, "0 rows, columns UserId") || strings.Contains(err, "off") {
		t.Errorf("status %d: %s%s", status, out, err)
	}
}

// A failed preview prints the error of the API.
func TestPreviewThatFails(t *testing.T) {
	t.Parallel()
	p := fake(t, 409, "application/problem+json", `{"detail":"runbook waves: sql: no such table: people","error":"conflict"}`)
	if out, err, status := p.as(80, "query", "preview", "waves"); status != 5 || out != "" || err != "matoolkit: runbook waves: sql: no such table: people\n" {
		t.Errorf("status %d: %s%s", status, out, err)
	}
}

// at gives a command at a moment, on no terminal.
func (p *person) at(now time.Time, args ...string) (stdout string, status int) {
	var out, err bytes.Buffer
	root := cli.NewRoot(command.Environment{
		Stdout: &out, Stderr: &err, Getenv: func(name string) string { return p.env[name] }, Now: func() time.Time { return now },
		Token: func(context.Context) (string, error) { return "token", nil },
	})
	root.SetArgs(args)
	status = cli.Execute(p.ctx, root)
	return out.String() + err.String(), status
}

// A batch that follows its schedule shows its start and its next phase.
func TestScheduledBatch(t *testing.T) {
	t.Parallel()
	begins := time.Date(2026, 3, 1, 18, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		before time.Duration
		change func(*api.Batch)
		says   []string
		not    string
	}{
		{"days ahead", 75*time.Hour + 20*time.Minute, nil, []string{"Starts on 2026-03-01 18:00:00Z, in 3 days.", "Next phase: prepare, due on 2026-02-28 18:00:00Z, in 2 days and 3 hours."}, "written"},
		{"a day ahead", 24*time.Hour + time.Minute, nil, []string{"in 1 day.", "Next phase: prepare, due on 2026-02-28 18:00:00Z, in 1 minute."}, ""},
		{"hours ahead", 90 * time.Minute, nil, []string{"in 1 hour and 30 minutes."}, "Next is"},
		{"two hours ahead", 2 * time.Hour, nil, []string{"in 2 hours."}, "Next is"},
		{"about to start", 10 * time.Second, nil, []string{"in less than a minute."}, ""},
		{"begun", -time.Hour, nil, []string{"2026-03-01 18:00:00Z"}, "Starts on"},
		{"made by hand", 75 * time.Hour, func(b *api.Batch) { b.IsManual = true }, nil, "2026-03-01"},
		{"ended", 75 * time.Hour, func(b *api.Batch) { b.Status = "cancelled" }, []string{"2026-03-01 18:00:00Z"}, "Starts on"},
		{"paused", 75 * time.Hour, func(b *api.Batch) { b.Paused = &api.Attribution{By: "ada"} }, []string{"active, paused", "Starts on"}, "Next is"},
		{"filling", 75 * time.Hour, func(b *api.Batch) { b.Filling = true }, []string{"active, filling", "Its members are being written; no phase has started."}, "Next is"},
		{"held", -time.Hour, func(b *api.Batch) {
			b.Held = &api.RemovalHoldSummary{BatchID: 42, Members: 3, Of: 7, Reason: "too many", Since: begins}
		}, []string{"active, removals held", "The removal of 3 of 7 active members is held since 2026-03-01 18:00:00Z: too many. List: matoolkit batch removals 42"}, ""},
		{"being removed", -time.Hour, func(b *api.Batch) {
			b.Held = &api.RemovalHoldSummary{BatchID: 42, Members: 3, Of: 7, Confirmed: &api.Attribution{By: "ada", At: begins, Why: "sold"}}
		}, []string{"3 of 7 active members are being removed, confirmed by ada on 2026-03-01 18:00:00Z: sold"}, "removals held"},
		{"one held", -time.Hour, func(b *api.Batch) {
			b.Held = &api.RemovalHoldSummary{BatchID: 42, Members: 1, Of: 3, Reason: "too many", Since: begins}
		}, []string{"The removal of 1 of 3 active members is held since 2026-03-01 18:00:00Z: too many. List: matoolkit batch removals 42"}, ""},
		{"one being removed", -time.Hour, func(b *api.Batch) {
			b.Held = &api.RemovalHoldSummary{BatchID: 42, Members: 1, Of: 3, Confirmed: &api.Attribution{By: "ada", At: begins}}
		}, []string{"1 of 3 active members is being removed, confirmed by ada"}, ""},
		{"some removed", -time.Hour, func(b *api.Batch) { b.MemberCount, b.RemovedCount = 12, 6 }, []string{"6 (+6 removed)"}, ""},
		{"all removed", -time.Hour, func(b *api.Batch) { b.RemovedCount = 7 }, []string{" 0 (+7 removed)"}, ""},
		{"keeping", -time.Hour, func(b *api.Batch) { b.DiscardedRemovals = 2 }, []string{"2 members are kept although the data source no longer returns them."}, ""},
		{"keeping one", -time.Hour, func(b *api.Batch) { b.DiscardedRemovals = 1 }, []string{"1 member is kept although"}, ""},
	} {
		b := api.Batch{ID: 42, RunbookName: "moves", Status: "active", BatchStartTime: &begins, MemberCount: 7}
		if tt.change != nil {
			tt.change(&b)
		}
		due := begins.Add(-24 * time.Hour)
		phases := api.Page[api.Phase]{Items: []api.Phase{{Name: "prepare", Status: "pending", DueAt: &due}}}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/phases") {
				_ = json.NewEncoder(w).Encode(phases)
				return
			}
			_ = json.NewEncoder(w).Encode(b)
		}))
		p := newPerson(t)
		p.env["MATOOLKIT_API_URL"] = s.URL
		out, status := p.at(begins.Add(-tt.before), "batch", "get", "42")
		s.Close()
		for _, want := range tt.says {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", tt.name, want, out)
			}
		}
		if status != 0 || tt.not != "" && strings.Contains(out, tt.not) {
			t.Errorf("%s: status %d, or there is %q in\n%s", tt.name, status, tt.not, out)
		}
	}
}

// scheduledScript is a batch that follows its schedule: it fills, waits, is held up
// by quiet hours, and has removals held for a while.
func scheduledScript() *script {
	due := start.Add(time.Hour) // a day before the batch starts
	waiting := phase(1, "prepare", "pending", 4, 0, 0, 0)
	waiting.DueAt = &due
	quiet := waiting
	quiet.Reason = "quiet hours until 2026-01-02T18:00:00Z"
	held := func(b *api.Batch) {
		b.Held = &api.RemovalHoldSummary{BatchID: 42, Members: 2, Of: 4, Reason: "too many", Since: start}
	}
	confirmed := func(b *api.Batch) {
		held(b)
		b.Held.Confirmed = &api.Attribution{By: "ada", At: start}
	}
	return &script{
		looks: []look{
			{"detected", "", []api.Phase{waiting}, nil},
			{"active", "", []api.Phase{waiting}, nil},
			{"active", "", []api.Phase{waiting}, nil},
			{"active", "", []api.Phase{waiting}, nil},
			{"active", "", []api.Phase{waiting}, nil},
			{"active", "", []api.Phase{quiet}, nil},
			{"active", "prepare", []api.Phase{phase(1, "prepare", "dispatched", 2, 0, 0, 2)}, nil},
			{"completed", "prepare", []api.Phase{phase(1, "prepare", "completed", 2, 2, 0, 0)}, nil},
		},
		change: map[int]func(*api.Batch){0: func(b *api.Batch) { b.Filling = true }, 2: held, 3: confirmed, 7: held},
	}
}

func TestWatchShowsASchedule(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	lines := render.NewLines(&out, true)
	_, pauses, err := follow(scheduledScript(), batches.WatchOptions{}, lines.Show)
	lines.Close()
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range pauses {
		if d != time.Second {
			t.Errorf("after look %d, at which something has changed, it waits %s", i, d)
		}
	}
	golden(t, "watch-schedule", out.String())

	for _, ended := range []bool{false, true} {
		s := scheduledScript()
		s.looks, s.change = s.looks[2:3], map[int]func(*api.Batch){0: s.change[2]}
		if ended {
			s.looks[0].status = "cancelled"
		}
		var drawn bytes.Buffer
		bars := render.NewBars(&drawn, 200, false)
		if _, _, err := follow(s, batches.WatchOptions{UntilIdle: true}, bars.Show); err != nil {
			t.Fatal(err)
		}
		bars.Close()
		want := "active, removals held, starts on 2026-01-03 04:04:00Z  (no phase is running; next is prepare, due on 2026-01-02 04:04:00Z)  (matoolkit batch removals 42)"
		if strings.Contains(drawn.String(), want) == ended || strings.Contains(drawn.String(), "removals 42") == ended {
			t.Errorf("ended %t: %q", ended, drawn.String())
		}
	}
}
