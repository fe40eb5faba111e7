package matrix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/calls"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// unguarded are writes of functions that refuse jobs for what they have read, and that other steps may make all the same.
var unguarded = map[string]string{
	"POST /v1.0/users":                        "Entra ID refuses a name that is taken",
	"PATCH /v1.0/users/{id}":                  "the function guards other requests and other properties",
	"POST /v1.0/users/{id}/assignLicense":     "Entra ID refuses it",
	"POST /v1.0/users/{id}/checkMemberGroups": "a read",
	"New-MailUser":                            "Exchange refuses a name that is taken",
	"Set-MailUser":                            "the function guards other cmdlets",
	"New-Mailbox":                             "Exchange refuses a name that is taken",
	"Set-Mailbox":                             "the function guards other cmdlets",
	"New-MailContact":                         "Exchange refuses a name that is taken",
	"Set-MailContact":                         "changes the address list only",
	"New-DistributionGroup":                   "Exchange refuses a name that is taken",
	"Set-DistributionGroup":                   "the function guards other cmdlets",
	"Set-UnifiedGroup":                        "the function guards other cmdlets",
	"Remove-MailboxPermission":                "the function refuses groups, which have no mailbox",
	"Remove-RecipientPermission":              "the function guards other cmdlets",
	"Add-MailboxPermission":                   "the function refuses people whom it does not find, and Exchange does",
	"Add-RecipientPermission":                 "as above",
	"Add-MailboxFolderPermission":             "as above",
	"Set-MailboxFolderPermission":             "as above",
}

// A function that refuses a job for what it has read guards its writes: no runbook makes them with Invoke-GraphRequest or
// Invoke-ExchangeCommand by default.
func TestGuardedWritesAreMadeByTheirFunctionsOnly(t *testing.T) {
	t.Parallel()
	guards := map[string]bool{}
	for _, r := range rows() {
		if slices.ContainsFunc(r.refusals, func(refused refusal) bool { return refused.kind == catalog.FailureConflict }) {
			guards[r.function] = true
		}
	}
	needed := map[string]bool{}
	for _, r := range rows() {
		w := start(t, r, nil)
		for _, again := range []bool{false, true} {
			if _, err := w.deliver(t.Context(), r, again); err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
		}
		for name := range w.calls.Seen() {
			only := calls.Only(name, nil)
			switch {
			case only != nil && !slices.Contains(only, r.function):
				t.Errorf("%s makes %s, and is not in its only: %v", r.function, name, only)
			case strings.HasPrefix(name, "GET ") || strings.HasPrefix(name, "Get-"):
			case only == nil && guards[r.function] && unguarded[name] == "":
				t.Errorf("%s has no only, though %s guards it", name, r.function)
			case only == nil && guards[r.function]:
				needed[name] = true
			}
		}
	}
	for name := range unguarded {
		if !needed[name] {
			t.Errorf("%s is listed as unguarded, but is not written by a function that guards", name)
		}
	}
	var functions []string
	for _, f := range catalog.Standard() {
		functions = append(functions, f.Name)
	}
	for _, g := range calls.Described() {
		for property := range g.Guarded {
			for _, name := range calls.Only(g.Request, []byte(`{"`+property+`":0}`)) {
				if !slices.Contains(functions, name) {
					t.Errorf("%s: there is no function %s", g.Request, name)
				}
			}
		}
	}
}
