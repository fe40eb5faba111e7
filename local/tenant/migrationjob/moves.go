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
	var due []Move
	for _, name := range s.Directory.DueJobs.Due(s.Now, s.next) {
		j, _ := s.Directory.Jobs.Latest(name)
		for _, u := range j.Users {
			r, exists := s.Directory.Recipients.Latest(u.ID)
			if at, waits := s.nextOf(j, u); exists && waits && !s.Now.Before(at) {
				due = append(due, Move{Move: directory.MoveOf(r, j.TargetDeliveryDomain, u.Copied), SourceTenantID: j.SourceTenantID, job: j.Name, user: u.ID})
			}
		}
	}
	return due
}

// next is when the next step of a job is due.
func (s Jobs) next(name string) (first time.Time, has bool) {
	j, _ := s.Directory.Jobs.Latest(name)
	for _, u := range j.Users {
		if at, waits := s.nextOf(j, u); waits && (!has || at.Before(first)) {
			first, has = at, true
		}
	}
	return first, has
}

// nextOf is when the next step of the move of a person's mailbox is due; waits is false where none is.
func (s Jobs) nextOf(j directory.MigrationJob, u directory.MigrationJobUser) (at time.Time, waits bool) {
	if j.Started.IsZero() || j.Cancelled || j.Status != "" || !s.linked(j) || u.Error != "" || u.Cancelled || u.Moved {
		return time.Time{}, false
	}
	copied, completed := s.times(j)
	if u.Copied && completed.After(copied) {
		return completed, true
	}
	return copied, true
}

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
