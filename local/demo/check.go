package demo

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// Failures are the members of the example that must fail, with a part of their errors.
var Failures = map[string]string{
	"daniel.garcia@fabrikam.com": "is already being used by another object",
	"kofi.mensah@fabrikam.com":   "is already being used by the proxy addresses",
}

const groupName = "Contoso migration"

// check compares the batch and the tenant with the expected result.
func (d *demo) check(ctx context.Context) error {
	b, err := ask[api.Batch](ctx, d, "batch", "get", strconv.Itoa(d.batch))
	if err != nil {
		return err
	}
	members, err := ask[api.Page[api.Member]](ctx, d, "batch", "members", strconv.Itoa(d.batch), "--limit", "1000")
	if err != nil {
		return err
	}
	state, err := State(ctx, d.endpoints.TenantURL)
	if err != nil {
		return err
	}
	rows, err := Rows(filepath.Join(d.Example, "members.csv"))
	if err != nil {
		return err
	}
	migrated, err := Check(b, members.Items, rows, state)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d users have their new names, their group %q and their new primary address.\n", migrated, groupName)
	fmt.Fprintf(d.out, "%d members failed for the expected reasons.\n", len(Failures))
	return nil
}

// State reads the objects of a local tenant.
func State(ctx context.Context, tenantURL string) (tenant.State, error) {
	var state tenant.State
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, tenantURL+"/_local/state", nil)
	if err != nil {
		return state, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return state, err
	}
	defer response.Body.Close()
	err = json.NewDecoder(response.Body).Decode(&state)
	return state, err
}

// Rows reads a CSV file of members, by column.
func Rows(file string) ([]map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil || len(records) == 0 {
		return nil, errors.Join(fmt.Errorf("%s has no members", file), err)
	}
	var rows []map[string]string
	for _, r := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = r[i]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Check returns the number of migrated members, and all differences from the expected result.
func Check(b api.Batch, members []api.Member, rows []map[string]string, state tenant.State) (migrated int, err error) {
	var errs []error
	if b.Status != "completed" {
		errs = append(errs, fmt.Errorf("the batch is %s: %s", b.Status, b.Error))
	}
	if len(members) != len(rows) {
		errs = append(errs, fmt.Errorf("the batch has %d members, the file %d", len(members), len(rows)))
	}
	byKey := map[string]api.Member{}
	for _, m := range members {
		byKey[m.Key] = m
	}
	for _, row := range rows {
		key := row["UserPrincipalName"]
		m := byKey[key]
		if reason, fails := Failures[key]; fails {
			if m.Status != "failed" || !strings.Contains(m.Error, reason) {
				errs = append(errs, fmt.Errorf("%s must fail with %q, but is %s: %s", key, reason, m.Status, m.Error))
			}
			continue
		}
		if m.Status != api.MemberDone {
			errs = append(errs, fmt.Errorf("%s is %s: %s", key, m.Status, m.Error))
			continue
		}
		if err := arrived(row, state); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
			continue
		}
		migrated++
	}
	return migrated, errors.Join(errs...)
}

// arrived returns an error if the tenant lacks the expected objects of a member.
func arrived(row map[string]string, state tenant.State) error {
	upn := row["UserPrincipalName"]
	users := slices.DeleteFunc(slices.Clone(state.Users), func(u tenant.User) bool {
		return u.Text("displayName") != row["GivenName"]+" "+row["Surname"]
	})
	if len(users) != 1 {
		return fmt.Errorf("the tenant has %d users with this name", len(users))
	}
	u := users[0]
	if !strings.EqualFold(u.UPN(), upn) || u.Text("department") != row["Department"] {
		return fmt.Errorf("the user is %s in department %s", u.UPN(), u.Text("department"))
	}
	if list, _ := u["assignedLicenses"].([]any); len(list) != 1 {
		return fmt.Errorf("the user has %d licences", len(list))
	}
	inGroup := 0
	for _, g := range state.Groups {
		if g.Properties["displayName"] == groupName {
			for _, id := range g.Members {
				if id == u.ID() {
					inGroup++
				}
			}
		}
	}
	if inGroup != 1 {
		return fmt.Errorf("the user is in the group %d times", inGroup)
	}
	at := slices.IndexFunc(state.Recipients, func(r tenant.Recipient) bool { return r.ExternalDirectoryObjectID == u.ID() })
	if at < 0 {
		return errors.New("there is no recipient")
	}
	r := state.Recipients[at]
	if !strings.EqualFold(r.Primary(), upn) || !strings.EqualFold(r.ExchangeGUID, row["ExchangeGuid"]) {
		return fmt.Errorf("the recipient has the primary address %s and the GUID %s", r.Primary(), r.ExchangeGUID)
	}
	if r.ExternalEmailAddress != row["SourceEmail"] || !slices.Contains(r.EmailAddresses, "x500:"+row["LegacyExchangeDN"]) {
		return fmt.Errorf("the recipient's mail goes to %s, and it has the addresses %v", r.ExternalEmailAddress, r.EmailAddresses)
	}
	return nil
}
