package entra_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

const (
	authorizePath = "/" + entra.DefaultTenantID + "/oauth2/v2.0/authorize"
	console       = "http://127.0.0.1:7071/api/console/"
	consoleOrigin = "http://127.0.0.1:7071"
	verifier      = "a-verifier-of-forty-three-characters-at-least"
)

// visitor is a person with a browser, which keeps cookies and stops at each redirect.
type visitor struct {
	t      *testing.T
	server *entra.Server
	url    string // of the server, with TLS or without
	client *http.Client
}

func newVisitor(t *testing.T, server *entra.Server) *visitor {
	t.Helper()
	client := server.HTTPClient()
	client.Jar = testenv.Must(cookiejar.New(nil))(t)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &visitor{t, server, server.URL(), client}
}

func withConsole(t *testing.T) (*entra.Server, *testenv.Clock) {
	t.Helper()
	clock := testenv.NewClock()
	config := entra.DefaultConfig()
	config.Now = clock.Now
	config.AddRedirectURIs(entra.DefaultConsoleClientID, console)
	return start(t, config), clock
}

// request returns the parameters that MSAL sends, with others in place of some; "" leaves one out.
func request(changed ...string) url.Values {
	sum := sha256.Sum256([]byte(verifier))
	v := url.Values{
		"client_id": {entra.DefaultConsoleClientID}, "redirect_uri": {console}, "response_type": {"code"}, "response_mode": {"fragment"},
		"scope": {entra.DefaultAdminAPIAudience + "/access_as_user openid profile offline_access"}, "state": {"eyJpZCI6IjEifQ==|a b"}, "nonce": {"n-1"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
		"client_info": {"1"}, "clidata": {"1"}, "x-client-SKU": {"msal.js.browser"}, "pocd": {"1"},
	}
	for i := 0; i < len(changed); i += 2 {
		if v.Del(changed[i]); changed[i+1] != "" {
			v.Set(changed[i], changed[i+1])
		}
	}
	return v
}

type visit struct {
	status int
	body   string
	at     string     // where the visitor is sent, without the answer
	answer url.Values // in the fragment, or in the query
}

func (b *visitor) do(r *http.Request) visit {
	b.t.Helper()
	response := testenv.Must(b.client.Do(r))(b.t)
	defer response.Body.Close()
	v := visit{status: response.StatusCode, body: string(testenv.Must(io.ReadAll(response.Body))(b.t))}
	if to := response.Header.Get("Location"); to != "" {
		at, answer, _ := strings.Cut(strings.Replace(to, "#", "?", 1), "?")
		v.at, v.answer = at, testenv.Must(url.ParseQuery(answer))(b.t)
	}
	return v
}

func (b *visitor) authorize(v url.Values) visit {
	b.t.Helper()
	return b.do(testenv.Must(http.NewRequest(http.MethodGet, b.url+authorizePath+"?"+v.Encode(), nil))(b.t))
}

var token = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// choose sends the form of the sign-in page.
func (b *visitor) choose(v url.Values, page visit, upn, decision string) visit {
	b.t.Helper()
	form := url.Values{"user": {upn}, "decision": {decision}}
	if m := token.FindStringSubmatch(page.body); m != nil {
		form.Set("csrf", m[1])
	}
	r := testenv.Must(http.NewRequest(http.MethodPost, b.url+authorizePath+"?"+v.Encode(), strings.NewReader(form.Encode())))(b.t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}

func (b *visitor) signIn(v url.Values) string {
	b.t.Helper()
	signedIn := b.choose(v, b.authorize(v), entra.DefaultReaderUPN, "approve")
	code := signedIn.answer.Get("code")
	if code == "" {
		b.t.Fatalf("%+v", signedIn)
	}
	return code
}

// redeem posts to the token endpoint from a page of an origin; "" is no page.
func redeem(t *testing.T, server *entra.Server, origin string, form ...string) (answer, http.Header) {
	t.Helper()
	v := url.Values{"client_id": {entra.DefaultConsoleClientID}, "client_info": {"1"}}
	for i := 0; i < len(form); i += 2 {
		v.Set(form[i], form[i+1])
	}
	r := testenv.Must(http.NewRequest(http.MethodPost, server.URL()+tokenPath, strings.NewReader(v.Encode())))(t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded;charset=utf-8")
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	response := testenv.Must(server.HTTPClient().Do(r))(t)
	defer response.Body.Close()
	a := answer{status: response.StatusCode}
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a, response.Header
}

func codeForm(code string, changed ...string) []string {
	return append([]string{"grant_type", "authorization_code", "code", code, "redirect_uri", console, "code_verifier", verifier}, changed...)
}

// TestAPageSignsItsVisitorIn: the answer has the state unchanged, the code gives tokens once, and the ID
// token repeats the nonce.
func TestAPageSignsItsVisitorIn(t *testing.T) {
	t.Parallel()
	server, _ := withConsole(t)
	b := newVisitor(t, server)
	page := b.authorize(request())
	if page.status != 200 || !strings.Contains(page.body, "matoolkit console") || !strings.Contains(page.body, entra.DefaultReaderUPN) {
		t.Fatalf("%+v", page)
	}
	signedIn := b.choose(request(), page, entra.DefaultReaderUPN, "approve")
	if signedIn.status != 303 || signedIn.at != console || signedIn.answer.Get("state") != request().Get("state") || signedIn.answer.Get("client_info") == "" {
		t.Fatalf("%+v", signedIn)
	}
	a, header := redeem(t, server, consoleOrigin, codeForm(signedIn.answer.Get("code"))...)
	if a.status != 200 || a.AccessToken == "" || a.RefreshToken == "" || header.Get("Access-Control-Allow-Origin") != consoleOrigin {
		t.Fatalf("%+v, %v", a, header)
	}
	if claims := claimsOf(t, a.IDToken); claims["nonce"] != "n-1" || claims["aud"] != entra.DefaultConsoleClientID || claims["preferred_username"] != entra.DefaultReaderUPN {
		t.Errorf("ID token: %v", claims)
	}
	if claims := claimsOf(t, a.AccessToken); claims["aud"] != entra.DefaultAdminAPIClientID || claims["scp"] != "access_as_user" || fmt.Sprint(claims["roles"]) != "["+entra.RoleReader+"]" {
		t.Errorf("access token: %v", claims)
	}
	if again, _ := redeem(t, server, consoleOrigin, codeForm(signedIn.answer.Get("code"))...); again.Error != "invalid_grant" {
		t.Errorf("the code gave tokens twice: %+v", again)
	}
}

func claimsOf(t *testing.T, token string) (claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is no token", token)
	}
	if err := json.Unmarshal(testenv.Must(base64.RawURLEncoding.DecodeString(parts[1]))(t), &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// TestRefusedAuthorizations: an answer goes only to an address that is registered, exactly.
func TestABrowserThatDoesNotTrustTheCAUsesHTTP(t *testing.T) {
	t.Parallel()
	server, _ := withConsole(t)
	b := newVisitor(t, server)
	b.url = strings.Replace(server.URL(), "https://", "http://", 1)
	b.signIn(request())
	// The cookie of the session is sent without TLS too.
	if v := b.authorize(request("prompt", "none")); v.answer.Get("code") == "" {
		t.Errorf("%+v", v)
	}
	b.url = server.URL()
	if v := b.authorize(request("prompt", "none")); v.answer.Get("error") != "login_required" {
		t.Errorf("a session without TLS is one with TLS: %+v", v)
	}
}

func TestASilentConnectionDoesNotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	server, _ := withConsole(t)
	silent := testenv.Must(net.Dial("tcp", strings.TrimPrefix(server.URL(), "https://")))(t)
	defer silent.Close()
	newVisitor(t, server).signIn(request())
}

func TestRefusedAuthorizations(t *testing.T) {
	t.Parallel()
	server, _ := withConsole(t)
	for name, c := range map[string]struct {
		changed  []string
		redirect bool
		want     string // the OAuth error, or the text of the page
	}{
		"another redirect URI":        {[]string{"redirect_uri", "http://127.0.0.1:7071/api/console"}, false, "AADSTS50011"},
		"an address below it":         {[]string{"redirect_uri", console + "x"}, false, "AADSTS50011"},
		"no redirect URI":             {[]string{"redirect_uri", ""}, false, "AADSTS50011"},
		"no client":                   {[]string{"client_id", ""}, false, "AADSTS900144"},
		"an unknown client":           {[]string{"client_id", "11111111-1111-1111-1111-111111111111"}, false, "AADSTS700016"},
		"a client that is no page":    {[]string{"client_id", entra.DefaultCLIClientID}, false, "AADSTS50011"},
		"an implicit flow":            {[]string{"response_type", "token"}, true, "unsupported_response_type"},
		"an answer in a form":         {[]string{"response_mode", "form_post"}, true, "invalid_request"},
		"no challenge":                {[]string{"code_challenge", ""}, true, "invalid_request"},
		"a plain challenge":           {[]string{"code_challenge_method", "plain"}, true, "invalid_request"},
		"an unknown prompt":           {[]string{"prompt", "ask"}, true, "invalid_request"},
		"an unknown scope":            {[]string{"scope", entra.DefaultAdminAPIAudience + "/everything"}, true, "invalid_client"},
		"nobody signed in, no prompt": {[]string{"prompt", "none"}, true, "login_required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t, server).authorize(request(c.changed...))
			if !c.redirect {
				if v.status != 400 || v.at != "" || !strings.Contains(v.body, c.want) {
					t.Errorf("%+v", v)
				}
				return
			}
			if v.status != 303 || v.at != console || v.answer.Get("error") != c.want || v.answer.Get("state") != request().Get("state") || v.answer.Get("code") != "" {
				t.Errorf("%+v", v)
			}
		})
	}
}

// TestRefusedCodes: a code is good for the client, the verifier and the address that it was made for, for
// ten minutes, and from the page only.
func TestRefusedCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		origin  string
		changed []string
		later   time.Duration
		code    int
	}{
		"another verifier":     {consoleOrigin, []string{"code_verifier", verifier + "x"}, 0, 501481},
		"no verifier":          {consoleOrigin, []string{"code_verifier", ""}, 0, 900144},
		"another address":      {consoleOrigin, []string{"redirect_uri", console + "x"}, 0, 500112},
		"another code":         {consoleOrigin, []string{"code", "x"}, 0, 9002313},
		"too late":             {consoleOrigin, nil, 10 * time.Minute, 70008},
		"not from a page":      {"", nil, 0, 9002327},
		"from another origin":  {"http://127.0.0.1:7070", nil, 0, 9002326},
		"by another client":    {consoleOrigin, []string{"client_id", entra.DefaultCLIClientID}, 0, 9002326},
		"by an unknown client": {consoleOrigin, []string{"client_id", "11111111-1111-1111-1111-111111111111"}, 0, 700016},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, clock := withConsole(t)
			code := newVisitor(t, server).signIn(request())
			clock.Advance(c.later)
			a, header := redeem(t, server, c.origin, codeForm(code, c.changed...)...)
			if a.status == 200 || len(a.Codes) != 1 || a.Codes[0] != c.code {
				t.Errorf("%+v", a)
			}
			if readable := header.Get("Access-Control-Allow-Origin") != ""; readable != (c.origin == consoleOrigin) {
				t.Errorf("a page of %q may read the answer: %t", c.origin, readable)
			}
			if c.later > 0 {
				return
			}
			if right, _ := redeem(t, server, consoleOrigin, codeForm(code)...); right.status != 200 {
				t.Errorf("after the wrong request the code is used up: %+v", right)
			}
		})
	}
}

