package adminhttp_test

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/golang-jwt/jwt/v5"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/signin"
	"github.com/matoolkit/matoolkit/local/entra"
)

// level is the role that a route requires or that a caller has.
type level int

const (
	anonymous level = iota
	signedIn
	reader
	requester
	operator
	approver
	administrator
)

// may reports whether a caller of a level may use a route that requires another.
func (l level) may(demand level) bool {
	switch {
	case demand <= signedIn || l == demand || l == administrator:
		return true
	case demand == reader:
		return l != requester
	}
	return demand == requester && l == operator
}

// demands lists the level that every route requires. A route missing here fails the
// test, and so does an entry without a route.
var demands = map[string]level{
	"GET /api/health":                                  anonymous,
	"GET /api/console/config.json":                     anonymous,
	"GET /api/openapi.json":                            signedIn,
	"GET /api/me":                                      signedIn,
	"GET /api/runbooks":                                reader,
	"POST /api/runbooks":                               administrator,
	"POST /api/lint":                                   reader,
	"POST /api/simulate":                               reader,
	"GET /api/runbooks/:name":                          reader,
	"GET /api/runbooks/:name/versions":                 reader,
	"GET /api/runbooks/:name/versions/:version":        reader,
	"DELETE /api/runbooks/:name/versions/:version":     administrator,
	"GET /api/runbooks/:name/template":                 reader,
	"GET /api/runbooks/:name/automation":               reader,
	"PUT /api/runbooks/:name/automation":               administrator,
	"POST /api/runbooks/:name/query/preview":           administrator,
	"GET /api/runbooks/:name/syncs":                    reader,
	"GET /api/summary":                                 reader,
	"GET /api/find":                                    reader,
	"GET /api/batches":                                 reader,
	"POST /api/batches":                                administrator,
	"GET /api/batches/:id":                             reader,
	"PATCH /api/batches/:id":                           operator,
	"GET /api/batches/:id/members":                     reader,
	"GET /api/audit":                                   administrator,
	"GET /api/batches/:id/audit":                       reader,
	"GET /api/runbooks/:name/audit":                    reader,
	"GET /api/messages/audit":                          reader,
	"POST /api/batches/:id/members":                    administrator,
	"DELETE /api/batches/:id/members/:member":          administrator,
	"GET /api/batches/:id/members/:member":             reader,
	"PATCH /api/batches/:id/members/:member":           operator,
	"PATCH /api/batches/:id/members":                   operator,
	"GET /api/batches/:id/phases":                      reader,
	"POST /api/batches/:id/reschedule":                 administrator,
	"POST /api/batches/:id/approve":                    approver,
	"GET /api/batches/:id/steps":                       reader,
	"GET /api/batches/:id/steps/:stepId":               reader,
	"GET /api/batches/:id/errors":                      reader,
	"POST /api/batches/:id/steps/:stepId/skip":         operator,
	"POST /api/batches/:id/steps/:stepId/done":         operator,
	"GET /api/batches/:id/checks":                      reader,
	"POST /api/batches/:id/check":                      operator,
	"GET /api/batches/:id/report":                      reader,
	"GET /api/batches/:id/removals":                    reader,
	"POST /api/batches/:id/removals/confirm":           approver,
	"GET /api/runbooks/:name/additions":                reader,
	"POST /api/runbooks/:name/additions/confirm":       approver,
	"POST /api/runbooks/:name/additions/discard":       approver,
	"POST /api/batches/:id/removals/move":              approver,
	"POST /api/batches/:id/removals/discard":           approver,
	"POST /api/batches/:id/advance":                    operator,
	"POST /api/batches/:id/cancel":                     administrator,
	"POST /api/batches/:id/pause":                      operator,
	"POST /api/batches/:id/resume":                     operator,
	"POST /api/batches/:id/retry":                      operator,
	"POST /api/batches/:id/skip":                       operator,
	"POST /api/batches/:id/mark-done":                  operator,
	"POST /api/batches/:id/remove":                     administrator,
	"POST /api/batches/:id/move":                       operator,
	"GET /api/batches/:id/tasks/:task":                 reader,
	"GET /api/workers":                                 reader,
	"GET /api/workers/:id":                             reader,
	"GET /api/messages/unprocessed":                    reader,
	"GET /api/messages/unprocessed/:id":                administrator,
	"POST /api/messages/unprocessed/:id/replay":        administrator,
	"POST /api/messages/unprocessed/:id/discard":       administrator,
	"GET /api/notifications":                           reader,
	"GET /api/notifications/:name":                     reader,
	"GET /api/notifications/:name/deliveries":          reader,
	"POST /api/notifications":                          administrator,
	"DELETE /api/notifications/:name":                  administrator,
	"POST /api/notifications/:name/test":               administrator,
	"POST /api/pipelines/:name/batches":                requester,
	"GET /api/pipelines/:name/batches/:id":             signedIn,
	"GET /api/pipelines/:name/batches/:id/result":      signedIn,
	"GET /api/pipelines/:name/result":                  signedIn,
	"GET /api/pipelines/:name/route":                   signedIn,
	"POST /api/pipelines/:name/batches/:id/comparison": requester,
	"GET /api/pipelines/:name/routing":                 reader,
	"PATCH /api/pipelines/:name/routing":               administrator,
	"GET /api/pipelines/:name/comparisons":             reader,
	"GET /api/scaler":                                  reader,
	"POST /api/scaler/plan":                            administrator,
}

