package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

const token = "token-for-graph-only"

// credential gives the token, for the right scope only.
type credential struct{ err error }

func (c credential) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if c.err != nil {
		return azcore.AccessToken{}, c.err
	}
	if !slices.Equal(o.Scopes, []string{"https://graph.microsoft.com/.default"}) {
		return azcore.AccessToken{}, fmt.Errorf("a token was asked for %q", o.Scopes)
	}
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, nil
}

const site = "https://contoso.sharepoint.com/sites/migration"

// ids of objects.
func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// tenantOf starts a tenant whose tokens have the roles; none: everything is permitted.
func tenantOf(t testenv.T, seed tenant.Seed, roles ...string) *tenant.Server {
	t.Helper()
	config := tenant.Config{
		Seed: &seed,
		VerifyToken: func(got, audience string) error {
			if got != token || audience != tenant.GraphAudience {
				return errors.New("another token")
			}
			return nil
		},
	}
	if len(roles) > 0 {
		config.Roles = func(string) []string { return roles }
	}
	return testenv.Started(tenant.Start(context.Background(), config))(t)
}

// sourceOf is a source at a server, with pages of a few objects.
func sourceOf(url string, people *runbook.Graph, page int) *source {
	t := tuning{page: page, retry: policy.RetryOptions{MaxRetries: 4, RetryDelay: time.Microsecond, MaxRetryDelay: time.Minute}}
	c := connection{tenant: "contoso.onmicrosoft.com", client: id(1), endpoint: url, local: true, cloud: publicCloud}
	return &source{client: newClient(c, credential{}, http.DefaultClient, t), people: people}
}

// read gives all rows of a source, each as one line of JSON.
func read(ctx context.Context, s datasource.Source) (lines []string, err error) {
	rows, err := s.Query(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for {
		values, err := rows.Next(ctx)
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, string(v))
		}
		lines = append(lines, strings.Join(texts, "|"))
	}
}

func columns(pairs ...string) (all []runbook.GraphColumn) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, runbook.GraphColumn{Name: pairs[i], Property: pairs[i+1]})
	}
	return all
}

// waves is a tenant with two waves.
func waves() tenant.Seed {
	seed := tenant.Seed{Groups: []tenant.SeedGroup{
		{Properties: map[string]any{"id": id(101), "mailNickname": "wave1", "displayName": "Wave 1", "description": "2026-03-01T18:00"}},
		{Properties: map[string]any{"id": id(102), "mailNickname": "wave2", "displayName": "Wave 2", "description": "2026-03-08T18:00"}},
		{Properties: map[string]any{"id": id(103), "mailNickname": "empty", "displayName": "Empty"}},
		{Properties: map[string]any{"id": id(104), "mailNickname": "hidden", "displayName": "Hidden", "visibility": "HiddenMembership"}},
	}}
	for i := range 7 {
		u := tenant.User{
			"id": id(i), "userPrincipalName": fmt.Sprintf("user%d@contoso.example", i), "displayName": fmt.Sprintf("User %d", i),
			"mail": fmt.Sprintf("user%d@contoso.example", i), "department": "Sales", "accountEnabled": i != 3,
			"onPremisesExtensionAttributes": map[string]any{"extensionAttribute1": fmt.Sprintf("cost %d", i)},
		}
		if i == 6 {
			u["department"] = "O'Neil & Söhne+"
		}
		seed.Users = append(seed.Users, u)
		wave := &seed.Groups[i%2]
		wave.Members = append(wave.Members, id(i))
	}
	seed.Groups[0].Members = append(seed.Groups[0].Members, id(103)) // a group is no person
	slices.Reverse(seed.Groups)                                      // a member must exist first
	seed.Sites = []tenant.Site{{
		URL: site, Granted: true,
		Lists: []tenant.List{{
			Name: "Waves & more",
			Columns: []tenant.Column{
				{Name: "Title"}, {Name: "Start_x0020_Date", DisplayName: "Start Date"}, {Name: "Seats"}, {Name: "Ready"}, {Name: "Tags"}, {Name: "Owner"},
			},
			Items: []map[string]any{
				{"Title": "user0@contoso.example", "Start_x0020_Date": "2026-03-01T18:00:00Z", "Seats": 1.50, "Ready": true, "Tags": []any{"b", "a<"}, "OwnerLookupId": "7"},
				{"Title": "user1@contoso.example"},
				{"Title": "user2@contoso.example", "Ready": false},
			},
		}},
	}}
	return seed
}

