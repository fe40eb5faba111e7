package exchange

import (
	"encoding/base64"
	"encoding/csv"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

func init() { // not a literal: run reaches back into cmdlets
	cmdlets["Get-MigrationBatch"] = cmdlet{names("Identity", "ResultSize"), (*Service).migrationBatches}
	cmdlets["Get-MigrationUser"] = cmdlet{names("Identity", "BatchId", "ResultSize"), (*Service).migrationUsers}
	cmdlets["New-MigrationBatch"] = cmdlet{
		names("Name", "SourceEndpoint", "CSVData", "TargetDeliveryDomain", "AutoStart", "StartAfter", "CompleteAfter", "NotificationEmails", "Confirm"), (*Service).newMigrationBatch,
	}
	cmdlets["Complete-MigrationBatch"] = cmdlet{names("Identity", "Confirm"), (*Service).completeMigrationBatch}
	cmdlets["Start-MigrationBatch"] = cmdlet{names("Identity", "Confirm"), (*Service).startMigrationBatch}
	cmdlets["Set-MigrationUser"] = cmdlet{names("Identity", "ApproveSkippedItems", "CompleteAfter", "Confirm"), (*Service).setMigrationUser}
	cmdlets["Stop-MigrationBatch"] = cmdlet{names("Identity", "Confirm"), (*Service).stopMigrationBatch}
	cmdlets["Remove-MigrationUser"] = cmdlet{names("Identity", "Confirm"), (*Service).removeMigrationUser}
	cmdlets["Remove-MigrationBatch"] = cmdlet{names("Identity", "Confirm"), (*Service).removeMigrationBatch}
}

// batch is the batch that a command names: as readers see it, and its latest state.
func (s *Service) batch(c *call, asOf time.Time) (seen, latest directory.MigrationBatch, refusal *reply) {
	identity, refusal := c.identity()
	if refusal != nil {
		return seen, latest, refusal
	}
	seen, found := s.Directory.Batches.Visible(directory.Fold(identity), asOf)
	if found {
		latest, found = s.Directory.Batches.Latest(directory.Fold(identity))
	}
	if !found {
		return seen, latest, exchangeFailure(404, "NotFound", objectNotFound, "The migration batch '%s' couldn't be found.", identity)
	}
	return seen, latest, nil
}

// userStatus is the status of a user at a time.
func (s *Service) userStatus(b directory.MigrationBatch, u directory.MigrationUser, now time.Time) string {
	at, set := s.completion(b, u)
	switch {
	case u.Error != "":
		return "Failed"
	case !b.Stopped.IsZero() && !set:
		return "Stopped"
	case now.Before(b.StartAfter):
		return "Queued"
	case now.Before(s.copied(b, u)), s.Linked(b.SourceEndpoint) && !u.Copied:
		return "Syncing"
	case !set, now.Before(at):
		return "Synced"
	case now.Before(at.Add(s.MoveDelay)), s.Linked(b.SourceEndpoint) && !u.Left:
		return "Completing"
	}
	return "Completed"
}

// batchStatus is the status of a batch at a time, by those of its users.
func (s *Service) batchStatus(b directory.MigrationBatch, now time.Time) (status string, counts map[string]int) {
	counts = map[string]int{}
	for _, u := range b.Users {
		counts[s.userStatus(b, u, now)]++
	}
	failed := counts["Failed"] > 0
	for _, active := range []string{"Syncing", "Completing", "Stopped"} {
		if counts[active] > 0 {
			return active, counts
		}
	}
	if counts["Queued"] > 0 {
		return "Waiting", counts
	}
	for _, ended := range []string{"Synced", "Completed"} {
		switch {
		case counts[ended] > 0 && failed:
			return ended + "WithErrors", counts
		case counts[ended] > 0:
			return ended, counts
		}
	}
	return "Failed", counts
}

func (s *Service) migrationBatches(c *call) *reply {
	now, asOf := s.Times()
	found := slices.Collect(s.Directory.Batches.EachVisible(asOf))
	if _, named := c.exchange.parameters["identity"]; named {
		b, _, refusal := s.batch(c, asOf)
		if refusal != nil {
			return refusal
		}
		found = []directory.MigrationBatch{b}
	}
	out := make([]map[string]any, 0, len(found))
	for _, b := range found {
		status, counts := s.batchStatus(b, now)
		out = append(out, map[string]any{
			"Identity": b.Name, "Status": status, "SourceEndpoint": b.SourceEndpoint, "TargetDeliveryDomain": b.TargetDeliveryDomain,
			"CreationDateTime": b.Started.UTC().Format(time.RFC3339),
			"TotalCount":       len(b.Users), "SyncedCount": counts["Synced"], "FinalizedCount": counts["Completed"], "FailedCount": counts["Failed"],
		})
	}
	return c.results(out)
}

func (s *Service) migrationUsers(c *call) *reply {
	now, asOf := s.Times()
	email, isUser := c.exchange.parameters["identity"].(string)
	name, isBatch := c.exchange.parameters["batchid"].(string)
	if isUser && isBatch {
		return cmdletFailure(parameterBinding, "Parameter set cannot be resolved using the specified named parameters.")
	}
	var out []map[string]any
	batches := s.Directory.Batches.EachVisible(asOf)
	switch {
	case isUser:
		batches = s.Directory.Batches.Among(append(s.Directory.Owners("batchUser", email), s.Directory.Recent(asOf)...), asOf)
	case isBatch:
		batches = s.Directory.Batches.Among([]string{directory.Fold(name)}, asOf)
	}
	for b := range batches {
		for _, u := range b.Users {
			if isUser && !strings.EqualFold(u.Email, email) || isBatch && !strings.EqualFold(b.Name, name) {
				continue
			}
			out = append(out, map[string]any{
				"Identity": u.Email, "EmailAddress": u.Email, "BatchId": b.Name, "Status": s.userStatus(b, u, now), "ErrorSummary": u.Error,
			})
		}
	}
	if isUser && len(out) == 0 {
		return exchangeFailure(404, "NotFound", objectNotFound, "The migration user '%s' couldn't be found.", email)
	}
	return c.results(out)
}

// newMigrationBatch starts a batch. Users who cannot be moved fail by themselves.
func (s *Service) newMigrationBatch(c *call) *reply {
	p := c.exchange
	if refusal := p.missing("Name", "SourceEndpoint", "CSVData", "TargetDeliveryDomain", "AutoStart"); refusal != nil {
		return refusal // a batch that is not started is not simulated
	}
	now, asOf := s.Times()
	b, start := directory.MigrationBatch{Started: now.UTC().Truncate(time.Second)}, true
	for _, refusal := range []*reply{
		p.text("name", &b.Name), p.text("sourceendpoint", &b.SourceEndpoint), p.text("targetdeliverydomain", &b.TargetDeliveryDomain), p.boolean("autostart", &start),
	} {
		if refusal != nil {
			return refusal
		}
	}
	for parameter, field := range map[string]*time.Time{"startafter": &b.StartAfter, "completeafter": &b.CompleteAfter} {
		text := ""
		if refusal := p.time(parameter, &text); refusal != nil {
			return refusal
		}
		if text != "" {
			*field, _ = time.Parse(time.RFC3339, text) // as it was just written
		}
	}
	if !start {
		return cmdletFailure(invalidData, "A migration batch that doesn't start isn't supported here: specify AutoStart.")
	}
	if len(s.Directory.MigrationEndpoints) > 0 && !slices.ContainsFunc(s.Directory.MigrationEndpoints, func(e string) bool { return strings.EqualFold(e, b.SourceEndpoint) }) {
		return exchangeFailure(404, "NotFound", objectNotFound, "The migration endpoint '%s' couldn't be found.", b.SourceEndpoint)
	}
	if !s.Directory.Accepts("@" + b.TargetDeliveryDomain) {
		return cmdletFailure(migrationPermanent, "The target delivery domain '%s' isn't an accepted domain of your organization.", b.TargetDeliveryDomain)
	}
	if _, exists := s.Directory.Batches.Latest(directory.Fold(b.Name)); exists {
		return cmdletFailure(migrationPermanent, "The migration batch '%s' already exists. Please choose another name.", b.Name)
	}
	emails, refusal := p.csvAddresses()
	if refusal != nil {
		return refusal
	}
	for _, email := range emails {
		b.Users = append(b.Users, s.migrationUser(email, b))
	}
	return s.saveBatch(c, b, now, asOf)
}

func (s *Service) saveBatch(c *call, b directory.MigrationBatch, now, asOf time.Time) *reply {
	if err := s.Directory.Commit(asOf, directory.PutBatch(b, now)); err != nil {
		return s.storageFailed(err)
	}
	return c.results([]map[string]any{{"Identity": b.Name}})
}

// FinishMoves turns the mail users of completed moves into mailboxes, once those of another tenant of the system
// have left. The caller has locked the directory.
func (s *Service) FinishMoves() error {
	now, asOf := s.Times()
	for _, name := range s.dueBatches(now) {
		b, _ := s.Directory.Batches.Latest(name)
		b.Users = slices.Clone(b.Users)
		var changes []directory.Change
		var last time.Time
		for i, u := range b.Users {
			at, set := s.completion(b, u)
			at = at.Add(s.MoveDelay)
			if u.Moved || u.Error != "" || !set || now.Before(at) || s.Linked(b.SourceEndpoint) && !u.Left {
				continue
			}
			b.Users[i].Moved = true
			if at.After(last) {
				last = at
			}
			if r, exists := s.Directory.Recipients.Latest(u.ID); exists && r.Kind == directory.MailUser {
				r.Kind, r.ExternalEmailAddress = directory.UserMailbox, ""
				changes = append(changes, directory.PutRecipient(r, at))
			}
		}
		if last.IsZero() {
			continue
		}
		changes = append(changes, directory.PutBatch(b, last))
		if err := s.Directory.Commit(asOf, changes...); err != nil {
			return err
		}
	}
	return nil
}

// dueBatches are the batches of which something is due: a copy or a completion.
func (s *Service) dueBatches(now time.Time) []string {
	return s.Directory.DueBatches.Due(now, func(name string) (first time.Time, has bool) {
		b, _ := s.Directory.Batches.Latest(name)
		for _, u := range b.Users {
			at, set := s.completion(b, u)
			at = at.Add(s.MoveDelay)
			if s.Linked(b.SourceEndpoint) && !u.Copied {
				at, set = s.copied(b, u), true
			}
			if u.Moved || u.Error != "" || !set {
				continue
			}
			if !has || at.Before(first) {
				first, has = at, true
			}
		}
		return first, has
	})
}

// never is when a move that was stopped goes on.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// copied is when the first copy of a mailbox is there.
func (s *Service) copied(b directory.MigrationBatch, u directory.MigrationUser) time.Time {
	from := b.Started
	for _, later := range []time.Time{u.Retried, b.StartAfter} {
		if later.After(from) {
			from = later
		}
	}
	if copied := from.Add(s.MoveDelay); b.Stopped.IsZero() || !copied.After(b.Stopped) {
		return copied
	}
	return never
}

// completion is when the completion of a move begins, which is after the first copy; set is false while it does not. A
// completion that has begun cannot be stopped.
func (s *Service) completion(b directory.MigrationBatch, u directory.MigrationUser) (at time.Time, set bool) {
	if at = u.CompleteAfter; at.IsZero() {
		at = b.CompleteAfter
	}
	set = !at.IsZero() && !u.Skipped
	if copied := s.copied(b, u); at.Before(copied) {
		at = copied
	}
	return at, set && (b.Stopped.IsZero() || at.Before(b.Stopped))
}

// csvAddresses are the addresses in CSVData. Its bytes come as numbers, or as base64.
func (p *command) csvAddresses() ([]string, *reply) {
	var raw []byte
	switch v := p.parameters["csvdata"].(type) {
	case string:
		decoded, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return nil, p.cannotConvert("csvdata", "System.Byte[]")
		}
		raw = decoded
	case []any:
		for _, item := range v {
			n, isNumber := item.(float64)
			if !isNumber || n < 0 || n > 255 || n != float64(byte(n)) {
				return nil, p.cannotConvert("csvdata", "System.Byte[]")
			}
			raw = append(raw, byte(n))
		}
	default:
		return nil, p.cannotConvert("csvdata", "System.Byte[]")
	}
	rows, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	if err != nil || len(rows) < 2 || len(rows[0]) != 1 || !strings.EqualFold(rows[0][0], "EmailAddress") {
		return nil, cmdletFailure(migrationPermanent, "The CSV file isn't valid: it needs the column EmailAddress and at least one row, and has no other columns.")
	}
	var emails []string
	for _, row := range rows[1:] {
		if !directory.ValidAddress(row[0]) || slices.ContainsFunc(emails, func(e string) bool { return strings.EqualFold(e, row[0]) }) {
			return nil, cmdletFailure(migrationPermanent, "The CSV file isn't valid: \"%s\" isn't an address, or is listed twice.", row[0])
		}
		emails = append(emails, row[0])
	}
	return emails, nil
}

