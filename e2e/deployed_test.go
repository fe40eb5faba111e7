package e2e_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/matoolkit/matoolkit/e2e/pages"
)

// deployed is where docs/deployment.md stands before its smoke test, with the local system in
// the place of Azure: the addresses and ids are in variables, as the steps before have left
// them, the command line knows none of them, and smoke.yaml and smoke.csv are the page's.
func (r *runner) deployed() {
	r.t.Helper()
	seed := filepath.Join(r.home, "seed.json")
	r.file("seed.json", `{"verifiedDomains": ["fabrikam.example"], "users": [{"userPrincipalName": "somebody@fabrikam.example",
		"displayName": "Somebody", "mailNickname": "somebody", "accountEnabled": true}]}`)
	r.system(seed, environment{})
	for name, setting := range map[string]string{
		"API_URL": "MATOOLKIT_API_URL", "TENANT_ID": "MATOOLKIT_TENANT_ID", "CLI_CLIENT_ID": "MATOOLKIT_CLIENT_ID", "API_CLIENT_ID": "MATOOLKIT_API_SCOPE",
	} {
		r.env[name] = strings.TrimSuffix(strings.TrimPrefix(r.env[setting], "api://"), "/.default")
		delete(r.env, setting)
	}
	r.announced(anyWorker)

	text, err := os.ReadFile(filepath.Join(root, "docs", "deployment.md"))
	if err != nil {
		r.t.Fatal(err)
	}
	page, err := pages.Parse("docs/deployment.md", string(text))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, b := range page.Blocks {
		switch {
		case b.Language == "yaml" && strings.HasPrefix(b.Text, "name: smoke-test\n"):
			r.file("smoke.yaml", b.Text)
		case b.Language == "csv" && strings.HasPrefix(b.Text, "UserPrincipalName\n"):
			r.file("smoke.csv", b.Text)
		}
	}
}
