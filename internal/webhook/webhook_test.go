package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/webhook"
)

// The vector was computed with openssl dgst -sha256 -mac HMAC.
func TestSignature(t *testing.T) {
	t.Parallel()
	key, err := webhook.ParseKey("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	if err != nil {
		t.Fatal(err)
	}
	if got := webhook.Sign(key, "id-1", time.Unix(1700000000, 0), []byte(`{"a":1}`)); got != "v1,DV3DDjnhnhnuO93KPHPICPS+pImzEPmoSCkNeBxIVKo=" {
		t.Error(got)
	}
}

func TestAddressesAndAnswers(t *testing.T) {
	t.Parallel()
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(server.Close)
	values := map[string]string{
		"GOOD": server.URL, "MOVED": server.URL + "/moved", "PLAIN": "http://example.com/hook", "USER": "https://a:b@example.com", "FILE": "file:///etc/passwd",
		"VAULT": "@Microsoft.KeyVault(SecretUri=x)", "SECRET": "hunter2", "DOWN": "http://127.0.0.1:1/token",
	}
	names := []string{"EMPTY"}
	for name := range values {
		if name != "HIDDEN" {
			names = append(names, name)
		}
	}
	for name, tc := range map[string]struct {
		local bool
		want  string
	}{
		"GOOD": {true, ""}, "MOVED": {true, "answered with the status 307"}, "DOWN": {true, "no answer from the address in DOWN"},
		"PLAIN": {true, "does not contain an https URL"}, "USER": {true, "does not contain an https URL"}, "FILE": {true, "does not contain an https URL"},
		"VAULT": {true, "could not resolve"}, "EMPTY": {true, "not set or empty"}, "HIDDEN": {true, "not listed in NOTIFICATION_SETTINGS"}, "SECRET": {true, "does not contain an https URL"},
	} {
		s := webhook.New(webhook.Config{Program: "handler", List: "NOTIFICATION_SETTINGS", Settings: names, Getenv: func(name string) string { return values[name] }, Local: tc.local})
		err := s.Post(t.Context(), name, "", "id", []byte("{}"))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if err != nil && values[name] != "" && strings.Contains(err.Error(), values[name]) {
			t.Errorf("%s: the error has the value: %v", name, err)
		}
	}
	if elsewhere > 0 {
		t.Error("a redirect was followed")
	}
	deployed := webhook.New(webhook.Config{Settings: names, Getenv: func(name string) string { return values[name] }})
	if err := deployed.CheckTarget("GOOD", ""); err == nil {
		t.Error("http was taken outside of a local system")
	}
}
