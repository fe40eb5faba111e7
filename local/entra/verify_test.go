package entra_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io/fs"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// payload reads a token's claims without verifying it.
func payload(t *testing.T, token string) map[string]any {
	t.Helper()
	data := testenv.Must(base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1]))(t)
	var claims map[string]any
	if err := json.Unmarshal(data, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

func TestClaims(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock()
	config := entra.DefaultConfig()
	config.Now = clock.Now
	server := start(t, config)
	base := server.URL() + "/" + entra.DefaultTenantID

	user := testenv.Must(server.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope))(t)
	userV1 := testenv.Must(server.IssueUserToken(entra.DefaultAdminUPN, "User.Read"))(t)
	app := testenv.Must(server.IssueAppToken(entra.DefaultWorkerClientID, graphScope))(t)
	appV2 := testenv.Must(server.IssueAppToken(entra.DefaultWorkerClientID, entra.DefaultAdminAPIScope))(t)
	for name, c := range map[string]struct {
		token  string
		want   map[string]any
		absent []string
	}{
		"user, version 2": {user, map[string]any{
			"ver": "2.0", "iss": base + "/v2.0", "aud": entra.DefaultAdminAPIClientID, "azp": entra.DefaultCLIClientID, "azpacr": "0",
			"oid": entra.DefaultAdminObjectID, "preferred_username": entra.DefaultAdminUPN, "name": "Avery Admin", "scp": "access_as_user",
		}, []string{"appid", "upn", "idtyp"}},
		"user, version 1": {userV1, map[string]any{
			"ver": "1.0", "iss": base + "/", "aud": entra.GraphAudience, "appid": entra.DefaultCLIClientID, "appidacr": "0",
			"upn": entra.DefaultAdminUPN, "unique_name": entra.DefaultAdminUPN, "scp": "User.Read",
		}, []string{"azp", "preferred_username", "roles"}},
		"application, version 1": {app, map[string]any{
			"ver": "1.0", "iss": base + "/", "aud": entra.GraphAudience, "appid": entra.DefaultWorkerClientID, "appidacr": "1",
			"oid": entra.DefaultWorkerClientID, "sub": entra.DefaultWorkerClientID, "idtyp": "app",
		}, []string{"scp", "upn", "name"}},
		"application without roles, version 2": {appV2, map[string]any{
			"ver": "2.0", "iss": base + "/v2.0", "aud": entra.DefaultAdminAPIClientID, "azp": entra.DefaultWorkerClientID,
		}, []string{"scp", "roles", "preferred_username"}},
	} {
		got := payload(t, c.token)
		maps.Copy(c.want, map[string]any{
			"tid": entra.DefaultTenantID,
			"nbf": float64(clock.Now().Add(-5 * time.Minute).Unix()),
			"exp": float64(clock.Now().Add(time.Hour).Unix()),
		})
		for claim, want := range c.want {
			if got[claim] != want {
				t.Errorf("%s: %s is %v, want %v", name, claim, got[claim], want)
			}
		}
		for _, claim := range c.absent {
			if value, ok := got[claim]; ok {
				t.Errorf("%s: %s is %v", name, claim, value)
			}
		}
	}
	if payload(t, user)["sub"] == payload(t, userV1)["sub"] {
		t.Error("one sub for two resources")
	}
}

