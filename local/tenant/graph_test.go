package tenant_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

func with(object map[string]any, changes map[string]any) map[string]any {
	out := maps.Clone(object)
	for name, value := range changes {
		if value == "absent" {
			delete(out, name)
		} else {
			out[name] = value
		}
	}
	return out
}

func TestGraphRefusesAsDocumented(t *testing.T) {
	t.Parallel()
	const resource = "does not exist or one of its queried reference-property objects are not present."
	nobody := "00000000-0000-0000-0000-00000000beef"
	tests := []struct {
		name, method, path string
		body               any
		status             int
		code, message      string
	}{
		{
			"user principal name taken", "POST", "/v1.0/users", with(person("ann"), map[string]any{"mailNickname": "other", "mail": nil}), 400,
			"Request_BadRequest", "Another object with the same value for property userPrincipalName already exists.",
		},
		{
			"user principal name taken in other letters", "POST", "/v1.0/users", with(person("ann"), map[string]any{"mailNickname": "other", "mail": nil, "userPrincipalName": "ANN@Contoso.com"}), 400,
			"Request_BadRequest", "Another object with the same value for property userPrincipalName already exists.",
		},
		{
			"nickname taken", "POST", "/v1.0/users", with(person("ann"), map[string]any{"userPrincipalName": "x@contoso.com", "mail": nil}), 400,
			"Request_BadRequest", "Another object with the same value for property mailNickname already exists.",
		},
		{
			"address taken", "POST", "/v1.0/users", with(person("new"), map[string]any{"mail": "Ann@fabrikam.com"}), 400,
			"Request_BadRequest", "Another object with the same value for property proxyAddresses already exists.",
		},
		{
			"required property missing", "POST", "/v1.0/users", with(person("new"), map[string]any{"mailNickname": "absent"}), 400,
			"Request_BadRequest", "Property mailNickname value is required but is empty or missing.",
		},
		{
			"no password", "POST", "/v1.0/users", with(person("new"), map[string]any{"passwordProfile": "absent"}), 400,
			"Request_BadRequest", "A password must be specified to create a new user.",
		},
		{
			"unknown property", "POST", "/v1.0/users", with(person("new"), map[string]any{"shoeSize": "43"}), 400,
			"Request_BadRequest", "Invalid property 'shoeSize'.",
		},
		{
			"read-only property", "PATCH", "/v1.0/users/ann@contoso.com",
			map[string]any{"proxyAddresses": []string{"smtp:a@b.c"}},
			400,
			"Request_BadRequest", "Property 'proxyAddresses' is read-only and cannot be set.",
		},
		{
			"value of another type", "PATCH", "/v1.0/users/ann@contoso.com",
			map[string]any{"department": 7},
			400,
			"Request_BadRequest", "Invalid value specified for property 'department' of resource.",
		},
		{
			"malformed user principal name", "PATCH", "/v1.0/users/ann@contoso.com",
			map[string]any{"userPrincipalName": "ann"},
			400,
			"Request_BadRequest", "Invalid value specified for property 'userPrincipalName' of resource 'User'.",
		},
		{
			"domain not verified", "PATCH", "/v1.0/users/ann@contoso.com",
			map[string]any{"userPrincipalName": "ann@elsewhere.com"},
			400,
			"Request_BadRequest", "The domain portion of the userPrincipalName property is invalid. You must use one of the verified domain names in your organization.",
		},
		{"no such user", "GET", "/v1.0/users/" + nobody, nil, 404, "Request_ResourceNotFound", "Resource '" + nobody + "' " + resource},
		{"patch of no such user", "PATCH", "/v1.0/users/" + nobody, map[string]any{"city": "Bern"}, 404, "Request_ResourceNotFound", resource},
		{"no such group", "GET", "/v1.0/groups/" + nobody + "/members", nil, 404, "Request_ResourceNotFound", resource},
		{
			"select of unknown property", "GET", "/v1.0/users/ann@contoso.com?$select=id,shoeSize", nil, 400,
			"BadRequest", "Could not find a property named 'shoeSize' on type 'microsoft.graph.user'.",
		},
		{"option that is not simulated", "GET", "/v1.0/users?$orderby=displayName", nil, 400, "Request_UnsupportedQuery", "$orderby"},
		{
			"filter on another property", "GET", "/v1.0/users?$filter=" + "city%20eq%20'Bern'", nil, 400, "Request_UnsupportedQuery",
			"Unsupported or invalid query filter clause specified for property 'city' of resource 'User'.",
		},
		{"filter that is no filter", "GET", "/v1.0/users?$filter=mail%20like%20'x'", nil, 400, "BadRequest", "Invalid filter clause"},
		{"filter on members", "GET", "/v1.0/groups/" + nobody + "/members?$filter=mail%20eq%20'x'", nil, 400, "Request_UnsupportedQuery", "$filter"},
		{"page too large", "GET", "/v1.0/users?$top=1000", nil, 400, "Request_UnsupportedQuery", "Invalid page size"},
		{"unknown path", "GET", "/v1.0/planets", nil, 400, "BadRequest", "Resource not found for the segment 'planets'."},
		{"unknown sub-path", "POST", "/v1.0/users/ann@contoso.com/fly", map[string]any{}, 400, "BadRequest", "Resource not found for the segment 'fly'."},
		{"unknown version", "GET", "/v2.0/users", nil, 400, "BadRequest", "Invalid version"},
		{"unknown method", "PUT", "/v1.0/users", map[string]any{}, 405, "Request_BadRequest", "Specified HTTP method is not allowed for the request target."},
		{
			"beta operation in v1.0", "POST", "/v1.0/users/ann@contoso.com/convertExternalToInternalMemberUser",
			map[string]any{},
			400,
			"BadRequest", "Resource not found for the segment 'convertExternalToInternalMemberUser'.",
		},
		{"body that is not JSON", "POST", "/v1.0/users", "{", 400, "BadRequest", "Unable to read JSON request payload."},
		{
			"mail-enabled group", "POST", "/v1.0/groups",
			map[string]any{"displayName": "l", "mailNickname": "l", "mailEnabled": true, "securityEnabled": false},
			400,
			"Request_BadRequest", "The service does not currently support writes of mail-enabled groups.",
		},
		{"link to nowhere", "POST", "/v1.0/groups/11111111-0000-0000-0000-000000000001/members/$ref", map[string]any{"@odata.id": "ann"}, 400, "Request_BadRequest", "Invalid URL format"},
		{
			"convert an internal user", "POST", "/beta/users/ann@contoso.com/convertExternalToInternalMemberUser",
			map[string]any{"userPrincipalName": "ann@contoso.com", "passwordProfile": map[string]any{"password": "Correct-Horse-7"}},
			400,
			"badRequest", "The user authentication is already internal and is not eligible for conversion.",
		},
		{
			"invite with another address than mail", "POST", "/v1.0/invitations",
			map[string]any{"invitedUserEmailAddress": "ann@other.com", "inviteRedirectUrl": "https://x", "invitedUser": map[string]any{"id": "22222222-0000-0000-0000-000000000002"}},
			400,
			"BadRequest", "does not match the mail of the user",
		},
		{
			"invite a synchronized user", "POST", "/v1.0/invitations",
			map[string]any{"invitedUserEmailAddress": "syn@fabrikam.com", "inviteRedirectUrl": "https://x", "invitedUser": map[string]any{"id": "33333333-0000-0000-0000-000000000003"}},
			400,
			"BadRequest", "onPremisesUserPrincipalName",
		},
		{"21 groups", "POST", "/v1.0/users/ann@contoso.com/checkMemberGroups", map[string]any{"groupIds": slices.Repeat([]string{nobody}, 21)}, 400, "Request_BadRequest", "maximum of 20"},
		{
			"21 batch steps", "POST", "/v1.0/$batch",
			map[string]any{"requests": slices.Repeat([]any{map[string]any{"id": "1", "method": "GET", "url": "/users"}}, 21)},
			400,
			"MaximumValueExceeded", "exceeds the max value of 20",
		},
	}
	r := start(t, tenant.Config{Seed: &tenant.Seed{
		VerifiedDomains: []string{"contoso.com"},
		Users: []tenant.User{
			{"id": "22222222-0000-0000-0000-000000000002", "userPrincipalName": "ann@contoso.com", "mail": "ann@fabrikam.com"},
			{"id": "33333333-0000-0000-0000-000000000003", "userPrincipalName": "syn@contoso.com", "mail": "syn@fabrikam.com", "onPremisesUserPrincipalName": "syn@corp.local"},
		},
		Groups: []tenant.SeedGroup{{Properties: map[string]any{"id": "11111111-0000-0000-0000-000000000001", "mailNickname": "g", "mailEnabled": false, "securityEnabled": true}}},
	}})
	before := r.State()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := rig{t, r.Server}
			req := r.request(tt.method, tt.path, tt.body)
			req.Header.Set("client-request-id", "my-request")
			a := testenv.Must(r.send(req))(t)
			code, message := a.error()
			if a.status != tt.status || code != tt.code || !strings.Contains(message, tt.message) {
				t.Errorf("got %d %s %q\nwant %d %s %q", a.status, code, message, tt.status, tt.code, tt.message)
			}
			inner, _ := a.body["error"].(map[string]any)["innerError"].(map[string]any)
			if inner["client-request-id"] != "my-request" || inner["request-id"] == "" || inner["request-id"] != a.header.Get("request-id") {
				t.Errorf("ids of the error: %v", inner)
			}
		})
	}
	if after := r.State(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("a refused request changed the state:\n%v\n%v", before, after)
	}
}

