package tenant_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{Seed: &tenant.Seed{Users: []tenant.User{
		{"userPrincipalName": "ann@contoso.com", "department": "Sales", "accountEnabled": true, "onPremisesExtensionAttributes": map[string]any{"extensionAttribute1": "Wave 1"}},
		{"userPrincipalName": "bob@contoso.com", "department": "IT", "accountEnabled": false},
		{"userPrincipalName": "cy@fabrikam.com", "department": "Sales", "accountEnabled": true},
	}}})
	const advanced = "&$count=true"
	for query, want := range map[string]string{
		"department eq 'sales' and accountEnabled eq true":                                   "ann cy",
		"department eq 'IT' or (department eq 'Sales' and mailNickname eq 'cy')":             "bob cy",
		"department in ('IT', 'HR')":                                                         "bob",
		"companyName eq null":                                                                "ann bob cy",
		"onPremisesExtensionAttributes/extensionAttribute1 eq 'wave 1'":                      "ann",
		"department ne 'Sales'" + advanced:                                                   "bob",
		"not(endswith(userPrincipalName,'contoso.com'))" + advanced:                          "cy",
		"not startswith(userPrincipalName,'a') and not (accountEnabled eq false)" + advanced: "cy",
		"endswith(userPrincipalName,'contoso.com')":                                          "400 Request_UnsupportedQuery",
		"not(department eq 'IT')":                                                            "400 Request_UnsupportedQuery",
		"city eq 'Bern'":                                                                     "400 Request_UnsupportedQuery",
		"department like 'S%25'":                                                             "400 BadRequest",
		"department eq 'Sales' accountEnabled":                                               "400 BadRequest",
		"(department eq 'Sales'":                                                             "400 BadRequest",
		"department eq":                                                                      "400 BadRequest",
		"department eq Sales":                                                                "400 BadRequest",
		"department eq 'Sales":                                                               "400 BadRequest",
	} {
		request := r.request("GET", "/v1.0/users?$filter="+strings.ReplaceAll(query, " ", "%20"), nil)
		if strings.Contains(query, advanced) {
			request.Header.Set("ConsistencyLevel", "eventual")
		}
		a := testenv.Must(r.send(request))(t)
		var got []string
		for _, u := range a.values() {
			got = append(got, strings.Split(u["userPrincipalName"].(string), "@")[0])
		}
		if code, _ := a.error(); a.status != http.StatusOK {
			got = []string{fmt.Sprint(a.status), code}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if count, counted := a.body["@odata.count"]; counted != strings.Contains(query, advanced) || counted && count != float64(len(got)) {
			t.Errorf("%s: a count of %v", query, count)
		}
	}
	r.must(400, "GET", "/v1.0/users?$count=true", nil)
}

func TestMembersWhoAreUsers(t *testing.T) {
	t.Parallel()
	roles := []string{"GroupMember.Read.All", "User.Read.All"}
	r := start(t, tenant.Config{Roles: func(string) []string { return roles }, Seed: &tenant.Seed{
		Users: []tenant.User{{"userPrincipalName": "ann@contoso.com"}, {"userPrincipalName": "bob@contoso.com"}},
		Groups: []tenant.SeedGroup{
			{Properties: map[string]any{"id": "aaaaaaaa-0000-4000-8000-000000000001", "mailNickname": "inner"}},
			{Properties: map[string]any{"id": "aaaaaaaa-0000-4000-8000-000000000002", "mailNickname": "wave"}, Members: []string{"ann@contoso.com", "aaaaaaaa-0000-4000-8000-000000000001", "bob@contoso.com"}},
		},
	}})
	path := "/v1.0/groups/aaaaaaaa-0000-4000-8000-000000000002/members/microsoft.graph.user?$select=userPrincipalName"
	read := func(path string) answer {
		request := r.request("GET", path, nil)
		request.Header.Set("ConsistencyLevel", "eventual")
		return testenv.Must(r.send(request))(t)
	}
	first := read(path + "&$count=true&$top=1")
	next, _ := first.body["@odata.nextLink"].(string)
	second := read(strings.TrimPrefix(next, r.URL()))
	if first.values()[0]["userPrincipalName"] != "ann@contoso.com" || second.values()[0]["userPrincipalName"] != "bob@contoso.com" || first.body["@odata.count"] != 2.0 {
		t.Errorf("%s %s", first.raw, second.raw)
	}
	if a := read(path); a.status != 400 {
		t.Errorf("without a count: %s", a.raw)
	}
	if a := r.do("GET", path+"&$count=true", nil); a.status != 400 {
		t.Errorf("without the header: %s", a.raw)
	}
	roles = roles[:1]
	if a := read(path + "&$count=true"); a.values()[0]["userPrincipalName"] != nil || a.values()[0]["id"] == nil {
		t.Errorf("without a role for users: %s", a.raw)
	}
	roles = []string{"User.Read.All"}
	if a := read(path + "&$count=true"); a.status != 403 {
		t.Errorf("without a role for groups: %s", a.raw)
	}
}

