package github_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/github"
)

func start(t *testing.T, config github.Config) *github.Server {
	t.Helper()
	s := testenv.Started(github.Start(t.Context(), config))(t)
	big := strings.Repeat("x", 1<<20+1)
	if err := s.Seed(github.Seed{
		Tokens: []github.Token{{"good", "Octo"}, {"other", "someone"}},
		Owners: []github.Owner{{Login: "Octo", Repos: []github.Repo{
			{Name: "docs", Language: "Go", Topics: []string{"a"}, PushedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Files: map[string]string{
				"README.md": "# Docs\n", ".repo-context.json": `{"a":1}`, "src/a b/ü.go": "package a\n", "src/z.go": "package src\n", "big": big,
			}},
			{Name: "empty"},
			{Name: "secret", Private: true, Files: map[string]string{"README.md": "s"}},
		}}, {Login: "none"}},
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// response is an answer that was read.
type response struct {
	status int
	header http.Header
	body   string
}

// get sends a GET with headers of the form "Name: value". Without an Authorization it has the token of Octo.
func get(t *testing.T, s *github.Server, path string, headers ...string) response {
	t.Helper()
	r := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil))(t)
	r.Header.Set("Authorization", "Bearer good")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
		if value == "" && name != "User-Agent" {
			r.Header.Del(name)
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return response{body: err.Error()}
	}
	defer func() { _ = answer.Body.Close() }()
	return response{answer.StatusCode, answer.Header, string(testenv.Must(io.ReadAll(answer.Body))(t))}
}

func decode[T any](t *testing.T, r response) (v T) {
	t.Helper()
	if r.status != http.StatusOK {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return v
}

type content struct{ Type, Encoding, Content, Name, Path, SHA string }

func TestContents(t *testing.T) {
	t.Parallel()
	s := start(t, github.Config{})
	readme := decode[content](t, get(t, s, "/repos/octo/DOCS/contents/README.md"))
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(readme.Content, "\n", ""))
	// The id is that of "git hash-object".
	if err != nil || string(raw) != "# Docs\n" || readme.Encoding != "base64" || readme.Type != "file" || readme.SHA != "d0fa60edab3510b80d03fa4af708bea7a61cc4cd" {
		t.Errorf("README: %+v, %v", readme, err)
	}
	for path, want := range map[string]string{"README.md": "# Docs\n", "src/a%20b/%C3%BC.go": "package a\n", "src%2Fz.go": "package src\n", "big": strings.Repeat("x", 1<<20+1)} {
		for _, media := range []string{"application/vnd.github.raw+json", "application/vnd.github.v3.raw"} {
			if got := get(t, s, "/repos/Octo/docs/contents/"+path, "Accept: "+media); got.status != 200 || got.body != want {
				t.Errorf("%s as %s: %d, %d bytes", path, media, got.status, len(got.body))
			}
		}
	}
	if big := decode[content](t, get(t, s, "/repos/Octo/docs/contents/big?ref=main")); big.Encoding != "none" || big.Content != "" {
		t.Errorf("more than 1 MB: %+v", big.Encoding)
	}
	var names []string
	for _, e := range decode[[]content](t, get(t, s, "/repos/Octo/docs/contents/src")) {
		names = append(names, e.Type+" "+e.Path)
	}
	if got := strings.Join(names, ", "); got != "dir src/a b, file src/z.go" {
		t.Errorf("directory: %s", got)
	}
	if got := decode[[]content](t, get(t, s, "/repos/Octo/docs/contents")); len(got) != 4 {
		t.Errorf("root: %+v", got)
	}
	tree := decode[struct {
		Tree      []struct{ Path, Type string }
		Truncated bool
	}](t, get(t, s, "/repos/Octo/docs/git/trees/main?recursive=1"))
	names = nil
	for _, e := range tree.Tree {
		names = append(names, e.Type+" "+e.Path)
	}
	if got := strings.Join(names, ", "); tree.Truncated || got != "blob .repo-context.json, blob README.md, blob big, tree src, tree src/a b, blob src/a b/ü.go, blob src/z.go" {
		t.Errorf("tree: %s", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, github.Config{})
	for _, c := range []struct {
		path, header string
		status       int
		message      string
	}{
		{"/repos/octo/none", "", 404, "Not Found"},
		{"/repos/none/docs", "", 404, "Not Found"},
		{"/users/nobody/repos", "", 404, "Not Found"},
		{"/repos/octo/docs/contents/SKILLS-INDEX.md", "", 404, "Not Found"},
		{"/repos/octo/docs/contents/readme.md", "", 404, "Not Found"},
		{"/repos/octo/docs/contents/..%2F..%2Fsecret", "", 404, "Not Found"},
		{"/repos/octo/docs/contents/README.md?ref=v1", "", 404, "No commit found for the ref v1"},
		{"/repos/octo/docs/", "", 404, "is not served here"},
		{"/repos/octo/empty/contents/README.md", "", 404, "This repository is empty."},
		{"/repos/octo/empty/git/trees/main", "", 409, "Git Repository is empty."},
		{"/repos/octo/secret", "Authorization: Bearer other", 404, "Not Found"},
		{"/repos/octo/secret", "Authorization: ", 404, "Not Found"},
		{"/repos/octo/docs", "Authorization: Bearer bad", 401, "Bad credentials"},
		{"/repos/octo/docs", "Authorization: Basic good", 401, "Bad credentials"},
		{"/repos/octo/docs", "User-Agent: ", 403, "User-Agent"},
		{"/repos/octo/docs", "X-GitHub-Api-Version: 2020-01-01", 400, "is not supported here"},
		{"/repos/octo/docs?x=1", "", 422, "is not supported here"},
		{"/users/octo/repos?sort=stars", "", 422, "is not supported here"},
		{"/repos/octo/docs/contents/README.md", "Accept: application/vnd.github.html+json", 415, "is not supported here"},
		{"/repos/octo/docs/issues", "", 404, "is not served here"},
	} {
		got := get(t, s, c.path, c.header)
		if got.status != c.status || !strings.Contains(got.body, c.message) || !strings.Contains(got.body, `"documentation_url"`) {
			t.Errorf("%s with %q: %d %s", c.path, c.header, got.status, got.body)
		}
	}
	if got := get(t, s, "/repos/octo/secret"); got.status != 200 {
		t.Errorf("the owner's private repository: %d", got.status)
	}
}

var next = regexp.MustCompile(`<([^>]+)>; rel="next"`)

func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t, github.Config{})
	var repos []github.Repo
	for i := range 75 {
		repos = append(repos, github.Repo{Name: fmt.Sprintf("r%02d", i)})
	}
	if err := s.Seed(github.Seed{Owners: []github.Owner{{Login: "many", Repos: repos}}}); err != nil {
		t.Fatal(err)
	}
	for query, sizes := range map[string]string{"": "30 30 15", "?per_page=100": "75", "?per_page=50&sort=full_name": "50 25"} {
		var got []string
		seen := map[string]bool{}
		for path := "/users/Many/repos" + query; path != ""; {
			answer := get(t, s, path)
			page := decode[[]struct {
				Name     string
				FullName string `json:"full_name"`
			}](t, answer)
			got = append(got, fmt.Sprint(len(page)))
			for _, r := range page {
				seen[r.FullName] = true
			}
			path = ""
			if link := next.FindStringSubmatch(answer.header.Get("Link")); link != nil {
				path = strings.TrimPrefix(link[1], s.URL())
			}
		}
		if strings.Join(got, " ") != sizes || len(seen) != 75 {
			t.Errorf("%q: pages of %v with %d repositories, want %s", query, got, len(seen), sizes)
		}
	}
	if got := decode[[]any](t, get(t, s, "/users/octo/repos")); len(got) != 2 {
		t.Errorf("%d repositories of octo, want the 2 public ones", len(got))
	}
	if got := get(t, s, "/users/none/repos"); got.body != "[]" || got.header.Get("Link") != "" {
		t.Errorf("no repositories: %s", got.body)
	}
}

