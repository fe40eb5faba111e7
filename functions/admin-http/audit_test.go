package adminhttp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

func (r *recorder) noteAudit(of string, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	given := []string{}
	for _, v := range []struct{ name, value string }{{"Action", f.Action}, {"By", f.By}, {"From", moment(f.From)}, {"To", moment(f.To)}} {
		if v.value != "" {
			given = append(given, v.name+":"+v.value)
		}
	}
	return api.Page[api.AuditRecord]{}, r.note("%s {%s} %s", of, strings.Join(given, " "), shown(o))
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func (r fakeAudit) Audit(_ context.Context, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	return r.noteAudit("Audit", f, o)
}

func (r fakeAudit) BatchAudit(_ context.Context, batch int, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	return r.noteAudit(fmt.Sprintf("BatchAudit %d", batch), f, o)
}

func (r fakeAudit) RunbookAudit(_ context.Context, name string, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	return r.noteAudit(fmt.Sprintf("RunbookAudit %q", name), f, o)
}

func (r fakeAudit) MessageAudit(_ context.Context, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	return r.noteAudit("MessageAudit", f, o)
}

func auditRoutes() []route {
	return []route{
		{
			request{"GET", "/api/batches/7/audit?action=advance&limit=2", "", "", ""},
			false, 200,
			"BatchAudit 7 {Action:advance} {Limit:2}", `{"items":[]}`,
		},
		{
			request{"GET", "/api/runbooks/my%20moves/audit?by=ada%40contoso&from=2026-01-02T03:04:05%2B02:00&to=2026-01-02T03:04:05.5Z&continuationToken=t", "", "", ""},
			false, 200,
			`RunbookAudit "my moves" {By:ada@contoso From:2026-01-02T01:04:05Z To:2026-01-02T03:04:05.5Z} {Continuation:t}`, `{"items":[]}`,
		},
		{request{"GET", "/api/messages/audit", "", "", ""}, false, 200, "MessageAudit {} {}", `{"items":[]}`},
		{request{"GET", "/api/audit?action=read_members", "", "", ""}, true, 200, "Audit {Action:read_members} {}", `{"items":[]}`},
	}
}

func TestMomentsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ query, detail string }{
		{"from=yesterday", `invalid query parameter from "yesterday": use a time in RFC 3339, for example 2026-01-02T03:04:05Z`},
		{"to=2026-01-02", `invalid query parameter to "2026-01-02"`},
		{"from=2026-01-02T03:04:05", `invalid query parameter from "2026-01-02T03:04:05"`},
		{"to=2026-02-30T00:00:00Z", `invalid query parameter to "2026-02-30T00:00:00Z"`},
		{"from=2026-01-02T03:04:05+02:00", `invalid query parameter from "2026-01-02T03:04:05 02:00"`}, // a plus in a query is a space
		{"by=", "the query parameter by is empty"},
	} {
		for _, path := range []string{"/api/audit", "/api/batches/7/audit", "/api/runbooks/rb/audit", "/api/messages/audit"} {
			f := newFixture()
			w := f.send(request{"GET", path + "?" + tt.query, "admin", "", ""})
			if p := readProblem(t, w); w.Code != 400 || p.Error != "invalid" || !strings.HasPrefix(p.Detail, tt.detail) || f.app.calls != nil {
				t.Errorf("%s?%s: %d %s, calls %q", path, tt.query, w.Code, p.Detail, f.app.calls)
			}
		}
	}
}
