package matrix_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// waiting has Ada wait for her mailbox of another tenant.
func waiting(s *tenant.Seed) {
	s.Recipients[0].ExchangeGUID = exchangeGUID
	s.MigrationEndpoints = []string{"source"}
}

// moving has a batch copy Ada's mailbox. Bob and another person are in it, too, and cannot be moved.
func moving(s *tenant.Seed) {
	waiting(s)
	s.MigrationBatches = []tenant.MigrationBatch{{
		Name: "wave 1", SourceEndpoint: "source", TargetDeliveryDomain: "contoso.example",
		Users: []tenant.MigrationUser{
			{Email: "ada@contoso.example"},
			{Email: "bob@contoso.example", Error: "MigrationPermanentException: Target user 'bob' already has a primary mailbox."},
			{Email: "eve@contoso.example", Error: "MigrationPermanentException: something new"},
		},
	}}
}

// moveRows are of Microsoft's own move of mailboxes.
func moveRows() []row {
	unknown := refusal{"a batch that does not exist", map[string]any{"BatchName": "wave 9"}, objectNotFound, "wave 9"}
	return []row{
		{
			name: "New-ExchangeMigrationBatch", function: "New-ExchangeMigrationBatch", seed: waiting,
			params: map[string]any{
				"BatchName": "wave 2", "SourceEndpoint": "source", "TargetDeliveryDomain": "contoso.example", "EmailAddresses": []string{"ada@contoso.example", "eve@contoso.example"},
				"StartAfter": "2026-03-20T18:00:00+01:00", "CompleteAfter": "2026-04-01T18:00:00+02:00", "NotificationEmails": "admins@contoso.example",
			},
			refusals: []refusal{
				{"an endpoint that does not exist", map[string]any{"SourceEndpoint": "other"}, objectNotFound, "other"},
				{"a domain that is not accepted", map[string]any{"TargetDeliveryDomain": "other.example"}, "Microsoft.Exchange.Migration.MigrationPermanentException", "accepted domain"},
				{"an address that is none", map[string]any{"EmailAddresses": []string{"ada@contoso.example", "a,b"}}, catalog.FailureParameters, "item 2 must be an address"},
				{"a person twice", map[string]any{"EmailAddresses": []string{"ada@contoso.example", "Ada@contoso.example"}}, "Microsoft.Exchange.Migration.MigrationPermanentException", "listed twice"},
				{"a time without zone", map[string]any{"CompleteAfter": "2026-04-01"}, catalog.FailureParameters, "with a zone"},
				{"a start without zone", map[string]any{"StartAfter": "2026-03-01"}, catalog.FailureParameters, "StartAfter must be a time with a zone"},
			},
		},
		{
			name: "New-ExchangeMigrationBatch-that-exists", function: "New-ExchangeMigrationBatch", seed: moving,
			params: map[string]any{
				"BatchName": "Wave 1", "SourceEndpoint": "Source", "TargetDeliveryDomain": "contoso.example",
				"EmailAddresses": []string{"ada@contoso.example", "bob@contoso.example", "eve@contoso.example"},
			},
			refusals: []refusal{
				{"another batch", map[string]any{"TargetDeliveryDomain": "fabrikam.example", "EmailAddresses": "ada@contoso.example"}, catalog.FailureConflict, "differs in: TargetDeliveryDomain, EmailAddresses"},
			},
		},
		{
			name: "Test-ExchangeMigrationUser", function: "Test-ExchangeMigrationUser", seed: moving, params: map[string]any{"BatchName": "wave 1", "EmailAddress": "ada@contoso.example"},
			refusals: []refusal{
				{"a person in no batch", map[string]any{"EmailAddress": "cara@contoso.example"}, objectNotFound, "cara@contoso.example"},
				{"a person in another batch", map[string]any{"BatchName": "wave 9"}, catalog.FailureConflict, "is in the migration batch wave 1, expected wave 9"},
				{"a move that failed", map[string]any{"EmailAddress": "bob@contoso.example"}, catalog.FailureMigration, "is Failed, expected Synced: MigrationPermanentException: Target user 'bob' already has a primary mailbox. (the licence"},
				{"a move that failed for a reason that is not known", map[string]any{"EmailAddress": "eve@contoso.example"}, catalog.FailureMigration, "something new"},
			},
		},
		{
			name: "Test-ExchangeMigrationUser-before-the-completion", function: "Test-ExchangeMigrationUser", seed: moving,
			params: map[string]any{"BatchName": "wave 1", "EmailAddress": "ada@contoso.example", "ExpectedStatus": "completed"},
		},
		{
			name: "Complete-ExchangeMigrationBatch", function: "Complete-ExchangeMigrationBatch", seed: moving, params: map[string]any{"BatchName": "wave 1"},
			refusals: []refusal{unknown},
		},
		{
			name: "Start-ExchangeMigrationBatch", function: "Start-ExchangeMigrationBatch", params: map[string]any{"BatchName": "wave 1"},
			seed: func(s *tenant.Seed) {
				moving(s)
				s.MigrationBatches[0].Users[0].Error = "MigrationPermanentException: Cannot find a recipient that has mailbox GUID"
			},
			refusals: []refusal{unknown},
		},
		{
			name: "Start-ExchangeMigrationBatch-in-which-nothing-failed", function: "Start-ExchangeMigrationBatch", params: map[string]any{"BatchName": "wave 1"},
			seed: func(s *tenant.Seed) {
				moving(s)
				s.MigrationBatches[0].Users = s.MigrationBatches[0].Users[:1]
			},
		},
		{
			name: "Set-ExchangeMigrationUser", function: "Set-ExchangeMigrationUser",
			params: map[string]any{"BatchName": "wave 1", "EmailAddress": "ada@contoso.example", "ApproveSkippedItems": true, "CompleteAfter": "2026-04-01T18:00:00+02:00"},
			seed: func(s *tenant.Seed) {
				moving(s)
				s.MigrationBatches[0].Users[0].Skipped = true
			},
			refusals: []refusal{
				{"a person in no batch", map[string]any{"EmailAddress": "cara@contoso.example"}, objectNotFound, "cara@contoso.example"},
				{"a person in another batch", map[string]any{"BatchName": "wave 9"}, catalog.FailureConflict, "is in the migration batch wave 1, expected wave 9"},
				{"nothing to change", map[string]any{"ApproveSkippedItems": false, "CompleteAfter": nil}, catalog.FailureParameters, "nothing to change"},
				{"a time without zone", map[string]any{"CompleteAfter": "2026-04-01"}, catalog.FailureParameters, "with a zone"},
			},
		},
		{
			name: "Remove-ExchangeMigrationBatch", function: "Remove-ExchangeMigrationBatch", seed: moving, params: map[string]any{"BatchName": "wave 1"},
			refusals: []refusal{{"no name", map[string]any{"BatchName": nil}, catalog.FailureParameters, "BatchName is empty"}},
		},
		{
			name: "Remove-ExchangeMigrationUser", function: "Remove-ExchangeMigrationUser", seed: moving,
			params: map[string]any{"BatchName": "wave 1", "EmailAddress": "ada@contoso.example"},
			refusals: []refusal{
				{"a person in another batch", map[string]any{"BatchName": "wave 9"}, catalog.FailureConflict, "is in the migration batch wave 1, expected wave 9"},
			},
		},
		{
			name: "Remove-ExchangeMigrationUser-who-is-in-no-batch", function: "Remove-ExchangeMigrationUser", seed: moving,
			params: map[string]any{"BatchName": "wave 1", "EmailAddress": "cara@contoso.example"},
		},
		{
			name: "Set-ExchangeMailUserHold", function: "Set-ExchangeMailUserHold", seed: waiting, params: map[string]any{"Identity": adaID},
			refusals: []refusal{{"a mailbox", map[string]any{"Identity": bobID}, objectNotFound, bobID}},
		},
		{
			name: "Remove-ExchangeMailUser", function: "Remove-ExchangeMailUser", seed: waiting, params: map[string]any{"UserId": adaID},
			refusals: []refusal{
				{"a mailbox", map[string]any{"UserId": bobID}, catalog.FailureConflict, "has a mailbox in this tenant"},
				{"a distribution list", map[string]any{"UserId": listID}, catalog.FailureConflict, "expected a mail user"},
				{"no id", map[string]any{"UserId": "ada@contoso.example"}, catalog.FailureParameters, "UserId"},
			},
		},
		{name: "Remove-ExchangeMailUser-that-does-not-exist", function: "Remove-ExchangeMailUser", params: map[string]any{"UserId": caraID}},
		{name: "Remove-ExchangeMigrationBatch-that-does-not-exist", function: "Remove-ExchangeMigrationBatch", params: map[string]any{"BatchName": "wave 9"}},
	}
}