// A 304 costs nothing, and the ETag changes with the content.
func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	s := start(t, github.Config{})
	for _, c := range []struct {
		path, media string
		changes     bool
	}{
		{"/repos/octo/docs/contents/README.md", "application/vnd.github+json", true},
		{"/repos/octo/docs/contents/README.md", "application/vnd.github.raw+json", true},
		{"/repos/octo/docs/contents/src/z.go", "application/vnd.github+json", false},
		{"/repos/octo/docs/git/trees/main?recursive=1", "application/vnd.github+json", true},
		{"/repos/octo/docs", "application/vnd.github+json", true},
	} {
		first := get(t, s, c.path, "Accept: "+c.media)
		etag := first.header.Get("ETag")
		again := get(t, s, c.path, "Accept: "+c.media, "If-None-Match: "+etag)
		if first.status != 200 || again.status != 304 || again.body != "" || again.header.Get("ETag") != etag ||
			again.header.Get("X-RateLimit-Remaining") != first.header.Get("X-RateLimit-Remaining") {
			t.Errorf("%s: %d, then %d, %s and %s left", c.path, first.status, again.status, first.header.Get("X-RateLimit-Remaining"), again.header.Get("X-RateLimit-Remaining"))
		}
		changed := "# " + c.path + c.media
		if err := s.SetFile("octo", "docs", "README.md", &changed); err != nil {
			t.Fatal(err)
		}
		if got := get(t, s, c.path, "Accept: "+c.media, "If-None-Match: "+etag); (got.status == 200) != c.changes {
			t.Errorf("%s after a change: %d", c.path, got.status)
		}
	}
	first := get(t, s, "/repos/octo/docs", "Authorization: ")
	again := get(t, s, "/repos/octo/docs", "Authorization: ", "If-None-Match: "+first.header.Get("ETag"))
	if again.status != 304 || again.header.Get("X-RateLimit-Used") != "2" {
		t.Errorf("without a token: %d, %s used", again.status, again.header.Get("X-RateLimit-Used"))
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClockAt(time.Unix(1_800_000_000, 0))
	s := start(t, github.Config{Limit: 2, AnonymousLimit: 1, PerMinute: 6, Now: clock.Now, LimitStatus: 429})
	const path = "/repos/octo/docs"
	check := func(what string, got response, status int, remaining, message string) {
		t.Helper()
		if got.status != status || got.header.Get("X-RateLimit-Remaining") != remaining || !strings.Contains(got.body, message) || got.header.Get("X-RateLimit-Resource") != "core" {
			t.Errorf("%s: %d, %s left, %s", what, got.status, got.header.Get("X-RateLimit-Remaining"), got.body)
		}
	}
	check("first", get(t, s, path), 200, "1", "")
	check("a file that is missing", get(t, s, path+"/contents/none"), 404, "0", "")
	third := get(t, s, path)
	check("third", third, 429, "0", "API rate limit exceeded")
	if third.header.Get("X-RateLimit-Reset") != "1800003600" || third.header.Get("Retry-After") != "" {
		t.Errorf("reset: %v", third.header)
	}
	check("the endpoint of the limit", get(t, s, "/rate_limit"), 200, "0", "")
	check("without a token", get(t, s, path, "Authorization: "), 200, "0", "")
	clock.Advance(time.Hour)
	check("after the reset", get(t, s, path), 200, "1", "")
	for range 4 {
		get(t, s, "/rate_limit")
	}
	check("the sixth in a minute", get(t, s, path), 200, "0", "")
	seventh := get(t, s, path)
	check("the seventh in a minute", seventh, 429, "0", "secondary rate limit")
	if seventh.header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After: %q", seventh.header.Get("Retry-After"))
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := start(t, github.Config{Concurrent: 1})
	if err := s.SetFaults(
		github.Fault{Contains: "README", Count: 1, Status: 403, RetryAfter: "7"}, github.Fault{Contains: "README", After: 1, Count: 1, Status: 429},
		github.Fault{Contains: "z.go", Drop: true}, github.Fault{Contains: "big", Status: 502},
	); err != nil {
		t.Fatal(err)
	}
	const path = "/repos/octo/docs/contents/"
	for i, want := range []struct {
		status int
		wait   string
	}{{403, "7"}, {200, ""}, {429, ""}, {200, ""}} {
		if got := get(t, s, path+"README.md"); got.status != want.status || got.header.Get("Retry-After") != want.wait || got.status != 200 && !strings.Contains(got.body, "secondary rate limit") {
			t.Errorf("request %d: %d, Retry-After %q", i, got.status, got.header.Get("Retry-After"))
		}
	}
	if got := get(t, s, path+"src/z.go"); got.status != 0 {
		t.Errorf("a dropped connection: %d", got.status)
	}
	if got := get(t, s, path+"big"); got.status != 502 {
		t.Errorf("an outage: %d", got.status)
	}
	last := s.Requests()[len(s.Requests())-1]
	if last.Path != path+"big" || last.Status != 502 || last.Login != "Octo" {
		t.Errorf("last request: %+v", last)
	}
	answer := testenv.Must(http.Post(s.URL()+"/_local/faults", "application/json", strings.NewReader(`[{"delayMs": 200}]`)))(t)
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusNoContent {
		t.Errorf("faults over HTTP: %d, %v", answer.StatusCode, err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	seen := map[int]int{}
	for range 3 {
		group.Go(func() {
			got := get(t, s, path+"README.md")
			mu.Lock()
			defer mu.Unlock()
			seen[got.status]++
		})
	}
	group.Wait()
	if seen[200] == 0 || seen[403] == 0 {
		t.Errorf("concurrent requests: %v", seen)
	}
	for _, bad := range []github.Fault{{}, {Status: 400}, {Status: 500, RetryAfter: "1"}, {Count: -1, Drop: true}} {
		if err := s.SetFaults(bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func TestSeedFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seed.json")
	for text, ok := range map[string]bool{
		`{"tokens": [{"token": "t", "login": "a"}], "owners": [{"login": "a", "repos": [{"name": "r", "files": {"a/b": "c"}}]}]}`: true,
		`{"owner": []}`:                                           false,
		`{"owners": [{"login": "../a"}]}`:                         false,
		`{"owners": [{"login": "a--b"}]}`:                         false,
		`{"tokens": [{"login": "a"}]}`:                            false,
		`{"owners": [{"login": "a", "repos": [{"name": ".."}]}]}`: false,
		`{"owners": [{"login": "a", "repos": [{"name": "r", "files": {"../x": ""}}]}]}`:         false,
		`{"owners": [{"login": "a", "repos": [{"name": "r", "files": {"x": "", "x/y": ""}}]}]}`: false,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := github.ReadSeed(file); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := github.Start(t.Context(), github.Config{Addr: "0.0.0.0:0"}); err == nil {
		t.Error("listens beyond loopback")
	}
}
