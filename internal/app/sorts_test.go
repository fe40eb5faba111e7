package app_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
)

// pages reads a list to its end, two at a time, and gives what name says of each.
func pages[V any](s *stage, o api.ListOptions, list func(api.ListOptions) (api.Page[V], error), name func(V) string) string {
	s.t.Helper()
	var names []string
	o.Limit = 2
	for {
		page := must(list(o))(s.t)
		if len(page.Items) == 0 && page.Continuation != "" {
			s.t.Fatalf("an empty page that goes on: %+v", o)
		}
		for _, v := range page.Items {
			names = append(names, name(v))
		}
		if o.Continuation = page.Continuation; o.Continuation == "" {
			return strings.Join(names, " ")
		}
	}
}

func TestMembersAreSortedAndSearchedAtTheStore(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"F": only(fails(errNo), 2)}
	b := s.createBatch(flat, "Upn,Name\nceline@x,C\nBob@x,B\nada@x,A\nadam@x,A\n")
	s.pass(2e9)
	s.add(b.ID, "ab@x")
	s.remove(b.ID, 3)
	s.advance(b.ID)
	list := func(o api.ListOptions) (api.Page[api.Member], error) { return s.app.Members(s.ctx, ada, b.ID, o) }
	key := func(m api.Member) string { return m.Key }
	for _, tt := range []struct {
		o    api.ListOptions
		want string
	}{
		{api.ListOptions{}, "celine@x Bob@x ada@x adam@x ab@x"},
		{api.ListOptions{Sort: "id"}, "celine@x Bob@x ada@x adam@x ab@x"},
		{api.ListOptions{Sort: "-id"}, "ab@x adam@x ada@x Bob@x celine@x"},
		{api.ListOptions{Sort: "memberKey"}, "Bob@x ab@x ada@x adam@x celine@x"},
		{api.ListOptions{Sort: "-memberKey"}, "celine@x adam@x ada@x ab@x Bob@x"},
		{api.ListOptions{Sort: "status"}, "celine@x adam@x ab@x Bob@x ada@x"},
		{api.ListOptions{Search: "ad"}, "ada@x adam@x"},
		{api.ListOptions{Search: "ad", Sort: "-memberKey"}, "adam@x ada@x"},
		{api.ListOptions{Search: "AD"}, ""},
		{api.ListOptions{Search: `%"' OR 1=1`}, ""},
		{api.ListOptions{Search: "a", Statuses: []string{"done"}, Sort: "memberKey"}, "ab@x adam@x"},
		{api.ListOptions{Statuses: []string{"failed"}}, "Bob@x"},
		{api.ListOptions{Statuses: []string{"failed", "done"}}, "celine@x Bob@x adam@x ab@x"},
		{api.ListOptions{Statuses: []string{"removed", "failed"}, Sort: "-id"}, "ada@x Bob@x"},
	} {
		if got := pages(s, tt.o, list, key); got != tt.want {
			t.Errorf("%+v: %s\n  want %s", tt.o, got, tt.want)
		}
	}
	if got := pages(s, api.ListOptions{Sort: "-addedAt"}, list, key); !strings.HasPrefix(got, "ab@x ") {
		t.Errorf("by -addedAt: %s", got)
	}
	s.wantRefused(errorOf(list(api.ListOptions{Sort: "data"})), api.CodeInvalid, "use one of id, memberKey, status, addedAt")
	s.wantRefused(errorOf(list(api.ListOptions{Sort: "--id"})), api.CodeInvalid, "cannot sort by")
	page := must(list(api.ListOptions{Sort: "memberKey", Limit: 2}))(t)
	s.wantRefused(errorOf(list(api.ListOptions{Sort: "-memberKey", Continuation: page.Continuation})), api.CodeInvalid, "continuation token")
}

