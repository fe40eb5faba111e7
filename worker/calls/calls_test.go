package calls_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/calls"
)

func request(method, target, body string) *http.Request {
	r := httptest.NewRequest(method, "https://tenant.example"+target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer t")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func command(body string) *http.Request {
	r := request("POST", "/adminapi/beta/t/InvokeCommand", body)
	for name, value := range map[string]string{
		"X-AnchorMailbox": "UPN:a@b.example", "X-ResponseFormat": "json", "Prefer": "odata.maxpagesize=1000",
		"client-request-id": "00000000-0000-4000-8000-000000000000", "Accept-Encoding": "identity", "X-CmdletName": "Set-MailUser",
	} {
		r.Header.Set(name, value)
	}
	return r
}

func TestWhatIsDescribedPasses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		r    *http.Request
		body string
		name string
	}{
		{request("DELETE", "/v1.0/groups/g/members/m/$ref", ""), "", "DELETE /v1.0/groups/{id}/members/{id}/$ref"},
		{request("PATCH", "/v1.0/users/u", "{}"), `{"accountEnabled":false}`, "PATCH /v1.0/users/{id}"},
		{request("GET", "/v1.0/users/u?$select=id,mail", ""), "", "GET /v1.0/users/{id}"},
		{request("GET", "/v1.0/users/graph.admin@contoso.example?$select=id", ""), "", "GET /v1.0/users/{id}"},
		{
			command("{}"), `{"CmdletInput":{"CmdletName":"Set-MailUser","Parameters":{"Identity":"a",
				"EmailAddresses":{"@odata.type":"#Exchange.GenericHashTable","Add":["smtp:a@b.example"]}}}}`, "Set-MailUser",
		},
	} {
		if name, err := calls.Check(tc.r, []byte(tc.body)); err != nil || name != tc.name {
			t.Errorf("got %q, %v; want %q", name, err, tc.name)
		}
	}
}

func TestWhatIsNotDescribedIsAFault(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		note string
		r    *http.Request
		body string
		says string
	}{
		{"a member deleted, not the membership", request("DELETE", "/v1.0/groups/g/members/m", ""), "", "is not described"},
		{"the other version", request("PATCH", "/beta/users/u", "{}"), `{}`, "is not described"},
		{"a property", request("PATCH", "/v1.0/users/u", "{}"), `{"proxyAddresses":["a"]}`, "body.proxyAddresses is not described"},
		{"another type", request("PATCH", "/v1.0/users/u", "{}"), `{"accountEnabled":"false"}`, "body.accountEnabled is not boolean"},
		{"null", request("PATCH", "/v1.0/users/u", "{}"), `{"mail":null}`, "body.mail is not string"},
		{"an empty body", request("POST", "/v1.0/users", "{}"), ``, "the body is not JSON"},
		{"a property missing", request("POST", "/v1.0/invitations", "{}"), `{"invitedUserEmailAddress":"a","inviteRedirectUrl":"b","sendInvitationMessage":false,"invitedUser":{}}`, "body.invitedUser.id is missing"},
		{"an option", request("GET", "/v1.0/users/u?$select=id&$expand=x", ""), "", "$expand is not described"},
		{"no option", request("GET", "/v1.0/users/u", ""), "", "$select is missing"},
		{"another filter", request("GET", "/v1.0/users?$filter=mail%20eq%20'a'", ""), "", "does not begin with"},
		{"a function in the place of an id", request("DELETE", "/v1.0/users/delta", ""), "", "is not described"},
		{"a function of a name space", request("DELETE", "/v1.0/users/Microsoft.Graph.delta", ""), "", "is not described"},
		{"a cast by the alias of the name space", request("GET", "/v1.0/directory/deletedItems/Graph.user", ""), "", "is not described"},
		{"a function with parameters", request("DELETE", "/v1.0/users/delta(token='x')", ""), "", "is not described"},
		{"a segment of OData", request("DELETE", "/v1.0/users/%24count", ""), "", "is not described"},
		{"an option that is cut off", request("DELETE", "/v1.0/users/u?;/manager/$ref", ""), "", "query cannot be read"},
		{"an option twice", request("GET", "/v1.0/users/u?$select=id&$select=mail", ""), "", "$select is given 2 times"},
		{"a body where there is none", request("DELETE", "/v1.0/users/u", "{}"), `{}`, "has a body"},
		{"a cmdlet", command("{}"), `{"CmdletInput":{"CmdletName":"Remove-Mailbox","Parameters":{"Identity":"a"}}}`, `"Remove-Mailbox" is not described`},
		{"a parameter", command("{}"), `{"CmdletInput":{"CmdletName":"Set-MailUser","Parameters":{"Identity":"a","PrimarySmtpAddress":"b"}}}`, "PrimarySmtpAddress is not described"},
		{"a whole list of addresses", command("{}"), `{"CmdletInput":{"CmdletName":"Set-MailUser","Parameters":{"Identity":"a","EmailAddresses":["SMTP:a"]}}}`, "EmailAddresses is not an object"},
		{"no token", httptest.NewRequest(http.MethodGet, "/v1.0/users/u?$select=id", nil), "", "no bearer token"},
	} {
		if _, err := calls.Check(tc.r, []byte(tc.body)); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want %q", tc.note, err, tc.says)
		}
	}
}
