package migrationjob

import (
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// final are the statuses of a job that has ended.
var final = []string{"completed", "completedWithErrors", "failed", "cancelled", "validateFailed", "deleted"}

// status is the status of a job.
func (s Jobs) status(j directory.MigrationJob) string {
	bad, good, unmoved := 0, 0, 0
	for _, u := range j.Users {
		switch {
		case u.Error != "":
			bad++
		case u.Cancelled:
		case s.linked(j) && !u.Moved:
			unmoved++
			fallthrough
		default:
			good++
		}
	}
	copied, completed := s.times(j)
	switch {
	case j.Cancelled:
		return "cancelled"
	case j.Status != "":
		return j.Status
	case j.Started.IsZero() && j.Validated.IsZero():
		return "submitted"
	case j.Started.IsZero() && s.Now.Before(j.Validated.Add(s.Delay)):
		return "validateInProgress"
	case j.Started.IsZero() && bad > 0:
		return "validateFailed"
	case j.Started.IsZero():
		return "validatePassed"
	case s.Now.Before(copied), s.Now.Before(j.CompleteAfter):
		return "inProgress"
	case s.Now.Before(completed), unmoved > 0:
		return "cuttingOver"
	case good == 0:
		return "failed"
	case bad > 0:
		return "completedWithErrors"
	}
	return "completed"
}

// times are when the first copy of a job that was started is there, and when its people are moved.
func (s Jobs) times(j directory.MigrationJob) (copied, completed time.Time) {
	copied = j.Started.Add(s.Delay)
	completed = copied
	if completed.Before(j.CompleteAfter) {
		completed = j.CompleteAfter
	}
	return copied, completed.Add(s.Delay)
}

// userStatus is the status of a person's mailbox, or of all workloads of a job without mailboxes, and why it failed.
func (s Jobs) userStatus(j directory.MigrationJob, u directory.MigrationJobUser) (status, why string) {
	switch job := s.status(j); {
	case u.Cancelled, j.Cancelled:
		return "cancelled", ""
	case u.Status != "":
		return u.Status, u.Error
	case j.Started.IsZero():
		switch {
		case job == "submitted", job == "validateInProgress":
			return "notStarted", ""
		case u.Error != "":
			return "invalid", u.Error
		}
		return "valid", ""
	}
	copied, completed := s.times(j)
	switch {
	case u.Error != "":
		return "failed", u.Error
	case u.Moved:
		return "completed", ""
	case s.Now.Before(copied), s.linked(j) && !u.Copied:
		return "syncing", ""
	case s.Now.Before(j.CompleteAfter):
		return "synced", ""
	case s.Now.Before(completed), s.linked(j):
		return "finalizing", ""
	}
	return "completed", ""
}

// serviceStatus is the status of a person in a workload. Where mailboxes move, the other workloads begin after them.
func (s Jobs) serviceStatus(j directory.MigrationJob, u directory.MigrationJobUser, service string) (status, why string) {
	status, why = s.userStatus(j, u)
	if service == "Exchange" || !movesMail(j) || u.Status != "" {
		return status, why
	}
	switch status {
	case "syncing", "synced":
		return "valid", why
	case "finalizing":
		return "inProgress", why
	}
	return status, why
}