func TestStepsAreFilteredAtTheStore(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"F": only(fails(errNo), 7)}
	b := s.startBatch(flat, people(9))
	list := func(o api.ListOptions) (api.Page[api.Step], error) { return s.app.Steps(s.ctx, ada, b.ID, o) }
	name := func(v api.Step) string { return fmt.Sprintf("%d:%s", v.MemberID, v.Name) }
	before := s.store.Counts().Queries
	if got := pages(s, api.ListOptions{Statuses: []string{"failed"}}, list, name); got != "7:s1" || s.store.Counts().Queries-before != 1 {
		t.Errorf("%s, with %d queries", got, s.store.Counts().Queries-before)
	}
	if got := pages(s, api.ListOptions{Statuses: []string{"cancelled"}}, list, name); got != "7:s2 7:s3 7:s4 7:s5" {
		t.Error(got)
	}
	before = s.store.Counts().Queries
	if got := pages(s, api.ListOptions{Statuses: []string{"cancelled", "failed"}}, list, name); got != "7:s1 7:s2 7:s3 7:s4 7:s5" || s.store.Counts().Queries-before != 1 {
		t.Errorf("%s, with %d queries", got, s.store.Counts().Queries-before)
	}
	if got := pages(s, api.ListOptions{Statuses: []string{"succeeded"}, Sort: "-memberId", Search: "p00"}, list, name); !strings.HasPrefix(got, "9:s1 ") || strings.Count(got, " ") != 8*5-1 || strings.Contains(got, "7:") {
		t.Error(got)
	}
	if got := pages(s, api.ListOptions{Statuses: []string{"succeeded"}, Search: "p003@x"}, list, name); strings.Count(got, "3:") != 5 || strings.Count(got, " ") != 4 {
		t.Error(got)
	}
	s.wantRefused(errorOf(list(api.ListOptions{Sort: "status"})), api.CodeInvalid, "id, memberId")
}

