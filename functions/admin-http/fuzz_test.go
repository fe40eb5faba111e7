package adminhttp_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/simulate"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// FuzzQuery sends arbitrary addresses and headers to the API over a real store: the API
// serves each or refuses it with a problem document, without an internal error.
func FuzzQuery(f *testing.F) {
	handler, continuations := populated(f)
	for _, s := range querySeeds(continuations) {
		f.Add(s.method, s.path, s.query, s.header)
	}
	f.Fuzz(func(t *testing.T, method uint8, path, query, header string) {
		q := address(method, path, query, header)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, q)
		name := fmt.Sprintf("%s %q?%q, headers %q", q.Method, q.URL.Path, query, header)
		switch {
		case w.Code >= http.StatusInternalServerError:
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		case w.Code >= http.StatusBadRequest:
			var p api.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || p.Error == "" || p.Detail == "" || p.TraceID == "" {
				t.Fatalf("%s: a refusal that says too little: %d %s", name, w.Code, w.Body)
			}
		case w.Code == http.StatusOK && q.Method == http.MethodGet:
			if err := obeyed(q.URL, w.Body.Bytes()); err != nil {
				t.Fatalf("%s: %v in %s", name, err, w.Body)
			}
		}
	})
}

var fuzzMethods = []string{http.MethodGet, http.MethodDelete, http.MethodPost, http.MethodPut, http.MethodHead}

// address makes a request that net/http could pass on.
func address(method uint8, path, query, header string) *http.Request {
	q := httptest.NewRequest(fuzzMethods[int(method)%len(fuzzMethods)], "/", nil)
	q.URL = &url.URL{Path: "/api/" + path, RawQuery: query}
	q.RequestURI = q.URL.RequestURI()
	q.Header.Set("Authorization", "Bearer admin")
	header = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f { // net/http answers those itself
			return -1
		}
		return r
	}, header)
	for _, name := range []string{"If-Match", "Idempotency-Key", "If-None-Match", "Accept", "Traceparent"} {
		q.Header.Set(name, header)
	}
	return q
}

// filters are the fields of items that a parameter of a list has to match, and how.
var filters = map[string]struct {
	field string
	match func(got, want string) bool
}{
	"status":  {"status", strings.EqualFold},
	"runbook": {"runbook", func(got, want string) bool { return got == want }},
	"phase":   {"phase", func(got, want string) bool { return got == want }},
	"member": {"memberId", func(got, want string) bool {
		return got == strings.TrimPrefix(want, "id:") || strings.HasPrefix(want, "u")
	}},
	"action": {"action", func(got, want string) bool { return got == want }},
	"by":     {"by", func(got, want string) bool { return got == want }},
	"topic":  {"topic", strings.EqualFold},
	"from":   {"at", func(got, want string) bool { return !instant(got).Before(instant(want)) }},
	"to":     {"at", func(got, want string) bool { return instant(got).Before(instant(want)) }},
}

func instant(s string) time.Time {
	t, _ := time.Parse(time.RFC3339, s)
	return t
}

// searched is the field of a list's items that search is about.
var searched = map[string]string{"batches": "runbook", "members": "memberKey", "steps": "memberKey", "runbooks": "name"}

// obeyed holds an answer against what its address asks for.
func obeyed(u *url.URL, body []byte) error {
	kind := u.Path[strings.LastIndex(u.Path, "/")+1:]
	values := u.Query()
	if len(values) == 0 || kind == "report" || kind == "removals" {
		return nil
	}
	var list struct{ Items []map[string]any }
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return err
	}
	if text := values.Get("limit"); text != "" {
		if limit, err := strconv.Atoi(text); err != nil || len(list.Items) > limit {
			return fmt.Errorf("%d items of at most %s", len(list.Items), text)
		}
	}
	for i, item := range list.Items {
		for name, f := range filters {
			if want := values.Get(name); want != "" && !f.match(fmt.Sprint(item[f.field]), want) {
				return fmt.Errorf("%s is %q, not the %q asked for", f.field, item[f.field], want)
			}
		}
		if prefix := values.Get("search"); !strings.HasPrefix(fmt.Sprint(item[searched[kind]]), prefix) {
			return fmt.Errorf("%s is %q, which does not begin with %q", searched[kind], item[searched[kind]], prefix)
		}
		if by := values.Get("sort"); by != "" && i > 0 && kind != "steps" { // whose runs are sorted
			field, descending := strings.CutPrefix(by, "-")
			if n := order(list.Items[i-1][field], item[field]); n > 0 && !descending || n < 0 && descending {
				return fmt.Errorf("not in the order of %s: %v before %v", by, list.Items[i-1][field], item[field])
			}
		}
	}
	return nil
}

// order compares values of one field as the store does: numbers by their size, texts by
// their bytes. Times are compared as such.
func order(a, b any) int {
	x, y := fmt.Sprint(a), fmt.Sprint(b)
	if _, number := a.(json.Number); number {
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		return cmp.Compare(m, n)
	}
	if t := instant(x); !t.IsZero() {
		return t.Compare(instant(y))
	}
	return strings.Compare(x, y)
}

type querySeed struct {
	method              uint8
	path, query, header string
}

