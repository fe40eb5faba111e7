package keyvault_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azsecrets"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/keyvault"
)

// as is the token of an application of the directory.
type as struct {
	directory *entra.Server
	client    string
	scope     string // empty means what the vault asked for
}

func (a as) GetToken(_ context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	scope := options.Scopes[0]
	if a.scope != "" {
		scope = a.scope
	}
	token, err := a.directory.IssueAppToken(a.client, scope)
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, err
}

type fixture struct {
	directory *entra.Server
	vault     *keyvault.Server
}

func start(t *testing.T, allowed func(string) bool) fixture {
	t.Helper()
	config := entra.DefaultConfig()
	config.Addr = "127.0.0.1:0"
	directory := testenv.Started(entra.Start(t.Context(), config))(t)
	certificate := testenv.Must(directory.ServerCertificate())(t)
	vault := testenv.Must(keyvault.Start(t.Context(), keyvault.Config{
		Certificate: certificate, Authority: directory.URL(), TenantID: entra.DefaultTenantID, VerifyToken: directory.VerifyToken, Allowed: allowed,
	}))(t)
	t.Cleanup(func() {
		if err := errors.Join(vault.Close(), vault.Close()); err != nil {
			t.Error(err)
		}
	})
	return fixture{directory, vault}
}

func (f fixture) client(t *testing.T, scope string) *azsecrets.Client {
	t.Helper()
	return testenv.Must(azsecrets.NewClient(f.vault.URL(), as{f.directory, entra.DefaultWorkerClientID, scope}, &azsecrets.ClientOptions{
		ClientOptions:                        azcore.ClientOptions{Transport: f.directory.HTTPClient(), Retry: policy.RetryOptions{MaxRetries: -1}},
		DisableChallengeResourceVerification: true,
	}))(t)
}

func TestVersions(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	client := f.client(t, "")
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	first := testenv.Must(f.vault.Set("Worker", keyvault.Secret{Value: "one", ContentType: keyvault.ContentTypePFX, Expires: expires}))(t)
	got := testenv.Must(client.GetSecret(t.Context(), "worker", "", nil))(t)
	if *got.Value != "one" || got.ID.Version() != first || got.ID.Name() != "Worker" || *got.ContentType != keyvault.ContentTypePFX ||
		!got.Attributes.Expires.Equal(expires) || got.Managed == nil {
		t.Errorf("got %+v", got)
	}
	second := testenv.Must(f.vault.Set("worker", keyvault.Secret{Value: "two"}))(t)
	for id, want := range map[string]string{"": "two", first: "one", second: "two"} {
		if got, err := client.GetSecret(t.Context(), "worker", id, nil); err != nil || *got.Value != want {
			t.Errorf("version %q: %v, want %s", id, err, want)
		}
	}
	if f.vault.Reads() != 4 {
		t.Errorf("%d reads, want 4: requests without a token are none", f.vault.Reads())
	}
	third := testenv.Must(f.vault.Set("worker", keyvault.Secret{Value: "three", Disabled: true}))(t)
	listed := map[string]bool{}
	for pager := client.NewListSecretPropertiesVersionsPager("worker", nil); pager.More(); {
		page := testenv.Must(pager.NextPage(t.Context()))(t)
		for _, p := range page.Value {
			listed[p.ID.Version()] = *p.Attributes.Enabled
		}
	}
	if want := map[string]bool{first: true, second: true, third: false}; !maps.Equal(listed, want) {
		t.Errorf("versions: got %v, want %v", listed, want)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret  string
		scope   string
		allowed bool
		failure *keyvault.Failure
		status  int
		text    string
	}{
		"a token for another resource": {"worker", entra.GraphAudience + "/.default", true, nil, 401, "AKV10022"},
		"no role":                      {"worker", "", false, nil, 403, "ForbiddenByRbac"},
		"a disabled secret":            {"disabled", "", true, nil, 403, "SecretDisabled"},
		"no such secret":               {"none", "", true, nil, 404, "SecretNotFound"},
		"no name":                      {"a_b", "", true, nil, 400, "BadParameter"},
		"a failure":                    {"worker", "", true, &keyvault.Failure{Status: 503, Code: "ServiceUnavailable"}, 503, "ServiceUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, func(string) bool { return c.allowed })
			for secret, disabled := range map[string]bool{"worker": false, "disabled": true} {
				if _, err := f.vault.Set(secret, keyvault.Secret{Value: "v", Disabled: disabled}); err != nil {
					t.Fatal(err)
				}
			}
			f.vault.Fail(c.failure)
			_, err := f.client(t, c.scope).GetSecret(t.Context(), c.secret, "", nil)
			var refused *azcore.ResponseError
			if !errors.As(err, &refused) || refused.StatusCode != c.status || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %d %s", err, c.status, c.text)
			}
		})
	}
}

func TestWhatIsNotServedIsRefused(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	token := testenv.Must(f.directory.IssueAppToken(entra.DefaultWorkerClientID, keyvault.Audience+"/.default"))(t)
	for request, status := range map[string]int{
		"GET /secrets/a": 400, "GET /secrets?api-version=7.4": 404, "GET /keys/a?api-version=7.4": 404,
		"PUT /secrets/a?api-version=7.4": 405, "GET /secrets/a/b/c?api-version=7.4": 404,
	} {
		method, path, _ := strings.Cut(request, " ")
		r := testenv.Must(http.NewRequestWithContext(t.Context(), method, f.vault.URL()+path, nil))(t)
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := f.directory.HTTPClient().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != status {
			t.Errorf("%s: %d, want %d", request, response.StatusCode, status)
		}
	}
	if _, err := f.vault.Set("a_b", keyvault.Secret{}); err == nil {
		t.Error("a name that cannot be was taken")
	}
	if _, err := keyvault.Start(t.Context(), keyvault.Config{Addr: "0.0.0.0:0", Authority: "x", TenantID: "x", VerifyToken: f.directory.VerifyToken}); err == nil {
		t.Error("listens beyond loopback")
	}
}
