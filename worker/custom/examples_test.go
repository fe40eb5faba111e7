package custom_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/custom"
)

const examples = "../../examples/custom-functions"

// copied are the examples as a directory of functions: who may write a checked-out
// file depends on whose machine it is.
func copied(t *testing.T) directory {
	t.Helper()
	d := newDirectory(t)
	files, err := filepath.Glob(filepath.Join(examples, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	for _, file := range files {
		content := testenv.Must(os.ReadFile(file))(t)
		mode := "644"
		if filepath.Ext(file) == ".sh" {
			mode = "755"
		}
		d.write(t, filepath.Base(file), mode, string(content))
	}
	return d
}

func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	set := testenv.Must(custom.Load(custom.Config{Dir: copied(t).path}))(t)
	var names []string
	for _, f := range set.Functions() {
		names = append(names, f.Name)
	}
	if len(names) != 2 || names[0] != "New-Badge" || names[1] != "Test-BadgeIssued" {
		t.Errorf("got %v", names)
	}
}

func TestTheShellExampleWorks(t *testing.T) {
	t.Parallel()
	d := copied(t)
	if err := os.Remove(filepath.Join(d.path, "new-badge.yaml")); err != nil { // it needs PowerShell
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "badges.csv")
	if err := os.WriteFile(list, []byte("11111111-0000-4000-8000-00000000000a,B-17\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ list, user, want string }{
		{list, "11111111-0000-4000-8000-00000000000A", `{"complete":true,"data":{"Badge":"B-17"}}`},
		{list, "22222222-0000-4000-8000-00000000000a", `{"complete":false,"data":null}`},
		{list + "x", "22222222-0000-4000-8000-00000000000a", ""},
	} {
		_, c := d.load(t, environment("BADGE_LIST", tc.list))
		params := `{"UserId":"` + tc.user + `"}`
		got, failure := callFunction(t, t.Context(), c, "Test-BadgeIssued", params)
		if tc.want == "" {
			if failure == nil || failure.Type != "NoBadgeList" {
				t.Errorf("without a list: %s, %v", got, failure)
			}
			continue
		}
		if failure != nil || got != tc.want {
			t.Errorf("got %s, %v; want %s", got, failure, tc.want)
		}
	}
}

func TestThePowerShellExampleIsAccepted(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	for _, name := range []string{"get-mailbox-size.yaml", "get-mailbox-size.ps1"} {
		d.write(t, name, "644", string(testenv.Must(os.ReadFile(filepath.Join(examples, "..", "powershell-functions", name)))(t)))
	}
	set := testenv.Must(custom.Load(custom.Config{Dir: d.path}))(t)
	if f := set.Functions(); len(f) != 1 || f[0].Name != "Get-MailboxSize" || !f[0].ReadOnly {
		t.Errorf("got %+v", f)
	}
}
