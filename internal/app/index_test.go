package app_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// The policy with which the container is made, here and in Azure.
func indexPolicy(t *testing.T) azcosmos.IndexingPolicy {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "store", "index-policy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var policy azcosmos.IndexingPolicy
	if err := json.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	return policy
}

var (
	selection = regexp.MustCompile(`SELECT .*? FROM c\b|c\.doc\.\w+ AS \w+,?|\(c\.doc\.status = 'removed' .*\) AS leaving|c\.id, \{.*\} AS doc`)
	element   = regexp.MustCompile(`ARRAY_CONTAINS\(c\.([a-zA-Z.]+), \{"([a-zA-Z]+)": [^}]*\}, true\)`)
	mention   = regexp.MustCompile(`\bc\.([a-zA-Z.]+)`)
)

// wantedPaths are the paths that the queries in the source of this package and the store filter or sort by, in
// the notation of a policy, each with a place where it does.
func wantedPaths(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	queries, err := filepath.Glob("../store/sql*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	fields, err := os.ReadFile("../store/page.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range regexp.MustCompile(`Field += "(\w+)"`).FindAllStringSubmatch(string(fields), -1) {
		if field[1] != "id" {
			found["/doc/"+field[1]+"/?"] = "page.go"
		}
	}
	for _, name := range append(files, queries...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := literal(e)
			if !ok {
				return true
			}
			text = selection.ReplaceAllString(text, "")
			at := positions.Position(n.Pos()).String()
			for _, m := range element.FindAllStringSubmatch(text, -1) {
				found["/"+strings.ReplaceAll(m[1], ".", "/")+"/[]/"+m[2]+"/?"] = at
			}
			for _, m := range mention.FindAllStringSubmatch(element.ReplaceAllString(text, ""), -1) {
				if m[1] != "id" && m[1] != "doc." { // which is always indexed
					found["/"+strings.ReplaceAll(m[1], ".", "/")+"/?"] = at
				}
			}
			return false
		})
	}
	return found
}

// literal is the text of a string, or of strings and of other things put together.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, isLeft := literal(e.X)
		right, isRight := literal(e.Y)
		return left + right, e.Op == token.ADD && (isLeft || isRight)
	}
	return "", false
}

// differs tells what a policy lacks of what is asked, and what it has too much.
func differs(policy azcosmos.IndexingPolicy, asked map[string]string) []string {
	// The documentation asks for the partition key; every query is of one or of all.
	asked = maps.Clone(asked)
	asked["/pk/?"] = "every query"
	var wrong []string
	has := map[string]bool{}
	for _, path := range policy.IncludedPaths {
		has[path.Path] = true
		if asked[path.Path] == "" {
			wrong = append(wrong, path.Path+" is in the policy, and no query filters or sorts by it")
		}
	}
	for path, at := range asked {
		if !has[path] {
			wrong = append(wrong, path+" is not in the policy, and is asked for at "+at)
		}
	}
	slices.Sort(wrong)
	return wrong
}

func TestIndexPolicyHasWhatTheQueriesAskFor(t *testing.T) {
	t.Parallel()
	policy, asked := indexPolicy(t), wantedPaths(t)
	if wrong := differs(policy, asked); len(wrong) > 0 {
		t.Errorf("internal/store/index-policy.json:\n%s", strings.Join(wrong, "\n"))
	}
	for i, path := range policy.IncludedPaths {
		less := policy
		less.IncludedPaths = slices.Delete(slices.Clone(policy.IncludedPaths), i, i+1)
		if wrong := differs(less, asked); len(wrong) != 1 {
			t.Errorf("without %s it is found that %q", path.Path, wrong)
		}
	}
}