const (
	fabrikamID   = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b0f" // the other tenant of ours
	elsewhereID  = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bff" // none of ours
	noRoleUPN    = "guest@contoso.onmicrosoft.com"
	appReaderID  = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bf2"
	appAdminID   = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bf1"
	appNoRoleID  = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bf3"
	invalidToken = `Bearer error="invalid_token", error_description="`
)

// matrixDirectory is three tenants, each with keys of its own.
func matrixDirectory(t *testing.T) entra.Config {
	config := entra.DefaultConfig()
	config.Addr, config.DataDir = "127.0.0.1:0", t.TempDir()
	own := &config.Tenants[0]
	own.OwnKeys = true
	own.Users = append(own.Users, entra.User{UPN: noRoleUPN, Name: "Gail Guest", ObjectID: appNoRoleID})
	for id, roles := range map[string][]string{appAdminID: {entra.RoleAdmin}, appReaderID: {entra.RoleReader}, appNoRoleID: nil} {
		own.Applications = append(own.Applications, entra.Application{
			ClientID: id, Name: id, Secrets: []string{secret}, Roles: map[string][]string{entra.DefaultAdminAPIClientID: roles},
		})
	}
	for id, domain := range map[string]string{fabrikamID: "fabrikam.example", elsewhereID: "elsewhere.example"} {
		other := entra.DefaultConfig().Tenants[0]
		other.ID, other.Domain, other.OwnKeys = id, domain, true
		for i := range other.Users {
			name, _, _ := strings.Cut(other.Users[i].UPN, "@")
			other.Users[i].UPN = name + "@" + domain
		}
		config.Tenants = append(config.Tenants, other)
	}
	return config
}

// caller is an Authorization header and its outcome: a level or a refusal.
type caller struct {
	header    string
	level     level
	status    int
	error     string
	challenge string
}

