//go:build browser

package browser

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

// What an action needs, as /api/me names it.
const (
	operate    = "operate"
	approve    = "approve"
	administer = "administer"
)

// actionsOf are the actions of each view, with what they need.
var actionsOf = []struct {
	address, heading string
	menu             bool              // whether some are in the menu of the view
	buttons          map[string]string // by the beginning of their text
}{
	{"waves", "Waves", false, map[string]string{"New wave from a CSV…": administer}},
	{"waves/1", "Repairs", true, map[string]string{
		"Pause…": operate, "Change name, owner or note…": operate, "Cancel the wave…": administer, "Retry all 7…": operate, "Skip…": operate,
	}},
	{"waves/2/people/1", "person0@fabrikam.com", true, map[string]string{"Remove from the wave…": administer, "Move to another wave…": operate}},
	{"waves/1/people/1", "p0@fabrikam.com", false, map[string]string{
		"Retry…": operate, "Skip step…": operate, "Mark step done…": operate, "Correct…": operate,
	}},
	{"waves/2", "gated 2035-05-05 18:00Z", true, map[string]string{"Approve…": approve, "Reschedule…": administer}},
	{"runbooks", "Runbooks", false, map[string]string{"New runbook": administer}},
	{"runbooks/gated", "gated", false, map[string]string{"Deactivate v1…": administer}},
	{"sources/gated", "gated", false, map[string]string{"Preview the next sync": administer, "Turn automation off…": administer}},
	{"notifications", "Notifications", false, map[string]string{"New rule…": administer}},
	{"notifications/alarm", "alarm", false, map[string]string{"Send a test…": administer, "Remove…": administer}},
	{"activity?tab=messages", "Activity", false, map[string]string{"Replay…": administer, "Discard…": administer}},
}

// TestConsoleRoles: each role sees all actions. Those that it may not take are disabled, with the reason.
func TestConsoleRoles(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "--seed", filepath.Join(example, "tenant.json"), "--setting", "PEOPLE="+peopleStarting(t, "2035-05-05T18:00:00Z"),
		"--setting", "ALARM_URL=http://127.0.0.1:9", "--setting", "ALARM_KEY=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	i.startWorker("worker-01")
	i.createFailed()
	i.enableGated()
	i.run("notification", "add", "alarm", "--event", "failures", "--webhook", "ALARM_URL", "--key", "ALARM_KEY")
	i.sendUnprocessable()
	for upn, may := range map[string][]string{
		entra.DefaultReaderUPN:   nil,
		entra.DefaultOperatorUPN: {operate},
		entra.DefaultApproverUPN: {approve},
		entra.DefaultAdminUPN:    {operate, approve, administer},
	} {
		t.Run(upn, func(t *testing.T) {
			b := i.browser()
			b.t = t
			b.signIn("now", upn)
			for _, view := range actionsOf {
				b.open(view.address, view.heading)
				if view.menu {
					b.press("More actions")
				}
				for text, needed := range view.buttons {
					button := named("button", text)
					allowed := false
					for _, permission := range may {
						allowed = allowed || permission == needed
					}
					if allowed {
						b.await(fmt.Sprintf(`%s !== undefined && %[1]s.ariaDisabled !== "true"`, button))
					} else {
						b.refuses(text, "app role")
					}
				}
			}
		})
	}
}