// A mailbox is copied, waits for the completion, and is then in the tenant; who cannot be moved fails for a reason.
func TestAMoveOfMailboxes(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: func(s *tenant.Seed) {
		waiting(s)
		s.Recipients[0].EmailAddresses = append(s.Recipients[0].EmailAddresses, "smtp:ada@fabrikam.example")
	}}, func(c *tenant.Config) { c.MoveDelay = time.Minute })
	status := func(email, expected string) string {
		t.Helper()
		answer, err := w.call(t.Context(), "Test-ExchangeMigrationUser", map[string]any{"BatchName": "wave 1", "EmailAddress": email, "ExpectedStatus": expected}, false)
		if err != nil {
			return err.Error()
		}
		return answer
	}
	expect := func(email, expected, says string) {
		t.Helper()
		if got := status(email, expected); !strings.Contains(got, says) {
			t.Errorf("%s: got %s, want %q", email, got, says)
		}
	}
	w.does(step{"New-ExchangeMigrationBatch", map[string]any{
		"BatchName": "wave 1", "SourceEndpoint": "source", "TargetDeliveryDomain": "fabrikam.example",
		"EmailAddresses": []string{"ada@contoso.example", "bob@contoso.example", "cara@contoso.example"},
	}})
	expect("ada@contoso.example", "Synced", `"reason":"the move of ada@contoso.example is Syncing, expected Synced"`)
	expect("bob@contoso.example", "Synced", "already has a primary mailbox")
	expect("cara@contoso.example", "Synced", "A recipient wasn't found")
	_ = w.clock.sleep(t.Context(), time.Minute)
	expect("ada@contoso.example", "Synced", `"complete":true`)
	expect("ada@contoso.example", "Completed", "is Synced, expected Completed")
	w.does(step{"Complete-ExchangeMigrationBatch", map[string]any{"BatchName": "wave 1"}})
	expect("ada@contoso.example", "Completed", "is Completing, expected Completed")
	w.refuses(step{"Remove-ExchangeMigrationBatch", map[string]any{"BatchName": "wave 1"}}, "the migration batch wave 1 is Completing")
	w.refuses(step{"Remove-ExchangeMigrationUser", map[string]any{"BatchName": "wave 1", "EmailAddress": "ada@contoso.example"}}, "is Completing: wait until it has ended")
	if r := w.recipient(adaID); r.Kind != tenant.MailUser {
		t.Errorf("Ada is a %s before her move is completed", r.Kind)
	}
	_ = w.clock.sleep(t.Context(), time.Minute)
	expect("ada@contoso.example", "Completed", `"complete":true`)
	if r := w.recipient(adaID); r.Kind != tenant.UserMailbox || r.ExternalEmailAddress != "" {
		t.Errorf("Ada is a %s with the external address %q after her move", r.Kind, r.ExternalEmailAddress)
	}
	w.does(step{"Remove-ExchangeMigrationBatch", map[string]any{"BatchName": "wave 1"}})
	expect("ada@contoso.example", "Completed", "couldn't be found")
}

