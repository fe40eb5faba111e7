package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// What a batch of two members, one of them failed, answers.
const (
	failedMember = `{"items":[
		{"id":1,"memberKey":"ada@contoso.com","status":"active","phase":"move","addedAt":"2026-01-02T03:04:05Z","data":{"UserId":"ada@contoso.com"}},
		{"id":7,"memberKey":"bob@contoso.com","status":"failed","failedPhase":"move","failedStep":"copy","failedAt":"2026-01-02T05:04:05Z","addedAt":"2026-01-02T03:04:05Z",
		 "data":{"UserId":"bob@contoso.com","Size":12},"workerData":{"guid":"0f1e"},
		 "error":"phase move: step \"copy\": the mailbox cannot be moved because there is a litigation hold on it, which an administrator of the source tenant has to remove first (MailboxOnHold)"}]}`
	failedSteps = `{"items":[
		{"id":20000007000,"phase":"move","runbookVersion":2,"kind":"phase","memberId":7,"memberKey":"bob@contoso.com","step":"check","functionName":"Test-Mailbox","workerId":"worker-01","status":"succeeded","dispatchedAt":"2026-01-02T05:00:00Z","completedAt":"2026-01-02T05:00:09Z","result":{"guid":"0f1e"}},
		` + failedStep + `]}`
	failedStep = `{"id":20000007001,"phase":"move","runbookVersion":2,"kind":"phase","memberId":7,"memberKey":"bob@contoso.com","step":"copy","functionName":"New-MoveRequest","workerId":"worker-01","status":"failed","retryCount":3,"jobId":"b42-s20000007001","dispatchedAt":"2026-01-02T05:00:10Z","completedAt":"2026-01-02T05:04:05Z","params":{"UserId":"bob@contoso.com"},"error":"the mailbox cannot be moved because there is a litigation hold on it, which an administrator of the source tenant has to remove first (MailboxOnHold)"}`
	movePhases = `{"items":[
		{"id":1,"name":"prepare","kind":"phase","runbookVersion":2,"status":"completed","members":25,"succeeded":23,"failed":2,"dispatchedAt":"2026-01-02T03:04:05Z","completedAt":"2026-01-02T03:06:05Z"},
		{"id":2,"name":"move","kind":"phase","runbookVersion":2,"status":"pending","members":23,"waiting":23}]}`
	oneBatch = `{"id":42,"runbook":"moves","runbookVersion":2,"status":"active","memberCount":25,"isManual":true,"currentPhase":"prepare","detectedAt":"2026-01-02T03:04:05Z","createdBy":"administrator@contoso.example"}`
)

// batchAPI answers for one batch, whose members and steps it lists page by page, and keeps the
// queries.
const repairOfTwo = `{"batchId":42,"action":"retry","task":"t1","selection":{},"effect":{"members":2,"sequences":0,"activeVersion":3,"groups":[
	{"phase":"move","step":"copy","status":"failed","errorGroup":"no mailbox … (NotFound)","members":2,"failedVersion":2,"version":2,"from":"copy","steps":3,"then":["verify"]}],
	"refusedCount":1,"refused":[{"memberId":9,"memberKey":"eve@contoso.com","reason":"version 2 has no step \"x\" in the phase"}]}}`

// taskReads are the answers about a task, one after the other.
var taskReads = []string{
	`{"id":"t1","batchId":42,"action":"retry","status":"running","selection":{},"requested":{"by":"ada","at":"2026-01-02T05:00:10Z"},"total":2,"finished":0,"refusedCount":0,"refused":[]}`,
	`{"id":"t1","batchId":42,"action":"retry","status":"running","selection":{},"requested":{"by":"ada","at":"2026-01-02T05:00:10Z"},"total":2,"finished":1,"refusedCount":0,"refused":[]}`,
	`{"id":"t1","batchId":42,"action":"retry","status":"completed","selection":{},"requested":{"by":"ada","at":"2026-01-02T05:00:10Z"},"endedAt":"2026-01-02T05:00:12Z","total":2,"finished":1,"refusedCount":1,"refused":[{"memberId":9,"memberKey":"eve@contoso.com","reason":"is in batch 43"}]}`,
}

