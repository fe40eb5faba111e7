package rehearse_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// groupWave is a runbook whose members are those of a group of the source. The description of the group is their start.
const groupWave = `name: wave
data_source:
  type: graph
  connection: SOURCE_GRAPH
  groups: [cccccccc-0000-4000-8000-000000000001]
  columns: {UserId: id, Upn: userPrincipalName, Start: group/description}
  primary_key: Upn
  batch_time_column: Start
phases:
  - name: block
    offset: T-0
    steps: [{name: block, worker_id: worker-source, function: Set-EntraUserEnabled, params: {UserId: "{{UserId}}", Enabled: false}}]
on_member_removed:
  - {name: unblock, worker_id: worker-source, function: Set-EntraUserEnabled, params: {UserId: "{{UserId}}", Enabled: true}}
`

// The members of a runbook that reads Microsoft 365 come from the snapshot of their tenant.
func TestMembersComeFromTheCopyOfTheirTenant(t *testing.T) {
	t.Parallel()
	all := tenants(t, func(name string, seed *tenant.Seed) {
		if name != "source" {
			return
		}
		group := tenant.SeedGroup{Properties: map[string]any{
			"id": "cccccccc-0000-4000-8000-000000000001", "displayName": "Wave", "mailNickname": "wave", "description": "2026-12-02 18:00", "securityEnabled": true, "mailEnabled": false, "groupTypes": []any{},
		}}
		for _, name := range []string{"ada", "ben"} {
			seed.Users = append(seed.Users, tenant.User{"id": idOf(name), "userPrincipalName": name + "@contoso.com", "displayName": name, "accountEnabled": true})
			group.Members = append(group.Members, idOf(name))
		}
		seed.Groups = append(seed.Groups, group)
	})
	all[0] = testenv.Must(rehearse.ReadTenant("source", exported(t, all[0], false), ""))(t)
	c := rehearse.Config{Runbook: []byte(groupWave), FromSource: true, Start: start, Tenants: all, Assumed: rehearse.DefaultAssumptions(), Sample: 1}
	r := testenv.Must(rehearse.Run(t.Context(), c))(t)
	if len(r.Batches) != 1 || !slices.Equal(slices.Sorted(slices.Values(r.Batches[0].Members)), []string{"ada@contoso.com", "ben@contoso.com"}) || !r.Complete {
		t.Errorf("batches %+v, complete %v, %v, %+v", r.Batches, r.Complete, r.Notes, r.Errors)
	}
	if want := "2026-12-02T18:00:00Z"; len(r.Batches) == 1 && r.Batches[0].Start.Format("2006-01-02T15:04:05Z") != want {
		t.Errorf("the batch starts at %s, want %s", r.Batches[0].Start, want)
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "came from the copy of their tenant") }) || r.Removal == nil || len(r.Removal.Members) != 1 {
		t.Errorf("notes %q, removal %+v", r.Notes, r.Removal)
	}
	c.Runbook = []byte(strings.Replace(groupWave, "groups: [cccccccc-0000-4000-8000-000000000001]", "groups: [cccccccc-0000-4000-8000-00000000000f]", 1))
	if _, err := rehearse.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "cccccccc-0000-4000-8000-00000000000f") {
		t.Errorf("a group that the snapshot does not have: %v", err)
	}
}

// A data source outside of the tenants is asked once, also if a removal is rehearsed.
func TestAQueryIsSentOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	reader := &datasource.Reader{
		Sources: map[string]datasource.Open{runbook.SourceCSV: func(s datasource.Spec) (datasource.Source, error) {
			asked++
			return csvfile.Open(s)
		}},
		Settings: []string{"PEOPLE"}, Getenv: func(string) string { return "testdata/people.csv" },
	}
	text := strings.NewReplacer("type: graph", "type: csv", "SOURCE_GRAPH", "PEOPLE", "  groups: [cccccccc-0000-4000-8000-000000000001]\n", "",
		"  columns: {UserId: id, Upn: userPrincipalName, Start: group/description}\n", "").Replace(groupWave)
	all := tenants(t, func(name string, seed *tenant.Seed) {
		if name == "target" {
			return
		}
		seed.Users = append(seed.Users, tenant.User{"id": "cccccccc-0000-4000-8000-000000000007", "userPrincipalName": "ada@contoso.com"})
	})
	r := testenv.Must(rehearse.Run(t.Context(), rehearse.Config{
		Runbook: []byte(text), FromSource: true, Sources: reader, Start: start, Tenants: all, Assumed: rehearse.DefaultAssumptions(), Sample: 1,
	}))(t)
	if asked != 1 || !r.Complete || r.Members != 1 {
		t.Errorf("asked %d times: %+v, %s", asked, r.Batches, testenv.Must(json.Marshal(r.Errors))(t))
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "that request left this machine") }) {
		t.Errorf("notes %q", r.Notes)
	}
}
