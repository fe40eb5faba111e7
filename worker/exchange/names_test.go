package exchange_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

const (
	bobID  = "11111111-0000-4000-8000-000000000002"
	evaID  = "11111111-0000-4000-8000-000000000003"
	listID = "22222222-0000-4000-8000-000000000001"
)

// namesakes is a tenant with two people whose display name is Ada. One of them, of the name, may send on behalf of Bob,
// sees his calendar and gets to own the list.
func namesakes(t *testing.T, change func(*tenant.Seed)) world {
	t.Helper()
	user := func(id, name, display string) (tenant.User, tenant.Recipient) {
		return tenant.User{"id": id, "userPrincipalName": strings.ToLower(name) + "@contoso.example", "displayName": display, "mailNickname": "m" + name, "accountEnabled": true},
			tenant.Recipient{
				Kind: tenant.UserMailbox, ExternalDirectoryObjectID: id, Name: name, DisplayName: display, Alias: "m" + name,
				EmailAddresses: []string{"SMTP:" + strings.ToLower(name) + "@contoso.example"},
			}
	}
	seed := &tenant.Seed{}
	for _, person := range [][3]string{{adaID, "Ada", "Ada"}, {bobID, "Bob", "Bob"}, {evaID, "Eva", "Ada"}} {
		u, r := user(person[0], person[1], person[2])
		seed.Users, seed.Recipients = append(seed.Users, u), append(seed.Recipients, r)
	}
	seed.Recipients[1].SendOnBehalf = []string{adaID}
	seed.Recipients[1].Calendar = []tenant.FolderPermission{{User: evaID, AccessRights: []string{"Editor"}}}
	seed.Groups = []tenant.SeedGroup{{Properties: map[string]any{
		"id": listID, "displayName": "List", "mailNickname": "list", "mail": "list@contoso.example", "mailEnabled": true, "securityEnabled": false,
	}}}
	if change != nil {
		change(seed)
	}
	server := testenv.Started(tenant.Start(t.Context(), tenant.Config{Seed: seed}))(t)
	return world{server, functions(t, server.URL(), tenant.DefaultTenantID, pace())}
}

func TestAPermissionOfANamesakeIsNotTheOwn(t *testing.T) {
	t.Parallel()
	w := namesakes(t, nil)
	for who, holds := range map[string]bool{"ada@contoso.example": true, "eva@contoso.example": false} {
		answer := string(testenv.Must(jsonOf(call(t, w.Catalog, "Test-ExchangeMailboxPermissions", map[string]any{"Identity": bobID, "SendOnBehalf": who})))(t))
		if strings.Contains(answer, `"complete":true`) != holds {
			t.Errorf("%s: got %s", who, answer)
		}
	}
	for _, step := range []struct {
		name   string
		params map[string]any
	}{
		{"Add-ExchangeGroupOwner", map[string]any{"GroupIdentity": listID, "Owner": adaID}},
		{"Remove-ExchangeMailboxPermissions", map[string]any{"Identity": bobID, "SendOnBehalf": evaID}},
		{"Remove-ExchangeGroupOwner", map[string]any{"GroupIdentity": listID, "Owner": evaID}},
	} {
		if _, err := call(t, w.Catalog, step.name, step.params); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	for who, owns := range map[string]bool{"ada@contoso.example": true, evaID: false} {
		answer := string(testenv.Must(jsonOf(call(t, w.Catalog, "Test-ExchangeGroupOwner", map[string]any{"GroupIdentity": listID, "Owner": who})))(t))
		if strings.Contains(answer, `"IsOwner":true`) != owns || strings.Contains(answer, `"complete":true`) != owns {
			t.Errorf("%s: got %s", who, answer)
		}
	}
	for _, r := range w.State().Recipients {
		if holders := slices.Concat(r.SendOnBehalf, r.ManagedBy); (len(holders) > 0) != (r.Name == "Bob" || r.Name == "List") || len(holders) > 0 && !slices.Equal(holders, []string{adaID}) {
			t.Errorf("%s: got %v, want Ada", r.Name, holders)
		}
	}
}

// The entry is printed by the display name, which is the name of the other.
func TestACalendarEntryOfANamesakeIsUnresolved(t *testing.T) {
	t.Parallel()
	w := namesakes(t, nil)
	answer := string(testenv.Must(jsonOf(call(t, w.Catalog, "Get-ExchangeCalendarPermissions", map[string]any{"Identity": bobID})))(t))
	if strings.Contains(answer, "ada@contoso.example") || !strings.Contains(answer, `"Unresolved":["Ada"]`) {
		t.Errorf("got %s", answer)
	}
}

func TestANameOfSeveralRecipientsIsRefused(t *testing.T) {
	t.Parallel()
	w := namesakes(t, func(s *tenant.Seed) { s.Recipients[2].Name = "Ada" })
	_, err := call(t, w.Catalog, "Test-ExchangeMailboxPermissions", map[string]any{"Identity": bobID, "SendOnBehalf": evaID})
	var f *catalog.Failure
	if !errors.As(err, &f) || f.Type != catalog.FailureConflict || !strings.Contains(f.Message, "name of several recipients") {
		t.Errorf("got %v", err)
	}
	if _, err := call(t, w.Catalog, "Add-ExchangeGroupOwner", map[string]any{"GroupIdentity": listID, "Owner": adaID}); !errors.As(err, &f) || f.Type != catalog.FailureConflict {
		t.Errorf("adding an owner: got %v", err)
	}
	if _, err := call(t, w.Catalog, "Test-ExchangeGroupOwner", map[string]any{"GroupIdentity": listID, "Owner": adaID}); !errors.As(err, &f) || f.Type != catalog.FailureConflict {
		t.Errorf("checking an owner: got %v", err)
	}
	answer := string(testenv.Must(jsonOf(call(t, w.Catalog, "Get-ExchangeMailboxPermissions", map[string]any{"Identity": bobID})))(t))
	if !strings.Contains(answer, `"Unresolved":["Ada"]`) {
		t.Errorf("got %s", answer)
	}
}

func jsonOf(answer any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}