// migrationUser is a user of a batch that starts, with what keeps it from being moved.
func (s *Service) migrationUser(email string, of directory.MigrationBatch) directory.MigrationUser {
	u, domain := directory.MigrationUser{Email: email}, of.TargetDeliveryDomain
	for _, name := range s.Directory.Owners("batchUser", email) {
		if b, _ := s.Directory.Batches.Latest(name); name != directory.Fold(of.Name) {
			u.Error = "UserAlreadyBeingMigratedException: User is already being moved. The user '" + email + "' is included in the migration batch '" + b.Name + "'."
			return u
		}
	}
	id, found := s.Directory.Owner("proxy", "smtp:"+email)
	r, exists := s.Directory.Recipients.Latest(id)
	inDomain := func(a string) bool { return strings.HasSuffix(strings.ToLower(a), "@"+strings.ToLower(domain)) }
	switch {
	case !found, !exists, r.IsGroup():
		u.Error = "MigrationPermanentException: A recipient wasn't found for \"" + email + "\" on the target. Create a recipient of the appropriate type for this migration on the target and try again."
	case r.Kind == directory.UserMailbox:
		u.Error = "MigrationPermanentException: Target user '" + r.Name + "' already has a primary mailbox."
	case directory.OrZero(r.ExchangeGUID) == directory.ZeroGUID:
		u.Error = "MigrationPermanentException: Cannot find a recipient that has mailbox GUID '" + directory.ZeroGUID + "'."
	case !slices.ContainsFunc(r.EmailAddresses, inDomain):
		u.Error = "MigrationPermanentException: Target mailbox doesn't have an smtp proxy matching '" + domain + "'."
	}
	u.ID = id
	return u
}

