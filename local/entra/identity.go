package entra

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// identityAPIVersion is the one that the SDKs ask for, see
// https://learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference.
const identityAPIVersion = "2019-08-01"

// IdentityPath is where the server has the endpoint of a managed identity, and
// IdentityHeader what IDENTITY_HEADER is there. It guards nothing.
const (
	IdentityPath   = "/msi/token/"
	IdentityHeader = "local"
)

// ManagedIdentity is the endpoint that App Service and Azure Functions give a process
// with managed identities: IDENTITY_ENDPOINT is where the caller serves it, over plain
// http as there, IDENTITY_HEADER is header. system is the client ID of the identity that
// is meant when a request names none, or empty; users are those of the identities that
// it can name. It gives the tokens that those applications get.
func (s *Server) ManagedIdentity(header, system string, users ...string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-IDENTITY-HEADER")), []byte(header)) != 1 {
			refuseIdentity(w, http.StatusUnauthorized, "X-IDENTITY-HEADER is missing or wrong")
			return
		}
		query := r.URL.Query()
		if query.Get("api-version") != identityAPIVersion {
			refuseIdentity(w, http.StatusBadRequest, fmt.Sprintf("api-version %q is not %s", query.Get("api-version"), identityAPIVersion))
			return
		}
		clientID := system
		if named := query.Get("client_id"); named != "" {
			clientID = ""
			for _, user := range users {
				if strings.EqualFold(named, user) {
					clientID = user
				}
			}
		}
		if clientID == "" || query.Has("principal_id") || query.Has("mi_res_id") {
			refuseIdentity(w, http.StatusBadRequest, "No User Assigned or Delegated Managed Identity found for specified ClientId/ResourceId/PrincipalId.")
			return
		}
		token, err := s.IssueAppToken(clientID, query.Get("resource")+"/.default")
		if err != nil {
			refuseIdentity(w, http.StatusBadRequest, err.Error())
			return
		}
		s.config.Logger.Info("token issued", "grant", "managed identity", "client", clientID, "resource", query.Get("resource"))
		writeJSON(w, http.StatusOK, map[string]any{
			"access_token": token,
			"expires_on":   strconv.FormatInt(s.config.Now().Add(tokenLifetime-time.Second).Unix(), 10),
			"resource":     query.Get("resource"),
			"token_type":   "Bearer",
			"client_id":    clientID,
		})
	})
	return mux
}

func refuseIdentity(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]any{"statusCode": status, "message": message})
}
