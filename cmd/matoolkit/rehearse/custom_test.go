package rehearse_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

const badges = `name: badges
data_source: {type: csv, primary_key: Upn}
phases:
  - name: badge
    offset: T-0
    steps:
      - {name: issue, worker_id: worker-target, function: New-Badge, params: {Upn: "{{Upn}}"}}
`

// A custom function does in a rehearsal what its manifest says.
func TestCustomFunctionsDoWhatTheirManifestSays(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rehearse      catalog.Rehearsal
		complete      bool
		error, listed string
		runs          bool
	}{
		{rehearse: "", complete: true, listed: "does not say"},
		{rehearse: catalog.RehearseSucceed, complete: true, listed: "has each call succeed"},
		{rehearse: catalog.RehearseFail, error: "its manifest says that it fails"},
		{rehearse: catalog.RehearseRun, complete: true, runs: true},
	} {
		t.Run("rehearse "+string(tc.rehearse), func(t *testing.T) {
			t.Parallel()
			members := filepath.Join(t.TempDir(), "members.csv")
			if err := os.WriteFile(members, []byte("Upn\nada@contoso.com\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			ran := 0
			f := catalog.Function{Name: "New-Badge", Description: "x", Params: []catalog.Param{{Name: "Upn", Type: catalog.String, Required: true}}, Rehearse: tc.rehearse}
			f.Run = func(context.Context, catalog.Params) (any, error) { ran++; return true, nil }
			r := testenv.Must(rehearse.Run(t.Context(), rehearse.Config{
				Runbook: []byte(badges), Members: members, Start: start, Tenants: tenants(t, nil)[1:], Custom: []catalog.Function{f}, Assumed: rehearse.DefaultAssumptions(),
			}))(t)
			if r.Complete != tc.complete || (ran > 0) != tc.runs {
				t.Errorf("complete %v, ran %d times", r.Complete, ran)
			}
			named := slices.ContainsFunc(r.Notes, func(n string) bool {
				return strings.Contains(n, "started on this machine") && strings.Contains(n, "New-Badge (1 call)")
			})
			if named != tc.runs {
				t.Errorf("the notes name the program: %v, want %v: %q", named, tc.runs, r.Notes)
			}
			if tc.error != "" && (len(r.Errors) != 1 || !strings.Contains(r.Errors[0].Error, tc.error)) {
				t.Errorf("errors %+v", r.Errors)
			}
			if (tc.listed != "") != (len(r.NotRehearsed) == 1) || tc.listed != "" && !strings.Contains(r.NotRehearsed[0].Why, tc.listed) {
				t.Errorf("not rehearsed %+v", r.NotRehearsed)
			}
		})
	}
}