// The reason of a failed move comes with its remedy.
func TestReasonsOfFailedMoves(t *testing.T) {
	t.Parallel()
	for says, seed := range map[string]func(*tenant.Seed){
		"Set-ExchangeMailUserGuids":  func(s *tenant.Seed) { s.Recipients[0].ExchangeGUID = "" },
		"Add-ExchangeSecondaryEmail": func(*tenant.Seed) {},
		"remove the person from the other batch": func(s *tenant.Seed) {
			s.MigrationBatches = []tenant.MigrationBatch{{Name: "a", SourceEndpoint: "source", TargetDeliveryDomain: "x.example", Users: []tenant.MigrationUser{{Email: "ADA@contoso.example"}}}}
		},
	} {
		w := start(t, row{seed: func(s *tenant.Seed) { waiting(s); seed(s) }}, nil)
		w.does(step{"New-ExchangeMigrationBatch", map[string]any{
			"BatchName": "b", "SourceEndpoint": "source", "TargetDeliveryDomain": "fabrikam.example", "EmailAddresses": "ada@contoso.example",
		}})
		w.does(step{"Remove-ExchangeMigrationBatch", map[string]any{"BatchName": "a"}})
		_, err := w.call(t.Context(), "Test-ExchangeMigrationUser", map[string]any{"BatchName": "b", "EmailAddress": "ada@contoso.example"}, false)
		if err == nil || !strings.HasPrefix(err.Error(), catalog.FailureMigration) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// refuses carries out a step that fails with a conflict, and changes nothing.
func (w *world) refuses(s step, says string) {
	w.t.Helper()
	before := w.state()
	for _, again := range []bool{false, true} {
		answer, err := w.call(w.t.Context(), s.function, s.params, again)
		var f *catalog.Failure
		if !errors.As(err, &f) || f.Type != catalog.FailureConflict || !strings.Contains(f.Message, says) {
			w.t.Errorf("%s: got %s, %v; want a conflict about %q", s.function, answer, err, says)
		}
	}
	if d := difference(before, w.state()); len(d) > 0 {
		w.t.Errorf("%s changed the tenant:\n%s", s.function, strings.Join(d, "\n"))
	}
}

// A worker is killed after the completion of a move, so that no step knows of it: what undoes the move keeps the account.
func TestAnAccountOutlivesACompletionWithoutAnswer(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: waiting}, func(c *tenant.Config) { c.MoveDelay = time.Minute })
	batch := map[string]any{"BatchName": "wave 1"}
	w.does(step{"New-ExchangeMigrationBatch", map[string]any{
		"BatchName": "wave 1", "SourceEndpoint": "source", "TargetDeliveryDomain": "contoso.example", "EmailAddresses": []string{"ada@contoso.example"},
	}})
	_ = w.clock.sleep(t.Context(), time.Minute)
	w.killAfter("Complete-MigrationBatch", step{"Complete-ExchangeMigrationBatch", batch})
	removeBatch, removeUser := step{"Remove-ExchangeMigrationBatch", batch}, step{"Remove-ExchangeMailUser", map[string]any{"UserId": adaID}}
	w.refuses(removeBatch, "is Completing")
	w.refuses(removeUser, "ada@contoso.example is in the migration batch wave 1, and is Completing there")
	_ = w.clock.sleep(t.Context(), time.Minute)
	w.refuses(removeUser, "has a mailbox in this tenant")
	w.does(removeBatch)
	w.refuses(removeUser, "has a mailbox in this tenant")
	if r := w.recipient(adaID); r.Kind != tenant.UserMailbox {
		t.Errorf("Ada is a %s", r.Kind)
	}
}