func (s *Service) completeMigrationBatch(c *call) *reply {
	now, asOf := s.Times()
	_, b, refusal := s.batch(c, asOf)
	if refusal != nil {
		return refusal
	}
	if !b.Stopped.IsZero() {
		return notWhile(b, "completed", "Stopped")
	}
	if !b.CompleteAfter.IsZero() && !now.Before(b.CompleteAfter) {
		c.warn("The migration batch is being completed already.")
		return c.nothing()
	}
	b.CompleteAfter = now.UTC().Truncate(time.Second)
	return s.saveBatch(c, b, now, asOf)
}

// notWhile refuses a command for the status of a batch.
func notWhile(b directory.MigrationBatch, done, status string) *reply {
	return cmdletFailure(migrationPermanent, "The migration batch '%s' can't be %s because its status is %s.", b.Name, done, status)
}

// stopMigrationBatch stops the moves that do not complete yet, at once: Exchange is Stopping for a while.
func (s *Service) stopMigrationBatch(c *call) *reply {
	now, asOf := s.Times()
	_, b, refusal := s.batch(c, asOf)
	if refusal != nil {
		return refusal
	}
	switch status, _ := s.batchStatus(b, now); status {
	case "Completed", "CompletedWithErrors", "Failed", "Stopped":
		return notWhile(b, "stopped", status)
	}
	b.Stopped = now.UTC()
	return s.saveBatch(c, b, now, asOf)
}

