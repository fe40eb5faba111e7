package signin_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/matoolkit/matoolkit/internal/signin"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// network is the way to the server, which tests can cut, watch and tamper with.
type network struct {
	next http.RoundTripper

	mu      sync.Mutex
	down    bool
	keys    int // fetches of the key set that arrived
	tried   int // requests of any kind, those that failed among them
	rewrite func(body string) string
	// hold, when set, blocks every request until the channel is closed.
	hold chan struct{}
	// cut is a tenant whose documents cannot be reached.
	cut      string
	redirect bool // every answer leads elsewhere
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.tried++
	down, rewrite, hold := n.down, n.rewrite, n.hold
	if !down && strings.HasSuffix(r.URL.Path, "/keys") {
		n.keys++
	}
	n.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if down || n.cut != "" && strings.Contains(r.URL.Path, n.cut) {
		return nil, errors.New("network is down")
	}
	if n.redirect {
		return &http.Response{
			StatusCode: http.StatusFound, Header: http.Header{"Location": {r.URL.String() + "/elsewhere"}}, Body: http.NoBody, Request: r,
		}, nil
	}
	// Plain http gets through here, so that only the verifier can refuse it.
	r = r.Clone(r.Context())
	r.URL.Scheme = "https"
	response, err := n.next.RoundTrip(r)
	if err != nil || rewrite == nil {
		return response, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader([]byte(rewrite(string(body)))))
	return response, err
}

func (n *network) set(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

func (n *network) fetches() (keys, tried int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.keys, n.tried
}

type outside struct {
	server   *entra.Server
	network  *network
	clock    *testenv.Clock
	verifier *signin.Verifier
}

// newOutside is a verifier whose clock and network belong to the test. The
// server goes by the same clock.
func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{clock: testenv.NewClock()}
	config := directory(2)
	config.Now = o.clock.Now
	o.server = start(t, config)
	o.network = &network{next: o.server.HTTPClient().Transport}
	verifying := verifierConfig(o.server)
	verifying.HTTPClient = &http.Client{Transport: o.network}
	verifying.Now = o.clock.Now
	o.verifier = newVerifier(t, verifying)
	return o
}

func (o *outside) verify(t *testing.T) error {
	t.Helper()
	_, err := o.verifier.Verify(t.Context(), "Bearer "+userToken(t, o.server, entra.DefaultAdminUPN))
	return err
}

// verifyUnknown presents a token of a key that was never published.
func (o *outside) verifyUnknown(t *testing.T, key *rsa.PrivateKey) error {
	t.Helper()
	claims := part(t, userToken(t, o.server, entra.DefaultAdminUPN), 1)
	token := sign(t, claims, jwt.SigningMethodRS256, key, map[string]any{"kid": rand.Text()})
	_, err := o.verifier.Verify(t.Context(), "Bearer "+token)
	return err
}

func TestNothingIsFetchedBeforeTheFirstToken(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	if _, err := o.verifier.Verify(t.Context(), ""); !errors.Is(err, signin.ErrMissing) {
		t.Error(err)
	}
	if _, err := o.verifier.Verify(t.Context(), "Bearer x"); !errors.Is(err, signin.ErrInvalid) {
		t.Error(err)
	}
	if _, tried := o.network.fetches(); tried != 0 {
		t.Errorf("%d requests", tried)
	}
}

func TestKeysAreFetchedOnce(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if err := o.verify(t); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if keys, tried := o.network.fetches(); keys != 1 || tried != 3 {
		t.Errorf("%d fetches of keys in %d requests", keys, tried)
	}
}