func TestSites(t *testing.T) {
	t.Parallel()
	const url = "https://contoso.sharepoint.com/sites/migration"
	roles := []string{"Sites.Selected"}
	r := start(t, tenant.Config{DataDir: t.TempDir(), Roles: func(string) []string { return roles }})
	site := tenant.Site{
		URL: url + "/", Granted: true, Files: []tenant.File{{Path: "Waves/people.xlsx", Content: []byte("content")}},
		Lists: []tenant.List{{Name: "Waves", Columns: []tenant.Column{{Name: "Title"}, {Name: "Seats", DisplayName: "Licences"}}, Items: []map[string]any{{"Title": "ann", "Seats": 2}, {"Title": "bob"}}}},
	}
	for range 2 { // the second takes the place of the first
		if err := r.Seed(tenant.Seed{Sites: []tenant.Site{site, {URL: "https://contoso.sharepoint.com"}}}); err != nil {
			t.Fatal(err)
		}
	}
	found := r.must(200, "GET", "/v1.0/sites/contoso.sharepoint.com:/sites/migration?$select=id", nil)
	path := "/v1.0/sites/" + found.id()
	if a := r.must(200, "GET", path+"/lists/waves/columns?$select=name,displayName", nil); fmt.Sprint(a.values()) != "[map[displayName:Title name:Title] map[displayName:Licences name:Seats]]" {
		t.Errorf("columns: %s", a.raw)
	}
	items := r.must(200, "GET", path+"/lists/waves/items?$expand=fields($select=Title,Seats,Nothing)&$top=1", nil)
	if fields := items.values()[0]["fields"].(map[string]any); fields["Title"] != "ann" || fields["Seats"] != 2.0 || len(fields) != 3 || items.body["@odata.nextLink"] == nil {
		t.Errorf("items: %s", items.raw)
	}
	r.must(400, "GET", path+"/lists/waves/items?$filter=fields/Title%20eq%20'ann'", nil) // without the header for columns without an index
	r.must(400, "GET", path+"/lists/waves/items?$expand=driveItem", nil)
	r.must(404, "GET", path+"/lists/wave/items", nil)
	r.must(404, "GET", "/v1.0/sites/contoso.sharepoint.com:/sites/other", nil)
	r.must(403, "GET", "/v1.0/sites/contoso.sharepoint.com", nil) // not granted
	roles = []string{"Sites.Read.All"}
	r.must(200, "GET", "/v1.0/sites/contoso.sharepoint.com", nil)
	roles = []string{"User.Read.All"}
	r.must(403, "GET", path, nil)
	roles = []string{"Sites.Selected"}

	drive := r.must(200, "GET", path+"/drive?$select=id", nil).id()
	if a := r.must(200, "GET", path+"/drives", nil); len(a.values()) != 1 || a.values()[0]["name"] != "Documents" || a.values()[0]["id"] != drive {
		t.Errorf("drives: %s", a.raw)
	}
	file := r.must(200, "GET", "/v1.0/drives/"+drive+"/root:/Waves/people.xlsx", nil)
	if file.body["size"] != 7.0 || file.body["file"] == nil || file.body["folder"] != nil {
		t.Errorf("file: %s", file.raw)
	}
	if folder := r.must(200, "GET", "/v1.0/drives/"+drive+"/root:/Waves", nil); folder.body["file"] != nil || folder.body["folder"] == nil {
		t.Errorf("folder: %s", folder.raw)
	}
	r.must(404, "GET", "/v1.0/drives/"+drive+"/root:/people.xlsx", nil)
	location := r.must(302, "GET", "/v1.0/drives/"+drive+"/items/"+file.id()+"/content", nil).header.Get("Location")
	for token, want := range map[string]string{"": "200 content", "Bearer x": "401 the address of a download gets no token\n"} {
		request := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, location, nil))(t)
		if token != "" {
			request.Header.Set("Authorization", token)
		}
		response := testenv.Must(http.DefaultClient.Do(request))(t)
		body := testenv.Must(io.ReadAll(response.Body))(t)
		_ = response.Body.Close()
		if got := fmt.Sprint(response.StatusCode, " ", string(body)); got != want {
			t.Errorf("download with %q: %q, want %q", token, got, want)
		}
	}
	if response := testenv.Must(http.Get(location + "x"))(t); response.StatusCode != http.StatusForbidden {
		t.Errorf("another address: %s", response.Status)
	}
}

func TestSeededSitesAreChecked(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	for want, site := range map[string]tenant.Site{
		"is not the URL of a site":   {URL: "http://contoso.sharepoint.com"},
		"needs a name and columns":   {URL: "https://c.example", Lists: []tenant.List{{Name: "x"}}},
		`the field "B", which is no`: {URL: "https://c.example", Lists: []tenant.List{{Name: "x", Columns: []tenant.Column{{Name: "A"}}, Items: []map[string]any{{"B": 1}}}}},
		"a file needs a path":        {URL: "https://c.example", Files: []tenant.File{{}}},
	} {
		if err := r.Seed(tenant.Seed{Sites: []tenant.Site{site}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", site, err, want)
		}
	}
}

// Sites outlive the process.
func TestSitesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seed := &tenant.Seed{Sites: []tenant.Site{{URL: "https://contoso.sharepoint.com", Lists: []tenant.List{{Name: "A", Columns: []tenant.Column{{Name: "Title"}}}}}}}
	first := testenv.Must(tenant.Start(t.Context(), tenant.Config{DataDir: dir, Seed: seed}))(t)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	r := start(t, tenant.Config{DataDir: dir})
	if a := r.must(200, "GET", "/v1.0/sites/contoso.sharepoint.com", nil); a.body["webUrl"] != "https://contoso.sharepoint.com" {
		t.Errorf("%s", a.raw)
	}
}
