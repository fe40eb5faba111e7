package entra_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

func beginDeviceCode(t *testing.T, server *entra.Server) answer {
	t.Helper()
	code := post(t, server, devicePath, "client_id", entra.DefaultCLIClientID,
		"scope", entra.DefaultAdminAPIScope+" openid profile offline_access")
	if code.status != 200 || code.UserCode == "" || code.DeviceCode == "" || code.Interval != 5 ||
		code.VerificationURI != server.URL()+"/devicelogin" {
		t.Fatalf("%+v", code)
	}
	return code
}

func poll(t *testing.T, server *entra.Server, code answer) answer {
	t.Helper()
	return post(t, server, tokenPath, "grant_type", "urn:ietf:params:oauth:grant-type:device_code",
		"client_id", entra.DefaultCLIClientID, "device_code", code.DeviceCode)
}

func TestDeviceCodeFlow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer)
		want    string // the OAuth error; empty: tokens
	}{
		"nobody has looked at it": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {}, "authorization_pending"},
		"polled too soon": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {
			poll(t, server, code)
			clock.Advance(4 * time.Second)
		}, "slow_down"},
		"polled again in time": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {
			poll(t, server, code)
			clock.Advance(5 * time.Second)
		}, "authorization_pending"},
		"approved": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {
			approve(t, server, code)
		}, ""},
		"approved between two polls that are too close": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {
			poll(t, server, code)
			approve(t, server, code)
		}, ""},
		"used before": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {
			approve(t, server, code)
			poll(t, server, code)
		}, "invalid_grant"},
		"declined": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {
			if err := server.DeclineDeviceCode(code.UserCode); err != nil {
				t.Error(err)
			}
		}, "authorization_declined"},
		"expired": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {
			clock.Advance(15 * time.Minute)
		}, "expired_token"},
		"approved and not fetched in time": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {
			approve(t, server, code)
			clock.Advance(15 * time.Minute)
		}, "expired_token"},
		"expired, and others came after it": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {
			clock.Advance(16 * time.Minute)
			beginDeviceCode(t, server)
		}, "expired_token"},
		"long forgotten": {func(t *testing.T, server *entra.Server, clock *testenv.Clock, code answer) {
			clock.Advance(time.Hour)
			beginDeviceCode(t, server)
		}, "bad_verification_code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testenv.NewClock()
			config := entra.DefaultConfig()
			config.Now = clock.Now
			server := start(t, config)
			code := beginDeviceCode(t, server)
			c.between(t, server, clock, code)
			a := poll(t, server, code)
			if a.Error != c.want {
				t.Fatalf("got %q (%s), want %q", a.Error, a.Description, c.want)
			}
			if c.want == "" && (a.AccessToken == "" || a.RefreshToken == "" || a.IDToken == "" || a.ExpiresIn != 3599) {
				t.Errorf("%+v", a)
			}
		})
	}
}

func approve(t *testing.T, server *entra.Server, code answer) {
	t.Helper()
	if err := server.ApproveDeviceCode(" "+strings.ToLower(code.UserCode)+" ", entra.DefaultReaderUPN); err != nil {
		t.Error(err)
	}
}

func TestADeviceCodeBelongsToItsClient(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	code := beginDeviceCode(t, server)
	approve(t, server, code)
	a := post(t, server, tokenPath, "grant_type", "device_code", "device_code", code.DeviceCode,
		"client_id", entra.DefaultWorkerClientID, "client_secret", entra.DefaultWorkerSecret)
	if a.Error != "bad_verification_code" {
		t.Errorf("%+v", a)
	}
}

func TestACodeIsDecidedOnce(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	code := beginDeviceCode(t, server)
	if err := server.ApproveDeviceCode(code.UserCode, "nobody@contoso.onmicrosoft.com"); err == nil {
		t.Error("approved as a user who does not exist")
	}
	approve(t, server, code)
	if err := server.DeclineDeviceCode(code.UserCode); err == nil {
		t.Error("declined after it was approved")
	}
	if err := server.ApproveDeviceCode("ABCDEFGHJ", entra.DefaultAdminUPN); err == nil {
		t.Error("approved a code that was never issued")
	}
}