func TestPeople(t *testing.T) {
	t.Parallel()
	users := columns("Id", "id", "Mail", "mail", "Cost", "onPremisesExtensionAttributes/extensionAttribute1", "Addresses", "proxyAddresses")
	row := func(i int) string {
		return fmt.Sprintf(`"%s"|"user%d@contoso.example"|"cost %d"|["SMTP:user%d@contoso.example"]`, id(i), i, i, i)
	}
	fields := columns("Mail", "Title", "Start", "Start_x0020_Date", "Seats", "Seats", "Ready", "Ready", "Tags", "Tags", "Owner", "OwnerLookupId", "Item", "id")
	for name, tt := range map[string]struct {
		people runbook.Graph
		want   []string
	}{
		"a group": {runbook.Graph{Groups: []string{id(101)}, Columns: users}, []string{row(0), row(2), row(4), row(6)}},
		"two groups": {
			runbook.Graph{Groups: []string{id(102), id(101)}, Columns: columns("Name", "displayName", "Wave", "group/displayName", "Start", "group/description", "Employee", "employeeId")},
			[]string{
				`"User 1"|"Wave 2"|"2026-03-08T18:00"|null`, `"User 3"|"Wave 2"|"2026-03-08T18:00"|null`, `"User 5"|"Wave 2"|"2026-03-08T18:00"|null`,
				`"User 0"|"Wave 1"|"2026-03-01T18:00"|null`, `"User 2"|"Wave 1"|"2026-03-01T18:00"|null`, `"User 4"|"Wave 1"|"2026-03-01T18:00"|null`, `"User 6"|"Wave 1"|"2026-03-01T18:00"|null`,
			},
		},
		"a group without members": {runbook.Graph{Groups: []string{id(103)}, Columns: users}, nil},
		"users": {
			runbook.Graph{Users: "department eq 'Sales' and accountEnabled eq true and not(endsWith(mail,'5@contoso.example'))", Columns: users},
			[]string{row(0), row(1), row(2), row(4)},
		},
		"users of a filter with special characters": {runbook.Graph{Users: "department eq 'O''Neil & Söhne+'", Columns: users}, []string{row(6)}},
		"no users":  {runbook.Graph{Users: "department ne 'Sales' and mail eq 'x'", Columns: users}, nil},
		"a boolean": {runbook.Graph{Users: "accountEnabled eq false", Columns: columns("On", "accountEnabled", "UPN", "userPrincipalName")}, []string{`false|"user3@contoso.example"`}},
		"a list": {
			runbook.Graph{List: &runbook.GraphList{Site: site, Name: "Waves & more"}, Columns: fields},
			[]string{
				`"user0@contoso.example"|"2026-03-01T18:00:00Z"|1.5|true|["b","a<"]|"7"|"1"`,
				`"user1@contoso.example"|null|null|null|null|null|"2"`,
				`"user2@contoso.example"|null|null|false|null|null|"3"`,
			},
		},
		"a filtered list": {
			runbook.Graph{List: &runbook.GraphList{Site: site, Name: "waves & more", Filter: "fields/Ready eq true"}, Columns: columns("Mail", "Title")},
			[]string{`"user0@contoso.example"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tenantOf(t, waves(), "GroupMember.Read.All", "User.Read.All", "Sites.Selected")
			for _, page := range []int{1, 2, 999} {
				got, err := read(t.Context(), sourceOf(s.URL(), &tt.people, page))
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("pages of %d: %v\n%s\nwant\n%s", page, err, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
			}
		})
	}
}

// workbooks is a site with Excel files.
func workbooks(t *testing.T) tenant.Seed {
	t.Helper()
	content := testenv.Must(os.ReadFile("../xlsx/testdata/openpyxl.xlsx"))(t)
	return tenant.Seed{Sites: []tenant.Site{{URL: site, Granted: true, Files: []tenant.File{
		{Path: "Waves/people 1.xlsx", Content: content},
		{Library: "Other Files", Path: "people.xlsx", Content: content},
		{Path: "broken.xlsx", Content: content[:2000]},
		{Path: "folder.xlsx/a", Content: content},
	}}, {URL: "https://contoso.sharepoint.com", Files: []tenant.File{{Path: "people.xlsx", Content: content}}}}}
}

func TestWorkbook(t *testing.T) {
	t.Parallel()
	s := tenantOf(t, workbooks(t), "Sites.Selected")
	for name, tt := range map[string]struct {
		book runbook.GraphWorkbook
		want string // of the error; empty: none
	}{
		"the default library": {runbook.GraphWorkbook{Site: site, Path: "Waves/people 1.xlsx"}, ""},
		"another library":     {runbook.GraphWorkbook{Site: site, Library: "other files", Path: "people.xlsx", Sheet: "People"}, ""},
		"no library":          {runbook.GraphWorkbook{Site: site, Library: "Waves", Path: "people.xlsx"}, `no library "Waves"; it has Documents, Other Files`},
		"no file":             {runbook.GraphWorkbook{Site: site, Path: "people.xlsx"}, `the file "people.xlsx" of the site ` + site + `: Graph answered 404 itemNotFound`},
		"a folder":            {runbook.GraphWorkbook{Site: site, Path: "folder.xlsx"}, "is not a file"},
		"a broken file":       {runbook.GraphWorkbook{Site: site, Path: "broken.xlsx"}, "not a complete .xlsx file"},
		"no sheet":            {runbook.GraphWorkbook{Site: site, Path: "Waves/people 1.xlsx", Sheet: "Wave"}, `no sheet "Wave"`},
		"no grant":            {runbook.GraphWorkbook{Site: "https://contoso.sharepoint.com", Path: "people.xlsx"}, "needs the application permission Sites.Selected, with a grant"},
		"no site":             {runbook.GraphWorkbook{Site: site + "s", Path: "people.xlsx"}, "the site " + site + "s: Graph answered 404"},
	} {
		got, err := read(t.Context(), sourceOf(s.URL(), &runbook.Graph{Workbook: &tt.book}, 1))
		switch {
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, %v; want %s", name, got, err, tt.want)
		case tt.want == "" && (err != nil || len(got) != 3 || !strings.HasPrefix(got[0], `"ada@contoso.example"|`)):
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	user := columns("Mail", "mail")
	list := func(name, property string) runbook.Graph {
		return runbook.Graph{List: &runbook.GraphList{Site: site, Name: name}, Columns: columns("Mail", property)}
	}
	group := runbook.Graph{Groups: []string{id(101)}, Columns: user}
	for name, tt := range map[string]struct {
		people runbook.Graph
		roles  string
		want   []string
	}{
		"no group":            {runbook.Graph{Groups: []string{id(101), id(199)}, Columns: user}, "", []string{"the group " + id(199), "404 Request_ResourceNotFound", "does not exist in this tenant"}},
		"a group property":    {runbook.Graph{Groups: []string{id(101)}, Columns: columns("A", "group/size")}, "", []string{"the group", "Could not find a property named 'size'"}},
		"a user property":     {runbook.Graph{Groups: []string{id(101)}, Columns: columns("A", "shoeSize")}, "", []string{"the members of the group", "Could not find a property named 'shoeSize'", "its columns"}},
		"a text with members": {runbook.Graph{Groups: []string{id(101)}, Columns: columns("A", "mail/x")}, "", []string{`row 1 of the result, column "A": it has no properties in it`}},
		"hidden members":      {runbook.Graph{Groups: []string{id(104)}, Columns: user}, "", []string{"hides its members", "Member.Read.Hidden"}},
		"a filter":            {runbook.Graph{Users: "shoeSize eq 'x'", Columns: user}, "", []string{"the users of the filter: Graph answered 400 Request_UnsupportedQuery", "Check data_source"}},
		"no list":             {list("Wave", "Title"), "", []string{`the columns of the list "Wave"`, "404"}},
		"no column":           {list("Waves & more", "Nobody"), "", []string{`no column with the internal name "Nobody"`}},
		"the title of one":    {runbook.Graph{List: &runbook.GraphList{Site: site, Name: "Waves & more"}, Columns: columns("Start", "Start Date")}, "", []string{"the internal name of the column with this title is Start_x0020_Date"}},
		"no role for groups":  {group, "User.Read.All", []string{"403 Authorization_RequestDenied", "needs the application permission GroupMember.Read.All and User.Read.All"}},
		"no role for members": {group, "GroupMember.Read.All", []string{"no userPrincipalName", "needs the application permission User.Read.All"}},
		"no role for users":   {runbook.Graph{Users: "department eq 'Sales'", Columns: user}, "Sites.Selected", []string{"403", "needs the application permission User.Read.All, with admin consent"}},
		"no role for sites":   {list("Waves & more", "Title"), "User.Read.All", []string{"403", "Sites.Selected"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tenantOf(t, waves(), strings.Fields(tt.roles)...)
			got, err := read(t.Context(), sourceOf(s.URL(), &tt.people, 2))
			if err == nil || errors.Is(err, datasource.ErrAway) {
				t.Fatalf("%v, %v", got, err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %s", err, part)
				}
			}
		})
	}
}

// A request that fails is repeated, and one that cannot be within the time of the query is an error that says when.
func TestFaults(t *testing.T) {
	t.Parallel()
	people := runbook.Graph{Groups: []string{id(101), id(102)}, Columns: columns("Mail", "mail")}
	for name, tt := range map[string]struct {
		rule tenant.Fault
		want string
	}{
		"throttled":                {tenant.Fault{Status: 429, Count: 3, RetryAfter: "0"}, ""},
		"throttled for one second": {tenant.Fault{Status: 429, Count: 1, RetryAfter: "1"}, ""},
		"throttled to the end":     {tenant.Fault{Status: 429, RetryAfter: "15"}, "it asks for no request before "},
		"busy":                     {tenant.Fault{Status: 503, After: 2, Count: 3}, ""},
		"dropped":                  {tenant.Fault{Drop: true, Every: 2}, ""},
		"away":                     {tenant.Fault{Status: 500, After: 3}, "500 InternalServerError"},
		"throttled for long":       {tenant.Fault{Status: 429, After: 3, RetryAfter: "3600"}, "429 TooManyRequests: Too many requests. Graph has too many requests; the next query tries again; it asks for no request before "},
		"throttled for longer":     {tenant.Fault{Status: 429, RetryAfter: "30.5"}, "429"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tenantOf(t, waves())
			if err := s.SetFaults(tenant.Faults{Rules: []tenant.Fault{tt.rule}}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			source := sourceOf(s.URL(), &people, 2)
			// The time of one request does not bound a wait between two.
			source.client.retry.TryTimeout = 500 * time.Millisecond
			got, err := read(ctx, source)
			switch {
			case tt.want == "" && (err != nil || len(got) != 7):
				t.Errorf("%v, %v", got, err)
			case tt.want != "" && (err == nil || !errors.Is(err, datasource.ErrAway) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// answers is a server that gives an answer for each request, and what it was asked.
type answers struct {
	mu    sync.Mutex
	give  []func(w http.ResponseWriter, r *http.Request)
	asked []*http.Request
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r)
	give := a.give[min(len(a.asked), len(a.give))-1]
	a.mu.Unlock()
	give(w, r)
}

func text(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "HOST", "http://"+r.Host))
	}
}

const firstPage = `{"value":[{"id":"1","userPrincipalName":"a","mail":"a"}],"@odata.nextLink":"HOST/v1.0/users?$skiptoken=x%2Fy&q=1"}`

// A page that is no page, or is not the whole of one, is an error.
func TestPagesThatEndEarly(t *testing.T) {
	t.Parallel()
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"value":[]}`)
	}
	for name, tt := range map[string]struct {
		second func(http.ResponseWriter, *http.Request)
		want   string
		away   bool
	}{
		"cut off":               {cut, "Graph does not answer: unexpected EOF", true},
		"half a page":           {text(200, `{"value":[{"id":"2"`), "not complete or not JSON", false},
		"no page":               {text(200, `{}`), "not a page of a collection", false},
		"an empty answer":       {text(200, ``), "not complete or not JSON", false},
		"another server":        {text(200, `{"value":[],"@odata.nextLink":"https://graph.microsoft.com/v1.0/users"}`), "leads to graph.microsoft.com", false},
		"a user in the link":    {text(200, `{"value":[],"@odata.nextLink":"http://x@HOST/"}`), "the link to the next page", false},
		"an empty link":         {text(200, `{"value":[],"@odata.nextLink":""}`), "the link to the next page is not a URL", false},
		"a circle":              {text(200, firstPage), "the pages of Graph are a circle", false},
		"a redirect":            {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, "Graph answered 302", false},
		"an expired token":      {text(401, `{"error":{"code":"InvalidAuthenticationToken"}}`), "has expired between two pages; the next query begins again", true},
		"an expired link":       {text(400, `{"error":{"code":"Directory_ExpiredPageToken"}}`), "the next query begins again", true},
		"a user without a name": {text(200, `{"value":[{"id":"2","userPrincipalName":null}]}`), "no userPrincipalName", false},
		"a number":              {text(200, `{"value":[7]}`), "not complete or not JSON", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &answers{give: []func(http.ResponseWriter, *http.Request){text(200, firstPage), tt.second}}
			s := serve(t, a)
			got, err := read(t.Context(), sourceOf(s, &runbook.Graph{Users: "f", Columns: columns("Mail", "mail")}, 1))
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, datasource.ErrAway) != tt.away || !slices.Equal(got, []string{`"a"`}) {
				t.Errorf("%v, %v; want %s", got, err, tt.want)
			}
			for _, r := range a.asked[1:] {
				if r.URL.RequestURI() != "/v1.0/users?$skiptoken=x%2Fy&q=1" || r.Header.Get("ConsistencyLevel") != "eventual" || r.Header.Get("Authorization") != "Bearer "+token {
					t.Errorf("the second page was asked for as %s with %v", r.URL.RequestURI(), r.Header)
				}
			}
		})
	}
}

