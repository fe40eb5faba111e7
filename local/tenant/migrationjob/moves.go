package migrationjob

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// Move is a step of the move of a person's mailbox.
type Move struct {
	directory.Move
	SourceTenantID string
	Refusal        string // why the source keeps the mailbox

	job, user string
}

// linked tells whether a job moves mailboxes out of another tenant of the system.
func (s Jobs) linked(j directory.MigrationJob) bool {
	return movesMail(j) && s.Linked != nil && s.Linked(j.SourceTenantID)
}

// DueMoves are the steps that are due and that the source has not carried out. It locks the directory.
func (s Jobs) DueMoves() []Move {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	if s.Directory.Quiet(s.Now) {
		return nil
	}
	var due []Move
	next := s.Now.Add(farAway)
	for _, j := range s.Directory.Jobs.All() {
		if j.Started.IsZero() || j.Cancelled || j.Status != "" || !s.linked(j) {
			continue
		}
		copied, completed := s.times(j)
		for _, u := range j.Users {
			r, exists := s.Directory.Recipients.Latest(u.ID)
			if u.Error != "" || u.Cancelled || u.Moved || !exists {
				continue
			}
			at := copied
			if u.Copied && completed.After(copied) {
				at = completed
			}
			if s.Now.Before(at) {
				if at.Before(next) {
					next = at
				}
				continue
			}
			due = append(due, Move{Move: directory.MoveOf(r, j.TargetDeliveryDomain, u.Copied), SourceTenantID: j.SourceTenantID, job: j.Name, user: u.ID})
		}
	}
	if len(due) == 0 {
		s.Directory.KeepQuiet(next)
	}
	return due
}

// farAway is how long a tenant without moves does not look for them again.
const farAway = 24 * time.Hour

// NoteMoves keeps what the source did with the steps of DueMoves. A mail user whose mailbox has left the source becomes
// a mailbox. It locks the directory.
func (s Jobs) NoteMoves(done []Move) error {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	for _, m := range done {
		j, exists := s.Directory.Jobs.Latest(directory.Fold(m.job))
		i := find(j, m.user)
		if !exists || i < 0 {
			continue
		}
		j.Users = slices.Clone(j.Users)
		u := &j.Users[i]
		u.Error, u.Copied, u.Moved = m.Refusal, m.Refusal == "", m.Completes && m.Refusal == ""
		changes := []directory.Change{directory.PutMigrationJob(j, s.Now)}
		if r, exists := s.Directory.Recipients.Latest(u.ID); u.Moved && exists && r.Kind == directory.MailUser {
			r.Kind, r.ExternalEmailAddress = directory.UserMailbox, ""
			changes = append(changes, directory.PutRecipient(r, s.Now))
		}
		if err := s.Directory.Commit(s.AsOf, changes...); err != nil {
			return err
		}
	}
	return nil
}
