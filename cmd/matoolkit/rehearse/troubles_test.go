package rehearse_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// person is a member of a wave with one trouble.
type person struct {
	name    string
	row     map[string]string // columns that differ from those of the others
	source  func(u tenant.User, r *tenant.Recipient)
	target  func(seed *tenant.Seed) // what the target has of the person
	groups  []tenant.SeedGroup      // of the source
	phase   string
	step    string
	because string
}

func idOf(text string) string { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(text)).String() }

// troubles are twelve kinds of trouble, each of one person.
var troubles = []person{
	{name: "ada", phase: "checks", step: "name-is-free", because: "belongs to the user", target: func(s *tenant.Seed) { // the sign-in name is taken
		s.Users = append(s.Users, tenant.User{"userPrincipalName": "ada@fabrikam.com", "mailNickname": "ada.other"})
	}},
	{name: "ben", row: map[string]string{"NewUpn": "ben@fabrikam.no"}, phase: "checks", step: "domain", because: "does not have domain fabrikam.no"},
	{name: "chen", row: map[string]string{"License": "SPE_E5"}, phase: "prepare", step: "license", because: "no licence of SPE_E5 is left"},
	{name: "dan", phase: "prepare", step: "address", because: "dan.team@fabrikam.com", target: func(s *tenant.Seed) { // a list has the address
		s.Groups = append(s.Groups, tenant.SeedGroup{Properties: map[string]any{
			"displayName": "Dan's team", "mailNickname": "dan.team", "mail": "dan.team@fabrikam.com", "mailEnabled": true, "securityEnabled": false, "groupTypes": []any{},
		}})
	}},
	{name: "eva", phase: "checks", step: "no-hold", because: "LitigationHold", source: func(_ tenant.User, r *tenant.Recipient) { r.Holds = &tenant.Holds{Litigation: true} }},
	{name: "fay", row: map[string]string{"OwnedGroup": idOf("group of fay")}, phase: "checks", step: "group-owner", because: "the user is not an owner of the group", groups: []tenant.SeedGroup{{
		Properties: map[string]any{"id": idOf("group of fay"), "displayName": "Fay's group", "mailNickname": "fays.group", "securityEnabled": true, "mailEnabled": false, "groupTypes": []any{}},
	}}},
	{name: "gil", phase: "checks", step: "no-guest", because: "gil@contoso.com belongs to the user", target: func(s *tenant.Seed) { // is a guest there
		s.Users = append(s.Users, tenant.User{"userPrincipalName": "gil_contoso.com#EXT#@fabrikam.onmicrosoft.com", "mailNickname": "gil_contoso.com", "mail": "gil@contoso.com", "userType": "Guest"})
	}},
	{name: "hal", phase: "checks", step: "sign-in", because: `accountEnabled is "false"`, source: func(u tenant.User, _ *tenant.Recipient) { u["accountEnabled"] = false }},
	{name: "ivy", phase: "target", step: "deleted users", because: "ivy@fabrikam.com", target: func(s *tenant.Seed) { // has been deleted there
		s.DeletedUsers = append(s.DeletedUsers, tenant.User{"id": idOf("twin"), "userPrincipalName": "ivy@fabrikam.com", "displayName": "Ivy", "deletedDateTime": "2026-11-20T00:00:00Z"})
	}},
	{name: "jon", phase: "clean-up", step: "rename", because: "on-premises", source: func(u tenant.User, _ *tenant.Recipient) { u["onPremisesSyncEnabled"] = true }},
	{name: "kim", row: map[string]string{"ExchangeGuid": idOf("another mailbox")}, phase: "checks", step: "mailbox-id", because: idOf("another mailbox")},
	{name: "leo", row: map[string]string{"ManagerId": idOf("nobody")}, phase: "prepare", step: "manager", because: idOf("nobody")},
	{name: "may"}, // has none
}

func TestTwelveKindsOfTroubleAreNamed(t *testing.T) {
	t.Parallel()
	all := tenants(t, func(name string, seed *tenant.Seed) {
		for _, p := range troubles {
			if name == "target" {
				if p.target != nil {
					p.target(seed)
				}
				continue
			}
			u := tenant.User{"id": idOf(p.name), "userPrincipalName": p.name + "@contoso.com", "displayName": p.name, "usageLocation": "SE"}
			r := tenant.Recipient{
				Kind: tenant.UserMailbox, ExternalDirectoryObjectID: idOf(p.name), ExchangeGUID: idOf("mailbox of " + p.name),
				EmailAddresses: []string{"SMTP:" + p.name + "@contoso.com", "smtp:" + p.name + "@contoso.onmicrosoft.com"},
			}
			if p.source != nil {
				p.source(u, &r)
			}
			seed.Users, seed.Recipients, seed.Groups = append(seed.Users, u), append(seed.Recipients, r), append(seed.Groups, p.groups...)
		}
	})
	r := testenv.Must(rehearse.Run(t.Context(), rehearse.Config{
		Runbook: testenv.Must(os.ReadFile("testdata/troubles.yaml"))(t), Members: list(t), Start: start, Tenants: all, Assumed: rehearse.DefaultAssumptions(),
	}))(t)
	named := map[string][]string{} // phase, step and error by person
	for _, g := range slices.Concat(r.Errors, r.Warnings) {
		for _, m := range g.Members {
			named[m.Key] = append(named[m.Key], g.Phase+"/"+g.Step+": "+m.Error)
		}
	}
	for _, p := range troubles {
		got := strings.Join(slices.Concat(named[p.name+"@contoso.com"], named[p.name+"@fabrikam.com"]), "\n")
		if p.step == "" {
			if got != "" {
				t.Errorf("%s has no trouble, and got %s", p.name, got)
			}
			continue
		}
		if !strings.Contains(got, p.phase+"/"+p.step+": ") || !strings.Contains(got, p.because) || strings.Contains(got, "\n") {
			t.Errorf("%s: got %q, want %s/%s because %s", p.name, got, p.phase, p.step, p.because)
		}
	}
}

// list writes the members.
func list(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "members.csv")
	file := testenv.Must(os.Create(path))(t)
	columns := []string{"Upn", "Alias", "SourceId", "NewUpn", "License", "ExchangeGuid", "ManagerId", "OwnedGroup"}
	rows := [][]string{columns}
	for _, p := range troubles {
		all := map[string]string{
			"Upn": p.name + "@contoso.com", "Alias": p.name, "SourceId": idOf(p.name), "NewUpn": p.name + "@fabrikam.com", "License": "SPE_E3", "ExchangeGuid": idOf("mailbox of " + p.name),
		}
		var row []string
		for _, c := range columns {
			if value, differs := p.row[c]; differs {
				all[c] = value
			}
			row = append(row, all[c])
		}
		rows = append(rows, row)
	}
	if err := csv.NewWriter(file).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