func batchAPI(t *testing.T) (*person, *[]string) {
	t.Helper()
	var queries []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		queries = append(queries, r.URL.Path+"?"+r.URL.Query().Get("sort"))
		body := oneBatch
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/members"):
			body = failedMember
		case strings.Contains(path, "/members/"):
			body = oneMember(w, path[strings.LastIndex(path, "/")+1:])
		case strings.HasSuffix(path, "/steps"):
			body = failedSteps
		case strings.HasSuffix(path, "/steps/20000007001"):
			body = failedStep
		case strings.Contains(path, "/steps/"):
			body = none(w, "step "+path[strings.LastIndex(path, "/")+1:])
		case strings.HasSuffix(path, "/phases"):
			body = movePhases
		case strings.HasSuffix(path, "/batches"):
			body = twoBatches
		case strings.HasSuffix(path, "/remove"):
			body = strings.Replace(repairOfTwo, `"retry"`, `"remove_member"`, 1)
		case strings.HasSuffix(path, "/tasks/t1"):
			asked := len(slices.DeleteFunc(slices.Clone(queries), func(q string) bool { return !strings.Contains(q, "/tasks/t1") }))
			body = taskReads[min(asked, len(taskReads))-1]
		case strings.HasSuffix(path, "/retry"):
			body = repairOfTwo
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	p := newPerson(t)
	p.env["MATOOLKIT_API_URL"] = s.URL
	return p, &queries
}

// oneMember answers for a member by the number or the key.
func oneMember(w http.ResponseWriter, which string) string {
	var all struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(failedMember), &all); err != nil {
		panic(err)
	}
	for _, item := range all.Items {
		if strings.Contains(string(item), `"id":`+which+",") || strings.Contains(string(item), `"memberKey":"`+which+`"`) {
			return string(item)
		}
	}
	return none(w, "member "+which)
}

// none answers that the batch does not have it.
func none(w http.ResponseWriter, what string) string {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusNotFound)
	return fmt.Sprintf(`{"status":404,"error":"not_found","detail":"batch 42 has no %s"}`, what)
}

// Lists and items as they are shown on a terminal of 80 and of 120 columns. The columns that
// matter are there at 80, and no line is wider than the terminal.
func TestTerminalOutput(t *testing.T) {
	t.Parallel()
	p, _ := batchAPI(t)
	for _, width := range []int{80, 120} {
		var all strings.Builder
		for _, args := range []string{
			"batch list", "batch get 42", "batch members 42", "batch phases 42", "batch steps 42", "member get 42 7", "member get 42 bob@contoso.com", "step get 42 20000007001",
			"batch list -o wide", "batch members 42 --columns key,at-step,error", "batch list --sort runbook -o name",
		} {
			out, notices, status := p.as(width, append(strings.Fields(args), "--no-color")...)
			if status != 0 {
				t.Errorf("%s: status %d: %s", args, status, notices)
			}
			fmt.Fprintf(&all, "$ matoolkit %s\n%s%s\n", args, out, notices)
			for line := range strings.Lines(out) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width && !strings.Contains(args, "wide") {
					t.Errorf("%s at %d columns: a line of %d: %s", args, width, n, line)
				}
			}
			for command, wanted := range map[string][]string{
				"batch list": {"BATCH", "RUNBOOK", "VERSION", "STATUS"}, "batch members 42": {"MEMBER", "KEY", "STATUS", "AT STEP", "ERROR", "(MailboxOnHold)"},
				"batch steps 42": {"MEMBER", "NAME", "STATUS", "NOTE"}, "batch phases 42": {"completed with failures", "FAILED"},
			} {
				for _, w := range wanted {
					if args == command && !strings.Contains(out, w) {
						t.Errorf("%s at %d columns has no %s:\n%s", args, width, w, out)
					}
				}
			}
			if args == "batch phases 42" && strings.Contains(out, "CANCELLED") {
				t.Errorf("%s has a column that is zero in all rows:\n%s", args, out)
			}
		}
		golden(t, fmt.Sprintf("terminal-%d", width), all.String())
	}
}

