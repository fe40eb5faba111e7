// Package migration has Microsoft's moves of mailboxes between tenants, in batches.
package migration

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// functions carries out functions in a session.
type functions struct{ *session.Session }

// Functions are the catalogue's functions that this package carries out.
func Functions(s *session.Session) []catalog.Function {
	c := &functions{s}
	return []catalog.Function{
		catalog.NewExchangeMigrationBatch.With(c.newBatch),
		catalog.TestExchangeMigrationUser.With(c.testMigrationUser),
		catalog.CompleteExchangeMigrationBatch.With(c.completeBatch),
		catalog.StartExchangeMigrationBatch.With(c.startBatch),
		catalog.SetExchangeMigrationUser.With(c.setUser),
		catalog.RemoveExchangeMigrationUser.With(c.removeUser),
		catalog.RemoveExchangeMigrationBatch.With(c.removeBatch),
	}
}

// migrationBatch is a batch as Exchange prints it.
type migrationBatch struct {
	Status               string
	SourceEndpoint       string
	TargetDeliveryDomain string
	CreationDateTime     any // a time as a text, in formats that no page lists
}

// created is the zero time if the answer does not tell it.
func (b migrationBatch) created() time.Time {
	text, _ := b.CreationDateTime.(string)
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

// migrationUser is a mailbox of a batch.
type migrationUser struct {
	EmailAddress string
	BatchId      string
	Status       string
	ErrorSummary string
}

// wantedBatch is the batch that a job starts.
type wantedBatch struct {
	name, endpoint, domain string
	emails                 []string
}

// newBatch reads first, as administrators do: no page says how New-MigrationBatch refuses a name that is taken.
func (c *functions) newBatch(ctx context.Context, p catalog.Params) (any, error) {
	w := wantedBatch{name: p.String("BatchName"), endpoint: p.String("SourceEndpoint"), domain: p.String("TargetDeliveryDomain"), emails: p.List("EmailAddresses")}
	create := map[string]any{"Name": w.name, "SourceEndpoint": w.endpoint, "TargetDeliveryDomain": w.domain, "AutoStart": true}
	data, err := batchCSV(w.emails)
	if err != nil {
		return nil, err
	}
	create["CSVData"] = data
	for _, name := range []string{"StartAfter", "CompleteAfter"} {
		if !p.Has(name) {
			continue
		}
		if create[name], err = after(p, name); err != nil {
			return nil, err
		}
	}
	if p.Has("NotificationEmails") {
		create["NotificationEmails"] = p.List("NotificationEmails")
	}
	have, err := session.Until(ctx, c.Session, "the migration batch "+w.name+" is still being removed", func(have []migrationBatch) bool {
		return !slices.ContainsFunc(have, func(b migrationBatch) bool { return strings.EqualFold(b.Status, "Removing") })
	}, func(ctx context.Context) (have []migrationBatch, err error) {
		err = c.Look(ctx, "Get-MigrationBatch", w.name, &have)
		return have, err
	})
	if err != nil {
		return nil, err
	}
	if len(have) > 0 {
		if err := checkAlive(ctx, w.name, have[0]); err != nil {
			return nil, err
		}
	}
	if len(have) == 0 {
		if err := c.Invoke(ctx, "New-MigrationBatch", create, nil); err != nil && !session.Says(err, "already exists") {
			return nil, err
		}
		// The batch may be that of another delivery, or not be visible yet.
		if err := c.Invoke(ctx, "Get-MigrationBatch", map[string]any{"Identity": w.name}, &have); err != nil {
			return nil, err
		}
	}
	if len(have) != 1 {
		return nil, session.Ambiguous("Get-MigrationBatch", len(have))
	}
	if err := c.compareBatch(ctx, w, have[0]); err != nil {
		return nil, err
	}
	return true, nil
}

// after is the time after which mailboxes are copied, or move, in UTC.
func after(p catalog.Params, name string) (string, error) {
	at, err := time.Parse(time.RFC3339, p.String(name))
	if err != nil {
		return "", &catalog.Failure{Type: catalog.FailureParameters, Message: name + " must be a time with a zone, such as 2026-03-01T18:00:00Z"}
	}
	return at.UTC().Format(time.RFC3339), nil
}

// batchCSV is the file of a batch, as a list of numbers: so public programs send bytes.
func batchCSV(emails []string) ([]int, error) {
	text := "EmailAddress\r\n"
	for i, email := range emails {
		if _, err := catalog.Email.Read(email); err != nil {
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("EmailAddresses: item %d %s", i+1, err)}
		}
		text += email + "\r\n"
	}
	data := make([]int, 0, len(text))
	for _, b := range []byte(text) {
		data = append(data, int(b))
	}
	return data, nil
}

