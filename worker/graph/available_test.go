package graph_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

func TestATakenAddressNamesItsHolder(t *testing.T) {
	t.Parallel()
	w := start(t)
	if err := w.Seed(tenant.Seed{Groups: []tenant.SeedGroup{{Properties: map[string]any{
		"displayName": "Sales team", "mailNickname": "sales", "mail": "sales@contoso.example", "mailEnabled": true, "securityEnabled": false,
	}}}, Users: []tenant.User{{"userPrincipalName": "bob@contoso.example", "mail": "robert@contoso.example"}}}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		address, user string
		holder        string // empty: available
	}{
		{"ADA@contoso.example", "", "user ada@contoso.example"},
		{"ada@contoso.example", adaID, ""},
		{"bob@contoso.example", adaID, "user bob@contoso.example"},
		{"Robert@contoso.example", "", "user bob@contoso.example"},
		{"sales@contoso.example", "", "group Sales team"},
		{"o'hara@contoso.example", "", ""},
		{"x@contoso.example", "", ""},
	} {
		params := map[string]any{"Address": tc.address}
		if tc.user != "" {
			params["UserId"] = tc.user
		}
		answer, failure := w.call(t, "Test-EntraAddressAvailable", params)
		want := `"complete":true`
		if tc.holder != "" {
			want = `"complete":false,"reason":"` + tc.address + ` belongs to the ` + tc.holder
		}
		if failure != nil || !strings.Contains(answer, want) {
			t.Errorf("%s, %s: got %s, %v; want %s", tc.address, tc.user, answer, failure, want)
		}
	}
}

// A tenant lists a domain before it is verified.
func TestADomainThatIsNotVerifiedYetIsNotEnough(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"new.example","isVerified":false}`)
	}))
	t.Cleanup(server.Close)
	client := testenv.Must(graph.New(graph.Config{
		URL: server.URL, Scope: "https://graph.microsoft.com/.default", Credential: &credential{}, Policy: throttle.Default(),
	}))(t)
	w := &world{Catalog: testenv.Must(catalog.New(client.Functions()...))(t)}
	answer, failure := w.call(t, "Test-EntraDomainVerified", map[string]any{"Address": "ada@new.example"})
	if failure != nil || !strings.Contains(answer, `"complete":false,"reason":"domain new.example is not verified`) {
		t.Errorf("got %s, %v", answer, failure)
	}
}
