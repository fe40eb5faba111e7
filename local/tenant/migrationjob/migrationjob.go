// Package migrationjob is the crossTenantMigrationJobs of a tenant: it answers the operations of Graph, and tells from the
// time how far a job is. It moves mailboxes out of another tenant of the system, and no other data.
package migrationjob

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// Jobs are the jobs of one tenant. Its methods lock the directory.
type Jobs struct {
	Directory *directory.Directory
	TenantID  string
	Delay     time.Duration // of a validation, of a copy, and of a completion
	Now, AsOf time.Time     // of a write, and up to which readers have seen writes
	// Linked tells whether a tenant is another one of the system, whose mailboxes move. Nil: none is.
	Linked func(tenantID string) bool
}

// maxUsers is the larger of the two limits that pages of Microsoft have.
const maxUsers = 2000

// validFor is how long a job may be started after its validation.
const validFor = 7 * 24 * time.Hour

var workloads = []string{"Exchange", "ODSP", "Teams", "Meeting"}

func badRequest(format string, args ...any) *odata.Reply {
	return odata.Error(http.StatusBadRequest, "BadRequest", format, args...)
}

func conflict(format string, args ...any) *odata.Reply {
	return odata.Error(http.StatusConflict, "Conflict", format, args...)
}

// badArgument refuses a property, with the codes and texts of the page on errors of orchestrated migrations. Their place in
// the answer is not on that page.
func badArgument(property, code, text string) *odata.Reply {
	return odata.Error(http.StatusUnprocessableEntity, "BadArgument", "Error in %s data field. %s: %s", property, code, text)
}

func notInFuture() *odata.Reply {
	return badArgument("completeAfterDateTime", "minThresholdFailed", "completeAfterDateTime must be greater than the current time.")
}

func notFound(what, name string) *odata.Reply {
	return odata.Error(http.StatusNotFound, "NotFound", "The %s %s was not found.", what, name)
}

// Create adds a job, which is not validated yet.
func (s Jobs) Create(body map[string]any) *odata.Reply {
	j, refusal := readJob(body)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now := s.Now.UTC().Truncate(time.Second) // as Graph writes times
	if !j.CompleteAfter.After(now) {
		return notInFuture()
	}
	if _, taken := s.Directory.Jobs.Latest(directory.Fold(j.Name)); taken {
		return badArgument("displayName", "duplicateDisplayNameJob", "displayName already exists. Please provide a unique job displayName.")
	}
	for _, u := range j.Users {
		if other := s.activeJob(u.ID); other != "" {
			return conflict("The resource %s is in the active migration job '%s'.", u.ID, other)
		}
	}
	j.ID, j.Created, j.Updated = uuid.NewString(), now, now
	return s.commit(j, http.StatusCreated)
}

// activeJob is the job that has not ended and that a person is in.
func (s Jobs) activeJob(user string) string {
	for _, name := range s.Directory.Owners("jobUser", user) {
		j, _ := s.Directory.Jobs.Latest(name)
		has := slices.ContainsFunc(j.Users, func(u directory.MigrationJobUser) bool { return u.ID == user && !u.Cancelled })
		if has && !slices.Contains(final, s.status(j)) {
			return j.Name
		}
	}
	return ""
}

func readJob(body map[string]any) (j directory.MigrationJob, refusal *odata.Reply) {
	for name, value := range body {
		switch text := directory.Text(value); name {
		case "displayName":
			j.Name = text
		case "sourceTenantId":
			j.SourceTenantID = text
		case "completeAfterDateTime":
			var err error
			if j.CompleteAfter, err = time.Parse(time.RFC3339, text); err != nil {
				return j, badRequest("Cannot convert the literal '%s' to the expected type 'Edm.DateTimeOffset'.", text)
			}
		case "resourceType":
			if !strings.EqualFold(text, "Users") {
				return j, badRequest("The resourceType '%s' is not supported.", text)
			}
		case "resources":
			for _, id := range directory.Texts(value) {
				j.Users = append(j.Users, directory.MigrationJobUser{ID: directory.Fold(id)})
			}
		case "workloads":
			for _, w := range directory.Texts(value) {
				i := slices.IndexFunc(workloads, func(known string) bool { return strings.EqualFold(known, w) })
				if i < 0 {
					return j, badRequest("The workload '%s' is not supported.", w)
				}
				j.Workloads = append(j.Workloads, workloads[i])
			}
		case "exchangeSettings":
			settings, _ := value.(map[string]any)
			j.SourceEndpoint, j.TargetDeliveryDomain = directory.Text(settings["sourceEndpoint"]), directory.Text(settings["targetDeliveryDomain"])
		default:
			if !strings.HasPrefix(name, "@odata.") {
				return j, badRequest("The property '%s' does not exist on type 'microsoft.graph.crossTenantMigrationJob', or is read-only.", name)
			}
		}
	}
	switch {
	case j.Name == "" || j.SourceTenantID == "" || len(j.Users) == 0 || j.CompleteAfter.IsZero():
		return j, badRequest("displayName, sourceTenantId, resources and completeAfterDateTime are required.")
	case len(j.Users) > maxUsers:
		return j, badRequest("A migration job has at most %d resources.", maxUsers)
	case movesMail(j) && (j.SourceEndpoint == "" || j.TargetDeliveryDomain == ""):
		return j, badRequest("exchangeSettings are required for the workload Exchange.")
	}
	return j, nil
}

