package keyvault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		s.challenge(w, "AKV10000: Request is missing a Bearer or PoP token.")
		return
	}
	if err := s.config.VerifyToken(token, Audience); err != nil {
		s.challenge(w, "AKV10022: Invalid token: "+err.Error())
		return
	}
	if failure := s.next(); failure != nil {
		if failure.RetryAfter != "" {
			w.Header().Set("Retry-After", failure.RetryAfter)
		}
		refuse(w, failure.Status, failure.Code, failure.Inner, failure.Message)
		return
	}
	if s.config.Allowed != nil && !s.config.Allowed(token) {
		refuse(w, http.StatusForbidden, "Forbidden", "ForbiddenByRbac", "Caller is not authorized to perform action on resource.\r\n"+
			"If role assignments, deny assignments or role definitions were changed recently, please observe propagation time.\r\n"+
			"Action: 'Microsoft.KeyVault/vaults/secrets/getSecret/action'")
		return
	}
	s.get(w, r)
}

// next counts a request and says how it is to fail.
func (s *Server) next() *Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.failure
}

// challenge tells where to get a token and what for, which the SDK has to be told
// before it sends one.
func (s *Server) challenge(w http.ResponseWriter, message string) {
	w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer authorization=%q, resource=%q",
		strings.TrimRight(s.config.Authority, "/")+"/"+s.config.TenantID, Audience))
	refuse(w, http.StatusUnauthorized, "Unauthorized", "", message)
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		refuse(w, http.StatusMethodNotAllowed, "BadParameter", "", "Method "+r.Method+" is not allowed here.")
		return
	}
	if r.URL.Query().Get("api-version") == "" {
		refuse(w, http.StatusBadRequest, "BadParameter", "", "api-version must be specified")
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "secrets" {
		refuse(w, http.StatusNotFound, "NotFound", "", "There is nothing at "+r.URL.Path+".")
		return
	}
	name, id := parts[1], ""
	if len(parts) == 3 {
		id = parts[2]
	}
	if !names.MatchString(name) {
		refuse(w, http.StatusBadRequest, "BadParameter", "", "The request URI contains an invalid name: "+name)
		return
	}
	if id == "versions" {
		s.list(w, name)
		return
	}
	v, found := s.find(name, id)
	switch {
	case !found:
		refuse(w, http.StatusNotFound, "SecretNotFound", "", fmt.Sprintf("A secret with (name/id) %s was not found in this key vault. "+
			"If you recently deleted this secret you may be able to recover it using the correct recovery command.", strings.Join(parts[1:], "/")))
	case v.Disabled:
		refuse(w, http.StatusForbidden, "Forbidden", "SecretDisabled", "Operation get is not allowed on a disabled secret.")
	default:
		write(w, http.StatusOK, s.bundle(v))
	}
}

// list tells of all versions of a secret, disabled ones as well, without their values. It
// is one page, where the real service gives 25 at a time.
func (s *Server) list(w http.ResponseWriter, name string) {
	s.mu.Lock()
	versions := slices.Clone(s.secrets[strings.ToLower(name)])
	s.mu.Unlock()
	all := []map[string]any{}
	for _, v := range versions {
		one := s.bundle(v)
		delete(one, "value")
		all = append(all, one)
	}
	write(w, http.StatusOK, map[string]any{"value": all, "nextLink": nil})
}

// find is a version by its id, or the newest one.
func (s *Server) find(name, id string) (version, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := s.secrets[strings.ToLower(name)]
	if id == "" && len(versions) > 0 {
		return versions[len(versions)-1], true
	}
	for _, v := range versions {
		if v.id == id {
			return v, true
		}
	}
	return version{}, false
}

func (s *Server) bundle(v version) map[string]any {
	attributes := map[string]any{
		"enabled": !v.Disabled, "created": v.made.Unix(), "updated": v.made.Unix(), "recoveryLevel": "Recoverable+Purgeable", "recoverableDays": 90,
	}
	for name, at := range map[string]time.Time{"nbf": v.NotBefore, "exp": v.Expires} {
		if !at.IsZero() {
			attributes[name] = at.Unix()
		}
	}
	bundle := map[string]any{"value": v.Value, "id": s.URL() + "/secrets/" + v.name + "/" + v.id, "attributes": attributes}
	switch v.ContentType {
	case "":
	case ContentTypePFX, ContentTypePEM:
		bundle["managed"] = true
		bundle["kid"] = s.URL() + "/keys/" + v.name + "/" + v.id
		fallthrough
	default:
		bundle["contentType"] = v.ContentType
	}
	return bundle
}

func refuse(w http.ResponseWriter, status int, code, inner, message string) {
	e := map[string]any{"code": code, "message": message}
	if inner != "" {
		e["innererror"] = map[string]any{"code": inner}
	}
	write(w, status, map[string]any{"error": e})
}

func write(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the caller has gone
}
