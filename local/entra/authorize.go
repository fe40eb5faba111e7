package entra

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// authorization is a request of a single-page application to sign a user in, as
// https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow has it.
type authorization struct {
	tenant      Tenant
	client      Application
	redirectURI string
	fragment    bool // the answer is in the fragment of the redirect URI, not in its query
	state       string
	prompt      string
	values      url.Values
}

// authorize is the endpoint that a page sends its visitor to. Without a session, or where the page asks
// for it, the visitor chooses a user; otherwise the answer comes at once.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request, t Tenant) {
	a, refusal := readAuthorization(r.URL.Query(), t)
	if refusal != nil { // there is no address that can be trusted with the answer
		s.logAuthorization(r, a, refusal)
		show(w, http.StatusBadRequest, pageView{Title: "Sign in", Problem: refusal.Error()})
		return
	}
	if refusal := a.check(); refusal != nil {
		s.answer(w, r, a, refusal.values())
		return
	}
	upn := s.session(r, t)
	switch {
	case a.prompt == "none" && upn == "":
		refusal := badRequest("login_required", 50058, "A silent sign-in request was sent but no user is signed in.")
		s.answer(w, r, a, refusal.values())
	case r.Method == http.MethodPost:
		s.chooseUser(w, r, a)
	case upn != "" && (a.prompt == "" || a.prompt == "none"):
		s.signIn(w, r, a, upn)
	default:
		s.askForUser(w, r, a)
	}
}

// readAuthorization reads what has to be right before anything is sent to the redirect URI.
func readAuthorization(values url.Values, t Tenant) (authorization, *refusal) {
	a := authorization{
		tenant: t, values: values, redirectURI: values.Get("redirect_uri"), state: values.Get("state"),
		prompt: values.Get("prompt"), fragment: values.Get("response_mode") == "fragment",
	}
	for name, all := range values {
		if len(all) > 1 {
			return a, badRequest("invalid_request", 9002313, "Invalid request. Parameter '%s' is given %d times.", name, len(all))
		}
	}
	id := values.Get("client_id")
	if id == "" {
		return a, missingParameter("client_id")
	}
	var ok bool
	if a.client, ok = t.application(id); !ok {
		return a, badRequest("unauthorized_client", 700016, "Application with identifier '%s' was not found in the directory '%s'.", id, t.ID)
	}
	if !slices.Contains(a.client.SPARedirectURIs, a.redirectURI) {
		return a, badRequest("invalid_request", 50011,
			"The redirect URI '%s' specified in the request does not match the redirect URIs configured for the application '%s'.", a.redirectURI, a.client.ClientID)
	}
	return a, nil
}

// check refuses what could not end in a token.
func (a authorization) check() *refusal {
	v := a.values
	switch {
	case v.Get("response_type") != "code":
		return badRequest("unsupported_response_type", 700054, "response_type '%s' is not enabled for the application: use code.", v.Get("response_type"))
	case !slices.Contains([]string{"", "query", "fragment"}, v.Get("response_mode")):
		return badRequest("invalid_request", 90014, "response_mode '%s' is not supported: use fragment or query.", v.Get("response_mode"))
	case v.Get("code_challenge") == "":
		return badRequest("invalid_request", 9002325, "Proof Key for Code Exchange is required for cross-origin authorization code redemption.")
	case v.Get("code_challenge_method") != "S256":
		return badRequest("invalid_request", 501491, "code_challenge_method '%s' is not supported: use S256.", v.Get("code_challenge_method"))
	case !slices.Contains([]string{"", "none", "login", "select_account", "consent"}, a.prompt):
		return badRequest("invalid_request", 90023, "Unsupported 'prompt' value '%s'.", a.prompt)
	}
	request, refusal := a.tenant.parseScope(v.Get("scope"))
	if refusal == nil {
		_, refusal = request.delegated()
	}
	return refusal
}

// values returns a refusal as the parameters of a redirect URI.
func (r *refusal) values() url.Values {
	return url.Values{"error": {r.oauth}, "error_description": {fmt.Sprintf("AADSTS%d: %s", r.code, r.description)}}
}

// answer sends the visitor back to the page.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, a authorization, values url.Values) {
	if a.state != "" {
		values.Set("state", a.state)
	}
	separator := "#"
	if !a.fragment {
		separator = "?"
		if strings.Contains(a.redirectURI, "?") {
			separator = "&"
		}
	}
	if e := values.Get("error"); e != "" {
		s.config.Logger.Info("sign-in refused", "error", e, "client", a.client.ClientID)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	// In a fragment, a plus sign is a plus sign.
	http.Redirect(w, r, a.redirectURI+separator+strings.ReplaceAll(values.Encode(), "+", "%20"), http.StatusSeeOther)
}

func (s *Server) logAuthorization(r *http.Request, a authorization, refusal *refusal) {
	s.config.Logger.Info("sign-in refused", "path", r.URL.Path, "error", refusal.oauth, "code", refusal.code, "client", a.client.ClientID)
}

// askForUser shows the page on which the visitor chooses who to be.
func (s *Server) askForUser(w http.ResponseWriter, r *http.Request, a authorization) {
	token := rand.Text()
	setCSRF(w, r, token)
	view := pageView{Title: "Sign in", App: a.client.Name, Users: a.tenant.Users, Token: token, Action: "?" + a.values.Encode(), Redirect: originOf(a.redirectURI)}
	for i, u := range a.tenant.Users {
		if strings.EqualFold(u.UPN, a.values.Get("login_hint")) {
			view.Chosen = i
		}
	}
	show(w, http.StatusOK, view)
}