func TestOtherListsAreSortedAtTheStore(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	for _, name := range []string{"beta", "Alpha", "alpine", "beta"} {
		s.publish(strings.Replace(flat, "name: flat", "name: "+name, 1) + fmt.Sprintf("# %d\n", s.clock.Now().Unix()))
		s.batch(name, people(1), api.AllowInOtherBatches)
		s.pass(2e9)
	}
	batches := func(o api.ListOptions) string {
		return pages(s, o, func(o api.ListOptions) (api.Page[api.Batch], error) { return s.app.Batches(s.ctx, o) }, func(b api.Batch) string { return fmt.Sprint(b.ID) })
	}
	runbooks := func(o api.ListOptions) string {
		return pages(s, o, func(o api.ListOptions) (api.Page[api.Runbook], error) { return s.app.Runbooks(s.ctx, o) }, func(r api.Runbook) string { return r.Name })
	}
	versions := func(o api.ListOptions) string {
		return pages(s, o, func(o api.ListOptions) (api.Page[api.RunbookVersion], error) { return s.app.Versions(s.ctx, "beta", o) }, func(v api.RunbookVersion) string { return fmt.Sprint(v.Version) })
	}
	for got, want := range map[string]string{
		"batches " + batches(api.ListOptions{}):                                   "batches 4 3 2 1",
		"id " + batches(api.ListOptions{Sort: "id"}):                              "id 1 2 3 4",
		"detectedAt " + batches(api.ListOptions{Sort: "-detectedAt"}):             "detectedAt 4 3 2 1",
		"runbook " + batches(api.ListOptions{Sort: "runbook"}):                    "runbook 2 3 1 4",
		"start " + batches(api.ListOptions{Sort: "batchStartTime"}):               "start 1 2 3 4", // they have none
		"search " + batches(api.ListOptions{Search: "be", Sort: "id"}):            "search 1 4",
		"runbooks " + runbooks(api.ListOptions{}):                                 "runbooks Alpha alpine beta",
		"-name " + runbooks(api.ListOptions{Sort: "-name"}):                       "-name beta alpine Alpha",
		"createdAt " + runbooks(api.ListOptions{Sort: "createdAt"}):               "createdAt Alpha alpine beta",
		"al " + runbooks(api.ListOptions{Search: "al"}):                           "al alpine",
		"versions " + versions(api.ListOptions{}):                                 "versions 2 1",
		"oldest " + versions(api.ListOptions{Sort: "version"}):                    "oldest 1 2",
		fmt.Sprint(slices.Concat(api.VersionSorts.Values(), api.StepSorts.Names)): "[version -version id memberId]",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, err := range []error{
		refusal(s.app.Batches(s.ctx, api.ListOptions{Sort: "members"})), refusal(s.app.Runbooks(s.ctx, api.ListOptions{Sort: "id"})),
		refusal(s.app.Versions(s.ctx, "beta", api.ListOptions{Sort: "createdAt"})), refusal(s.app.UnprocessableMessages(s.ctx, api.ListOptions{Sort: "-status"})),
	} {
		s.wantRefused(err, api.CodeInvalid, "cannot sort by")
	}
}

func refusal[V any](_ V, err error) error { return err }

// Each field that a list can be sorted by is one that its items show, puts them in the
// order of what they show, and leaves none of them out.
func TestEverySortIsByWhatTheListShows(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"F": only(fails(errNo), 2)}
	for i, name := range []string{"beta", "alpha", "beta", "gamma"} {
		by := audit.Caller{Name: []string{"hedy", "ada"}[i%2]}
		must(s.app.PublishRunbook(s.ctx, by, "", []byte(strings.Replace(flat, "name: flat", "name: "+name, 1)+fmt.Sprintf("# %d\n", i)), api.PublishOptions{}))(t)
		s.batch(name, people(3-i%2), api.AllowInOtherBatches)
		s.pass(2 * time.Second)
	}
	s.schedule(100, strings.Replace(flat, "name: flat", "name: gamma", 1), 1, dawn.Add(20*day))
	s.remove(1, 3)
	s.add(1, "a@x")
	s.advance(1)
	for i, kind := range []string{"waltz", "", "dance"} {
		noError(t, s.app.HandleEvent(s.ctx, message.Delivery{ID: kind, Type: kind, Body: []byte("{}"), DeliveryCount: 1}))
		noError(t, s.app.HandleResult(s.ctx, message.Delivery{ID: fmt.Sprint(i), Type: kind, Body: []byte("{}"), DeliveryCount: 1}))
		s.pass(2 * time.Second)
	}
	check := func(list string, sorts api.SortFields, ask func(o api.ListOptions) (any, error)) {
		read := func(o api.ListOptions) []map[string]any {
			o.Limit = 1000
			page := must(ask(o))(t)
			var shown struct{ Items []map[string]any }
			noError(s.t, json.Unmarshal([]byte(encoded(page)), &shown))
			return shown.Items
		}
		all := len(read(api.ListOptions{}))
		for _, by := range sorts.Values() {
			items, field := read(api.ListOptions{Sort: by}), strings.TrimPrefix(by, "-")
			seen := map[string]bool{}
			for i, item := range items {
				v := shownOrder(list, item[field])
				if seen[v] = true; i == 0 {
					continue
				}
				if before := shownOrder(list, items[i-1][field]); before != v && (before < v) == (field != by) {
					t.Errorf("%s by %s: %v after %v", list, by, item[field], items[i-1][field])
				}
			}
			if len(items) != all || len(seen) < 2 {
				t.Errorf("%s by %s: %d of %d, with %d values", list, by, len(items), all, len(seen))
			}
		}
	}
	check("batches", api.BatchSorts, func(o api.ListOptions) (any, error) { return s.app.Batches(s.ctx, o) })
	check("members", api.MemberSorts, func(o api.ListOptions) (any, error) { return s.app.Members(s.ctx, ada, 1, o) })
	check("steps", api.StepSorts, func(o api.ListOptions) (any, error) { return s.app.Steps(s.ctx, ada, 1, o) })
	check("runbooks", api.RunbookSorts, func(o api.ListOptions) (any, error) { return s.app.Runbooks(s.ctx, o) })
	check("versions", api.VersionSorts, func(o api.ListOptions) (any, error) { return s.app.Versions(s.ctx, "beta", o) })
	check("messages", api.UnprocessableSorts, func(o api.ListOptions) (any, error) { return s.app.UnprocessableMessages(s.ctx, o) })
	// The service may leave out what does not have the path.
	messages := must(storetest.All[map[string]any](s.ctx, s.store, store.PartitionUnprocessable, "unprocessed"))(t)
	for _, u := range messages {
		if u.Doc["messageType"] == nil {
			t.Errorf("%+v", u)
		}
	}
}

// shownOrder is a text that sorts as a value of JSON does: nothing first, and times to
// the second. Steps are sorted by the runs that they are of.
func shownOrder(list string, v any) string {
	switch v := v.(type) {
	case float64:
		if list == "steps" && v > 1e6 {
			v = math.Floor(v / 1000)
		}
		return fmt.Sprintf("%020.0f", v)
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.UTC().Format(time.DateTime)
		}
		return v
	}
	return ""
}
