package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/keyvault"
)

// verified runs worker verify in the environment of a cloud.
func verified(t *testing.T, c *cloud, functions ...string) (string, error) {
	t.Helper()
	if _, err := c.vault.Set("text", keyvault.Secret{Value: entra.DefaultWorkerSecret}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root := command(c.environment(map[string]string{envCertName: "", envSecretName: "text"})).Cobra()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append([]string{"verify"}, functions...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestVerifyFindsNothingMissingInTheLocalTenant(t *testing.T) {
	t.Parallel()
	out, err := verified(t, newCloud(t, nil))
	if err != nil || strings.Contains(out, "lacks") || !strings.Contains(out, "Invoke-GraphRequest") || !strings.Contains(out, "Exchange Online answers.") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestVerifyNamesTheFunctionsThatLackPermissions(t *testing.T) {
	t.Parallel()
	c := newCloud(t, map[string][]string{entra.GraphClientID: {"User.ReadWrite.All"}, entra.ExchangeClientID: {"Exchange.ManageAsApp"}})
	out, err := verified(t, c)
	for _, line := range []string{"Send-AdminAlert              lacks Mail.Send\n", "Revoke-EntraUserSessions     lacks User.RevokeSessions.All\n", "Set-EntraUserEnabled         ok\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "functions lack permissions: grant them to the app registration "+entra.DefaultWorkerClientID) || strings.Contains(out, "eyJ") {
		t.Errorf("got %v", err)
	}
	if out, err := verified(t, c, "set-entrauserenabled", "Set-ExchangeForwarding"); err != nil || strings.Count(out, " ok\n") != 2 {
		t.Errorf("two functions: %v\n%s", err, out)
	}
	if _, err := verified(t, c, "Move-Mailbox"); err == nil || !strings.Contains(err.Error(), `no function "Move-Mailbox"`) {
		t.Errorf("an unknown function: %v", err)
	}
}

func TestVerifyReportsTheMissingDirectoryRole(t *testing.T) {
	t.Parallel()
	c := newCloud(t, nil)
	c.noRole = true
	out, err := verified(t, c, "Set-ExchangeForwarding")
	if err == nil || !strings.Contains(err.Error(), "Exchange Online: ") || !strings.Contains(err.Error(), "role") || !strings.Contains(out, "Microsoft Graph answers.") {
		t.Errorf("%v\n%s", err, out)
	}
}