func TestRefreshTokens(t *testing.T) {
	t.Parallel()
	clock := testenv.NewClock()
	config := entra.DefaultConfig()
	config.Now = clock.Now
	server := start(t, config)
	code := beginDeviceCode(t, server)
	approve(t, server, code)
	first := poll(t, server, code)

	refresh := func(token, client string, more ...string) answer {
		return post(t, server, tokenPath, append([]string{"grant_type", "refresh_token", "client_id", client, "refresh_token", token}, more...)...)
	}
	clock.Advance(2 * time.Hour)
	if err := server.VerifyToken(first.AccessToken, entra.DefaultAdminAPIAudience); err == nil {
		t.Error("the first access token is good for ever")
	}
	second := refresh(first.RefreshToken, entra.DefaultCLIClientID)
	if err := server.VerifyToken(second.AccessToken, entra.DefaultAdminAPIAudience); err != nil {
		t.Error(err)
	}
	clock.Advance(60 * 24 * time.Hour)
	third := refresh(second.RefreshToken, entra.DefaultCLIClientID)
	clock.Advance(60 * 24 * time.Hour)
	if a := refresh(first.RefreshToken, entra.DefaultCLIClientID); a.Error != "invalid_grant" || a.Codes[0] != 700082 {
		t.Errorf("the first token after 120 days: %+v", a)
	}
	if a := refresh(third.RefreshToken, entra.DefaultCLIClientID, "scope", graphScope); server.VerifyToken(a.AccessToken, entra.GraphAudience) != nil {
		t.Errorf("for another resource: %+v", a)
	}
	if a := refresh(third.RefreshToken, entra.DefaultWorkerClientID, "client_secret", entra.DefaultWorkerSecret); a.Error != "invalid_grant" {
		t.Errorf("another client: %+v", a)
	}
	if a := refresh(third.AccessToken, entra.DefaultCLIClientID); a.Error != "invalid_grant" {
		t.Errorf("an access token in place of a refresh token: %+v", a)
	}
	if err := server.VerifyToken(third.RefreshToken, entra.DefaultAdminAPIAudience); err == nil {
		t.Error("a refresh token passes for an access token")
	}
}

func TestThePageCannotBeUsedFromElsewhere(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	page := server.URL() + "/devicelogin"
	code := beginDeviceCode(t, server)
	form := func(csrf string) url.Values {
		return url.Values{"csrf": {csrf}, "user_code": {code.UserCode}, "user": {entra.DefaultAdminUPN}, "decision": {"approve"}}
	}

	visitor := newBrowser(t, server)
	if status, _ := visitor.submit(page, form("")); status != http.StatusForbidden {
		t.Errorf("without having seen the page: %d", status)
	}
	_, _, csrf := visitor.open(page, code.UserCode)
	if status, _ := visitor.submit(page, form("guess")); status != http.StatusForbidden {
		t.Errorf("with a made-up token: %d", status)
	}
	if status, _ := newBrowser(t, server).submit(page, form(csrf)); status != http.StatusForbidden {
		t.Errorf("with the token and without the cookie: %d", status)
	}
	for name, c := range map[string]struct {
		sender       browser
		csrf         string
		header, text string
	}{
		"empty token and cookie": {newBrowser(t, server), "", "Cookie", "__Host-csrf="},
		"another site":           {visitor, csrf, "Sec-Fetch-Site", "cross-site"},
		"another port":           {visitor, csrf, "Sec-Fetch-Site", "same-site"},
		"another origin":         {visitor, csrf, "Origin", "https://evil.example"},
	} {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, page, strings.NewReader(form(c.csrf).Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set(c.header, c.text)
		if status, _ := c.sender.read(c.sender.client.Do(request)); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	if a := poll(t, server, code); a.Error != "authorization_pending" {
		t.Errorf("after all that: %+v", a)
	}
	if status, _ := visitor.submit(page, form(csrf)); status != http.StatusOK {
		t.Errorf("the page itself: %d", status)
	}
	if a := poll(t, server, code); a.Error != "" {
		t.Errorf("after the approval: %+v", a)
	}
}

func TestThePage(t *testing.T) {
	t.Parallel()
	config := entra.DefaultConfig()
	for i := range config.Tenants[0].Applications {
		if config.Tenants[0].Applications[i].ClientID == entra.DefaultCLIClientID {
			config.Tenants[0].Applications[i].Name = `<script>alert("x")</script>`
		}
	}
	server := start(t, config)
	page := server.URL() + "/devicelogin"
	code := beginDeviceCode(t, server)
	visitor := newBrowser(t, server)

	response := testenv.Must(visitor.client.Get(page))(t)
	response.Body.Close()
	if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("policy %q", policy)
	}
	if status, text, _ := visitor.open(page, "WRONGCODE"); status != http.StatusNotFound || strings.Contains(text, "WRONGCODE") {
		t.Errorf("unknown code: %d", status)
	}
	_, text, csrf := visitor.open(page, strings.ToLower(code.UserCode))
	if strings.Contains(text, "<script") || !strings.Contains(text, code.UserCode) || !strings.Contains(text, entra.DefaultReaderUPN) {
		t.Errorf("the question:\n%s", text)
	}
	for name, form := range map[string]url.Values{
		"no decision":     {"csrf": {csrf}, "user_code": {code.UserCode}, "user": {entra.DefaultAdminUPN}},
		"an unknown user": {"csrf": {csrf}, "user_code": {code.UserCode}, "user": {"nobody"}, "decision": {"approve"}},
		"an unknown code": {"csrf": {csrf}, "user_code": {"WRONGCODE"}, "decision": {"decline"}},
	} {
		if status, _ := visitor.submit(page, form); status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		}
	}
}