func movesMail(j directory.MigrationJob) bool {
	return len(j.Workloads) == 0 || slices.Contains(j.Workloads, "Exchange")
}

// commit stores a job and shows it.
func (s Jobs) commit(j directory.MigrationJob, status int) *odata.Reply {
	if err := s.Directory.Commit(s.AsOf, directory.PutMigrationJob(j, s.Now)); err != nil {
		return odata.Error(http.StatusInternalServerError, "InternalServerError", "The service could not save the change.")
	}
	return &odata.Reply{Status: status, Body: s.show(j)}
}

func (s Jobs) show(j directory.MigrationJob) map[string]any {
	resources := make([]string, 0, len(j.Users))
	for _, u := range j.Users {
		resources = append(resources, u.ID)
	}
	jobType := "validate"
	if !j.Started.IsZero() {
		jobType = "migrate"
	}
	shown := map[string]any{
		"id": j.ID, "displayName": j.Name, "jobType": jobType, "status": s.status(j), "message": j.Message,
		"sourceTenantId": j.SourceTenantID, "targetTenantId": s.TenantID, "resourceType": "Users", "resources": resources,
		"workloads": services(j), "completeAfterDateTime": j.CompleteAfter.UTC().Format(time.RFC3339),
		"createdDateTime": j.Created.UTC().Format(time.RFC3339), "lastUpdatedDateTime": j.Updated.UTC().Format(time.RFC3339),
	}
	if movesMail(j) {
		shown["exchangeSettings"] = map[string]any{"sourceEndpoint": j.SourceEndpoint, "targetDeliveryDomain": j.TargetDeliveryDomain}
	}
	return shown
}

func services(j directory.MigrationJob) []string {
	if len(j.Workloads) == 0 {
		return workloads
	}
	return j.Workloads
}

// visible finds a job by its id or its name as readers see it.
func (s Jobs) visible(key string) (directory.MigrationJob, *odata.Reply) {
	keys := append([]string{directory.Fold(key)}, s.Directory.Owners("jobID", key)...)
	for j := range s.Directory.Jobs.Among(append(keys, s.Directory.Recent(s.AsOf)...), s.AsOf) {
		if strings.EqualFold(j.ID, key) || strings.EqualFold(j.Name, key) {
			return j, nil
		}
	}
	return directory.MigrationJob{}, notFound("migration job", key)
}

// latest finds a job that readers see, and returns its latest version.
func (s Jobs) latest(key string) (directory.MigrationJob, *odata.Reply) {
	j, refusal := s.visible(key)
	if refusal != nil {
		return j, refusal
	}
	latest, exists := s.Directory.Jobs.Latest(directory.Fold(j.Name))
	if !exists {
		return j, notFound("migration job", key)
	}
	return latest, nil
}

// Get shows a job.
func (s Jobs) Get(key string) *odata.Reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	j, refusal := s.visible(key)
	if refusal != nil {
		return refusal
	}
	return odata.OK(s.show(j))
}

// Patch changes the time of completion, before it has come.
func (s Jobs) Patch(key string, body map[string]any) *odata.Reply {
	at, err := time.Parse(time.RFC3339, directory.Text(body["completeAfterDateTime"]))
	if err != nil || len(body) != 1 {
		return badRequest("Only completeAfterDateTime can be updated.")
	}
	return s.change(key, func(j *directory.MigrationJob) *odata.Reply {
		switch status := s.status(*j); {
		case slices.Contains(final, status), status == "cuttingOver":
			return conflict("The migration job cannot be updated. Current status is %s", status)
		case !at.After(s.Now):
			return notInFuture()
		}
		j.CompleteAfter = at.UTC()
		return nil
	}, http.StatusNoContent)
}

// change changes a job. The answer has a body only with status 200.
func (s Jobs) change(key string, to func(*directory.MigrationJob) *odata.Reply, status int) *odata.Reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	j, refusal := s.latest(key)
	if refusal != nil {
		return refusal
	}
	j.Users = slices.Clone(j.Users)
	if refusal := to(&j); refusal != nil {
		return refusal
	}
	j.Updated = s.Now.UTC().Truncate(time.Second)
	answer := s.commit(j, status)
	if answer.Fault == nil && status != http.StatusOK {
		answer.Body = nil
		if status == http.StatusAccepted {
			answer.Body = map[string]any{"status": "pendingCancel", "message": "The cancellation was accepted."}
		}
	}
	return answer
}