// The token stays with Graph, and the address of a file is in no error.
func TestDownloadGetsNoToken(t *testing.T) {
	t.Parallel()
	content := testenv.Must(os.ReadFile("../xlsx/testdata/openpyxl.xlsx"))(t)
	storage := &answers{give: []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }}}
	storageURL := serve(t, storage)
	for name, tt := range map[string]struct {
		location string
		size     int
		want     string
	}{
		"the file":       {storageURL + "/f?tempauth=secret-signature", len(content), ""},
		"a longer file":  {storageURL + "/f?tempauth=secret-signature", len(content) - 1, "other than its"},
		"a shorter file": {storageURL + "/f?tempauth=secret-signature", len(content) + 1, "other than its"},
		"no https":       {"http://contoso.sharepoint.com/f?tempauth=secret-signature", len(content), "without https"},
		"no address":     {"", len(content), "without https"},
		"a large file":   {storageURL, maxWorkbook + 1, "at most 8000000 are read: remove what"},
	} {
		give := []func(http.ResponseWriter, *http.Request){
			text(200, `{"id":"s"}`), text(200, `{"id":"d"}`), text(200, fmt.Sprintf(`{"id":"f","size":%d,"file":{}}`, tt.size)),
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", tt.location)
				w.WriteHeader(http.StatusFound)
			},
		}
		s := serve(t, &answers{give: give})
		got, err := read(t.Context(), sourceOf(s, &runbook.Graph{Workbook: &runbook.GraphWorkbook{Site: site, Path: "p.xlsx"}}, 1))
		if tt.want == "" && (err != nil || len(got) != 3) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret-signature")) {
			t.Errorf("%s: %v, %v; want %s", name, got, err, tt.want)
		}
	}
	for _, r := range storage.asked {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("the storage was given %v", r.Header)
		}
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	const good = "TenantId=contoso.onmicrosoft.com;ClientId=7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b04"
	for text, want := range map[string]string{
		good + ";ClientSecret=hunter2hunter2":                                      "",
		" tenantid = contoso.com ; CLIENTID=7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b04;": "",
		good + ";ClientSecret=x;Endpoint=https://graph.microsoft.us/":              "",
		good + ";Endpoint=https://graph.microsoft.us/":                             "add ClientSecret",
		good + ";Endpoint=http://127.0.0.1:7071":                                   "",
		good + ";Endpoint=http://graph.microsoft.com":                              "Endpoint is not the Graph of a Microsoft cloud",
		good + ";Endpoint=https://hunter2.example":                                 "Endpoint is not the Graph of a Microsoft cloud",
		good + ";ClientSecret=":                                                    "ClientSecret is empty",
		good + ";Secret=hunter2hunter2":                                            "a part that is not one of TenantId",
		good + ";TenantId=x":                                                       "a part twice",
		"hunter2hunter2":                                                           "a part that is not one of TenantId",
		"TenantId=common;ClientId=7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b04":            "TenantId is missing or not",
		"TenantId=contoso.com;ClientId=hunter2":                                    "ClientId is missing or not",
		"ClientId=7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b04":                            "TenantId is missing",
	} {
		_, err := Open(datasource.Spec{Connection: text, Graph: &runbook.Graph{}, Credential: credential{}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	if _, err := Open(datasource.Spec{Connection: good, Graph: &runbook.Graph{}}); err == nil || !strings.Contains(err.Error(), "ClientSecret is missing") {
		t.Errorf("without a secret and an identity: %v", err)
	}
}

// hosts has the host of the first request, and ends the query.
type hosts struct {
	mu  sync.Mutex
	all []string
	end context.CancelFunc
}

func (h *hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.all) == 0 {
		h.all = append(h.all, r.URL.Hostname())
	}
	h.end()
	return nil, errors.New("no network")
}

// The secret goes to the Entra ID of the cloud that Endpoint is of, wherever the handler runs.
func TestCloudOfTheSignIn(t *testing.T) {
	const app = "TenantId=contoso.com;ClientId=7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b04"
	for _, tt := range []struct{ own, connection, want string }{
		{"", ";ClientSecret=s", "login.microsoftonline.com"},
		{"", ";ClientSecret=s;Endpoint=https://graph.microsoft.com/", "login.microsoftonline.com"},
		{"", ";ClientSecret=s;Endpoint=https://graph.microsoft.us", "login.microsoftonline.us"},
		{"", ";ClientSecret=s;Endpoint=https://dod-graph.microsoft.us", "login.microsoftonline.us"},
		{"", ";ClientSecret=s;Endpoint=https://microsoftgraph.chinacloudapi.cn", "login.chinacloudapi.cn"},
		{"https://login.microsoftonline.us/", ";ClientSecret=s", "login.microsoftonline.com"},
		{"https://127.0.0.1:1/", ";ClientSecret=s;Endpoint=http://127.0.0.1:2", "127.0.0.1"},
		{"https://127.0.0.1:1/", ";ClientSecret=s", "login.microsoftonline.com"},
		{"https://login.microsoftonline.us", ";Endpoint=https://graph.microsoft.us", "login.microsoftonline.us"},
		{"", ";Endpoint=https://graph.microsoft.us", "error: is of another cloud, in which the handler has no identity (its AZURE_AUTHORITY_HOST is not set); add ClientSecret"},
		{"https://login.microsoftonline.us/", "", "error: https://graph.microsoft.com is of another cloud"},
		{"https://127.0.0.1:1/", "", "error: https://graph.microsoft.com is of another cloud"},
	} {
		t.Setenv("AZURE_AUTHORITY_HOST", tt.own)
		ctx, cancel := context.WithCancel(t.Context())
		h := &hosts{end: cancel}
		s, err := open(datasource.Spec{
			Connection: app + tt.connection, Graph: &runbook.Graph{Users: "f"}, Credential: identity{}, HTTPClient: &http.Client{Transport: h},
		}, tuning{page: 1, retry: policy.RetryOptions{MaxRetries: -1}})
		var got string
		if err != nil {
			got = "error: " + err.Error()
		} else {
			_, _ = read(ctx, s)
			got = strings.Join(h.all, " ")
		}
		cancel()
		if !strings.Contains(got, strings.TrimPrefix(tt.want, "error: ")) || strings.HasPrefix(tt.want, "error: ") != (err != nil) || err == nil && got != tt.want {
			t.Errorf("%s%s: %s; want %s", tt.own, tt.connection, got, tt.want)
		}
	}
}

// entra stands for Entra ID: it gives a token for the assertion of an identity.
type entra struct {
	t      *testing.T
	answer string
	status int
	graph  string // host
}

func (e entra) RoundTrip(r *http.Request) (*http.Response, error) {
	body, status := `{"token_endpoint":"https://login.microsoftonline.com/contoso.com/oauth2/v2.0/token","authorization_endpoint":"https://login.microsoftonline.com/a","issuer":"https://login.microsoftonline.com/contoso.com/v2.0"}`, 200
	switch {
	case r.URL.Host == e.graph:
		body = `{"value":[]}`
		if r.Header.Get("Authorization") != "Bearer of-the-app" {
			e.t.Errorf("Graph is given %q", r.Header.Get("Authorization"))
		}
	case strings.Contains(r.URL.Path, "instance"):
		body = `{"tenant_discovery_endpoint":"https://login.microsoftonline.com/contoso.com/v2.0/.well-known/openid-configuration","metadata":[]}`
	case strings.HasSuffix(r.URL.Path, "/token"):
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		if r.PostForm.Get("client_assertion") != "of-the-handler" || r.PostForm.Get("client_id") != id(1) || r.PostForm.Get("scope") != "https://"+e.graph+"/.default openid offline_access profile" {
			e.t.Errorf("Entra ID is asked with %v", r.PostForm)
		}
		body, status = e.answer, e.status
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// identity is the handler's, in one cloud.
type identity struct {
	err      error
	audience string // empty: that of the public cloud
}

func (i identity) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if !slices.Equal(o.Scopes, []string{cmp.Or(i.audience, "api://AzureADTokenExchange") + "/.default"}) {
		return azcore.AccessToken{}, fmt.Errorf("a token was asked for %q", o.Scopes)
	}
	return azcore.AccessToken{Token: "of-the-handler", ExpiresOn: time.Now().Add(time.Hour)}, i.err
}

func TestFederatedCredential(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		status int
		err    error
		want   string
		away   bool
	}{
		"accepted":    {`{"access_token":"of-the-app","expires_in":3600,"token_type":"Bearer"}`, 200, nil, "", false},
		"refused":     {`{"error":"invalid_client","error_description":"AADSTS700213: No matching federated identity record found"}`, 401, nil, "AADSTS700213", false},
		"no identity": {"", 200, errors.New("no managed identity endpoint"), "the identity of the handler gets no token for the federated credential: no managed identity endpoint", true},
	} {
		s, err := Open(datasource.Spec{
			Connection: "TenantId=contoso.com;ClientId=" + id(1), Graph: &runbook.Graph{Users: "f"}, Credential: identity{err: tt.err},
			HTTPClient: &http.Client{Transport: entra{t, tt.answer, tt.status, "graph.microsoft.com"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = read(t.Context(), s)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "the app registration of the connection gets no token") || errors.Is(err, datasource.ErrAway) != tt.away) {
			t.Errorf("%s: %v; want %s", name, err, tt.want)
		}
	}
}

// In another cloud the token that stands for the secret has another audience.
func TestFederatedCredentialOfAnotherCloud(t *testing.T) {
	for graph, tt := range map[string]struct{ own, audience string }{
		"graph.microsoft.us":              {"https://login.microsoftonline.us/", "api://AzureADTokenExchangeUSGov"},
		"dod-graph.microsoft.us":          {"https://login.microsoftonline.us/", "api://AzureADTokenExchangeUSGov"},
		"microsoftgraph.chinacloudapi.cn": {"https://login.chinacloudapi.cn", "api://AzureADTokenExchangeChina"},
	} {
		t.Setenv("AZURE_AUTHORITY_HOST", tt.own)
		s := testenv.Must(Open(datasource.Spec{
			Connection: "TenantId=contoso.com;Endpoint=https://" + graph + ";ClientId=" + id(1), Graph: &runbook.Graph{Users: "f"}, Credential: identity{audience: tt.audience},
			HTTPClient: &http.Client{Transport: entra{t, `{"access_token":"of-the-app","expires_in":3600,"token_type":"Bearer"}`, 200, graph}},
		}))(t)
		if got, err := read(t.Context(), s); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", graph, got, err)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``: "null", `null`: "null", ` true`: "true", `"a\u003cb"`: `"a<b"`, `1.50`: "1.5", `-0`: "0", `12345678901234567890`: "12345678901234567890",
		`[ "b", "a<" ]`: `["b","a<"]`, `{"b":1.50,"a":[]}`: `{"a":[],"b":1.50}`,
	} {
		got, err := value(json.RawMessage(raw))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", raw, got, err, want)
		}
	}
}

// serve is the URL of a server.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