// TestRefreshTokensOfAPageEndAfterADay: no use extends them, and only the page can use them.
func TestRefreshTokensOfAPageEndAfterADay(t *testing.T) {
	t.Parallel()
	server, clock := withConsole(t)
	a, _ := redeem(t, server, consoleOrigin, codeForm(newVisitor(t, server).signIn(request()))...)
	refresh := func(origin, token string) answer {
		a, _ := redeem(t, server, origin, "grant_type", "refresh_token", "refresh_token", token)
		return a
	}
	clock.Advance(23 * time.Hour)
	second := refresh(consoleOrigin, a.RefreshToken)
	if second.status != 200 || second.RefreshToken == "" || second.RefreshExpiresIn < 3599 || second.RefreshExpiresIn > 3600 {
		t.Fatalf("%d %s, refresh token for %d s", second.status, second.Error, second.RefreshExpiresIn)
	}
	if outside := refresh("", second.RefreshToken); len(outside.Codes) != 1 || outside.Codes[0] != 9002327 {
		t.Errorf("outside of the page: %+v", outside)
	}
	clock.Advance(time.Hour + time.Second)
	if late := refresh(consoleOrigin, second.RefreshToken); late.Error != "invalid_grant" || late.Codes[0] != 700084 {
		t.Errorf("after a day: %+v", late)
	}
}

