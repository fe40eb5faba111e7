package adminhttp_test

import (
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

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// FuzzQuery sends whatever address and headers there can be to the API over a real store:
// each is refused with a problem document, or obeyed. Nothing is an error of the API's.
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
			var p adminhttp.Problem
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

// obeyed holds an answer against what its address asks for.
func obeyed(u *url.URL, body []byte) error {
	list := struct {
		Items []struct {
			Status, RunbookName, PhaseName, Action, Topic string
			MemberID                                      int
		}
	}{}
	segments := strings.Split(strings.TrimPrefix(u.Path, "/api/"), "/")
	kind := segments[len(segments)-1]
	switch {
	case kind == "batches" && len(segments) == 1, kind == "runbooks" && len(segments) == 1:
	case len(segments) == 3 && segments[0] == "batches" && (kind == "members" || kind == "steps" || kind == "audit"):
	default:
		return nil // no list
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return err
	}
	values := u.Query()
	if text := values.Get("limit"); text != "" {
		if limit, err := strconv.Atoi(text); err != nil || len(list.Items) > limit {
			return fmt.Errorf("%d items of at most %s", len(list.Items), text)
		}
	}
	for _, i := range list.Items {
		for name, got := range map[string]string{
			"status": i.Status, "runbook": i.RunbookName, "phase": i.PhaseName, "action": i.Action, "member": strconv.Itoa(i.MemberID),
		} {
			if want := values.Get(name); want != "" && !strings.EqualFold(got, want) {
				return fmt.Errorf("%s is %q, not the %q asked for", name, got, want)
			}
		}
	}
	return nil
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
		{0, "batches", "sort=-createdAt", ""},
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
		{0, "openapi.yaml", "x", ""},
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
	items, err := store.Open(store.Config{Endpoint: db.URL(), Database: "d", Container: "c", Key: cosmos.DefaultKey})
	must(err)
	must(items.Provision(ctx))
	sender, err := bus.Dial(bus.Config{ConnectionString: broker.ConnectionString()})
	must(err)
	f.Cleanup(func() { _ = sender.Close(context.Background()) })
	quiet := slog.New(slog.DiscardHandler)
	a := app.New(app.Config{Store: items, Bus: sender, Log: quiet})
	by := app.Caller{Name: "avery@contoso"}
	for _, name := range []string{"moves", "others"} {
		_, err := a.PublishRunbook(ctx, by, "", []byte(strings.Replace(moves, "name: moves", "name: "+name, 1)), app.PublishOptions{})
		must(err)
		for range 2 {
			_, err := a.CreateBatch(ctx, by, name, []byte("UserId,Mail\nu1,u1@x\nu2,u2@x\nu3,u3@x\n"))
			must(err)
		}
	}
	_, err = a.RemoveMember(ctx, by, 1, 2, "")
	must(err)
	_, err = a.Advance(ctx, by, 1)
	must(err)
	_, err = a.Cancel(ctx, by, 3, "")
	must(err)

	batches, err := a.Batches(ctx, app.ListOptions{Limit: 1})
	must(err)
	members, err := a.Members(ctx, by, 1, app.ListOptions{Limit: 1})
	must(err)
	return adminhttp.New(adminhttp.Config{App: a, Verifier: tokens{}, Log: quiet}), []string{batches.Continuation, members.Continuation}
}
