package entra

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"
)

// refusal is an answer of the token service that is not a token: an OAuth
// error, the AADSTS code and a description. Codes and shape follow
// https://learn.microsoft.com/entra/identity-platform/reference-error-codes.
type refusal struct {
	status      int
	oauth       string // the OAuth error word
	code        int    // AADSTS code
	description string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s: AADSTS%d: %s", r.oauth, r.code, r.description)
}

func refuse(status int, oauth string, code int, format string, args ...any) *refusal {
	return &refusal{status: status, oauth: oauth, code: code, description: fmt.Sprintf(format, args...)}
}

func badRequest(oauth string, code int, format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, oauth, code, format, args...)
}

func badClient(code int, format string, args ...any) *refusal {
	return refuse(http.StatusUnauthorized, "invalid_client", code, format, args...)
}

func missingParameter(name string) *refusal {
	return badRequest("invalid_request", 900144, "The request body must contain the following parameter: '%s'.", name)
}

func unknownTenant(name string) *refusal {
	return badRequest("invalid_request", 90002, "Tenant '%s' not found. Check that the tenant ID is the right one.", name)
}

// writeRefusal sends the error document. The correlation ID is the caller's,
// so that a log line on either side finds the other.
func (s *Server) writeRefusal(w http.ResponseWriter, r *http.Request, refusal *refusal) {
	correlation := r.Header.Get("client-request-id")
	if uuid.Validate(correlation) != nil {
		correlation = uuid.NewString()
	}
	trace := uuid.NewString()
	timestamp := s.config.Now().UTC().Format("2006-01-02 15:04:05Z")
	// A wait is part of the device code flow and would drown what matters.
	if refusal.oauth != "authorization_pending" && refusal.oauth != "slow_down" {
		s.config.Logger.Info("token refused", "path", r.URL.Path, "error", refusal.oauth, "code", refusal.code,
			"client", r.PostFormValue("client_id"), "correlation", correlation)
	}
	writeJSON(w, refusal.status, map[string]any{
		"error": refusal.oauth,
		"error_description": fmt.Sprintf("AADSTS%d: %s Trace ID: %s Correlation ID: %s Timestamp: %s",
			refusal.code, refusal.description, trace, correlation, timestamp),
		"error_codes":    []int{refusal.code},
		"timestamp":      timestamp,
		"trace_id":       trace,
		"correlation_id": correlation,
		"error_uri":      fmt.Sprintf("https://login.microsoftonline.com/error?code=%d", refusal.code),
	})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store, no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
