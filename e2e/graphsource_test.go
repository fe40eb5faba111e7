package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/local/demo"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// fromGraph is a runbook whose people are in Microsoft 365; %s is where.
const fromGraph = `
name: %s
data_source:
  type: graph
  connection: TENANT_GRAPH
  %s
  primary_key: Mail
  batch_time_column: Start
  time_zone: Europe/Berlin
  removal_guard: 50%%
phases:
  - name: look
    offset: T-0
    steps:
      - {name: look, worker_id: worker-01, function: Test-EntraAddressAvailable, params: {Address: "{{Mail}}"}}
on_member_removed:
  - {name: farewell, worker_id: worker-01, function: Test-EntraAddressAvailable, params: {Address: "gone.{{Mail}}"}}
`

const (
	waveID = "cccccccc-0000-4000-8000-000000000001"
	annID  = "cccccccc-0000-4000-8000-000000000002"
	bobID  = "cccccccc-0000-4000-8000-000000000003"
	cyID   = "cccccccc-0000-4000-8000-000000000004"
	gusID  = "cccccccc-0000-4000-8000-000000000005"
	hanID  = "cccccccc-0000-4000-8000-000000000006"
)

// fromSharePoint is a site with a list and an Excel file of people.
func fromSharePoint(t *testing.T, people ...string) tenant.Seed {
	t.Helper()
	workbook := testenv.Must(os.ReadFile(filepath.Join(root, "internal/datasource/xlsx/testdata/openpyxl.xlsx")))(t)
	list := tenant.List{Name: "Waves", Columns: []tenant.Column{{Name: "Title"}, {Name: "Start_x0020_Date"}}}
	for _, name := range people {
		list.Items = append(list.Items, map[string]any{"Title": name + "@list.example", "Start_x0020_Date": "2035-03-03T18:00:00Z"})
	}
	return tenant.Seed{Sites: []tenant.Site{{
		URL: "https://contoso.sharepoint.com/sites/migration", Granted: true,
		Lists: []tenant.List{list}, Files: []tenant.File{{Path: "Waves/people.xlsx", Content: workbook}},
	}}}
}

// salesPerson is a user with a department, and with the start of a wave.
func salesPerson(id, name, department string) tenant.User {
	u := tenant.User{
		"userPrincipalName": name + "@contoso.example", "mail": name + "@contoso.example", "department": department, "accountEnabled": true,
		"onPremisesExtensionAttributes": map[string]any{"extensionAttribute1": "2035-04-01 18:00"},
	}
	if id != "" {
		u["id"] = id
	}
	return u
}

