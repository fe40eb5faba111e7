package cli_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"gopkg.in/yaml.v3"
)

// YAML and JSON output have the same names and values, for any text.
func TestYAMLSaysWhatJSONDoes(t *testing.T) {
	t.Parallel()
	nasty := []string{
		"", " ", "no", "on", "NULL", "~", "1", "1e3", "0x1f", "12:30:45", "2026-01-02", "true", "- a", "a: b", "#", "x #y", "'", `"`, `\`, "é", "😀", "\u2028", "\u0085", "\ufeff",
		"two\nlines", "two\nlines\n", "\nfirst", "  in\nout", "tab\there\nand", "end \nof", "a\r\nb", "\x1b[31m", "%", "@", "`", "[", "{", "=", "<<", "\n", "a\n\n\nb\n\n",
	}
	body := must(json.Marshal(map[string]any{"items": []any{map[string]any{
		"messageId": "m", "body": map[string]any{"texts": nasty, "numbers": []any{0, -1, 1.5, 12345678901234567, true, false, nil}, "none": []any{}, "empty": map[string]any{}},
	}}}))
	p := fake(t, 200, "application/json", string(body))
	asJSON, _, status := p.as(0, "messages", "list", "-o", "json")
	asYAML, err, status2 := p.as(0, "messages", "list", "-o", "yaml")
	if status != 0 || status2 != 0 {
		t.Fatal(err)
	}
	var fromJSON, fromYAML any
	check(t, yaml.Unmarshal([]byte(asYAML), &fromYAML))
	check(t, json.Unmarshal([]byte(asJSON), &fromJSON))
	again := must(json.Marshal(fromYAML))
	fromYAML = nil
	check(t, json.Unmarshal(again, &fromYAML))
	if !reflect.DeepEqual(fromJSON, fromYAML) {
		t.Errorf("the YAML\n%s\nsays %v\nand the JSON %v", asYAML, fromYAML, fromJSON)
	}
	if strings.ContainsAny(asYAML, "\x1b\u0085") {
		t.Error("control characters reach the terminal")
	}
	for _, word := range []string{`- "no"`, `- "on"`, `- "12:30:45"`} { // which are something else in YAML 1.1
		if !strings.Contains(asYAML, word+"\n") {
			t.Errorf("%s is not quoted in\n%s", word, asYAML)
		}
	}
}

// What a file or a worker says is no formula where a list is opened in a spreadsheet.
func TestCSVIsSafe(t *testing.T) {
	t.Parallel()
	errs := []string{"=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "a,b", `say "x"`, "two\nlines", "plain", ""}
	var items []any
	for i, e := range errs {
		items = append(items, map[string]any{"id": i + 1, "memberKey": e, "status": "failed", "error": e})
	}
	p := fake(t, 200, "application/json", string(must(json.Marshal(map[string]any{"items": items, "continuationToken": "more"}))))
	out, notices, status := p.as(40, "batch", "members", "1", "-o", "csv")
	if status != 0 || !strings.Contains(notices, "--continue 'more'") {
		t.Fatal(status, notices)
	}
	rows := must(csv.NewReader(strings.NewReader(out)).ReadAll())
	if len(rows) != len(errs)+1 || rows[0][0] != "member" {
		t.Fatalf("%q", rows)
	}
	for i, e := range errs {
		want := strings.ReplaceAll(e, "\r\n", "\n")
		if i < 7 {
			want = "'" + want
		}
		if got := rows[i+1][len(rows[0])-1]; got != want {
			t.Errorf("%q is written as %q", e, got)
		}
	}
}

// A format that a command cannot print is refused before anything is done.
func TestNoCSV(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.env["MATOOLKIT_API_URL"] = "http://127.0.0.1:1"
	for _, args := range []string{
		"batch advance 1", "batch cancel 1 --yes", "batch watch 1", "runbook publish none.yaml", "runbook get moves", "automation enable moves",
		"messages replay --all", "config path", "template download moves",
	} {
		out, err, status := p.as(0, append(strings.Fields(args), "-o", "csv")...)
		if status != 2 || out != "" || !strings.Contains(err, "matoolkit "+strings.Join(strings.Fields(args)[:2], " ")+" cannot print CSV; use --output json or yaml") {
			t.Errorf("%s: status %d: %s%s", args, status, out, err)
		}
	}
	if out, err, status := p.as(0, "batch", "report", "1", "-o", "csv"); status != 2 || out != "" || !strings.Contains(err, "with --format csv") {
		t.Errorf("a report: status %d: %s%s", status, out, err)
	}
	for command, says := range map[string]string{
		"batch report 1 -o json":               "the report goes to standard output",
		"batch report 1 --file - -o yaml":      "the report goes to standard output",
		"completion bash -o json":              "matoolkit completion prints no result",
		"template download moves -f - -o json": "the template goes to standard output",
	} {
		if out, err, status := p.as(0, strings.Fields(command)...); status != 2 || out != "" || !strings.Contains(err, says) {
			t.Errorf("%s: status %d: %s%s", command, status, out, err)
		}
	}
	if out, err, status := fake(t, 200, "application/json", `{"items":[]}`).as(0, "batch", "list", "-o", "csv"); status != 0 || err != "" || strings.Count(out, "\n") != 1 {
		t.Errorf("an empty list: status %d: %s%s", status, out, err)
	}
}

// Tables fit the terminal, and what matters most is left in them.
func TestFit(t *testing.T) {
	t.Parallel()
	const (
		automation = `{"runbook":"department-waves","automationEnabled":true,"enabledAt":"2026-01-02T03:04:05Z","enabledBy":"administrator@contoso.example","lastRunAt":"2026-01-02T03:04:05Z","rows":120,"problemCount":3,"removalHolds":[{"batchId":7,"members":9,"of":10,"since":"2026-01-02T03:04:05Z","reason":"many"}]}`
		members    = `{"items":[
			{"id":1,"memberKey":"somebody.with.a.long.name@contoso.example","status":"failed","phase":"prepare","failedAt":"2026-01-02T03:04:05Z","failedPhase":"prepare","failedStep":"move-mailbox","error":"the mailbox of 漢字漢字漢字 cannot be moved: there is a hold on it that has to be taken off first, by someone who may"},
			{"id":2,"memberKey":"b@contoso.example","status":"removed","removedAt":"2026-01-02T03:04:05Z","removedBy":"administrator@contoso.example"}]}`
		steps = `{"items":[{"id":20000002000,"phase":"prepare","runbookVersion":2,"kind":"phase","memberKey":"a@contoso.example","step":"move-mailbox","functionName":"New-ExchangeMoveRequest","status":"failed","retryCount":3,"completedAt":"2026-01-02T03:04:05Z","error":"there is a hold on it that has to be taken off first, by someone who may"}]}`
	)
	var all strings.Builder
	for _, tt := range []struct {
		body string
		args string
		most []string // what is there at 80 columns
	}{
		{automation, "automation status department-waves", []string{"AUTOMATION", "PROBLEMS", "HELD"}},
		{members, "batch members 1", []string{"MEMBER", "KEY", "STATUS", "ERROR"}},
		{steps, "batch steps 1", []string{"STEP", "STATUS", "NOTE"}},
		{twoBatches, "batch list", []string{"BATCH", "STATUS", "MEMBERS"}},
	} {
		var columns []string // of those that are not empty
		for _, width := range []int{200, 100, 80, 60, 40, 20} {
			out, err, status := fake(t, 200, "application/json", tt.body).as(width, append(strings.Fields(tt.args), "--no-color")...)
			fmt.Fprintf(&all, "$ %s # %d columns\n%s-- notices --\n%s\n", tt.args, width, out, err)
			if status != 0 {
				t.Fatal(err)
			}
			table, _, _ := strings.Cut(out, "\n\n")
			head, _, _ := strings.Cut(table, "\n")
			if columns == nil {
				columns = regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(head), -1)
			}
			for _, column := range columns {
				if !strings.Contains(head, column) && !strings.Contains(err, " "+strings.ToLower(column)) {
					t.Errorf("%s at %d columns has %q and does not tell where %s is: %q", tt.args, width, head, column, err)
				}
			}
			for line := range strings.Lines(table) {
				if w := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")); w > width {
					t.Errorf("%s has %d columns of %d: %s", tt.args, w, width, line)
				}
			}
			for _, column := range tt.most {
				if width >= 80 && !strings.Contains(table, column) {
					t.Errorf("%s has no %s at %d columns:\n%s", tt.args, column, width, out)
				}
			}
		}
	}
	golden(t, "fit", all.String())
}