// startMigrationBatch tries moves again that failed, and goes on with those that were stopped.
func (s *Service) startMigrationBatch(c *call) *reply {
	now, asOf := s.Times()
	_, b, refusal := s.batch(c, asOf)
	if refusal != nil {
		return refusal
	}
	failed := !b.Stopped.IsZero()
	b.Users = slices.Clone(b.Users)
	for i, u := range b.Users {
		if u.Error == "" {
			if copied := s.copied(b, u); failed && copied.After(b.Stopped) {
				b.Users[i].Retried = now.UTC().Truncate(time.Second)
			}
			continue
		}
		failed = true
		b.Users[i] = s.migrationUser(u.Email, b)
		b.Users[i].Retried, b.Users[i].CompleteAfter, b.Users[i].Skipped = now.UTC().Truncate(time.Second), u.CompleteAfter, u.Skipped
	}
	if !failed {
		c.warn("The migration batch has no failed users.")
		return c.nothing()
	}
	b.Stopped = time.Time{}
	return s.saveBatch(c, b, now, asOf)
}

func (s *Service) setMigrationUser(c *call) *reply {
	email, refusal := c.identity()
	if refusal != nil {
		return refusal
	}
	approve, after := false, ""
	for _, refusal := range []*reply{c.exchange.boolean("approveskippeditems", &approve), c.exchange.time("completeafter", &after)} {
		if refusal != nil {
			return refusal
		}
	}
	now, asOf := s.Times()
	for b := range s.Directory.Batches.Among(s.Directory.Owners("batchUser", email), now) {
		i := slices.IndexFunc(b.Users, func(u directory.MigrationUser) bool { return strings.EqualFold(u.Email, email) })
		if i < 0 {
			continue
		}
		b.Users = slices.Clone(b.Users)
		if approve {
			b.Users[i].Skipped = false
		}
		if after != "" {
			b.Users[i].CompleteAfter, _ = time.Parse(time.RFC3339, after) // as it was just written
		}
		if err := s.Directory.Commit(asOf, directory.PutBatch(b, now)); err != nil {
			return s.storageFailed(err)
		}
		return c.nothing()
	}
	return exchangeFailure(404, "NotFound", objectNotFound, "The migration user '%s' couldn't be found.", email)
}