// The API sorts by the columns that it can sort, the command by the others.
func TestSort(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"batch list --sort members -q": "/api/batches?memberCount 2 1", "batch list --sort=-created -q": "/api/batches?-detectedAt 2 1",
		"batch list --sort version -q": "/api/batches? 1 2", "batch list --sort=-completed -q": "/api/batches? 1 2",
		"batch list --sort=-MEMBERCOUNT -q": "/api/batches?-MEMBERCOUNT 2 1", "batch members 42 --sort=-failed -q": "/api/batches/42/members? 7 1",
		"batch phases 42 --sort failed -q": "/api/batches/42/phases? move prepare",
	} {
		p, queries := batchAPI(t)
		out, notices, status := p.as(0, strings.Fields(args)...)
		if got := strings.Join(append(*queries, strings.Fields(out)...), " "); status != 0 || got != want {
			t.Errorf("%s: status %d, %q, want %q: %s", args, status, got, want, notices)
		}
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	p, _ := batchAPI(t)
	for args, want := range map[string]string{
		"batch list --columns status,batch -o csv":                   "status,batch\nfailed,2\ncompleted,1\n",
		"batch list --columns runbook --columns batch":               "RUNBOOK  BATCH\nmoves    2\nmoves    1\n",
		"batch members 42 --columns key -q":                          "ada@contoso.com\nbob@contoso.com\n",
		"batch members 42 --columns At_Step,key":                     "AT STEP  KEY\n-        ada@contoso.com\ncopy     bob@contoso.com\n",
		"batch get 42 --columns batch,status -o csv":                 "batch,status\n42,active\n",
		"batch members 42 -o name":                                   "1\n7\n",
		"member get 42 7 --columns member,key,failed -o csv":         "member,key,failed\n7,bob@contoso.com,2026-01-02T05:04:05.000Z\n",
		"step get 42 20000007001 --columns step,name,retries -o csv": "step,name,retries\n20000007001,copy,3\n",
	} {
		if out, notices, status := p.as(0, strings.Fields(args)...); status != 0 || out != want {
			t.Errorf("%s: status %d, %q, want %q: %s", args, status, out, want, notices)
		}
	}
	for args, says := range map[string]string{
		"batch list --columns colour":              `--columns: unknown column "colour": use batch, name, runbook, version,`,
		"batch list --sort=-colour":                `--sort: unknown column "colour": use batch, name, runbook,`,
		"batch list --columns batch --output json": "--columns and --output json cannot be given together",
		"batch pause 42 --columns batch":           "unknown flag: --columns",
	} {
		if out, notices, status := p.as(0, strings.Fields(args)...); status != 2 || out != "" || !strings.Contains(notices, says) {
			t.Errorf("%s: status %d: %s%s", args, status, out, notices)
		}
	}
}

// One member, or one step, is printed in full, with the whole error.
func TestDetails(t *testing.T) {
	t.Parallel()
	p, _ := batchAPI(t)
	out, _, status := p.as(0, "member", "get", "42", "bob@contoso.com", "-o", "json")
	var member struct {
		Key   string `json:"memberKey"`
		Steps []struct {
			Error string `json:"error"`
		}
	}
	check(t, json.Unmarshal([]byte(out), &member))
	if status != 0 || member.Key != "bob@contoso.com" || len(member.Steps) != 2 || member.Steps[1].Error == "" {
		t.Errorf("status %d: %s", status, out)
	}
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"member get 42 9": {4, "batch 42 has no member 9"}, "member get 42 nobody@x": {4, "batch 42 has no member nobody@x"},
		"step get 42 9": {4, "batch 42 has no step 9"}, "step get 42 copy": {2, `invalid step "copy"`}, "member get 0 1": {2, `invalid batch "0"`},
	} {
		if out, notices, status := p.as(80, strings.Fields(args)...); status != want.status || out != "" || !strings.Contains(notices, want.says) {
			t.Errorf("%s: status %d: %s%s", args, status, out, notices)
		}
	}
}

// The names that users try stand for the commands.
func TestAliases(t *testing.T) {
	t.Parallel()
	p, _ := batchAPI(t)
	for alias, command := range map[string]string{
		"batch ls": "batch list", "batch show 42": "batch get 42", "batch describe 42": "batch get 42", "batches list": "batch list",
		"member ls 42": "batch members 42", "members show 42 7": "member get 42 7", "step list 42": "batch steps 42",
	} {
		out, _, status := p.as(100, strings.Fields(alias)...)
		same, _, _ := p.as(100, strings.Fields(command)...)
		if status != 0 || out != same {
			t.Errorf("%s: status %d, %q; %s prints %q", alias, status, out, command, same)
		}
	}
	file := p.file("moves.yaml", moves)
	if out, err, status := p.as(0, "runbook", "validate", file); !strings.Contains(out+err, "moves.yaml") || status > 1 {
		t.Errorf("runbook validate: status %d: %s%s", status, out, err)
	}
	if out, _, status := p.as(0, "version", "-o", "json"); status != 0 || !strings.Contains(out, `"version": "dev"`) {
		t.Errorf("version: status %d: %s", status, out)
	}
}