func TestAnOutageAtTheStart(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.network.set(true)
	if err := o.verify(t); !errors.Is(err, signin.ErrUnavailable) {
		t.Fatal(err)
	}
	_, tried := o.network.fetches()
	if err := o.verify(t); !errors.Is(err, signin.ErrUnavailable) {
		t.Error(err)
	}
	if _, again := o.network.fetches(); again != tried {
		t.Error("every request tries the network while it is down")
	}
	o.network.set(false)
	o.clock.Advance(5 * time.Second)
	if err := o.verify(t); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

func TestAnOutageLaterIsNotNoticed(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	if err := o.verify(t); err != nil {
		t.Fatal(err)
	}
	o.network.set(true)
	for _, age := range []time.Duration{11 * time.Hour, 20 * time.Hour, 16 * time.Hour} {
		o.clock.Advance(age)
		if err := o.verify(t); err != nil {
			t.Errorf("after %v more: %v", age, err)
		}
	}
	o.clock.Advance(2 * time.Hour) // 49 in all
	if err := o.verify(t); !errors.Is(err, signin.ErrUnavailable) {
		t.Errorf("keys are trusted for ever: %v", err)
	}
}

func TestOldKeysAreRefreshedBesideTheRequest(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	if err := o.verify(t); err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(13 * time.Hour)
	hold := make(chan struct{})
	o.network.mu.Lock()
	o.network.hold = hold
	o.network.mu.Unlock()
	if err := o.verify(t); err != nil { // would hang if it waited
		t.Error(err)
	}
	close(hold)
	deadline := time.Now().Add(5 * time.Second)
	for {
		if keys, _ := o.network.fetches(); keys == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("not refreshed")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestRotationIsFollowed(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	if err := o.verify(t); err != nil {
		t.Fatal(err)
	}
	if err := o.server.RotateKeys(); err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(time.Minute)
	if err := o.verify(t); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
	if keys, _ := o.network.fetches(); keys != 2 {
		t.Errorf("%d fetches", keys)
	}
}

func TestTokensOfUnknownKeysDoNotFloodTheProvider(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	key := testenv.Must(rsa.GenerateKey(rand.Reader, 2048))(t)
	for range 30 {
		if err := o.verifyUnknown(t, key); !errors.Is(err, signin.ErrInvalid) {
			t.Fatal(err)
		}
		o.clock.Advance(3 * time.Second)
	}
	if keys, _ := o.network.fetches(); keys != 2 { // at 0 s and at 60 s
		t.Errorf("%d fetches in 90 seconds", keys)
	}
}

func TestAnUnknownKeyDuringAnOutageIsNotTheCallersFault(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	if err := o.verify(t); err != nil {
		t.Fatal(err)
	}
	if err := o.server.RotateKeys(); err != nil {
		t.Fatal(err)
	}
	o.network.set(true)
	o.clock.Advance(time.Minute)
	if err := o.verify(t); !errors.Is(err, signin.ErrUnavailable) {
		t.Error(err)
	}
}

func TestTheCallersDeadlineIsKept(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.network.hold = make(chan struct{})
	t.Cleanup(func() { close(o.network.hold) })
	token := userToken(t, o.server, entra.DefaultAdminUPN)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.verifier.Verify(ctx, "Bearer "+token); !errors.Is(err, signin.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestDocumentsThatCannotBeRight(t *testing.T) {
	t.Parallel()
	const elsewhere = "11111111-1111-1111-1111-111111111111"
	for name, rewrite := range map[string]func(string) string{
		"no JSON": func(string) string { return "<html>sign in to the proxy</html>" },
		"another tenant's issuer": func(body string) string {
			return strings.NewReplacer(entra.DefaultTenantID+`/","`, elsewhere+`/","`, entra.DefaultTenantID+`/v2.0","`, elsewhere+`/v2.0","`).Replace(body)
		},
		"keys over plain http":     func(body string) string { return strings.ReplaceAll(body, `"jwks_uri":"https:`, `"jwks_uri":"http:`) },
		"keys of another issuer":   func(body string) string { return strings.ReplaceAll(body, `/v2.0","k`, `/v2.0/other","k`) },
		"keys that are not RSA":    func(body string) string { return strings.ReplaceAll(body, `"kty":"RSA"`, `"kty":"oct"`) },
		"no key at all":            func(body string) string { return strings.ReplaceAll(body, `"keys":[`, `"old":[`) },
		"keys without their parts": func(body string) string { return strings.ReplaceAll(body, `"n":`, `"m":`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutside(t)
			o.network.rewrite = rewrite
			if err := o.verify(t); !errors.Is(err, signin.ErrUnavailable) {
				t.Error(err)
			}
		})
	}
}

// Keys as Entra ID publishes them have a certificate with its thumbprint, and
// members of Microsoft's own.
func TestKeysWithCertificates(t *testing.T) {
	t.Parallel()
	config := directory(2)
	config.DataDir = t.TempDir()
	server := start(t, config)
	key := signingKey(t, config.DataDir)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der := testenv.Must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	thumbprint := sha1.Sum(der)
	more := `{"cloud_instance_name":"microsoftonline.com","x5t":"` + base64.RawURLEncoding.EncodeToString(thumbprint[:]) +
		`","x5c":["` + base64.StdEncoding.EncodeToString(der) + `"],"e":`
	verifying := verifierConfig(server)
	verifying.HTTPClient = &http.Client{Transport: &network{
		next:    server.HTTPClient().Transport,
		rewrite: func(body string) string { return strings.Replace(body, `{"e":`, more, 1) },
	}}
	if _, err := newVerifier(t, verifying).Verify(t.Context(), "Bearer "+userToken(t, server, entra.DefaultAdminUPN)); err != nil {
		t.Error(err)
	}
}

// Entra ID publishes templates as issuers of keys.
func TestKeysOfATemplateIssuer(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.network.rewrite = func(body string) string {
		if !strings.HasPrefix(body, `{"keys"`) {
			return body
		}
		return strings.ReplaceAll(body, entra.DefaultTenantID, "{tenantid}")
	}
	if err := o.verify(t); err != nil {
		t.Error(err)
	}
}
