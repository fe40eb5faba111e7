package tenant_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// newClock is a clock that only the test moves.
func newClock() *testenv.Clock {
	return testenv.NewClockAt(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
}

// rig is a running tenant and a client of it.
type rig struct {
	t *testing.T
	*tenant.Server
}

func start(t *testing.T, cfg tenant.Config) rig {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	s := testenv.Started(tenant.Start(t.Context(), cfg))(t)
	return rig{t, s}
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

func (r rig) send(req *http.Request) (answer, error) {
	r.t.Helper()
	if req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer test")
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: res.StatusCode, header: res.Header, raw: raw}
	json.Unmarshal(raw, &a.body)
	return a, nil
}

func (r rig) request(method, path string, body any) *http.Request {
	r.t.Helper()
	var content io.Reader
	if s, isText := body.(string); isText {
		content = strings.NewReader(s)
	} else if body != nil {
		encoded := testenv.Must(json.Marshal(body))(r.t)
		content = bytes.NewReader(encoded)
	}
	req := testenv.Must(http.NewRequestWithContext(r.t.Context(), method, r.URL()+path, content))(r.t)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

func (r rig) do(method, path string, body any) answer {
	r.t.Helper()
	a, err := r.send(r.request(method, path, body))
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// must is do with the status it has to have.
func (r rig) must(status int, method, path string, body any) answer {
	r.t.Helper()
	a := r.do(method, path, body)
	if a.status != status {
		r.t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.raw)
	}
	return a
}

// cmdlet runs one Exchange command.
func (r rig) cmdlet(name string, parameters map[string]any) answer {
	r.t.Helper()
	return r.do("POST", "/adminapi/beta/"+tenant.DefaultTenantID+"/InvokeCommand",
		map[string]any{"CmdletInput": map[string]any{"CmdletName": name, "Parameters": parameters}})
}

func (r rig) mustCmdlet(name string, parameters map[string]any) answer {
	r.t.Helper()
	a := r.cmdlet(name, parameters)
	if a.status != http.StatusOK {
		r.t.Fatalf("%s %v: status %d: %s", name, parameters, a.status, a.raw)
	}
	return a
}

func (a answer) error() (code, message string) {
	e, _ := a.body["error"].(map[string]any)
	code, _ = e["code"].(string)
	message, _ = e["message"].(string)
	return code, message
}

// detail is error.details[0].message of an Exchange answer.
func (a answer) detail() string {
	e, _ := a.body["error"].(map[string]any)
	details, _ := e["details"].([]any)
	if len(details) == 0 {
		return ""
	}
	first, _ := details[0].(map[string]any)
	message, _ := first["message"].(string)
	return message
}

func (a answer) values() []map[string]any {
	list, _ := a.body["value"].([]any)
	var out []map[string]any
	for _, item := range list {
		object, _ := item.(map[string]any)
		out = append(out, object)
	}
	return out
}

func (a answer) id() string { s, _ := a.body["id"].(string); return s }

func person(name string) map[string]any {
	return map[string]any{
		"accountEnabled": true, "displayName": strings.ToUpper(name), "mailNickname": name,
		"userPrincipalName": name + "@contoso.com", "mail": name + "@fabrikam.com",
		"passwordProfile": map[string]any{"password": "Correct-Horse-7"},
	}
}

func (r rig) newUser(name string) string {
	r.t.Helper()
	return r.must(http.StatusCreated, "POST", "/v1.0/users", person(name)).id()
}

func (r rig) newGroup(name string) string {
	r.t.Helper()
	return r.must(http.StatusCreated, "POST", "/v1.0/groups", map[string]any{
		"displayName": name, "mailNickname": name, "mailEnabled": false, "securityEnabled": true,
	}).id()
}

// newMailUser makes a mail user whose mail goes to fabrikam.com, and returns its object id.
func (r rig) newMailUser(name string) string {
	r.t.Helper()
	id, _ := r.mustCmdlet("New-MailUser", mailUser(name)).values()[0]["ExternalDirectoryObjectId"].(string)
	return id
}

func mailUser(name string) map[string]any {
	return map[string]any{
		"Name": name, "MicrosoftOnlineServicesID": name + "@contoso.com", "Password": "Correct-Horse-7", "ExternalEmailAddress": name + "@fabrikam.com",
	}
}

func (r rig) link(id string) map[string]any {
	return map[string]any{"@odata.id": fmt.Sprintf("%s/directoryObjects/%s", r.GraphURL(), id)}
}

// One person's way through a migration: made in Exchange, put in a group in Graph, then
// completed in Exchange.
func TestAMigratedPersonIsOneObjectInBothServices(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	id := r.newMailUser("ann")
	group := r.newGroup("wave1")
	r.must(204, "POST", "/v1.0/groups/"+group+"/members/$ref", r.link(id))

	guid := "11111111-2222-3333-4444-555555555555"
	r.mustCmdlet("Set-MailUser", map[string]any{"Identity": id, "ExchangeGuid": guid})
	r.mustCmdlet("Set-MailUser", map[string]any{"Identity": id, "EmailAddresses": map[string]any{
		"@odata.type": "#Exchange.GenericHashTable", "Add": []string{"smtp:ann@contoso.onmicrosoft.com"},
	}})
	r.mustCmdlet("Set-MailUser", map[string]any{"Identity": id, "WindowsEmailAddress": "ann@contoso.com"})
	r.must(204, "PATCH", "/v1.0/users/"+id, map[string]any{"userPrincipalName": "ann.new@contoso.com"})

	got := r.mustCmdlet("Get-MailUser", map[string]any{"Identity": "ann.new@contoso.com"}).values()
	if len(got) != 1 {
		t.Fatalf("%d mail users", len(got))
	}
	for name, want := range map[string]any{
		"ExternalDirectoryObjectId": id, "ExchangeGuid": guid, "PrimarySmtpAddress": "ann@contoso.com",
		"ExternalEmailAddress": "SMTP:ann@fabrikam.com", "UserPrincipalName": "ann.new@contoso.com",
		"EmailAddresses": []any{"SMTP:ann@contoso.com", "smtp:ann@fabrikam.com", "smtp:ann@contoso.onmicrosoft.com"},
	} {
		if fmt.Sprint(got[0][name]) != fmt.Sprint(want) {
			t.Errorf("%s = %v, want %v", name, got[0][name], want)
		}
	}
	user := r.must(200, "GET", "/v1.0/users/ann.new@contoso.com?$select=mail,proxyAddresses", nil)
	if user.body["mail"] != "ann@contoso.com" {
		t.Errorf("mail in Graph = %v", user.body["mail"])
	}
	members := r.must(200, "GET", "/v1.0/groups/"+group+"/members", nil).values()
	if len(members) != 1 || members[0]["id"] != id {
		t.Errorf("members = %v", members)
	}
	r.must(204, "DELETE", "/v1.0/users/"+id, nil)
	if a := r.cmdlet("Get-Recipient", map[string]any{"Identity": id}); a.status != 404 {
		t.Errorf("the recipient of a deleted user: %d", a.status)
	}
}

func postJSON(t *testing.T, url, body string) answer {
	t.Helper()
	req := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	a, err := rig{t: t}.send(req)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