// callers are those that there can be, by name.
func callers(t *testing.T, server *entra.Server, dataDir string) map[string]caller {
	t.Helper()
	must := func(token string, err error) string {
		check(t, err)
		return token
	}
	user := func(upn string) string { return must(server.IssueUserToken(upn, entra.DefaultAdminAPIScope)) }
	application := func(id string) string { return must(server.IssueAppToken(id, entra.DefaultAdminAPIScope)) }
	good := user(entra.DefaultAdminUPN)
	claims := func(changed map[string]any) map[string]any {
		claims := segment(t, good, 1)
		maps.Copy(claims, changed)
		return claims
	}
	key := tenantKey(t, dataDir, entra.DefaultTenantID)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	check(t, err)
	shared := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	named := map[string]any{"kid": segment(t, good, 0)["kid"]}
	signed := func(method jwt.SigningMethod, key any, header map[string]any) string {
		token := jwt.NewWithClaims(method, jwt.MapClaims(claims(nil)))
		maps.Copy(token.Header, header)
		return must(token.SignedString(key))
	}
	parts := strings.Split(good, ".")
	other := strings.Split(user(entra.DefaultReaderUPN), ".")
	now := time.Now()

	missing := func(header string) caller {
		return caller{header, 0, http.StatusUnauthorized, "unauthenticated", "Bearer"}
	}
	invalid := func(token, reason string) caller {
		return caller{"Bearer " + token, 0, http.StatusUnauthorized, "unauthenticated", invalidToken + reason + `"`}
	}
	allowed := func(token string, l level) caller { return caller{header: "Bearer " + token, level: l} }
	const badSignature = "the token's signature cannot be verified"
	return map[string]caller{
		"no token":       missing(""),
		"another scheme": missing("Basic dXNlcjpwYXNz"),
		"garbage":        invalid("garbage", "the token is malformed"),
		"bad signature":  invalid(parts[0]+"."+parts[1]+"."+other[2], badSignature),
		"wrong audience": invalid(must(server.IssueUserToken(entra.DefaultAdminUPN, "https://graph.microsoft.com/.default")), "the token is for another application"),
		"wrong tenant":   invalid(user("admin@elsewhere.example"), "the token was issued by another tenant"),
		"our tenant's ID under another tenant of ours' key": invalid(must(server.IssueTokenOf(fabrikamID, claims(nil))), badSignature),
		"our tenant's ID under a strange tenant's key":      invalid(must(server.IssueTokenOf(elsewhereID, claims(nil))), badSignature),
		"another tenant of ours' issuer under our key":      invalid(must(server.IssueToken(claims(map[string]any{"iss": server.URL() + "/" + fabrikamID + "/v2.0"}))), "the token was issued by another tenant"),
		"expired":                    invalid(must(server.IssueToken(claims(map[string]any{"exp": now.Add(-time.Hour).Unix()}))), "the token has expired"),
		"not yet valid":              invalid(must(server.IssueToken(claims(map[string]any{"nbf": now.Add(time.Hour).Unix()}))), "the token is not valid yet"),
		"alg none":                   invalid(signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, named), badSignature),
		"HS256 with the public key":  invalid(signed(jwt.SigningMethodHS256, shared, named), badSignature),
		"no kid":                     invalid(signed(jwt.SigningMethodRS256, key, nil), badSignature),
		"application without a role": {"Bearer " + application(appNoRoleID), 0, http.StatusForbidden, "forbidden", `Bearer error="insufficient_scope", error_description="an application needs one of the app roles Reader, Requester, RequesterForAll, Operator, Approver, Admin"`},

		"reader":                            allowed(user(entra.DefaultReaderUPN), reader),
		"user without a role":               allowed(user(noRoleUPN), reader),
		"requester":                         allowed(user(entra.DefaultRequesterUPN), requester),
		"operator":                          allowed(user(entra.DefaultOperatorUPN), operator),
		"approver":                          allowed(user(entra.DefaultApproverUPN), approver),
		"administrator":                     allowed(good, administrator),
		"signed with our key":               allowed(signed(jwt.SigningMethodRS256, key, named), administrator),
		"reader of the other tenant":        allowed(user("reader@fabrikam.example"), reader),
		"administrator of the other tenant": allowed(user("admin@fabrikam.example"), administrator),
		"application that reads":            allowed(application(appReaderID), reader),
		"application that administers":      allowed(application(appAdminID), administrator),
	}
}

