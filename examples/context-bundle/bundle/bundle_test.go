package bundle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/examples/context-bundle/bundle"
	"github.com/matoolkit/matoolkit/examples/context-bundle/github"
	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/internal/artifact/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
	local "github.com/matoolkit/matoolkit/local/github"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// world has GitHub, a store, and the functions over both.
type world struct {
	t         *testing.T
	server    *local.Server
	store     artifact.Store
	functions *catalog.Catalog
}

// noon is the time of the requests and of the limits of GitHub.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, config local.Config) *world {
	t.Helper()
	config.Now = func() time.Time { return noon }
	w := &world{t: t, server: testenv.Started(local.Start(t.Context(), config))(t), store: &memory.Store{}}
	if err := w.server.Seed(local.Seed{
		Tokens: []local.Token{{Token: "s3cret", Login: "octo"}},
		Owners: []local.Owner{{Login: "octo", Repos: []local.Repo{
			{Name: "docs", Description: "Documents", Language: "Go", Topics: []string{"writing"}, Files: map[string]string{
				"README.md": "# Docs\n", ".repo-context.json": `{"stack": ["go"]}`, "src/a b.go": "package a\n",
			}},
			{Name: "plain", Files: map[string]string{"README.md": "# Plain\n"}},
			{Name: "bare", Files: map[string]string{"main.go": "package main\n"}},
			{Name: "empty"},
			{Name: "odd", Files: map[string]string{"README.md/index.md": "x", ".repo-context.json": `{`, "big.txt": strings.Repeat("x", github.MaxFile+1)}},
		}}},
	}); err != nil {
		t.Fatal(err)
	}
	client := testenv.Must(github.New(github.Config{
		URL: w.server.URL(), Token: "s3cret",
		Policy: throttle.Policy{
			Retries: 2, TransientRetries: 2, Base: time.Second, Max: time.Minute,
			Now: func() time.Time { return noon }, Random: func() float64 { return 0 }, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		},
	}))(t)
	w.functions = testenv.Must(catalog.New(bundle.Functions(w.store, client)...))(t)
	return w
}

type object = map[string]any

// call calls a function.
func call[T any](w *world, name string, p object) (T, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	var answer T
	value, err := w.functions.Call(ctx, name, testenv.Must(json.Marshal(p))(w.t))
	if err == nil {
		err = json.Unmarshal(testenv.Must(json.Marshal(value))(w.t), &answer)
	}
	return answer, err
}

type synced struct {
	Context, Fingerprint string
	Documented           bool
}

// at is the time of a request, some seconds after noon.
func at(seconds int) string {
	return noon.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
}

// sync reads a repository of octo.
func (w *world) sync(name string, seconds int, more object) (synced, error) {
	w.t.Helper()
	p := object{"Owner": "octo", "Repository": name, "Generation": at(seconds)}
	for k, v := range more {
		p[k] = v
	}
	return call[synced](w, "Sync-RepoContext", p)
}

func (w *world) mustSync(name string, seconds int, more object) synced {
	w.t.Helper()
	return testenv.Must(w.sync(name, seconds, more))(w.t)
}