// A repair of many says what it does, and asks.
func TestRetryIsShownBeforeItIsConfirmed(t *testing.T) {
	t.Parallel()
	p, requests := batchAPI(t)
	effect := "Batch 42: 2 failed members, up to 6 steps in the phases where they failed, in 2 phases: move, verify.\n" +
		"  2 members of phase move, version 2: from step copy (3 steps), then verify. Failed at copy: no mailbox … (NotFound)\n" +
		"Version 3 is active. The members follow version 2, in which they failed; use --version active to follow the active one.\n" +
		"  eve@contoso.com cannot continue: version 2 has no step \"x\" in the phase\n"
	for answer, want := range map[string]struct {
		status   int
		requests int
		ends     string
	}{
		"y\n": {0, 2, "Started the retry of 2 failed members of batch 42.\nNext: matoolkit batch watch 42\n"},
		"n\n": {1, 1, "nothing was changed\n"},
	} {
		*requests = nil
		p.in = answer
		_, notices, status := p.as(80, "batch", "retry", "42")
		if status != want.status || len(*requests) != want.requests || !strings.HasSuffix(notices, want.ends) ||
			!strings.HasPrefix(notices, effect+"Retry 2 failed members of batch 42? [y/N] ") {
			t.Errorf("%q: status %d, requests %v: %s", answer, status, *requests, notices)
		}
	}
	versions := "Version 3 is active." + strings.SplitN(effect, "Version 3 is active.", 2)[1]
	if _, notices, status := p.as(80, "batch", "retry", "42", "--yes"); status != 0 || !strings.HasPrefix(notices, versions) {
		t.Errorf("--yes: status %d: %s", status, notices)
	}
	out, _, status := p.as(0, "batch", "retry", "42", "--dry-run", "-o", "json")
	if status != 0 || !strings.Contains(out, `"errorGroup": "no mailbox … (NotFound)"`) {
		t.Errorf("--dry-run: status %d: %s", status, out)
	}
}

// A bulk action is followed to its end, and the members who stay as they are decide the exit status.
func TestBulkActionIsFollowed(t *testing.T) {
	t.Parallel()
	ends := "retry: 0 of 2.\nretry: 1 of 2.\n  eve@contoso.com: is in batch 43\n(1 column hidden: by; use -o wide)\nretry: 1 of 2, 1 left as they are. Completed.\nNext: matoolkit batch watch 42\n"
	for args, begins := range map[string]string{
		"batch retry 42 --yes --wait": "Version 3 is active. The members follow version 2, in which they failed; use --version active to follow the active one.\n" +
			"  eve@contoso.com cannot continue: version 2 has no step \"x\" in the phase\nStarted the retry of 2 failed members of batch 42.\n",
		"batch task 42 t1 --wait": "",
	} {
		p, _ := batchAPI(t)
		_, notices, status := p.as(80, strings.Fields(args)...)
		if status != 1 || notices != begins+ends {
			t.Errorf("%s: status %d: %q", args, status, notices)
		}
	}
	p, _ := batchAPI(t)
	if out, _, status := p.as(80, "batch", "task", "42", "t1", "-o", "json"); status != 0 || !strings.Contains(out, `"status": "running"`) {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestBulkRemovalAsks(t *testing.T) {
	t.Parallel()
	p, requests := batchAPI(t)
	p.in = "y\n"
	_, notices, status := p.as(80, "batch", "remove-member", "42", "--search", "bob", "--reason", "left")
	want := "  eve@contoso.com stays: version 2 has no step \"x\" in the phase\nRemove 2 members of batch 42? [y/N] Started the removal of 2 members of batch 42.\nNext: matoolkit batch task 42 t1\n"
	if status != 0 || len(*requests) != 2 || notices != want {
		t.Errorf("status %d, requests %v: %q", status, *requests, notices)
	}
	for args, want := range map[string]string{
		"batch remove-member 42":                      "the member-id is missing",
		"batch remove-member 42 --search= --reason x": "--search is empty",
		"batch remove-member 42 7 8 --yes":            "--reason is missing",
	} {
		if _, notices, status := p.as(80, strings.Fields(args)...); status != 2 || !strings.Contains(notices, want) {
			t.Errorf("%s: status %d: %q", args, status, notices)
		}
	}
}

// Each command that changes something ends with a sentence and the next command.
func TestOutcomeOfChanges(t *testing.T) {
	t.Parallel()
	p, _ := batchAPI(t)
	for args, want := range map[string]string{
		"batch pause 42":                 "Paused batch 42. Running jobs end.\nNext: matoolkit batch resume 42\n",
		"batch resume 42":                "Resumed batch 42.\nNext: matoolkit batch watch 42\n",
		"batch cancel 42 --yes":          "Cancelled batch 42.\nNext: matoolkit batch watch 42\n",
		"batch retry 42 --yes":           "Started the retry of 2 failed members of batch 42.\nNext: matoolkit batch watch 42\n",
		"batch remove-member 42 7 --yes": "",
	} {
		_, notices, status := p.as(80, strings.Fields(args)...)
		if status != 0 || !strings.HasSuffix(notices, want) || !strings.Contains(notices, "Next: matoolkit ") {
			t.Errorf("%s: status %d: %q", args, status, notices)
		}
	}
}

func TestLintListsTheColumnsThatAQueryHasToReturn(t *testing.T) {
	t.Parallel()
	_, notices, _ := newPerson(t).run("runbook", "lint", "../../examples/scheduled-migration/runbook.yaml")
	if !strings.Contains(notices, "the data source has to return the columns Alias, CutoverTime, ") {
		t.Errorf("%s", notices)
	}
}
