package signin_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/signin"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

const (
	fabrikamID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b0f"
	strangerID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bff"
)

// severalTenants is the default directory and the same for two more tenants. Each has
// keys of its own if own is set.
func severalTenants(own bool) entra.Config {
	config := directory(2)
	for _, id := range []string{fabrikamID, strangerID} {
		t := directory(2).Tenants[0]
		t.ID, t.Domain = id, id[len(id)-2:]+".example"
		for i := range t.Users {
			name, _, _ := strings.Cut(t.Users[i].UPN, "@")
			t.Users[i].UPN = name + "@" + t.Domain
		}
		config.Tenants = append(config.Tenants, t)
	}
	for i := range config.Tenants {
		config.Tenants[i].OwnKeys = own
	}
	return config
}

// inBoth is a verifier of the default tenant's tokens and fabrikam's, with a network
// and a clock of the test's.
func inBoth(t *testing.T, own bool) *outside {
	t.Helper()
	o := &outside{clock: testenv.NewClock()}
	config := severalTenants(own)
	config.Now = o.clock.Now
	o.server = start(t, config)
	o.network = &network{next: o.server.HTTPClient().Transport}
	verifying := verifierConfig(o.server)
	verifying.TenantIDs = []string{entra.DefaultTenantID, strings.ToUpper(fabrikamID)}
	verifying.HTTPClient = &http.Client{Transport: o.network}
	verifying.Now = o.clock.Now
	o.verifier = newVerifier(t, verifying)
	return o
}

func TestSeveralTenants(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		o := inBoth(t, own)
		for upn, tenant := range map[string]string{entra.DefaultAdminUPN: entra.DefaultTenantID, "admin@0f.example": fabrikamID} {
			identity, err := o.verifier.Verify(t.Context(), "Bearer "+userToken(t, o.server, upn))
			if err != nil || identity.TenantID != tenant || identity.Name != upn+" ("+tenant+")" || !identity.May(signin.Administer) {
				t.Errorf("%s: %+v, %v", upn, identity, err)
			}
		}
	}
}

// A token is one tenant's in all that it says, and in its signature.
func TestTenantsAreKeptApart(t *testing.T) {
	t.Parallel()
	o := inBoth(t, true)
	ours, theirs := part(t, userToken(t, o.server, entra.DefaultAdminUPN), 1), part(t, userToken(t, o.server, "admin@0f.example"), 1)
	// The keys of both are known from here on.
	for _, claims := range []map[string]any{ours, theirs} {
		token := testenv.Must(o.server.IssueToken(claims))(t)
		if _, err := o.verifier.Verify(t.Context(), "Bearer "+token); err != nil {
			t.Fatal(err)
		}
	}
	mixed := func(claims map[string]any, name string, value any) map[string]any {
		mixed := map[string]any{}
		for k, v := range claims {
			mixed[k] = v
		}
		mixed[name] = value
		return mixed
	}
	for name, c := range map[string]struct {
		key    string
		claims map[string]any
		reason string
	}{
		"ours with a key of theirs":           {fabrikamID, ours, "signature"},
		"theirs with a key of ours":           {entra.DefaultTenantID, theirs, "signature"},
		"ours with a key of a stranger":       {strangerID, ours, "signature"},
		"our tenant, their issuer, our key":   {entra.DefaultTenantID, mixed(ours, "iss", theirs["iss"]), "another tenant"},
		"our tenant, their issuer, their key": {fabrikamID, mixed(ours, "iss", theirs["iss"]), "signature"},
		"their tenant, our issuer, our key":   {entra.DefaultTenantID, mixed(ours, "tid", fabrikamID), "signature"},
		"their tenant, our issuer, their key": {fabrikamID, mixed(ours, "tid", fabrikamID), "another tenant"},
	} {
		token := testenv.Must(o.server.IssueTokenOf(c.key, c.claims))(t)
		_, err := o.verifier.Verify(t.Context(), "Bearer "+token)
		var refusal *signin.Error
		if !errors.Is(err, signin.ErrInvalid) || !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, c.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where tenants share keys, as in the public cloud, the issuer keeps them apart.
func TestTenantsWithTheSameKeysAreKeptApart(t *testing.T) {
	t.Parallel()
	o := inBoth(t, false)
	ours, theirs := part(t, userToken(t, o.server, entra.DefaultAdminUPN), 1), part(t, userToken(t, o.server, "admin@0f.example"), 1)
	ours["iss"] = theirs["iss"]
	token := testenv.Must(o.server.IssueToken(ours))(t)
	if _, err := o.verifier.Verify(t.Context(), "Bearer "+token); !errors.Is(err, signin.ErrInvalid) {
		t.Error(err)
	}
}

// What a token says of where it comes from leads nowhere.
func TestNothingIsFetchedForAStranger(t *testing.T) {
	t.Parallel()
	o := inBoth(t, true)
	claims := part(t, userToken(t, o.server, "admin@ff.example"), 1)
	for _, spoil := range []map[string]any{
		{},
		{"iss": "https://169.254.169.254/" + entra.DefaultTenantID + "/v2.0"},
		{"tid": "../" + entra.DefaultTenantID},
		{"tid": entra.DefaultTenantID + "/"},
		{"tid": "common"},
		{"tid": ""},
		{"tid": "127.0.0.1:1/x"},
	} {
		for k, v := range spoil {
			claims[k] = v
		}
		token := testenv.Must(o.server.IssueTokenOf(strangerID, claims))(t)
		if _, err := o.verifier.Verify(t.Context(), "Bearer "+token); !errors.Is(err, signin.ErrInvalid) {
			t.Errorf("%v: %v", spoil, err)
		}
	}
	if _, tried := o.network.fetches(); tried != 0 {
		t.Errorf("%d requests", tried)
	}
}

func TestAnOutageOfOneTenantIsNotTheOthers(t *testing.T) {
	t.Parallel()
	o := inBoth(t, true)
	o.network.cut = fabrikamID
	for range 3 {
		if _, err := o.verifier.Verify(t.Context(), "Bearer "+userToken(t, o.server, "admin@0f.example")); !errors.Is(err, signin.ErrUnavailable) {
			t.Error(err)
		}
		if err := o.verify(t); err != nil {
			t.Error(err)
		}
	}
}

// Tokens of unknown keys in one tenant do not keep the other's keys from rotating.
func TestTheLimitOfFetchesIsEachTenantsOwn(t *testing.T) {
	t.Parallel()
	o := inBoth(t, true)
	theirs := func() error {
		_, err := o.verifier.Verify(t.Context(), "Bearer "+userToken(t, o.server, "admin@0f.example"))
		return err
	}
	if err := errors.Join(o.verify(t), theirs()); err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(time.Minute)
	stolen := testenv.Must(o.server.IssueTokenOf(strangerID, part(t, userToken(t, o.server, entra.DefaultAdminUPN), 1)))(t)
	for range 5 {
		if _, err := o.verifier.Verify(t.Context(), "Bearer "+stolen); !errors.Is(err, signin.ErrInvalid) {
			t.Error(err)
		}
	}
	if keys, _ := o.network.fetches(); keys != 3 {
		t.Errorf("%d fetches", keys)
	}
	if err := o.server.RotateKeys(); err != nil {
		t.Fatal(err)
	}
	if err := theirs(); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.network.redirect = true
	if err := o.verify(t); !errors.Is(err, signin.ErrUnavailable) {
		t.Error(err)
	}
	if _, tried := o.network.fetches(); tried > 2 {
		t.Errorf("%d requests", tried)
	}
}