// TestASessionSignsInWithoutAsking: until the visitor signs out; a page can still ask for another user.
func TestASessionSignsInWithoutAsking(t *testing.T) {
	t.Parallel()
	server, clock := withConsole(t)
	b := newVisitor(t, server)
	b.signIn(request())
	for name, v := range map[string]url.Values{"silently": request("prompt", "none"), "by a redirect": request()} {
		if again := b.authorize(v); again.answer.Get("code") == "" {
			t.Errorf("%s: %+v", name, again)
		}
	}
	if other := b.authorize(request("prompt", "select_account", "login_hint", entra.DefaultReaderUPN)); other.status != 200 || !strings.Contains(other.body, `value="`+entra.DefaultReaderUPN+`" required checked`) {
		t.Errorf("%+v", other)
	}
	out := testenv.Must(http.NewRequest(http.MethodGet, server.URL()+"/"+entra.DefaultTenantID+"/oauth2/v2.0/logout?state=s&post_logout_redirect_uri="+url.QueryEscape(console), nil))(t)
	if v := b.do(out); v.at != console || v.answer.Get("state") != "s" {
		t.Errorf("%+v", v)
	}
	if v := b.authorize(request("prompt", "none")); v.answer.Get("error") != "login_required" {
		t.Errorf("after the sign-out: %+v", v)
	}
	elsewhere := testenv.Must(http.NewRequest(http.MethodGet, server.URL()+"/"+entra.DefaultTenantID+"/oauth2/v2.0/logout?post_logout_redirect_uri=https://evil.example/", nil))(t)
	if v := b.do(elsewhere); v.status != 200 || v.at != "" {
		t.Errorf("signed out to an address that is not registered: %+v", v)
	}
	b.signIn(request())
	clock.Advance(25 * time.Hour)
	if v := b.authorize(request("prompt", "none")); v.answer.Get("error") != "login_required" {
		t.Errorf("a day later: %+v", v)
	}
}