// A stop that comes first wins: a completion that comes late moves no mailbox.
func TestACompletionAfterTheRemovalMovesNothing(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: waiting}, func(c *tenant.Config) { c.MoveDelay = time.Minute })
	batch := map[string]any{"BatchName": "wave 1"}
	w.does(step{"New-ExchangeMigrationBatch", map[string]any{
		"BatchName": "wave 1", "SourceEndpoint": "source", "TargetDeliveryDomain": "contoso.example", "EmailAddresses": []string{"ada@contoso.example"},
	}})
	_ = w.clock.sleep(t.Context(), time.Minute)
	w.killAfter("Stop-MigrationBatch", step{"Remove-ExchangeMigrationBatch", batch})
	w.refuses(step{"Complete-ExchangeMigrationBatch", batch}, "the migration batch wave 1 is Stopped")
	w.refuses(step{"Remove-ExchangeMailUser", map[string]any{"UserId": adaID}}, "and is Stopped there")
	w.does(step{"Start-ExchangeMigrationBatch", batch}, step{"Remove-ExchangeMigrationBatch", batch}, step{"Remove-ExchangeMailUser", map[string]any{"UserId": adaID}})
	for _, u := range w.tenant.State().Users {
		if u.ID() == adaID {
			t.Error("Ada's account is still there")
		}
	}
}