func read[T any](w *world, key string) T {
	w.t.Helper()
	value, _, err := bundle.Read[T](w.t.Context(), w.store, testenv.Must(artifact.ParseKey(key))(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	return value
}

// statuses are those of the requests since the first so many.
func (w *world) statuses(since int) (all []int) {
	for _, r := range w.server.Requests()[since:] {
		all = append(all, r.Status)
	}
	return all
}

func TestSyncReadsContextReadmeAndFurtherFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		repository string
		paths      []string
		want       bundle.Repository
	}{
		{"docs", []string{"src/a b.go"}, bundle.Repository{
			About:   github.About{Description: "Documents", Language: "Go", Topics: []string{"writing"}, DefaultBranch: "main"},
			Context: json.RawMessage(`{"stack":["go"]}`), Readme: "# Docs\n", Files: map[string]string{"src/a b.go": "package a\n"}, Documented: true,
		}},
		{"plain", []string{"docs/none.md"}, bundle.Repository{About: github.About{DefaultBranch: "main"}, Readme: "# Plain\n", Documented: true}},
		{"bare", nil, bundle.Repository{About: github.About{DefaultBranch: "main"}}},
		{"empty", nil, bundle.Repository{About: github.About{DefaultBranch: "main"}}},
		{"odd", []string{"big.txt"}, bundle.Repository{
			About:    github.About{DefaultBranch: "main"},
			Problems: []string{".repo-context.json is not JSON", "README.md is not a file", "big.txt has more than 1048576 bytes"},
		}},
	} {
		t.Run(tc.repository, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, local.Config{})
			got := w.mustSync(tc.repository, 0, object{"Paths": tc.paths})
			tc.want.Repository = tc.repository
			c := read[bundle.Context](w, got.Context)
			if g, want := testenv.Must(json.Marshal(c.Repository))(t), testenv.Must(json.Marshal(tc.want))(t); !bytes.Equal(g, want) {
				t.Errorf("got %s, want %s", g, want)
			}
			if got.Documented != tc.want.Documented || got.Fingerprint != tc.want.Fingerprint() {
				t.Errorf("answer %+v", got)
			}
		})
	}
}

func TestSyncAsksOnlyForWhatChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Config{})
	first := w.mustSync("docs", 0, object{"Fingerprint": "push-1"})
	n := len(w.server.Requests())
	steps := []struct {
		note    string
		seconds int
		more    object
		before  func()
		want    []int
		changed bool
	}{
		{"same state", 1, object{"Fingerprint": "push-1"}, nil, nil, false},
		{"forced", 2, object{"Fingerprint": "push-1", "Force": true}, nil, []int{304, 304, 304}, false},
		{"another state without a change of a file", 3, object{"Fingerprint": "push-2"}, nil, []int{304, 304, 304}, false},
		{"changed file", 4, object{"Fingerprint": "push-3"}, func() {
			if err := w.server.SetFile("octo", "docs", "README.md", new("# New\n")); err != nil {
				t.Error(err)
			}
		}, []int{200, 304, 200}, true},
		{"another path in the same state", 5, object{"Fingerprint": "push-3", "Paths": []string{"src/a b.go"}}, nil, []int{304, 304, 304, 200}, true},
		{"removed file", 6, object{"Fingerprint": "push-4"}, func() {
			if err := w.server.SetFile("octo", "docs", ".repo-context.json", nil); err != nil {
				t.Error(err)
			}
		}, []int{200, 404, 304}, true},
	}
	before := first
	for _, s := range steps {
		if s.before != nil {
			s.before()
		}
		got := w.mustSync("docs", s.seconds, s.more)
		if asked := w.statuses(n); !slices.Equal(asked, s.want) {
			t.Errorf("%s: GitHub answered %v, want %v", s.note, asked, s.want)
		}
		if changed := got.Fingerprint != before.Fingerprint; changed != s.changed || got.Context != first.Context {
			t.Errorf("%s: %+v", s.note, got)
		}
		n, before = len(w.server.Requests()), got
	}
	if c := read[bundle.Context](w, first.Context); c.Readme != "# New\n" || c.Repository.Context != nil && string(c.Repository.Context) != "null" {
		t.Errorf("stored %+v", c)
	}
}

