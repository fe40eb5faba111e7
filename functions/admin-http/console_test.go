package adminhttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
)

// A page learns without a token how to sign its user in, and the document names the same addresses.
func TestAPageLearnsHowToSignIn(t *testing.T) {
	t.Parallel()
	signIn := adminhttp.SignIn{Authority: "https://login.example/contoso", Scope: "api://own/access_as_user", ConsoleClientID: "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b08"}
	ask := func(s adminhttp.SignIn, path, token string) *httptest.ResponseRecorder {
		r := &recorder{}
		request := httptest.NewRequest(http.MethodGet, path, nil)
		request.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		adminhttp.New(adminhttp.Config{UseCases: r.useCases(), Verifier: tokens{}, SignIn: s}).ServeHTTP(w, request)
		return w
	}
	w := ask(signIn, "/api/console/config.json", "")
	if want := `{"authority":"https://login.example/contoso","clientId":"7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b08","scope":"api://own/access_as_user"}`; w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("%d %s, want %s", w.Code, w.Body, want)
	}
	if w := ask(adminhttp.SignIn{}, "/api/console/config.json", ""); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "CONSOLE_CLIENT_ID") {
		t.Errorf("without a console: %d %s", w.Code, w.Body)
	}
	document := ask(signIn, "/api/openapi.json", "Bearer reader").Body.String()
	for _, words := range []string{`"authorizationUrl":"https://login.example/contoso/oauth2/v2.0/authorize"`, `"api://own/access_as_user":`} {
		if !strings.Contains(document, words) {
			t.Errorf("the document lacks %s", words)
		}
	}
}