// Every route, called by everyone: those who may get its answer, the others are
// refused in the way that is theirs, and nothing is done for them. Tokens, keys and
// discovery are those of the local identity provider, over TLS.
func TestEveryRouteByEveryCaller(t *testing.T) {
	t.Parallel()
	directory := matrixDirectory(t)
	server := start(t, func() (*entra.Server, error) { return entra.Start(t.Context(), directory) })
	verifier, err := signin.New(t.Context(), signin.Config{
		Instance: server.URL(), TenantIDs: []string{entra.DefaultTenantID, fabrikamID},
		ClientID: entra.DefaultAdminAPIClientID, HTTPClient: server.HTTPClient(),
	})
	check(t, err)
	api := func() (http.Handler, *recorder) {
		r := &recorder{health: api.Health{Status: "ok"}}
		return adminhttp.New(adminhttp.Config{UseCases: r.useCases(), Verifier: verifier, Log: slog.New(slog.DiscardHandler), SignIn: adminhttp.SignIn{ConsoleClientID: appReaderID}}), r
	}

	handler, _ := api()
	var names []string
	for _, r := range handler.(interface{ Routes() gin.RoutesInfo }).Routes() {
		names = append(names, r.Method+" "+r.Path)
	}
	if want := slices.Sorted(maps.Keys(demands)); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
		t.Fatalf("the routes are\n%s\nand the table has\n%s", strings.Join(slices.Sorted(slices.Values(names)), "\n"), strings.Join(want, "\n"))
	}

	all := callers(t, server, directory.DataDir)
	for _, name := range names {
		good := goodRequest(t, name)
		for who, c := range all {
			handler, calls := api()
			request := httptest.NewRequest(good.method, good.path, strings.NewReader(good.request.body))
			if good.media != "" {
				request.Header.Set("Content-Type", good.media)
			}
			if c.header != "" {
				request.Header.Set("Authorization", c.header)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, request)

			want := caller{status: good.status}
			switch {
			case demands[name] == anonymous:
			case c.status != 0:
				want = c
			case !c.level.may(demands[name]):
				want = caller{status: http.StatusForbidden, error: "forbidden"}
			}
			if w.Code != want.status {
				t.Errorf("%s, %s: status %d, want %d: %s", name, who, w.Code, want.status, w.Body)
				continue
			}
			if got := w.Header().Get("WWW-Authenticate"); got != want.challenge {
				t.Errorf("%s, %s: WWW-Authenticate is %s, want %s", name, who, got, want.challenge)
			}
			if want.error == "" {
				continue
			}
			if p := readProblem(t, w); string(p.Error) != want.error {
				t.Errorf("%s, %s: error %q, want %q", name, who, p.Error, want.error)
			}
			if calls.calls != nil {
				t.Errorf("%s, %s: a refused request reached %q", name, who, calls.calls)
			}
		}
	}
}

// The description of a route that only some roles may use names them.
func TestTheDocumentNamesTheRolesOfEachRoute(t *testing.T) {
	t.Parallel()
	names := map[level]string{requester: "Requires the app role Requester, for oneself, or RequesterForAll, Operator or Admin", operator: "Requires the app role Operator or Admin", approver: "Requires the app role Approver or Admin", administrator: "Requires the app role Admin"}
	for _, o := range newContract(t, newReal(t)).operations {
		demand, ok := demands[o.Method+" /api"+strings.NewReplacer("{", ":", "}", "").Replace(o.Path)]
		want := names[demand]
		if demand == reader && o.Method != http.MethodGet { // a reader could think that it changes something
			want = "Requires the app role Reader"
		}
		if text := o.Description; !ok || want == "" && strings.Contains(text, "Requires the app role") || !strings.HasPrefix(text, want) {
			t.Errorf("%s: requires level %d, and its description begins %.60q", o.OperationID, demand, text)
		}
	}
}

// goodRequest is one that the route grants, out of those that there are for every
// route, with what it answers.
func goodRequest(t *testing.T, name string) route {
	t.Helper()
	method, path, _ := strings.Cut(name, " ")
	address := regexp.MustCompile("^" + regexp.MustCompile(`:\w+`).ReplaceAllString(path, "[^/]+") + `(\?.*)?$`)
	for _, r := range routes(t) {
		if r.method == method && address.MatchString(r.path) {
			return r
		}
	}
	return route{request: request{method: method, path: path}, status: http.StatusOK} // health and document
}

// segment decodes the header (0) or the claims (1) of a token.
func segment(t *testing.T, token string, i int) map[string]any {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[i])
	check(t, err)
	fields := map[string]any{}
	check(t, json.Unmarshal(data, &fields))
	return fields
}

// tenantKey is the key that the server with this directory signs a tenant's tokens with.
func tenantKey(t *testing.T, dataDir, tenantID string) *rsa.PrivateKey {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dataDir, tenantID+"-signing-keys.pem"))
	check(t, err)
	block, _ := pem.Decode(data)
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	check(t, err)
	return key
}