// checkAlive fails if the batch moves no people any more. One whose every move has failed may be that of another delivery:
// then Test-ExchangeMigrationUser says why.
func checkAlive(ctx context.Context, name string, have migrationBatch) error {
	switch {
	case session.Has([]string{"Corrupted", "Stopped"}, have.Status), strings.EqualFold(have.Status, "Failed") && !catalog.JobOf(ctx).Redelivered:
		return conflict("a migration batch " + name + " exists and is " + have.Status + ": remove it with Remove-ExchangeMigrationBatch, or give another BatchName")
	}
	return nil
}

// compareBatch fails unless the batch may be the one that was asked for. Exchange adds the people of a new
// batch one after the other.
func (c *functions) compareBatch(ctx context.Context, w wantedBatch, have migrationBatch) error {
	var differ []string
	if !strings.EqualFold(have.SourceEndpoint, w.endpoint) {
		differ = append(differ, "SourceEndpoint")
	}
	if !strings.EqualFold(have.TargetDeliveryDomain, w.domain) {
		differ = append(differ, "TargetDeliveryDomain")
	}
	people, err := c.people(ctx, w.name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(people, func(u migrationUser) bool { return !session.Has(w.emails, u.EmailAddress) }) {
		differ = append(differ, "EmailAddresses")
	}
	if len(differ) == 0 {
		return nil
	}
	return conflict("a migration batch " + w.name + " exists and differs in: " + strings.Join(differ, ", "))
}

// people are those of a batch.
func (c *functions) people(ctx context.Context, batch string) (all []migrationUser, err error) {
	err = c.Invoke(ctx, "Get-MigrationUser", map[string]any{"BatchId": batch, "ResultSize": "Unlimited"}, &all)
	return all, err
}

// States of the move of a mailbox.
var (
	movedStates  = []string{"Completed", "CompletedWithWarnings"}
	copiedStates = append([]string{"Synced", "IncrementalSynced", "IncrementalSyncing", "CompletionSynced", "Completing"}, movedStates...)
	failedStates = []string{"Failed", "IncrementalFailed", "CompletionFailed", "Corrupted", "Stopped", "IncrementalStopped"}
)

// MigrationResult is the result of Test-ExchangeMigrationUser.
type MigrationResult struct {
	Complete bool          `json:"complete"`
	Reason   string        `json:"reason,omitempty"` // why it is not complete
	Data     MigrationData `json:"data"`
}

// MigrationData tells of the move of one mailbox.
type MigrationData struct {
	BatchName      string
	EmailAddress   string
	ExpectedStatus string
	Status         string
}

// person is a user of a batch, who must not be in another one.
func (c *functions) person(ctx context.Context, batch, email string) (u migrationUser, err error) {
	var found []migrationUser
	if err := c.Invoke(ctx, "Get-MigrationUser", map[string]any{"Identity": email}, &found); err != nil {
		return u, err
	}
	if len(found) != 1 {
		return u, session.Ambiguous("Get-MigrationUser", len(found))
	}
	if u = found[0]; !strings.EqualFold(u.BatchId, batch) {
		return u, conflict(fmt.Sprintf("%s is in the migration batch %s, expected %s: remove the person from there first", email, u.BatchId, batch))
	}
	return u, nil
}

func (c *functions) testMigrationUser(ctx context.Context, p catalog.Params) (any, error) {
	data := MigrationData{BatchName: p.String("BatchName"), EmailAddress: p.String("EmailAddress"), ExpectedStatus: cmp.Or(p.String("ExpectedStatus"), "Synced")}
	u, err := c.person(ctx, data.BatchName, data.EmailAddress)
	if err != nil {
		return nil, err
	}
	data.Status = u.Status
	if session.Has(failedStates, u.Status) {
		return nil, &catalog.Failure{
			Type: catalog.FailureMigration, Attempts: 1,
			Message: fmt.Sprintf("the move of %s is %s, expected %s: %s", data.EmailAddress, u.Status, data.ExpectedStatus, withRemedy(u.ErrorSummary)),
		}
	}
	good := copiedStates
	if data.ExpectedStatus == "Completed" {
		good = movedStates
	}
	if session.Has(good, u.Status) {
		return MigrationResult{Complete: true, Data: data}, nil
	}
	return MigrationResult{Reason: fmt.Sprintf("the move of %s is %s, expected %s", data.EmailAddress, u.Status, data.ExpectedStatus), Data: data}, nil
}

// remedies has advice for reasons of failed moves, by parts of their texts.
var remedies = []struct{ text, remedy string }{
	{"cannot find a recipient that has mailbox guid", "set the ExchangeGuid of the mail user with Set-ExchangeMailUserGuids"},
	{"doesn't have an smtp proxy matching", "add an address in the target delivery domain with Add-ExchangeSecondaryEmail"},
	{"already has a primary mailbox", "the licence came before the ExchangeGuid, or the mailbox is moved already"},
	{"user is already being moved", "remove the person from the other batch"},
	{"you must specify the primaryonly parameter", "set the ArchiveGuid of the mail user, if the source mailbox has an archive"},
}

func withRemedy(summary string) string {
	for _, r := range remedies {
		if strings.Contains(strings.ToLower(summary), r.text) {
			return summary + " (" + r.remedy + ")"
		}
	}
	return cmp.Or(summary, "Exchange gives no reason")
}

// CompleteResult is the result of Complete-ExchangeMigrationBatch.
type CompleteResult struct{ BatchName string }

// completeBatch writes unless a read shows that it was done: a batch that completes shows it.
func (c *functions) completeBatch(ctx context.Context, p catalog.Params) (any, error) {
	name := p.String("BatchName")
	have, err := c.batch(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case catalog.JobOf(ctx).SentBefore(have.created()):
		return nil, anotherBatch(name)
	case session.Has([]string{"Completing", "Completed", "CompletedWithErrors"}, have.Status):
		return CompleteResult{name}, nil
	case session.Has([]string{"Stopping", "Stopped", "Removing", "Corrupted"}, have.Status):
		return nil, conflict(fmt.Sprintf("the migration batch %s is %s, expected that its mailboxes are copied: a step has stopped it, or Exchange has", name, have.Status))
	}
	if err := c.Invoke(ctx, "Complete-MigrationBatch", map[string]any{"Identity": name, "Confirm": false}, nil); err != nil {
		return nil, err
	}
	return CompleteResult{name}, nil
}

// batch is the one of that name.
func (c *functions) batch(ctx context.Context, name string) (b migrationBatch, err error) {
	var have []migrationBatch
	if err := c.Invoke(ctx, "Get-MigrationBatch", map[string]any{"Identity": name}, &have); err != nil {
		return b, err
	}
	if len(have) != 1 {
		return b, session.Ambiguous("Get-MigrationBatch", len(have))
	}
	return have[0], nil
}

// anotherBatch is the error of a job that came again after its batch had been removed and another one had got the name.
func anotherBatch(name string) error {
	return conflict("the migration batch " + name + " was created after the job for it was sent: retry the step if the job is for this batch")
}

func conflict(text string) error {
	return &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: text}
}