// A job that is delivered again, and one that is older than what is stored, change nothing and answer the same.
func TestSyncIsSafeOnRedelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Config{})
	first := w.mustSync("docs", 10, nil)
	n := len(w.server.Requests())
	if err := w.server.SetFile("octo", "docs", "README.md", new("# New\n")); err != nil {
		t.Fatal(err)
	}
	for _, seconds := range []int{10, 5} {
		if got := w.mustSync("docs", seconds, object{"Force": true}); got != first || len(w.server.Requests()) != n {
			t.Errorf("%d: %+v", seconds, got)
		}
	}
	var group sync.WaitGroup
	answers := make([]synced, 8)
	for i := range answers {
		group.Go(func() {
			var err error
			if answers[i], err = w.sync("docs", 20, nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, a := range answers {
		if a != answers[0] || a.Fingerprint == first.Fingerprint {
			t.Errorf("at the same time: %+v", answers)
		}
	}
}

func TestSyncFailures(t *testing.T) {
	t.Parallel()
	hostile := []object{}
	for _, name := range []string{"..", "a/b", "a%2Fb", "ü", "-x", "a\x00", "../../etc", "a b", "o?x=1", strings.Repeat("a", 40), "octo/docs#"} {
		hostile = append(hostile, object{"Owner": name})
	}
	for _, name := range []string{".", "..", "a/b", "a%2f", "ü", strings.Repeat("a", 101), "docs?ref=x"} {
		hostile = append(hostile, object{"Repository": name})
	}
	for _, path := range []string{"../x", "/x", "x//y", "x/", ".", "README.md", strings.Repeat("a", 501)} {
		hostile = append(hostile, object{"Paths": []string{path}})
	}
	hostile = append(hostile, object{"Generation": "yesterday"}, object{"Paths": strings.Split(strings.Repeat("a,", 20)+"b", ",")})
	t.Run("hostile names", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, local.Config{})
		for _, p := range hostile {
			var failure *catalog.Failure
			if _, err := w.sync("docs", 0, p); !errors.As(err, &failure) || failure.Type != catalog.FailureParameters {
				t.Errorf("%q: %v", p, err)
			}
		}
		if r := w.server.Requests(); len(r) != 0 {
			t.Errorf("GitHub was asked: %v", r)
		}
		for p, err := range w.store.List(t.Context(), artifact.Key{}) {
			t.Errorf("stored %v, %v", p, err)
		}
	})
	for _, tc := range []struct {
		note   string
		config local.Config
		name   string
		faults []local.Fault
		want   catalog.Failure
	}{
		{"missing repository", local.Config{}, "none", nil, catalog.Failure{Type: catalog.FailureParameters, NotFound: true}},
		{"blocked repository", local.Config{}, "docs", []local.Fault{{Status: 451}}, catalog.Failure{Type: catalog.FailureParameters}},
		{"outage", local.Config{}, "docs", []local.Fault{{Status: 503}}, catalog.Failure{Type: "HTTP 503", Attempts: 3}},
		{"no answer", local.Config{}, "docs", []local.Fault{{Drop: true}}, catalog.Failure{Type: catalog.FailureUnreachable, Attempts: 3}},
		{"secondary limit with Retry-After", local.Config{}, "docs", []local.Fault{{Status: 403, RetryAfter: "120"}}, catalog.Failure{Type: catalog.FailureThrottled, Throttled: true, RetryAfter: 2 * time.Minute}},
		{"secondary limit without", local.Config{}, "docs", []local.Fault{{Status: 429}}, catalog.Failure{Type: catalog.FailureThrottled, Throttled: true, RetryAfter: time.Minute}},
		{"secondary limit as 403 without", local.Config{}, "docs", []local.Fault{{Status: 403}}, catalog.Failure{Type: catalog.FailureThrottled, Throttled: true, RetryAfter: time.Minute}},
		{"primary limit", local.Config{Limit: 1}, "docs", nil, catalog.Failure{Type: catalog.FailureThrottled, Throttled: true, RetryAfter: time.Hour}},
		{"primary limit as 429", local.Config{Limit: 1, LimitStatus: 429}, "docs", nil, catalog.Failure{Type: catalog.FailureThrottled, Throttled: true, RetryAfter: time.Hour}},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tc.config)
			if err := w.server.SetFaults(tc.faults...); err != nil {
				t.Fatal(err)
			}
			_, err := w.sync(tc.name, 0, nil)
			var got *catalog.Failure
			if !errors.As(err, &got) || got.Type != tc.want.Type || got.Throttled != tc.want.Throttled || got.RetryAfter != tc.want.RetryAfter || got.NotFound != tc.want.NotFound || tc.want.Attempts > 0 && got.Attempts != tc.want.Attempts {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if strings.Contains(fmt.Sprint(err), "s3cret") {
				t.Errorf("the error tells the token: %v", err)
			}
			for p, err := range w.store.List(t.Context(), artifact.Key{}) {
				t.Errorf("stored %v, %v", p, err)
			}
		})
	}
}