// everyList asks every list in every order, and with every filter that it has. It gives
// the first error.
func everyList(s *stage, batch int) error {
	var first error
	note := func(_ any, err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	all := func(sorts api.SortFields, options []app.ListOptions, list func(app.ListOptions) (any, error)) {
		for _, o := range append(options, app.ListOptions{}) {
			for _, o.Sort = range append(sorts.Values(), "") {
				note(list(o))
			}
		}
	}
	all(api.BatchSorts, []app.ListOptions{{Status: "active"}, {Runbook: "flat"}, {Search: "f"}, {Status: "active", Runbook: "flat", Search: "f"}},
		func(o app.ListOptions) (any, error) { return s.app.Batches(s.ctx, o) })
	all(api.MemberSorts, []app.ListOptions{{Status: "active"}, {Search: "p"}, {Status: "active", Search: "p"}},
		func(o app.ListOptions) (any, error) { return s.app.Members(s.ctx, ada, batch, o) })
	all(api.StepSorts, []app.ListOptions{{Phase: "only"}, {Member: 1}, {Status: "failed"}, {Search: "p"}, {Phase: "only", Member: 1, Status: "failed", Search: "p"}},
		func(o app.ListOptions) (any, error) {
			if o.Phase != "" {
				phases, err := s.app.Phases(s.ctx, batch)
				if err != nil {
					return nil, err
				}
				o.Phase = phases.Items[0].Name
			}
			return s.app.Steps(s.ctx, ada, batch, o)
		})
	all(api.RunbookSorts, []app.ListOptions{{Search: "f"}}, func(o app.ListOptions) (any, error) { return s.app.Runbooks(s.ctx, o) })
	all(api.VersionSorts, nil, func(o app.ListOptions) (any, error) { return s.app.Versions(s.ctx, "flat", o) })
	all(api.UnprocessedSorts, []app.ListOptions{{Status: "replayed"}, {Topic: "worker-results"}},
		func(o app.ListOptions) (any, error) { return s.app.Unprocessed(s.ctx, o) })
	now := s.clock.Now()
	for _, f := range []app.AuditFilter{{}, {Action: "advance"}, {By: "ada"}, {From: now.AddDate(0, 0, -1), To: now.AddDate(0, 0, 1)}, {Action: "advance", By: "ada", From: now.AddDate(0, 0, -1)}} {
		note(s.app.BatchAudit(s.ctx, batch, f, app.ListOptions{}))
		note(s.app.RunbookAudit(s.ctx, "flat", f, app.ListOptions{}))
		note(s.app.MessageAudit(s.ctx, f, app.ListOptions{}))
		note(s.app.Audit(s.ctx, f, app.ListOptions{}))
	}
	return first
}

// The service, as far as it is here, serves every list by the policy; and where a path is
// dropped that a list needs, the list is refused or has to read everything.
func TestEveryListIsServedByTheIndex(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(flat)
	b := s.batch("flat", people(3))
	s.advance(b.ID)
	s.cosmos.ResetStats()
	if err := everyList(s, b.ID); err != nil || s.cosmos.Stats().Unindexed != 0 {
		t.Fatalf("%v, and %d pages of queries are not served by the index", err, s.cosmos.Stats().Unindexed)
	}
	key, err := azcosmos.NewKeyCredential(cosmos.DefaultKey)
	must(s, key, err)
	client, err := azcosmos.NewClientWithKey(s.cosmos.URL(), key, nil)
	must(s, client, err)
	container, err := client.NewContainer("d", "c")
	must(s, container, err)
	there, err := container.Read(s.ctx, nil)
	must(s, there, err)
	policy := indexPolicy(t)
	if got, want := *there.ContainerProperties.IndexingPolicy, policy; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Fatalf("the container has the policy %+v\nwant %+v", got, want)
	}
	for i, path := range policy.IncludedPaths {
		properties, less := *there.ContainerProperties, policy
		less.IncludedPaths = slices.Delete(slices.Clone(policy.IncludedPaths), i, i+1)
		properties.IndexingPolicy = &less
		if _, err := container.Replace(s.ctx, properties, nil); err != nil {
			t.Fatal(err)
		}
		s.cosmos.ResetStats()
		err := everyList(s, b.ID)
		if missed := err != nil || s.cosmos.Stats().Unindexed > 0; missed == behind[path.Path] {
			t.Errorf("without %s: %v, and %d pages are not served by the index", path.Path, err, s.cosmos.Stats().Unindexed)
		}
	}
	s.cosmos.ResetStats()
}

// behind are the paths that no list asks for, but only what goes on behind.
var behind = map[string]bool{
	"/pk/?": true, "/doc/deadlineAt/?": true, "/doc/enabled/?": true, "/doc/eraseSecretsAt/?": true, "/doc/heldAt/?": true, "/doc/leaving/?": true,
	"/doc/open/?": true, "/doc/page/?": true, "/doc/phaseId/?": true,
	"/doc/sentAt/?": true, "/doc/worker/?": true, "/doc/reported/?": true, "/doc/target/?": true, "/doc/task/?": true, "/doc/wakeAt/?": true, "/doc/why/?": true,
}
