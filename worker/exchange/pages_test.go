package exchange_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// crowd is a tenant with a list and a migration batch of more people than a page of Exchange Online has.
func crowd(t *testing.T) (w world, last string) {
	t.Helper()
	const people = 1001
	seed := tenant.Seed{VerifiedDomains: []string{"contoso.example"}, MigrationEndpoints: []string{"old"}}
	list := tenant.SeedGroup{Properties: map[string]any{"id": exchangeGUID, "displayName": "All", "mailNickname": "all", "mail": "all@contoso.example", "mailEnabled": true, "securityEnabled": false}}
	batch := tenant.MigrationBatch{Name: "wave", SourceEndpoint: "old", TargetDeliveryDomain: "contoso.example"}
	for i := range people {
		last = fmt.Sprintf("11111111-0000-4000-8000-%012d", i)
		address := fmt.Sprintf("p%d@contoso.example", i)
		seed.Users = append(seed.Users, tenant.User{"id": last, "userPrincipalName": address, "mailNickname": fmt.Sprint("p", i)})
		seed.Recipients = append(seed.Recipients, tenant.Recipient{Kind: tenant.MailUser, ExternalDirectoryObjectID: last, Name: fmt.Sprint("P", i), Alias: fmt.Sprint("p", i), EmailAddresses: []string{"SMTP:" + address}, ExternalEmailAddress: fmt.Sprintf("p%d@old.example", i)})
		list.Members = append(list.Members, last)
		batch.Users = append(batch.Users, tenant.MigrationUser{Email: address})
	}
	seed.Groups, seed.MigrationBatches = []tenant.SeedGroup{list}, []tenant.MigrationBatch{batch}
	server := testenv.Started(tenant.Start(t.Context(), tenant.Config{Seed: &seed}))(t)
	return world{server, functions(t, server.URL(), tenant.DefaultTenantID, pace())}, last
}

// Outputs of more than a page are read to their end.
func TestOutputsOfSeveralPagesAreReadWhole(t *testing.T) {
	t.Parallel()
	w, last := crowd(t)
	answer := testenv.Must(call(t, w.Catalog, "Test-ExchangeGroupMembership", map[string]any{"GroupIdentity": "all@contoso.example", "UserId": last}))(t)
	if got := fmt.Sprintf("%+v", answer); !strings.Contains(got, "IsMember:true") {
		t.Errorf("the last member of the list: %s", got)
	}
	testenv.Must(call(t, w.Catalog, "Remove-ExchangeMigrationBatch", map[string]any{"BatchName": "wave"}))(t)
	if left := w.State().Batches; len(left) != 0 {
		t.Errorf("a batch is left: %s", left[0].Name)
	}
}

// A command whose further output cannot be read has run: it may have changed something.
func TestACommandWithUnreadOutputHasRun(t *testing.T) {
	t.Parallel()
	c := answers(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			rw.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(rw, `{"value":[{}],"@odata.nextLink":"http://%s%s?$skiptoken=1"}`, r.Host, r.URL.Path)
	})
	if _, failure := command(t, c, false, newMailUser(false)); failure == nil || !strings.Contains(failure.Message, "may have run") {
		t.Errorf("got %v", failure)
	}
}

// What a write prints is not looked at.
func TestTheOutputOfAWriteIsIgnored(t *testing.T) {
	t.Parallel()
	c := answers(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-CmdletName") == "Get-MailUser" {
			fmt.Fprintf(rw, `{"value":[{"RecipientType":"MailUser","ExchangeGuid":%q}]}`, exchangeGUID)
			return
		}
		fmt.Fprint(rw, "done")
	})
	if _, err := call(t, c, "Set-ExchangeMailUserGuids", map[string]any{"Identity": "ada", "ExchangeGuid": exchangeGUID}); err != nil {
		t.Error(err)
	}
}

// A link to a next page is followed on the same server only, and not for ever.
func TestLinksToPages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ next, says string }{
		"of another server": {"https://elsewhere.example/adminapi", "leads to elsewhere.example"},
		"of no end":         {"SELF", "more than 1000 pages"},
	} {
		asked := 0
		c := answers(t, func(rw http.ResponseWriter, r *http.Request) {
			asked++
			fmt.Fprintf(rw, `{"value":[{}],"@odata.nextLink":%q}`, strings.Replace(tc.next, "SELF", "http://"+r.Host+r.URL.Path, 1))
		})
		_, err := call(t, c, "Test-ExchangeGroupMembership", map[string]any{"GroupIdentity": "all@contoso.example", "UserId": adaID})
		if err == nil || !strings.Contains(err.Error(), tc.says) || asked > 1000 {
			t.Errorf("%s: after %d requests %v", name, asked, err)
		}
	}
}
