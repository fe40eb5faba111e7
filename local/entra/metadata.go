package entra

import (
	"log/slog"
	"net/http"
	"strings"
)

// maxRequestBytes bounds a form. The largest thing in one is a client
// assertion with its certificate chain.
const maxRequestBytes = 64 << 10

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{tenant}/v2.0/.well-known/openid-configuration", s.inTenant(s.crossOrigin(s.openIDConfiguration)))
	mux.HandleFunc("GET /{tenant}/.well-known/openid-configuration", s.inTenant(s.openIDConfigurationV1))
	mux.HandleFunc("GET /{tenant}/discovery/v2.0/keys", s.inTenant(func(w http.ResponseWriter, r *http.Request, t Tenant) {
		writeJSON(w, http.StatusOK, s.keysOf(t.ID).document(s.issuer(t, 2)))
	}))
	// Version 1 publishes one key set for all tenants; a tenant with its own keys has
	// one of its own.
	mux.HandleFunc("GET /common/discovery/keys", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusOK, s.keysOf("").document(""))
	})
	mux.HandleFunc("GET /{tenant}/discovery/keys", s.inTenant(func(w http.ResponseWriter, r *http.Request, t Tenant) {
		writeJSON(w, http.StatusOK, s.keysOf(t.ID).document(""))
	}))
	mux.HandleFunc("GET /common/discovery/instance", s.instanceDiscovery)
	mux.HandleFunc("POST /{tenant}/oauth2/v2.0/token", s.inTenant(s.crossOrigin(s.token)))
	mux.HandleFunc("OPTIONS /{tenant}/oauth2/v2.0/token", s.inTenant(s.crossOrigin(s.token)))
	authorize := http.NewCrossOriginProtection().Handler(s.inTenant(s.authorize))
	mux.Handle("GET /{tenant}/oauth2/v2.0/authorize", authorize)
	mux.Handle("POST /{tenant}/oauth2/v2.0/authorize", authorize)
	mux.HandleFunc("GET /{tenant}/oauth2/v2.0/logout", s.inTenant(s.logout))
	mux.HandleFunc("POST /{tenant}/oauth2/v2.0/devicecode", s.inTenant(s.deviceCode))
	mux.Handle("/devicelogin", s.approvalPage())
	if id := s.config.ManagedIdentity; id != "" {
		mux.Handle(IdentityPath, http.StripPrefix(strings.TrimSuffix(IdentityPath, "/"), s.ManagedIdentity(IdentityHeader, id)))
	}
	return http.MaxBytesHandler(mux, maxRequestBytes)
}

// inTenant resolves the tenant of the path and refuses one that does not exist.
func (s *Server) inTenant(next func(http.ResponseWriter, *http.Request, Tenant)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tenant, ok := s.config.tenant(r.PathValue("tenant"))
		if !ok {
			s.writeRefusal(w, r, unknownTenant(r.PathValue("tenant")))
			return
		}
		next(w, r, tenant)
	}
}

// issuer is the iss of the tenant's tokens. The real service's version 1
// issuer has a host of its own, sts.windows.net.
func (s *Server) issuer(t Tenant, version int) string {
	if version == 1 {
		return s.url + "/" + t.ID + "/"
	}
	return s.url + "/" + t.ID + "/v2.0"
}

func (s *Server) tokenEndpoint(t Tenant) string { return s.url + "/" + t.ID + "/oauth2/v2.0/token" }

func (s *Server) openIDConfiguration(w http.ResponseWriter, _ *http.Request, t Tenant) {
	endpoint := s.url + "/" + t.ID
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer":                                s.issuer(t, 2),
		"authorization_endpoint":                endpoint + "/oauth2/v2.0/authorize",
		"end_session_endpoint":                  endpoint + "/oauth2/v2.0/logout",
		"token_endpoint":                        s.tokenEndpoint(t),
		"device_authorization_endpoint":         endpoint + "/oauth2/v2.0/devicecode",
		"jwks_uri":                              endpoint + "/discovery/v2.0/keys",
		"token_endpoint_auth_methods_supported": []string{"client_secret_post", "private_key_jwt"},
		"response_types_supported":              []string{"code"},
		"response_modes_supported":              []string{"query", "fragment"},
		"code_challenge_methods_supported":      []string{"S256"},
		"subject_types_supported":               []string{"pairwise"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
		"scopes_supported":                      []string{"openid", "profile", "email", "offline_access"},
		"cloud_instance_name":                   "local",
	})
}

// openIDConfigurationV1 says what verifiers of version 1 tokens need. No token
// endpoint is named, because version 1 requests are not served.
func (s *Server) openIDConfigurationV1(w http.ResponseWriter, _ *http.Request, t Tenant) {
	keys := s.url + "/common/discovery/keys"
	if t.OwnKeys {
		keys = s.url + "/" + t.ID + "/discovery/keys"
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer":                                s.issuer(t, 1),
		"jwks_uri":                              keys,
		"subject_types_supported":               []string{"pairwise"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

// instanceDiscovery answers what MSAL asks when instance discovery is on.
func (s *Server) instanceDiscovery(w http.ResponseWriter, r *http.Request) {
	host := strings.TrimPrefix(s.url, "https://")
	tenant, _, ok := strings.Cut(strings.TrimPrefix(r.URL.Query().Get("authorization_endpoint"), s.url+"/"), "/")
	t, known := s.config.tenant(tenant)
	if !ok || !known {
		s.writeRefusal(w, r, badRequest("invalid_instance", 50049, "Unknown or invalid instance."))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"tenant_discovery_endpoint": s.url + "/" + t.ID + "/v2.0/.well-known/openid-configuration",
		"api-version":               "1.1",
		"metadata": []map[string]any{{
			"preferred_network": host, "preferred_cache": host, "aliases": []string{host},
		}},
	})
}

// debugWriter sends what net/http complains about to the debug log.
type debugWriter struct{ logger *slog.Logger }

func (d debugWriter) Write(line []byte) (int, error) {
	d.logger.Debug(strings.TrimSpace(string(line)))
	return len(line), nil
}