func TestAUserIsCreatedReadChangedAndDeleted(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	made := r.must(201, "POST", "/v1.0/users", with(person("ann"), map[string]any{
		"department": "Sales", "onPremisesExtensionAttributes": map[string]any{"extensionAttribute1": "a", "extensionAttribute2": "b"},
	}))
	if _, shown := made.body["department"]; shown {
		t.Error("department is returned although it was not selected")
	}
	path := "/v1.0/users/" + made.id()
	r.must(204, "PATCH", path, map[string]any{"city": "Bern", "onPremisesExtensionAttributes": map[string]any{"extensionAttribute2": "c"}})
	r.must(204, "PATCH", path, map[string]any{"mail": "ann@contoso.com"})
	got := r.must(200, "GET", "/beta/users/ANN@contoso.com?$select=department,CITY,mail,proxyAddresses,otherMails,faxNumber,onPremisesExtensionAttributes,passwordProfile", nil).body
	delete(got, "@odata.context")
	want := map[string]any{
		"department": "Sales", "city": "Bern", "mail": "ann@contoso.com", "otherMails": []any{}, "faxNumber": nil,
		"proxyAddresses":                []any{"SMTP:ann@contoso.com", "smtp:ann@fabrikam.com"},
		"onPremisesExtensionAttributes": map[string]any{"extensionAttribute1": "a", "extensionAttribute2": "c"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if strings.Contains(fmt.Sprint(r.State()), "Correct-Horse") {
		t.Error("the password is kept")
	}
	group := r.newGroup("g")
	r.must(204, "POST", "/v1.0/groups/"+group+"/members/$ref", r.link(made.id()))
	r.must(204, "DELETE", path, nil)
	r.must(404, "GET", path, nil)
	if left := r.State().Groups[0].Members; len(left) != 0 {
		t.Errorf("a deleted user is still a member: %v", left)
	}
	r.newUser("ann") // the name is free again
}

func TestUsersAreListedFilteredAndPaged(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	for _, name := range []string{"ann", "anna", "bob", "o'neil"} {
		r.must(201, "POST", "/v1.0/users", with(person(name), map[string]any{"employeeId": "E-" + name}))
	}
	tests := []struct {
		query string
		want  []string
	}{
		{"", []string{"ann", "anna", "bob", "o'neil"}},
		{"$filter=userPrincipalName eq 'ANN@contoso.com'", []string{"ann"}},
		{"$filter=mail eq 'bob@fabrikam.com'", []string{"bob"}},
		{"$filter=employeeId eq 'E-o''neil'", []string{"o'neil"}},
		{"$filter=startswith(userPrincipalName,'ann')", []string{"ann", "anna"}},
		{"$filter=startswith(mail,'x')", nil},
		{"$top=3", []string{"ann", "anna", "bob", "o'neil"}},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			r := rig{t, r.Server}
			path := "/v1.0/users?$select=mailNickname&" + strings.ReplaceAll(tt.query, " ", "%20")
			var got []string
			for path != "" {
				page := r.must(200, "GET", path, nil)
				for _, u := range page.values() {
					got = append(got, u["mailNickname"].(string))
				}
				next, _ := page.body["@odata.nextLink"].(string)
				path = strings.TrimPrefix(next, r.URL())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestBatchStepsAreAnsweredOneByOne(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	if err := r.SetFaults(tenant.Faults{Rules: []tenant.Fault{{Op: "GET /users", After: 1, Count: 1, Status: 429, RetryAfter: "2"}}}); err != nil {
		t.Fatal(err)
	}
	json1 := map[string]string{"Content-Type": "application/json"}
	a := r.must(200, "POST", "/v1.0/$batch", map[string]any{"requests": []any{
		map[string]any{"id": "1", "method": "POST", "url": "/users", "headers": json1, "body": person("ann")},
		map[string]any{"id": "2", "method": "GET", "url": "/users/ann@contoso.com?$select=mail", "dependsOn": []string{"1"}},
		map[string]any{"id": "3", "method": "GET", "url": "/users/ann@contoso.com"},
		map[string]any{"id": "4", "method": "GET", "url": "/users/ann@contoso.com", "dependsOn": []string{"3"}},
		map[string]any{"id": "5", "method": "GET", "url": "/nothing"},
	}})
	want := []float64{201, 200, 429, 424, 400}
	for i, item := range a.body["responses"].([]any) {
		response := item.(map[string]any)
		if response["id"] != fmt.Sprint(i+1) || response["status"] != want[i] {
			t.Errorf("step %d: %v", i+1, response)
		}
		if i == 2 && response["headers"].(map[string]any)["Retry-After"] != "2" {
			t.Errorf("headers of the throttled step: %v", response["headers"])
		}
	}
}

func TestGzippedBodiesAreRead(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	json.NewEncoder(z).Encode(person("ann"))
	z.Close()
	req := r.request("POST", "/v1.0/users", packed.String())
	req.Header.Set("Content-Encoding", "gzip")
	a, err := r.send(req)
	if err != nil || a.status != 201 {
		t.Fatalf("%v %d %s", err, a.status, a.raw)
	}
	req = r.request("POST", "/v1.0/users", "not gzip")
	req.Header.Set("Content-Encoding", "gzip")
	if a, _ := r.send(req); a.status != 400 {
		t.Errorf("broken gzip: %d", a.status)
	}
}

func TestATokenIsAlwaysNeeded(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	for path, body := range map[string]any{
		"/v1.0/$batch": map[string]any{}, "/adminapi/beta/" + tenant.DefaultTenantID + "/InvokeCommand": map[string]any{},
	} {
		req := r.request("POST", path, body)
		req.Header.Set("Authorization", "Bearer")
		if a, err := r.send(req); err != nil || a.status != 401 {
			t.Errorf("%s without a token: %v %d", path, err, a.status)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	verify := func(token, audience string) error {
		switch {
		case token == "good:"+audience:
			return nil
		case token == "no-permission":
			return fmt.Errorf("app-only token: %w", tenant.ErrMissingPermission)
		case token == "no-role":
			return tenant.ErrMissingRole
		}
		return fmt.Errorf("signature is wrong")
	}
	r := start(t, tenant.Config{VerifyToken: verify})
	invoke := "/adminapi/beta/" + tenant.DefaultTenantID + "/InvokeCommand"
	recipients := map[string]any{"CmdletInput": map[string]any{"CmdletName": "Get-Recipient"}}
	tests := []struct {
		authorization   string
		graph, exchange int
		code            string
	}{
		{"Bearer good:" + tenant.GraphAudience, 200, 401, ""},
		{"Bearer good:" + tenant.ExchangeAudience, 401, 200, "InvalidAuthenticationToken"},
		{"Bearer no-permission", 403, 401, "Authorization_RequestDenied"},
		{"Bearer no-role", 403, 403, "Authorization_RequestDenied"},
		{"Bearer ", 401, 401, "InvalidAuthenticationToken"},
		{"Basic YTpi", 401, 401, "InvalidAuthenticationToken"},
	}
	for _, tt := range tests {
		t.Run(tt.authorization, func(t *testing.T) {
			r := rig{t, r.Server}
			send := func(req *http.Request) answer {
				req.Header.Set("Authorization", tt.authorization)
				return testenv.Must(r.send(req))(t)
			}
			a := send(r.request("GET", "/v1.0/users", nil))
			if code, _ := a.error(); a.status != tt.graph || code != tt.code {
				t.Errorf("Graph: %d %s", a.status, code)
			}
			if a := send(r.request("POST", invoke, recipients)); a.status != tt.exchange {
				t.Errorf("Exchange: %d", a.status)
			}
		})
	}
}