// TestAVisitorDecides: a form that did not come from the page, and one of another site, sign no one in.
func TestAVisitorDecides(t *testing.T) {
	t.Parallel()
	server, _ := withConsole(t)
	b := newVisitor(t, server)
	if v := b.choose(request(), b.authorize(request()), entra.DefaultReaderUPN, "decline"); v.answer.Get("error") != "access_denied" {
		t.Errorf("declined: %+v", v)
	}
	if v := b.choose(request(), visit{}, entra.DefaultReaderUPN, "approve"); v.status != 403 || v.at != "" {
		t.Errorf("without the token of the form: %+v", v)
	}
	if v := b.choose(request(), b.authorize(request()), "nobody@contoso.onmicrosoft.com", "approve"); v.status != 400 || v.at != "" {
		t.Errorf("an unknown user: %+v", v)
	}
	r := testenv.Must(http.NewRequest(http.MethodPost, server.URL()+authorizePath+"?"+request().Encode(), strings.NewReader("decision=approve")))(t)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if v := b.do(r); v.status != 403 {
		t.Errorf("from another site: %+v", v)
	}
}

// TestRedirectURIsAreChecked: a directory with an address that cannot be one does not start.
func TestRedirectURIsAreChecked(t *testing.T) {
	t.Parallel()
	for uri, client := range map[string]string{
		"http://app.contoso.com/":  entra.DefaultConsoleClientID,
		"https://*.contoso.com/":   entra.DefaultConsoleClientID,
		"https://contoso.com/#a":   entra.DefaultConsoleClientID,
		"/api/console/":            entra.DefaultConsoleClientID,
		"https://app.contoso.com/": entra.DefaultWorkerClientID,
	} {
		config := entra.DefaultConfig()
		config.Addr = "127.0.0.1:0"
		config.AddRedirectURIs(client, uri)
		if server, err := entra.Start(t.Context(), config); err == nil {
			server.Close()
			t.Errorf("%s was taken", uri)
		}
	}
}