// removeMigrationUser takes a person out of a batch, unless the mailbox is being moved.
func (s *Service) removeMigrationUser(c *call) *reply {
	email, refusal := c.identity()
	if refusal != nil {
		return refusal
	}
	now, asOf := s.Times()
	for b := range s.Directory.Batches.Among(s.Directory.Owners("batchUser", email), now) {
		i := slices.IndexFunc(b.Users, func(u directory.MigrationUser) bool { return strings.EqualFold(u.Email, email) })
		if i < 0 {
			continue
		}
		if status := s.userStatus(b, b.Users[i], now); status == "Completing" {
			return cmdletFailure(migrationPermanent, "The migration user '%s' can't be removed because its status is %s.", email, status)
		}
		b.Users = slices.Delete(slices.Clone(b.Users), i, i+1)
		if err := s.Directory.Commit(asOf, directory.PutBatch(b, now)); err != nil {
			return s.storageFailed(err)
		}
		return c.nothing()
	}
	return exchangeFailure(404, "NotFound", objectNotFound, "The migration user '%s' couldn't be found.", email)
}

// removeMigrationBatch deletes a batch that is not running, or has completed.
func (s *Service) removeMigrationBatch(c *call) *reply {
	now, asOf := s.Times()
	_, b, refusal := s.batch(c, asOf)
	if refusal != nil {
		return refusal
	}
	switch status, _ := s.batchStatus(b, now); status {
	case "Stopped", "Completed", "CompletedWithErrors", "Failed":
	default:
		return notWhile(b, "removed", status)
	}
	if err := s.Directory.Commit(asOf, directory.DeleteBatch(b.Name, now)); err != nil {
		return s.storageFailed(err)
	}
	return c.nothing()
}
