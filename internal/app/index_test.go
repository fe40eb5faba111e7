package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// The policy with which the container is made, here and in Azure.
func indexPolicy(t *testing.T) azcosmos.IndexingPolicy {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "store", "cosmos", "index-policy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var policy azcosmos.IndexingPolicy
	if err := json.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	return policy
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
	all := func(sorts api.SortFields, options []api.ListOptions, list func(api.ListOptions) (any, error)) {
		for _, o := range append(options, api.ListOptions{}) {
			for _, o.Sort = range append(sorts.Values(), "") {
				note(list(o))
			}
		}
	}
	all(api.BatchSorts, []api.ListOptions{{Status: "active"}, {Runbook: "flat"}, {Search: "f"}, {Status: "active", Runbook: "flat", Search: "f"}},
		func(o api.ListOptions) (any, error) { return s.app.Batches(s.ctx, o) })
	all(api.MemberSorts, []api.ListOptions{{Status: "active"}, {Search: "p"}, {Status: "active", Search: "p"}},
		func(o api.ListOptions) (any, error) { return s.app.Members(s.ctx, ada, batch, o) })
	all(api.StepSorts, []api.ListOptions{{Phase: "only"}, {Member: 1}, {Status: "failed"}, {Search: "p"}, {Phase: "only", Member: 1, Status: "failed", Search: "p"}},
		func(o api.ListOptions) (any, error) {
			if o.Phase != "" {
				phases, err := s.app.Phases(s.ctx, batch)
				if err != nil {
					return nil, err
				}
				o.Phase = phases.Items[0].Name
			}
			return s.app.Steps(s.ctx, ada, batch, o)
		})
	all(api.RunbookSorts, []api.ListOptions{{Search: "f"}}, func(o api.ListOptions) (any, error) { return s.app.Runbooks(s.ctx, o) })
	all(api.VersionSorts, nil, func(o api.ListOptions) (any, error) { return s.app.Versions(s.ctx, "flat", o) })
	all(api.UnprocessedSorts, []api.ListOptions{{Status: "replayed"}, {Topic: "worker-results"}},
		func(o api.ListOptions) (any, error) { return s.app.Unprocessed(s.ctx, o) })
	now := s.clock.Now()
	for _, f := range []api.AuditFilter{{}, {Action: "advance"}, {By: "ada"}, {From: now.AddDate(0, 0, -1), To: now.AddDate(0, 0, 1)}, {Action: "advance", By: "ada", From: now.AddDate(0, 0, -1)}} {
		note(s.app.BatchAudit(s.ctx, batch, f, api.ListOptions{}))
		note(s.app.RunbookAudit(s.ctx, "flat", f, api.ListOptions{}))
		note(s.app.MessageAudit(s.ctx, f, api.ListOptions{}))
		note(s.app.Audit(s.ctx, f, api.ListOptions{}))
	}
	return first
}

// The service, as far as it is here, serves every list by the policy; and where a path is
// dropped that a list needs, the list is refused or has to read everything.
func TestEveryListIsServedByTheIndex(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
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
	"/pk/?": true, "/doc/deadlineAt/?": true, "/doc/enabled/?": true, "/doc/eraseSecretsAt/?": true, "/doc/pausedAt/?": true, "/doc/leaving/?": true,
	"/doc/open/?": true, "/doc/page/?": true, "/doc/phaseId/?": true,
	"/doc/sentAt/?": true, "/doc/worker/?": true, "/doc/reported/?": true, "/doc/target/?": true, "/doc/task/?": true, "/doc/wakeAt/?": true, "/doc/why/?": true,
}