// querySeeds are addresses that mean something, and some that nearly do.
func querySeeds(continuations []string) []querySeed {
	seeds := []querySeed{
		{0, "batches", "", ""},
		{0, "batches", "status=active&limit=1", ""},
		{0, "batches", "runbook=moves&limit=1000", `"*"`},
		{0, "batches", "runbook=%27+OR+1%3D1+--", ""},
		{0, "batches", "limit=1001", ""},
		{0, "batches", "limit=01&limit=1", ""},
		{0, "batches", "continuationToken=%00", ""},
		{0, "batches", "continuationToken=nonsense", "key-1"},
		{0, "batches", "sort=-memberCount", ""},
		{0, "batches", "sort=detectedAt&search=mo", ""},
		{0, "batches", "sort=--id", ""},
		{0, "batches/1/members", "sort=-memberKey&search=u&limit=2", ""},
		{0, "runbooks", "sort=-name&search=m", ""},
		{0, "runbooks/moves/versions", "sort=version", ""},
		{0, "runbooks/moves/audit", "by=avery@contoso&action=publish", ""},
		{0, "batches/1", "", `W/"1"`},
		{0, "batches/2147483648", "", ""},
		{0, "batches/-1/members", "", ""},
		{0, "batches/1/members", "status=removed", ""},
		{0, "batches/1/members", "status=ACTIVE&limit=2", ""},
		{0, "batches/1/members", "search=u1%25", ""},
		{0, "batches/1/steps", "member=1&phase=move&status=pending", ""},
		{0, "batches/1/steps", "phase=%ff", ""},
		{0, "batches/1/phases", "", ""},
		{0, "batches/1/audit", "action=create", ""},
		{0, "batches/1/removals", "limit=1", ""},
		{0, "batches/1/report", "format=csv", ""},
		{0, "runbooks/moves/versions/1", "", ""},
		{0, "runbooks/a\\b/automation", "", ""},
		{0, "runbooks/a#b?c", "", ""},
		{0, "runbooks/ \x00/template", "", ""},
		{0, "messages/unprocessed", "topic=worker-results&status=open", ""},
		{0, "messages/unprocessed/..", "", ""},
		{0, "audit", "from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z&by=avery", ""},
		{0, "openapi.json", "x", ""},
		{0, "health", "", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		{1, "batches/2/members/1", "reason=left", ""},
		{1, "runbooks/moves/versions/1", "reason=%F0%9F%98%80", ""},
		{2, "batches/2/pause", "", ""},
		{2, "batches/2/steps/1/skip", "", ""},
		{2, "messages/unprocessed/x/replay", "", ""},
		{3, "runbooks/moves/automation", "", ""},
		{4, "batches", "", ""},
	}
	for _, c := range continuations {
		for _, path := range []string{"batches", "batches/1/members", "batches/1/steps", "batches/1/audit", "runbooks"} {
			seeds = append(seeds, querySeed{0, path, "limit=1&continuationToken=" + url.QueryEscape(c), ""})
		}
	}
	return seeds
}

// populated is the API over a store that has batches, and continuations of its lists.
func populated(f *testing.F) (http.Handler, []string) {
	f.Helper()
	ctx := f.Context()
	must := func(err error) {
		f.Helper()
		if err != nil {
			f.Fatal(err)
		}
	}
	db, err := cosmos.Start(ctx, cosmos.Config{})
	must(err)
	f.Cleanup(func() { _ = db.Close() })
	broker, err := servicebus.Start(ctx, servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "SAS_KEY_VALUE"})
	must(err)
	f.Cleanup(func() { _ = broker.Close() })
	items, err := cosmosstore.Open(cosmosstore.Config{Endpoint: db.URL(), Database: "d", Container: "c", Key: cosmos.DefaultKey})
	must(err)
	must(items.Provision(ctx))
	sender, err := azbus.Dial(azbus.Config{ConnectionString: broker.ConnectionString()})
	must(err)
	f.Cleanup(func() { _ = sender.Close(context.Background()) })
	quiet := slog.New(slog.DiscardHandler)
	a := app.New(app.Config{Store: items, Bus: sender, Log: quiet})
	by := audit.Caller{Name: "avery@contoso"}
	for _, name := range []string{"moves", "others"} {
		_, err := a.PublishRunbook(ctx, by, "", []byte(strings.Replace(moves, "name: moves", "name: "+name, 1)), api.PublishOptions{})
		must(err)
		for range 2 {
			_, err := a.CreateBatch(ctx, by, name, []byte("UserId,Mail\nu1,u1@x\nu2,u2@x\nu3,u3@x\n"), api.AllowInOtherBatches)
			must(err)
		}
	}
	_, err = a.RemoveMember(ctx, by, 1, 2, "")
	must(err)
	_, err = a.Advance(ctx, by, 1, "move")
	must(err)
	_, err = a.Cancel(ctx, by, 3, "")
	must(err)

	batches, err := a.Batches(ctx, api.ListOptions{Limit: 1})
	must(err)
	members, err := a.Members(ctx, by, 1, api.ListOptions{Limit: 1})
	must(err)
	cases := adminhttp.UseCasesOf(a)
	cases.Simulator = simulate.Service{Functions: a.Catalogs}
	return adminhttp.New(adminhttp.Config{UseCases: cases, Verifier: tokens{}, Log: quiet, Rate: rate.Inf}), []string{batches.Continuation, members.Continuation}
}