func (s *Server) chooseUser(w http.ResponseWriter, r *http.Request, a authorization) {
	if !fromThisPage(r) {
		show(w, http.StatusForbidden, pageView{Title: "Sign in", Problem: "This form was not sent from this page. Sign in again."})
		return
	}
	if r.PostFormValue("decision") != "approve" {
		s.answer(w, r, a, badRequest("access_denied", 65004, "User declined to sign in to the app.").values())
		return
	}
	upn := r.PostFormValue("user")
	if _, ok := a.tenant.user(upn); !ok {
		show(w, http.StatusBadRequest, pageView{Title: "Sign in", Problem: "The directory has no such user."})
		return
	}
	s.signIn(w, r, a, upn)
}

// signIn answers with a code for the user and begins a session.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request, a authorization, upn string) {
	user, ok := a.tenant.user(upn)
	if !ok {
		s.askForUser(w, r, a)
		return
	}
	session, id, err := s.newSession(a.tenant, user)
	if err != nil {
		s.config.Logger.Error("session not signed", "error", err)
		s.answer(w, r, a, refuse(http.StatusInternalServerError, "server_error", 50000, "There was an error signing in.").values())
		return
	}
	http.SetCookie(w, sessionCookie.of(r, session, http.SameSiteNoneMode)) // also in a frame of the page
	values := url.Values{"session_state": {id}, "code": {s.codes.issue(authorizationCode{
		tenantID: a.tenant.ID, clientID: a.client.ClientID, redirectURI: a.redirectURI, challenge: a.values.Get("code_challenge"),
		scope: a.values.Get("scope"), nonce: a.values.Get("nonce"), upn: user.UPN,
	})}}
	if a.values.Get("client_info") == "1" {
		values.Set("client_info", clientInfo(a.tenant, user))
	}
	s.config.Logger.Info("signed in", "client", a.client.ClientID, "user", user.UPN)
	s.answer(w, r, a, values)
}

// sessionCookie keeps a visitor signed in until the browser is closed.
const sessionCookie cookieName = "session"

// sessionClaims are the content of the cookie, signed like a refresh token.
type sessionClaims struct {
	jwt.RegisteredClaims
	Tenant string `json:"tid"`
	User   string `json:"upn"`
}

// sessionAudience tells a session from a refresh token, which the same key signs.
const sessionAudience = "session"

func (s *Server) newSession(t Tenant, user User) (cookie, id string, err error) {
	id = rand.Text()
	now := s.config.Now()
	cookie, err = jwt.NewWithClaims(jwt.SigningMethodHS256, sessionClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			ID: id, Audience: jwt.ClaimStrings{sessionAudience}, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(spaRefreshLifetime)),
		},
		Tenant: t.ID, User: user.UPN,
	}).SignedString(s.refreshKey)
	return cookie, id, err
}

// session returns the user of the visitor's session in a tenant; empty if there is none.
func (s *Server) session(r *http.Request, t Tenant) string {
	cookie, err := sessionCookie.read(r)
	if err != nil {
		return ""
	}
	var claims sessionClaims
	_, err = jwt.ParseWithClaims(cookie.Value, &claims, func(*jwt.Token) (any, error) { return s.refreshKey, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithTimeFunc(s.config.Now), jwt.WithExpirationRequired(), jwt.WithAudience(sessionAudience))
	if err != nil || claims.Tenant != t.ID {
		return ""
	}
	if _, ok := t.user(claims.User); !ok {
		return ""
	}
	return claims.User
}

// logout is the endpoint that ends the visitor's session. It sends the visitor on to an address of a
// registered page only.
func (s *Server) logout(w http.ResponseWriter, r *http.Request, t Tenant) {
	ended := sessionCookie.of(r, "", http.SameSiteNoneMode)
	ended.MaxAge = -1
	http.SetCookie(w, ended)
	to := r.URL.Query().Get("post_logout_redirect_uri")
	registered := slices.ContainsFunc(t.Applications, func(a Application) bool { return slices.Contains(a.SPARedirectURIs, to) })
	if !registered {
		show(w, http.StatusOK, pageView{Title: "Sign out", Message: "You signed out. You can close this page."})
		return
	}
	values := url.Values{}
	if state := r.URL.Query().Get("state"); state != "" {
		values.Set("state", state)
		separator := "?"
		if strings.Contains(to, "?") {
			separator = "&"
		}
		to += separator + values.Encode()
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// setCSRF has the next form repeat a token.
func setCSRF(w http.ResponseWriter, r *http.Request, token string) {
	http.SetCookie(w, csrfCookie.of(r, token, http.SameSiteStrictMode))
}

// fromThisPage reports whether a form repeats the token that it came with.
func fromThisPage(r *http.Request) bool {
	cookie, err := csrfCookie.read(r)
	return err == nil && cookie.Value != "" && subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(r.PostFormValue("csrf"))) == 1
}

// clientInfo names the user to MSAL.
func clientInfo(t Tenant, user User) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"uid":%q,"utid":%q}`, user.ObjectID, t.ID))
}