// A limit that ends soon only delays the job.
func TestSyncWaitsForAShortLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Config{})
	if err := w.server.SetFaults(local.Fault{Contains: "/contents/", Status: 403, RetryAfter: "3", Count: 1}); err != nil {
		t.Fatal(err)
	}
	if got := w.mustSync("docs", 0, nil); !got.Documented || !slices.Equal(w.statuses(0), []int{200, 403, 200, 200}) {
		t.Errorf("%+v, GitHub answered %v", got, w.statuses(0))
	}
}

type merged struct {
	Bundle, Fingerprint      string
	Repositories, Documented int
	Missing, Stale           []string
	Superseded               bool
}

// outputs stores the outputs of the items of a batch, as the engine does.
func (w *world) outputs(name string, lines ...string) string {
	w.t.Helper()
	key := artifact.NewKey("outputs", name)
	if _, err := w.store.Put(w.t.Context(), artifact.Artifact{
		Properties: artifact.Properties{Key: key, Fingerprint: name, Generation: 1, ContentType: "application/x-ndjson"},
		Content:    []byte(strings.Join(lines, "\n") + "\n"),
	}); err != nil {
		w.t.Fatal(err)
	}
	return key.String()
}

// item is a line of outputs; an item without an answer failed.
func item(name string, answer *synced) string {
	if answer == nil {
		return fmt.Sprintf(`{"key":%q,"status":"failed","outputs":{}}`, name)
	}
	return fmt.Sprintf(`{"key":%q,"status":"succeeded","outputs":{"Context":%q,"Documented":%v}}`, name, answer.Context, answer.Documented)
}

func (w *world) merge(outputs string, seconds int) (merged, error) {
	w.t.Helper()
	return call[merged](w, "Merge-Bundle", object{"Owner": "octo", "Outputs": outputs, "Generation": at(seconds)})
}

func TestMergeTakesFreshAndStoredContexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Config{})
	docs, plain := w.mustSync("docs", 0, nil), w.mustSync("plain", 0, nil)
	bare := w.mustSync("bare", 0, nil)
	got := testenv.Must(w.merge(w.outputs("a", item("docs", &docs), item("plain", nil), item("none", nil), item("../x", nil), item("bare", &bare)), 1))(t)
	want := merged{Bundle: "bundle/octo", Fingerprint: got.Fingerprint, Repositories: 3, Documented: 2, Missing: []string{"../x", "none"}, Stale: []string{"plain"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	b := read[bundle.Bundle](w, got.Bundle)
	if len(b.Repositories) != 3 || b.Repositories[0].Repository != "bare" || b.Repositories[2].Readme != "# Plain\n" {
		t.Errorf("stored %+v", b)
	}
	if plain.Context == docs.Context {
		t.Error("two repositories have one context")
	}
	// A context that was deleted since the item succeeded is missing.
	if err := w.store.Delete(t.Context(), bundle.ContextKey("octo", "bare"), noon.UnixMilli()); err != nil {
		t.Fatal(err)
	}
	if got := testenv.Must(w.merge(w.outputs("b", item("docs", &docs), item("bare", &bare)), 2))(t); fmt.Sprint(got.Missing) != "[bare]" || got.Repositories != 1 {
		t.Errorf("a deleted context: %+v", got)
	}
}

func TestFingerprintDoesNotDependOnTheOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Config{})
	var lines []string
	for _, name := range []string{"docs", "plain", "bare", "empty", "odd"} {
		answer := w.mustSync(name, 0, nil)
		lines = append(lines, item(name, &answer))
	}
	var first merged
	for i := range 10 {
		got := testenv.Must(w.merge(w.outputs(fmt.Sprint(i), lines...), i+1))(t)
		if i == 0 {
			first = got
		}
		if fmt.Sprint(got) != fmt.Sprint(first) {
			t.Fatalf("order %d: %+v, want %+v", i, got, first)
		}
		rand.Shuffle(len(lines), func(x, y int) { lines[x], lines[y] = lines[y], lines[x] })
	}
	if err := w.server.SetFile("octo", "plain", "README.md", new("# Other\n")); err != nil {
		t.Fatal(err)
	}
	w.mustSync("plain", 20, nil)
	if got := testenv.Must(w.merge(w.outputs("changed", lines...), 20))(t); got.Fingerprint == first.Fingerprint {
		t.Error("a changed repository has the same fingerprint")
	}
}

func TestNewerMergeWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Config{})
	docs, plain := w.mustSync("docs", 0, nil), w.mustSync("plain", 0, nil)
	one, both := w.outputs("one", item("docs", &docs)), w.outputs("both", item("docs", &docs), item("plain", &plain))
	newer := testenv.Must(w.merge(both, 10))(t)
	if newer.Superseded || newer.Repositories != 2 {
		t.Fatalf("newer: %+v", newer)
	}
	want := newer
	want.Superseded = true
	for _, outputs := range []string{one, both} {
		if older := testenv.Must(w.merge(outputs, 5))(t); fmt.Sprint(older) != fmt.Sprint(want) {
			t.Errorf("older: %+v, want %+v", older, want)
		}
	}
	// A job that is delivered again after a context has changed answers as the first time.
	if err := w.server.SetFile("octo", "plain", "README.md", new("# Other\n")); err != nil {
		t.Fatal(err)
	}
	w.mustSync("plain", 11, nil)
	if again := testenv.Must(w.merge(both, 10))(t); fmt.Sprint(again) != fmt.Sprint(newer) {
		t.Errorf("again: %+v, want %+v", again, newer)
	}
	if last := testenv.Must(w.merge(both, 12))(t); last.Fingerprint == newer.Fingerprint || last.Superseded {
		t.Errorf("last: %+v", last)
	}
}

func TestMergeRefusesOutputsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Config{})
	docs := w.mustSync("docs", 0, nil)
	foreign := docs
	foreign.Context = bundle.ContextKey("hubot", "docs").String()
	for note, outputs := range map[string]string{
		"no key": "../x", "none": "outputs/none", "another type": docs.Context,
		"no JSON": w.outputs("text", "hello"), "no status": w.outputs("status", `{"key":"a"}`), "twice": w.outputs("twice", item("a", nil), item("a", nil)),
		"context of another owner": w.outputs("foreign", item("docs", &foreign)),
	} {
		var failure *catalog.Failure
		if _, err := w.merge(outputs, 1); !errors.As(err, &failure) || failure.Type != catalog.FailureParameters {
			t.Errorf("%s: %v", note, err)
		}
	}
	var failure *catalog.Failure
	if _, err := call[merged](w, "Merge-Bundle", object{"Owner": "../octo", "Outputs": w.outputs("x"), "Generation": at(1)}); !errors.As(err, &failure) || failure.Type != catalog.FailureParameters {
		t.Errorf("a hostile owner: %v", err)
	}
	if _, err := w.store.Stat(t.Context(), bundle.Key("octo")); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("a bundle was stored: %v", err)
	}
}

// A bundle of 500 repositories is merged within the limits of an answer.
func TestMergeOf500Repositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Config{})
	docs := w.mustSync("docs", 0, nil)
	var lines []string
	for i := range 500 {
		name := fmt.Sprintf("repo-%03d", i)
		if i%2 == 0 {
			lines = append(lines, item(name, nil))
			continue
		}
		c := read[bundle.Context](w, docs.Context)
		c.Repository.Repository = name
		key := bundle.ContextKey("octo", name)
		if _, err := bundle.Write(t.Context(), w.store, artifact.Properties{Key: key, Fingerprint: c.Fingerprint(), Generation: 1}, c); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, item(name, &synced{Context: key.String()}))
	}
	if got := testenv.Must(w.merge(w.outputs("all", lines...), 1))(t); got.Repositories != 250 || len(got.Missing) != 250 || got.Documented != 250 {
		t.Errorf("%d repositories, %d missing", got.Repositories, len(got.Missing))
	}
}