// Validate begins a validation of the people.
func (s Jobs) Validate(key string) *odata.Reply {
	return s.change(key, func(j *directory.MigrationJob) *odata.Reply {
		status := s.status(*j)
		expired := status == "validatePassed" && s.Now.Sub(j.Validated) > validFor
		if status != "submitted" && status != "validateFailed" && !expired {
			return conflict("Validation can't be started because the current status is %s", status)
		}
		j.Validated, j.Status = s.Now.UTC().Truncate(time.Second), ""
		for i := range j.Users {
			j.Users[i].Error = s.check(*j, j.Users[i].ID)
		}
		return nil
	}, http.StatusOK)
}

// check says why a person cannot be moved.
func (s Jobs) check(j directory.MigrationJob, id string) string {
	if _, exists := s.Directory.Users.Latest(id); !exists {
		return "The user does not exist in the target tenant."
	}
	if !movesMail(j) {
		return ""
	}
	r, exists := s.Directory.Recipients.Latest(id)
	switch {
	case !exists || r.Kind != directory.MailUser:
		return "The user is not a mail user in the target tenant."
	case r.ExchangeGUID == "" || r.ExchangeGUID == directory.ZeroGUID:
		return "The mail user has no ExchangeGuid."
	case !slices.ContainsFunc(r.EmailAddresses, func(a string) bool {
		return strings.HasSuffix(directory.Fold(a), "@"+directory.Fold(j.TargetDeliveryDomain))
	}):
		return "The mail user has no address in the target delivery domain " + j.TargetDeliveryDomain + "."
	}
	return ""
}

// Start begins to copy.
func (s Jobs) Start(key string) *odata.Reply {
	return s.change(key, func(j *directory.MigrationJob) *odata.Reply {
		switch status := s.status(*j); {
		case status == "validatePassed" && s.Now.Sub(j.Validated) > validFor:
			return conflict("Migration can't be started because the validation is older than seven days.")
		case status != "validatePassed" && status != "failed" && status != "completedWithErrors":
			return conflict("Migration can't be started because the current status is %s", status)
		}
		j.Started, j.Status = s.Now.UTC().Truncate(time.Second), ""
		for i, u := range j.Users {
			if !u.Moved {
				j.Users[i].Error, j.Users[i].Copied = s.check(*j, u.ID), false
			}
		}
		return nil
	}, http.StatusOK)
}

// Cancel cancels a job whose time has not come.
func (s Jobs) Cancel(key string) *odata.Reply {
	return s.change(key, func(j *directory.MigrationJob) *odata.Reply {
		if status := s.status(*j); status != "validateFailed" && slices.Contains(final, status) || status == "cuttingOver" {
			return conflict("Cancel is not possible. Current status is %s", status)
		}
		j.Cancelled = true
		return nil
	}, http.StatusAccepted)
}

// Delete deletes a job that has ended, at once: Graph takes up to 48 hours.
func (s Jobs) Delete(key string) *odata.Reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	j, refusal := s.latest(key)
	if refusal != nil {
		return refusal
	}
	if status := s.status(j); status == "validateFailed" || !slices.Contains(final, status) {
		return conflict("Cross Tenant Migration Job %s must be in final state (Completed, Failed, or Cancelled) before it can be deleted.", j.ID)
	}
	if err := s.Directory.Commit(s.AsOf, directory.DeleteMigrationJob(j.Name, s.Now)); err != nil {
		return odata.Error(http.StatusInternalServerError, "InternalServerError", "The service could not save the change.")
	}
	return &odata.Reply{Status: http.StatusAccepted}
}

// User shows a person of a job.
func (s Jobs) User(key, user string) *odata.Reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	j, refusal := s.visible(key)
	if refusal != nil {
		return refusal
	}
	i := find(j, user)
	if i < 0 {
		return notFound("migration task", user)
	}
	list := []map[string]any{}
	for _, service := range services(j) {
		status, text := s.serviceStatus(j, j.Users[i], service)
		shown := map[string]any{"service": service, "status": status, "message": "", "errors": []any{}}
		if text != "" {
			shown["errors"] = []any{map[string]any{"code": "MigrationError", "message": text}}
		}
		list = append(list, shown)
	}
	return odata.OK(map[string]any{"id": j.Users[i].ID, "taskType": "Users", "currentStatus": list, "lastUpdatedDateTime": j.Updated.UTC().Format(time.RFC3339)})
}

func find(j directory.MigrationJob, user string) int {
	return slices.IndexFunc(j.Users, func(u directory.MigrationJobUser) bool { return strings.EqualFold(u.ID, user) })
}

// CancelUser takes a person out of a job whose time has not come.
func (s Jobs) CancelUser(key, user string) *odata.Reply {
	return s.change(key, func(j *directory.MigrationJob) *odata.Reply {
		i := find(*j, user)
		if i < 0 {
			return notFound("migration task", user)
		}
		if status, _ := s.userStatus(*j, j.Users[i]); slices.Contains([]string{"finalizing", "completed", "failed", "cancelled"}, status) {
			return conflict("Cancel is not possible. Current status is %s", status)
		}
		j.Users[i].Cancelled, j.Users[i].Status = true, ""
		return nil
	}, http.StatusAccepted)
}
