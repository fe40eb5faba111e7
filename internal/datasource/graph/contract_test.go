package graph

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/datasourcetest"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// userProperties hold any text.
var userProperties = []string{"displayName", "jobTitle", "department"}

// table is people of one kind, in a tenant.
type table func(t *testing.T, columns []string, rows [][]string) (tenant.Seed, *runbook.Graph)

func userTable(people runbook.Graph) table {
	return func(_ *testing.T, columns []string, rows [][]string) (tenant.Seed, *runbook.Graph) {
		people := people
		group := tenant.SeedGroup{Properties: map[string]any{"id": id(9001), "mailNickname": "people", "displayName": "People"}}
		seed := tenant.Seed{Users: []tenant.User{{"id": id(9000), "userPrincipalName": "admin@contoso.example", "displayName": "Admin", "accountEnabled": false}}}
		for i, name := range columns {
			people.Columns = append(people.Columns, runbook.GraphColumn{Name: name, Property: userProperties[i]})
		}
		for i, row := range rows {
			u := tenant.User{"id": id(i), "userPrincipalName": fmt.Sprintf("u%d@contoso.example", i), "displayName": "x", "accountEnabled": true}
			for k, text := range row {
				u[userProperties[k]] = text
			}
			seed.Users = append(seed.Users, u)
			group.Members = append(group.Members, id(i))
		}
		seed.Groups = []tenant.SeedGroup{group}
		return seed, &people
	}
}

func listTable(_ *testing.T, columns []string, rows [][]string) (tenant.Seed, *runbook.Graph) {
	l := tenant.List{Name: "People"}
	people := &runbook.Graph{List: &runbook.GraphList{Site: site, Name: "People"}}
	for i, name := range columns {
		field := fmt.Sprintf("field_%d", i)
		l.Columns = append(l.Columns, tenant.Column{Name: field})
		people.Columns = append(people.Columns, runbook.GraphColumn{Name: name, Property: field})
	}
	for _, row := range rows {
		item := map[string]any{}
		for i, text := range row {
			item[fmt.Sprintf("field_%d", i)] = text
		}
		l.Items = append(l.Items, item)
	}
	return tenant.Seed{Sites: []tenant.Site{{URL: site, Lists: []tenant.List{l}}}}, people
}

func workbookTable(t *testing.T, columns []string, rows [][]string) (tenant.Seed, *runbook.Graph) {
	people := &runbook.Graph{Workbook: &runbook.GraphWorkbook{Site: site, Path: "people.xlsx"}}
	file := tenant.File{Path: "people.xlsx", Content: xlsxOf(t, append([][]string{columns}, rows...))}
	return tenant.Seed{Sites: []tenant.Site{{URL: site, Files: []tenant.File{file}}}}, people
}

// xlsxOf is an Excel file whose cells are texts.
func xlsxOf(t *testing.T, rows [][]string) []byte {
	t.Helper()
	var sheet bytes.Buffer
	sheet.WriteString(`<worksheet><sheetData>`)
	for _, row := range rows {
		sheet.WriteString(`<row>`)
		for _, text := range row {
			sheet.WriteString(`<c t="inlineStr"><is><t xml:space="preserve">`)
			if err := xml.EscapeText(&sheet, []byte(text)); err != nil {
				t.Fatal(err)
			}
			sheet.WriteString(`</t></is></c>`)
		}
		sheet.WriteString(`</row>`)
	}
	sheet.WriteString(`</sheetData></worksheet>`)
	const relationship = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for name, text := range map[string]string{
		"_rels/.rels":                `<Relationships><Relationship Id="r1" Type="` + relationship + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns:r="` + relationship + `"><sheets><sheet name="People" sheetId="1" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Type="` + relationship + `/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   sheet.String(),
	} {
		if _, err := io.WriteString(testenv.Must(z.Create(name))(t), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestContract(t *testing.T) {
	t.Parallel()
	three := [][]string{{"a"}, {"b"}, {"c"}}
	// The second page never comes.
	endless := func(tableOf table, operation string) func(*testing.T) datasource.Source {
		return func(t *testing.T) datasource.Source {
			seed, people := tableOf(t, []string{"Id"}, three)
			s := tenantOf(t, seed)
			if err := s.SetFaults(tenant.Faults{Rules: []tenant.Fault{{Op: operation, After: 1, DelayMS: 3_600_000}}}); err != nil {
				t.Fatal(err)
			}
			return sourceOf(s.URL(), people, 1)
		}
	}
	group, users := userTable(runbook.Graph{Groups: []string{id(9001)}}), userTable(runbook.Graph{Users: "accountEnabled eq true"})
	for name, kind := range map[string]struct {
		make table
		more datasourcetest.Kind
	}{
		"members of a group": {group, datasourcetest.Kind{Endless: endless(group, "/members")}},
		"filtered users":     {users, datasourcetest.Kind{Endless: endless(users, "/users")}},
		"a list":             {listTable, datasourcetest.Kind{Endless: endless(listTable, "/items")}},
		"a workbook": {workbookTable, datasourcetest.Kind{Stalled: func(t *testing.T) (datasource.Source, <-chan struct{}) {
			seed, people := workbookTable(t, []string{"Id"}, three)
			half := &halfDownload{waits: make(chan struct{})}
			s := sourceOf(tenantOf(t, seed).URL(), people, 1)
			s.client = newClient(s.client.connection, credential{}, &http.Client{Transport: half}, s.client.tuning)
			return s, half.waits
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind.more.Table = func(t *testing.T, columns []string, rows [][]string) datasource.Source {
				seed, people := kind.make(t, columns, rows)
				return sourceOf(tenantOf(t, seed).URL(), people, 700)
			}
			datasourcetest.Run(t, kind.more)
		})
	}
}

// halfDownload gives half of a file, and says when its reader waits for the rest.
type halfDownload struct {
	waits chan struct{}
	once  sync.Once
}

func (h *halfDownload) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK && !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		resp.Body = &halfBody{ReadCloser: resp.Body, rest: resp.ContentLength / 2, waits: func() { h.once.Do(func() { close(h.waits) }) }, done: r.Context().Done(), err: r.Context().Err}
	}
	return resp, err
}

type halfBody struct {
	io.ReadCloser
	rest  int64
	waits func()
	done  <-chan struct{}
	err   func() error
}

func (h *halfBody) Read(p []byte) (int, error) {
	if h.rest == 0 {
		h.waits()
		<-h.done
		return 0, h.err()
	}
	n, err := h.ReadCloser.Read(p[:min(int64(len(p)), h.rest)])
	h.rest -= int64(n)
	return n, err
}