// TestPeopleOfMicrosoft365 has batches appear from the members of a group, from a filter of users and from a list, previews
// an Excel file, and takes people who leave the group, the department and the list out of their batches. Many who leave the
// group at once are held until an administrator confirms that they leave.
func TestPeopleOfMicrosoft365(t *testing.T) {
	t.Parallel()
	seed := fromSharePoint(t, "dora", "emil", "fay")
	seed.Users = []tenant.User{
		{"id": annID, "userPrincipalName": "ann@contoso.example", "mail": "ann@contoso.example"},
		{"id": bobID, "userPrincipalName": "bob@contoso.example", "mail": "bob@contoso.example"},
		{"id": cyID, "userPrincipalName": "cy@contoso.example", "mail": "cy@contoso.example"},
		salesPerson(gusID, "gus", "Sales"), salesPerson(hanID, "han", "Sales"), salesPerson("", "ida", "Finance"),
	}
	seed.Groups = []tenant.SeedGroup{{
		Properties: map[string]any{"id": waveID, "mailNickname": "wave", "description": "2035-03-01 18:00"},
		Members:    []string{"ann@contoso.example", "bob@contoso.example", "cy@contoso.example"},
	}}
	body := testenv.Must(json.Marshal(seed))(t)
	m := newMachineWith(t, body, environment{}, everything)
	s := &saga{machine: m, admin: signIn(m), t: t}
	publish := func(name, people string) {
		s.write(name+".yaml", fmt.Appendf(nil, fromGraph, name, people))
		s.must("runbook", "publish", s.path(name+".yaml"), "--force")
	}
	publish("group", "groups: ["+waveID+"]\n  columns: {Mail: mail, Start: group/description}")
	publish("users", "users: department eq 'Sales' and accountEnabled eq true\n  columns: {Mail: mail, Start: onPremisesExtensionAttributes/extensionAttribute1}")
	publish("list", "list: {site: https://contoso.sharepoint.com/sites/migration, name: Waves}\n  columns: {Mail: Title, Start: Start_x0020_Date}")
	publish("nobody", "groups: ["+annID+"]\n  columns: {Mail: mail, Start: group/description}")

	book := "workbook: {site: https://contoso.sharepoint.com/sites/migration, path: Waves/people.xlsx}"
	s.write("book.yaml", []byte(strings.ReplaceAll(fmt.Sprintf(fromGraph, "book", book), "Mail", "UserPrincipalName")))
	s.must("runbook", "publish", s.path("book.yaml"), "--force")
	var preview api.QueryPreview
	s.ask(&preview, "query", "preview", "book")
	if preview.RowCount != 3 || len(preview.Columns) != 8 {
		t.Errorf("the Excel file has %+v", preview)
	}

	for _, name := range []string{"group", "users", "list", "nobody"} {
		s.must("automation", "enable", name)
	}
	s.tick()
	batches := map[string]int{}
	var all api.Page[api.Batch]
	s.ask(&all, "batch", "list")
	var starts []string
	for _, b := range all.Items {
		batches[b.RunbookName] = b.ID
		starts = append(starts, b.RunbookName+" "+b.BatchStartTime.UTC().Format("2006-01-02T15:04"))
	}
	slices.Sort(starts)
	if want := []string{"group 2035-03-01T17:00", "list 2035-03-03T18:00", "users 2035-04-01T16:00"}; !slices.Equal(starts, want) {
		t.Fatalf("the batches are %q, want %q", starts, want)
	}
	wantKeys(s, batches["group"], "ann@contoso.example active, bob@contoso.example active, cy@contoso.example active")
	wantKeys(s, batches["list"], "dora@list.example active, emil@list.example active, fay@list.example active")
	wantKeys(s, batches["users"], "gus@contoso.example active, han@contoso.example active")
	s.runbook = "nobody"
	if v := s.automation(); !strings.Contains(v.LastError, "the group "+annID+": Graph answered 404") {
		t.Errorf("a group that does not exist: %q", v.LastError)
	}

	graph := graphOf(s)
	graph(http.MethodDelete, "/v1.0/groups/"+waveID+"/members/"+annID+"/$ref", nil)
	graph(http.MethodPatch, "/v1.0/users/"+gusID, map[string]any{"department": "Finance"})
	again := testenv.Must(json.Marshal(fromSharePoint(t, "dora", "fay")))(t)
	if err := demo.Seed(t.Context(), m.endpoints.TenantURL, again); err != nil {
		t.Fatal(err)
	}
	s.tick()
	wantKeys(s, batches["group"], "ann@contoso.example removed, bob@contoso.example active, cy@contoso.example active")
	wantKeys(s, batches["users"], "gus@contoso.example removed, han@contoso.example active")
	wantKeys(s, batches["list"], "dora@list.example active, emil@list.example removed, fay@list.example active")
	s.awaitFarewells(batches["list"], 1)

	for _, id := range []string{bobID, cyID} {
		graph(http.MethodDelete, "/v1.0/groups/"+waveID+"/members/"+id+"/$ref", nil)
	}
	s.tick()
	wantKeys(s, batches["group"], "ann@contoso.example removed, bob@contoso.example active, cy@contoso.example active")
	held := s.removals(batches["group"])
	if held.Members != 2 || held.Of != 2 || held.Reason == "" {
		t.Fatalf("held is %+v", held)
	}
	s.must("batch", "confirm-removals", strconv.Itoa(batches["group"]), "--yes", "--revision", held.Revision, "--reason", "the wave is cancelled")
	s.until("the confirmed removals are carried out", func() (bool, any) { b := s.get(batches["group"]); return b.Held == nil, b.Held })
	wantKeys(s, batches["group"], "ann@contoso.example removed, bob@contoso.example removed, cy@contoso.example removed")
	s.awaitFarewells(batches["group"], 3)
}

// awaitFarewells waits until so many removal steps of a batch have succeeded.
func (s *saga) awaitFarewells(batch, want int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d removal steps of batch %d have run", want, batch), func() (bool, any) {
		var steps api.Page[api.Step]
		s.ask(&steps, "batch", "steps", strconv.Itoa(batch), "--all")
		n := 0
		for _, v := range steps.Items {
			if v.Name == "farewell" && v.Status == "succeeded" {
				n++
			}
		}
		return n == want, steps.Items
	})
}

// wantKeys compares the members of a batch with their statuses.
func wantKeys(s *saga, batch int, want string) {
	s.t.Helper()
	var got []string
	for _, m := range s.members(batch) {
		got = append(got, m.Key+" "+m.Status)
	}
	slices.Sort(got)
	if text := strings.Join(got, ", "); text != want {
		s.t.Errorf("batch %d has %s; want %s", batch, text, want)
	}
}

// graphOf calls Microsoft Graph as the worker's app registration may. A call must change something without an answer.
func graphOf(s *saga) func(method, path string, body any) {
	s.t.Helper()
	env := s.endpoints.Worker
	client := testenv.Must(tlsroots.HTTPClient(env["EXTRA_CA_FILE"]))(s.t)
	response := testenv.Must(client.PostForm(env["AZURE_AUTHORITY_HOST"]+env["TARGET_TENANT_ID"]+"/oauth2/v2.0/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {env["APP_ID"]}, "client_secret": {env["APP_SECRET"]}, "scope": {"https://graph.microsoft.com/.default"},
	}))(s.t)
	defer response.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		s.t.Fatal(err)
	}
	return func(method, path string, body any) {
		s.t.Helper()
		text := testenv.Must(json.Marshal(body))(s.t)
		request := testenv.Must(http.NewRequestWithContext(s.t.Context(), method, env["GRAPH_URL"]+path, bytes.NewReader(text)))(s.t)
		request.Header.Set("Authorization", "Bearer "+answer.Token)
		request.Header.Set("Content-Type", "application/json")
		response := testenv.Must(client.Do(request))(s.t)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusNoContent {
			s.t.Fatalf("%s %s: %s", method, path, response.Status)
		}
	}
}
