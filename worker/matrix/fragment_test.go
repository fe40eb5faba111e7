package matrix_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/local/tenant"
)

// fragmentStep is a step of a runbook in a document.
type fragmentStep struct {
	Name, Function string
	Params         map[string]any
	Poll           map[string]string
}

// fragment is the part of a runbook that a document shows below a heading, with the values of its templates.
func fragment(t *testing.T, document, heading string, values map[string]string) (steps []fragmentStep, rollback []fragmentStep) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n### "+heading+"\n")
	_, block, opened := strings.Cut(after, "\n```yaml\n")
	block, _, closed := strings.Cut(block, "\n```\n")
	if !found || !opened || !closed {
		t.Fatalf("%s has no fragment below %q", document, heading)
	}
	for name, value := range values {
		block = strings.ReplaceAll(block, "{{"+name+"}}", value)
	}
	var runbook struct {
		Phases    []struct{ Steps []fragmentStep }
		Rollbacks map[string][]fragmentStep
	}
	if err := yaml.Unmarshal([]byte(block), &runbook); err != nil || strings.Contains(block, "{{") {
		t.Fatalf("%s: %v\n%s", heading, err, block)
	}
	for _, name := range slices.Sorted(maps.Keys(runbook.Rollbacks)) {
		rollback = append(rollback, runbook.Rollbacks[name]...)
	}
	return runbook.Phases[0].Steps, rollback
}

// follow carries steps out as the orchestrator would: each twice, and polls until they are complete. It returns the name of the step
// that is not complete within an hour, and its answer.
func (w *world) follow(steps []fragmentStep) (failed, answer string) {
	w.t.Helper()
	for _, s := range steps {
		polls := 1
		if s.Poll != nil {
			polls = 12
		}
		for i := range max(2, polls) {
			var err error
			if answer, err = w.call(w.t.Context(), s.Function, s.Params, i > 0); err != nil {
				return s.Name, err.Error()
			}
			if !strings.Contains(answer, `"complete":false`) && i > 0 {
				break
			}
			_ = w.clock.sleep(w.t.Context(), 5*time.Minute)
		}
		if strings.Contains(answer, `"complete":false`) {
			return s.Name, answer
		}
	}
	return "", ""
}

// The fragment of the guide replaces a mailbox by a contact with its address, leaves a mailbox on hold alone, and gives it back.
func TestAMailboxIsReplacedByAContact(t *testing.T) {
	t.Parallel()
	steps, rollback := fragment(t, "../../docs/run-a-migration.md", "Replace a mailbox by a contact", map[string]string{
		"SourceWorker": "worker-01", "SourceId": bobID, "Alias": "bob", "SourceRouting": "tenant.onmicrosoft.com",
		"OldEmail": "bob@contoso.example", "NewEmail": "bob@new.example", "DisplayName": "Bob",
	})
	licensed := func(s *tenant.Seed) {
		s.VerifiedDomains = append(s.VerifiedDomains, "tenant.onmicrosoft.com")
		withLicense(s)
		s.Recipients[1].ExchangeGUID = exchangeGUID
		s.Recipients[1].EmailAddresses = append(s.Recipients[1].EmailAddresses, "smtp:bob@tenant.onmicrosoft.com")
	}
	lag := func(c *tenant.Config) { c.Lag, c.ProvisionDelay = 10*time.Second, 20*time.Minute }

	held := start(t, row{seed: func(s *tenant.Seed) { licensed(s); s.Recipients[1].Holds = &tenant.Holds{Litigation: true} }}, lag)
	before := held.state()
	if failed, answer := held.follow(steps); failed != "check-hold" || !strings.Contains(answer, "LitigationHold") {
		t.Errorf("a mailbox on hold: %q: %s", failed, answer)
	}
	if d := difference(before, held.state()); len(d) > 0 {
		t.Errorf("a mailbox on hold was changed:\n%s", strings.Join(d, "\n"))
	}

	for _, days := range []int{1, 31} {
		w := start(t, row{seed: licensed}, lag)
		if failed, answer := w.follow(steps); failed != "" {
			t.Fatalf("%s: %s", failed, answer)
		}
		var contact tenant.Recipient
		for _, r := range w.tenant.State().Recipients {
			if r.Kind == tenant.MailContact {
				contact = r
			}
		}
		if fmt.Sprint(contact.EmailAddresses) != "[SMTP:bob@new.example smtp:bob@contoso.example]" || contact.ExternalEmailAddress != "bob@new.example" {
			t.Errorf("the contact is %+v", contact)
		}
		_ = w.clock.sleep(t.Context(), time.Duration(days)*24*time.Hour)
		if failed, answer := w.follow(rollback); failed != "" {
			t.Fatalf("the way back: %s: %s", failed, answer)
		}
		bob := w.recipient(bobID)
		if kept := bob.ExchangeGUID == exchangeGUID; bob.Kind != tenant.UserMailbox || bob.Primary() != "bob@contoso.example" || bob.UserPrincipalName != "bob@contoso.example" || kept != (days < 30) {
			t.Errorf("after %d days the mailbox is %+v", days, bob)
		}
	}
}
