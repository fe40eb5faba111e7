package cli_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/local/entra"
)

// csvTime is when something was, as a line of CSV begins with it.
var csvTime = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT[\d:.]+Z,`)

// Who did what, and who looked at whom, as an auditor sees it.
func TestAudit(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.signedIn()}
	s.type_(0, "audit", "list")
	s.type_(0, "runbook", "publish", s.file("moves.yaml", moves), "--force")
	s.type_(0, "batch", "create", "moves", s.file("members.csv", "UserId,Mail\nu1,a@contoso.com\n"), "--quiet")
	s.type_(0, "batch", "pause", "1", "--reason", "the network is down")
	s.type_(0, "batch", "pause", "1", "--reason", `=HYPERLINK("a freeze, too")`)
	s.type_(0, "batch", "resume", "1")
	for range 2 {
		s.type_(0, "batch", "members", "1", "--quiet")
	}
	kept := system.keep("broken", "{")
	s.type_(0, "messages", "discard", kept.ID, "--yes", "--reason", "a test")

	s.type_(0, "batch", "audit", "1")
	s.type_(0, "batch", "audit", "1", "--action", "pause", "--output", "csv")
	s.type_(0, "runbook", "audit", "moves")
	s.type_(0, "messages", "audit")
	s.type_(0, "audit", "list")
	s.type_(0, "audit", "list", "--action", "read_members", "--by", entra.DefaultAdminUPN)
	s.type_(0, "audit", "list", "--by", "nobody")
	s.type_(0, "audit", "list", "--from", "2200-01-01")
	s.type_(0, "batch", "audit", "1", "--to", "2001-01-01T00:00:00+02:00")
	s.type_(0, "runbook", "audit", "moves", "--from", "2001-01-01", "--to", "2200-01-01", "--quiet")

	s.type_(1, "audit", "list", "--most", "3")
	s.type_(2, "audit", "list", "--most", "0")
	s.type_(2, "audit", "list", "--action", "published")
	s.type_(2, "messages", "audit", "--from", "yesterday")
	s.type_(2, "batch", "audit", "1", "--from", "2026-01-02", "--to", "2026-01-02")
	s.type_(4, "runbook", "audit", "none")
	golden(t, "audit", csvTime.ReplaceAllString(s.String(), "2026-01-02T03:04:05Z,"))

	reader := newSystem(t, entra.DefaultReaderUPN).signedIn()
	for args, want := range map[string]int{"messages audit": 0, "runbook audit none": 4, "batch audit 1": 4, "audit list": 3} {
		if _, err, status := reader.run(strings.Fields(args)...); status != want {
			t.Errorf("a reader's %s: status %d: %s", args, status, err)
		}
	}
}

// The audit records of all items come in pages without an order, some of them empty. The command
// sorts them by time; CSV has the state before and after.
func TestAuditListPutsPagesInOrder(t *testing.T) {
	t.Parallel()
	at := func(minute int) string { return fmt.Sprintf("2026-01-02T03:%02d:00.000Z", minute) }
	pages := [][]string{{at(5), at(1)}, {}, {at(9)}, {at(3), at(7)}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("continuationToken"), &n)
		var page api.Page[api.AuditRecord]
		text := `{"items":[`
		for i, when := range pages[n] {
			if i > 0 {
				text += ","
			}
			text += fmt.Sprintf(`{"id":"%s-a","at":"%s","by":"ada","action":"pause","batchId":%d,"reason":"=1+1","before":{"status":"active"},"after":{"b":[1,"x"]}}`, when, when, n+1)
		}
		text += `]`
		if n+1 < len(pages) {
			text += fmt.Sprintf(`,"continuationToken":"%d"`, n+1)
		}
		check(t, json.Unmarshal([]byte(text+"}"), &page))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text + "}"))
	}))
	defer s.Close()
	run := func(args ...string) (string, string, int) {
		var out, notices strings.Builder
		root := cli.NewRoot(command.Environment{Stdout: &out, Stderr: &notices, Token: func(context.Context) (string, error) { return "token", nil }})
		root.SetArgs(append(args, "--api-url", s.URL))
		status := cli.Execute(t.Context(), root)
		return out.String(), notices.String(), status
	}
	out, notices, status := run("audit", "list", "--output", "csv", "--most", "5")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	check(t, err)
	if status != 0 || len(rows) != 6 {
		t.Fatalf("%d %s%s", status, out, notices)
	}
	if want := []string{"at", "by", "action", "batch", "runbook", "target", "reason", "before", "after", "byKind", "byTenantId", "byObjectId"}; !slices.Equal(rows[0], want) {
		t.Errorf("%q", rows[0])
	}
	for i, minute := range []int{9, 7, 5, 3, 1} {
		if row := rows[i+1]; row[0] != at(minute) || row[6] != "'=1+1" || row[7] != `{"status":"active"}` || row[8] != `{"b":[1,"x"]}` {
			t.Errorf("%d: %q", i, row)
		}
	}
	out, notices, status = run("audit", "list", "--most", "4")
	if status != 1 || out != "" || !strings.Contains(notices, "there are more than 4 records") || !strings.Contains(notices, "--most") {
		t.Errorf("%d %q %q", status, out, notices)
	}
}
