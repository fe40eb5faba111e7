package entra

import (
	"net/http"
	"strings"
)

// token is the token endpoint: one handler for every grant.
func (s *Server) token(w http.ResponseWriter, r *http.Request, t Tenant) {
	if refusal := parseForm(r); refusal != nil {
		s.writeRefusal(w, r, refusal)
		return
	}
	granted, refusal := s.grant(t, r)
	if refusal != nil {
		s.writeRefusal(w, r, refusal)
		return
	}
	answer, err := s.tokenAnswer(granted)
	if err != nil {
		s.config.Logger.Error("token not signed", "error", err)
		s.writeRefusal(w, r, refuse(http.StatusInternalServerError, "server_error", 50000, "There was an error issuing a token."))
		return
	}
	s.config.Logger.Info("token issued", "grant", r.PostForm.Get("grant_type"),
		"client", granted.client.ClientID, "user", granted.userName(), "resource", granted.scope.audience)
	writeJSON(w, http.StatusOK, answer)
}

// grant decides what a request is entitled to.
func (s *Server) grant(t Tenant, r *http.Request) (grant, *refusal) {
	form := r.PostForm
	switch form.Get("grant_type") {
	case "":
		return grant{}, missingParameter("grant_type")
	case "authorization_code", "client_credentials", "refresh_token", "device_code", "urn:ietf:params:oauth:grant-type:device_code":
	default:
		return grant{}, badRequest("unsupported_grant_type", 70003,
			"The app requested an unsupported grant type '%s'.", form.Get("grant_type"))
	}
	client, proof, refusal := s.authenticate(t, form)
	if refusal != nil {
		return grant{}, refusal
	}
	g := grant{tenant: t, client: client, proof: proof, clientInfo: form.Get("client_info") == "1"}
	origin := r.Header.Get("Origin")
	switch form.Get("grant_type") {
	case "authorization_code":
		return s.grantByCode(g, origin, form)
	case "refresh_token":
		return s.grantByRefreshToken(g, origin, form.Get("refresh_token"), form.Get("scope"))
	}
	if refusal := checkOrigin(g.client, origin, false); refusal != nil {
		return g, refusal
	}
	switch form.Get("grant_type") {
	case "client_credentials":
		return s.grantToApplication(g, form.Get("scope"))
	default:
		return s.grantByDeviceCode(g, form.Get("device_code"))
	}
}

func (s *Server) grantToApplication(g grant, scope string) (grant, *refusal) {
	if g.client.Public {
		return g, badClient(7000216,
			"'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type.")
	}
	var refusal *refusal
	if g.scope, refusal = g.tenant.parseScope(scope); refusal != nil {
		return g, refusal
	}
	return g, g.scope.forApplication()
}

// grantToUser completes a grant once it is known who the user is.
func (s *Server) grantToUser(g grant, upn, scope string) (grant, *refusal) {
	user, ok := g.tenant.user(upn)
	if !ok {
		return g, badRequest("invalid_grant", 50034, "The user account %s does not exist in the %s directory.", upn, g.tenant.ID)
	}
	g.user = &user
	var refusal *refusal
	if g.scope, refusal = g.tenant.parseScope(scope); refusal != nil {
		return g, refusal
	}
	g.permissions, refusal = g.scope.delegated()
	return g, refusal
}

// parseForm reads the body. It refuses another content type and a parameter
// given twice; parameters in the URL are not looked at.
func parseForm(r *http.Request) *refusal {
	if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/x-www-form-urlencoded") {
		return badRequest("invalid_request", 900144, "The request body must be application/x-www-form-urlencoded, not %q.", kind)
	}
	if err := r.ParseForm(); err != nil {
		return badRequest("invalid_request", 9002313, "Invalid request. Request is malformed or invalid.")
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return badRequest("invalid_request", 9002313, "Invalid request. Parameter '%s' is given %d times.", name, len(values))
		}
	}
	return nil
}