func TestVerifyToken(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock()
	config := entra.DefaultConfig()
	config.Now = clock.Now
	server := start(t, config)
	good := testenv.Must(server.IssueAppToken(entra.DefaultWorkerClientID, "https://servicebus.azure.net//.default"))(t)
	other := start(t, entra.DefaultConfig())
	foreign := testenv.Must(other.IssueAppToken(entra.DefaultWorkerClientID, "https://servicebus.azure.net//.default"))(t)
	spoiled := func(claim string, value any) string {
		claims := payload(t, good)
		claims[claim] = value
		if value == nil {
			delete(claims, claim)
		}
		return testenv.Must(server.IssueToken(claims))(t)
	}
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims(payload(t, good))).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		token, audience string
		good            bool
	}{
		"good":                        {good, entra.ServiceBusAudience, true},
		"good, audience with slash":   {good, entra.ServiceBusAudience + "/", true},
		"good, audience as client ID": {good, entra.ServiceBusClientID, true},
		"good, audience as host":      {good, "https://namespace.servicebus.windows.net", true},
		"for another resource":        {good, entra.CosmosAudience, false},
		"for an unknown resource":     {good, "https://search.azure.com", false},
		"signed by someone else":      {foreign, entra.ServiceBusAudience, false},
		"expired":                     {spoiled("exp", clock.Now().Add(-2*time.Minute).Unix()), entra.ServiceBusAudience, false},
		"without expiry":              {spoiled("exp", nil), entra.ServiceBusAudience, false},
		"not valid yet":               {spoiled("nbf", clock.Now().Add(2*time.Minute).Unix()), entra.ServiceBusAudience, false},
		"another issuer":              {spoiled("iss", "https://sts.windows.net/"+entra.DefaultTenantID+"/"), entra.ServiceBusAudience, false},
		"another tenant":              {spoiled("tid", "11111111-1111-1111-1111-111111111111"), entra.ServiceBusAudience, false},
		"two audiences":               {spoiled("aud", []string{entra.ServiceBusAudience, entra.CosmosAudience}), entra.ServiceBusAudience, false},
		"nobody's":                    {spoiled("oid", nil), entra.ServiceBusAudience, false},
		"not signed":                  {unsigned, entra.ServiceBusAudience, false},
		"not a token":                 {"x", entra.ServiceBusAudience, false},
		"nothing":                     {"", entra.ServiceBusAudience, false},
		"with a changed signature":    {good[:len(good)-5] + "AAAAA", entra.ServiceBusAudience, false},
	} {
		if err := server.VerifyToken(c.token, c.audience); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIssueTokenForStrangers(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	if _, err := server.IssueUserToken("nobody@contoso.onmicrosoft.com", entra.DefaultAdminAPIScope); err == nil {
		t.Error("a user who does not exist")
	}
	if _, err := server.IssueAppToken("11111111-1111-1111-1111-111111111111", graphScope); err == nil {
		t.Error("an application that does not exist")
	}
	if _, err := server.IssueAppToken(entra.DefaultCLIClientID, graphScope); err == nil {
		t.Error("a public client on its own behalf")
	}
	if _, err := server.IssueUserToken(entra.DefaultAdminUPN, "https://search.azure.com/.default"); err == nil {
		t.Error("a resource that does not exist")
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	token := testenv.Must(server.IssueAppToken(entra.DefaultWorkerClientID, graphScope))(t)
	for rotation, good := range []bool{true, true, false} {
		if rotation > 0 {
			if err := server.RotateKeys(); err != nil {
				t.Fatal(err)
			}
		}
		if err := server.VerifyToken(token, entra.GraphAudience); (err == nil) != good {
			t.Errorf("after %d rotations: %v", rotation, err)
		}
	}
	if _, set := getJSON(t, server, "/common/discovery/keys"); len(set["keys"].([]any)) != 2 {
		t.Errorf("published: %v", set)
	}
}

func TestWhatOutlivesARestart(t *testing.T) {
	t.Parallel()
	config := entra.DefaultConfig()
	config.DataDir = filepath.Join(t.TempDir(), "entra")
	config.AutoApprove = entra.DefaultAdminUPN

	before := start(t, config)
	ca := before.CAPEM()
	token := poll(t, before, beginDeviceCode(t, before))
	// Tokens name the server's address, and this test cannot have the same port
	// twice: the key IDs and the refresh token show that the state was kept.
	_, keysBefore := getJSON(t, before, "/common/discovery/keys")
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}

	after := start(t, config)
	if string(after.CAPEM()) != string(ca) {
		t.Error("another CA")
	}
	if onDisk, err := os.ReadFile(after.CAFile()); err != nil || string(onDisk) != string(ca) {
		t.Errorf("CA file: %v", err)
	}
	_, keysAfter := getJSON(t, after, "/common/discovery/keys")
	if a, b := firstKeyID(keysBefore), firstKeyID(keysAfter); a != b {
		t.Errorf("keys %s, then %s", a, b)
	}
	if a := post(t, after, tokenPath, "grant_type", "refresh_token", "client_id", entra.DefaultCLIClientID, "refresh_token", token.RefreshToken); a.AccessToken == "" {
		t.Errorf("refresh: %+v", a)
	}
	entries := testenv.Must(os.ReadDir(config.DataDir))(t)
	for _, entry := range entries {
		info := testenv.Must(entry.Info())(t)
		want := fs.FileMode(0o600)
		if entry.Name() == "ca.pem" {
			want = 0o644
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", entry.Name(), info.Mode())
		}
	}
}

func firstKeyID(set map[string]any) any { return set["keys"].([]any)[0].(map[string]any)["kid"] }

func TestSpoiledStateIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ca-key.pem", "signing-keys.pem", "refresh-key"} {
		config := entra.DefaultConfig()
		config.Addr = "127.0.0.1:0"
		config.DataDir = t.TempDir()
		if err := os.WriteFile(filepath.Join(config.DataDir, name), []byte("half of"), 0o600); err != nil {
			t.Fatal(err)
		}
		server, err := entra.Start(t.Context(), config)
		if err == nil {
			server.Close()
			t.Errorf("%s: started", name)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
}

// A machine that trusts the CA must not trust it for the rest of the world.
func TestTheCAVouchesForLoopbackOnly(t *testing.T) {
	t.Parallel()
	config := entra.DefaultConfig()
	config.DataDir = t.TempDir()
	server := start(t, config)
	if server.CAFile() != filepath.Join(config.DataDir, "ca.pem") {
		t.Error(server.CAFile())
	}
	data := testenv.Must(os.ReadFile(filepath.Join(config.DataDir, "ca-key.pem")))(t)
	authority := testenv.Must(tls.X509KeyPair(data, data))(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.CAPEM())
	key := testenv.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	for name, good := range map[string]bool{"localhost": true, "login.microsoftonline.com": false} {
		der := testenv.Must(x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name},
		}, authority.Leaf, key.Public(), authority.PrivateKey))(t)
		leaf := testenv.Must(x509.ParseCertificate(der))(t)
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name})
		if (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
		var constraint x509.CertificateInvalidError
		if !good && (!errors.As(err, &constraint) || constraint.Reason != x509.CANotAuthorizedForThisName) {
			t.Errorf("%s is refused for another reason: %v", name, err)
		}
	}
	if block, rest := pem.Decode(server.CAPEM()); block == nil || block.Type != "CERTIFICATE" || len(rest) != 0 {
		t.Error("CAPEM holds something else than the certificate")
	}
}
