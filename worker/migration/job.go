package migration

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// wanted is the job that a step creates.
type wanted struct {
	name, source     string
	users, workloads []string // no workloads: all
	completeAfter    time.Time
	exchange         *exchangeSettings
}

func readWanted(p catalog.Params) (w wanted, err error) {
	w = wanted{source: p.String("SourceTenantId"), users: p.List("UserIds")}
	if w.name, err = jobName(p); err != nil {
		return w, err
	}
	if w.workloads, err = readWorkloads(p); err != nil {
		return w, err
	}
	if w.completeAfter, err = readTime(p, "CompleteAfter"); err != nil {
		return w, err
	}
	if len(w.users) > maxUsers {
		return w, wrong(fmt.Sprintf("UserIds has %d users: a job takes at most %d", len(w.users), maxUsers))
	}
	for i, user := range w.users {
		if _, err := catalog.GUID.Read(user); err != nil {
			return w, wrong(fmt.Sprintf("UserIds: item %d %s", i+1, err))
		}
	}
	settings := exchangeSettings{p.String("SourceEndpoint"), p.String("TargetDeliveryDomain")}
	mail := len(w.workloads) == 0 || slices.Contains(w.workloads, "Exchange")
	switch {
	case mail && (settings.SourceEndpoint == "" || settings.TargetDeliveryDomain == ""):
		return w, wrong("SourceEndpoint and TargetDeliveryDomain are required, since mailboxes move")
	case !mail && settings != (exchangeSettings{}):
		return w, wrong("SourceEndpoint and TargetDeliveryDomain are given, but Workloads leaves Exchange out")
	case mail:
		w.exchange = &settings
	}
	return w, nil
}

func (w wanted) body() map[string]any {
	body := map[string]any{
		"displayName": w.name, "sourceTenantId": w.source, "resourceType": "Users", "resources": w.users,
		"completeAfterDateTime": w.completeAfter.Format(time.RFC3339),
	}
	if len(w.workloads) > 0 {
		body["workloads"] = w.workloads
	}
	if w.exchange != nil {
		body["exchangeSettings"] = w.exchange
	}
	return body
}

// differs lists what a job has otherwise than wanted. It does not compare the time, which Set-CrossTenantMigrationJob
// changes, nor what Graph does not return.
func (w wanted) differs(have job) (parts []string) {
	if have.SourceTenantID != "" && !strings.EqualFold(have.SourceTenantID, w.source) {
		parts = append(parts, "SourceTenantId")
	}
	if have.Resources != nil && !sameSet(have.Resources, w.users) {
		parts = append(parts, "UserIds")
	}
	all := func(list []string) []string {
		if len(list) == 0 {
			return allWorkloads
		}
		return list
	}
	if have.Workloads != nil && !sameSet(all(have.Workloads), all(w.workloads)) {
		parts = append(parts, "Workloads")
	}
	if w.exchange != nil && have.ExchangeSettings != nil {
		if have.ExchangeSettings.SourceEndpoint != "" && !strings.EqualFold(have.ExchangeSettings.SourceEndpoint, w.exchange.SourceEndpoint) {
			parts = append(parts, "SourceEndpoint")
		}
		if have.ExchangeSettings.TargetDeliveryDomain != "" && !strings.EqualFold(have.ExchangeSettings.TargetDeliveryDomain, w.exchange.TargetDeliveryDomain) {
			parts = append(parts, "TargetDeliveryDomain")
		}
	}
	return parts
}

func sameSet(a, b []string) bool {
	fold := func(list []string) []string {
		set := map[string]bool{}
		for _, item := range list {
			set[strings.ToLower(item)] = true
		}
		out := make([]string, 0, len(set))
		for item := range set {
			out = append(out, item)
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(fold(a), fold(b))
}

// NewJobResult is the result of New-CrossTenantMigrationJob.
type NewJobResult struct {
	JobID string `json:"JobId"`
}

func (s service) newJob(ctx context.Context, p catalog.Params) (any, error) {
	w, err := readWanted(p)
	if err != nil {
		return nil, err
	}
	look := lookFor(w.name, true, func(have *job) (catalog.Shown, bool, error) {
		switch {
		case have == nil:
			return catalog.Shown{Reason: "there is no job " + w.name}, false, nil
		case have.is("deleted"):
			return catalog.Shown{Reason: "the last job " + w.name + " is deleted"}, false, nil
		case have.is(withdrawn...):
			return catalog.Shown{}, false, conflict(fmt.Sprintf("a job %s exists and is %s: remove it with Remove-CrossTenantMigrationJob and wait until it is deleted, or give another JobName", w.name, have.describe()))
		}
		if parts := w.differs(*have); len(parts) > 0 {
			return catalog.Shown{}, false, conflict(fmt.Sprintf("a job %s exists and differs in: %s", w.name, strings.Join(parts, ", ")))
		}
		return catalog.Shown{Answer: NewJobResult{have.ID}, Met: true}, false, nil
	})
	answer, err := s.unless(ctx, look, func() (bool, error) {
		return s.graph.Write(ctx, http.MethodPost, jobsPath, w.body())
	}, "the job was created, but Graph does not show it")
	return answer, explain(err)
}

// explain says what to do about a refusal that the page on errors of orchestrated migrations lists.
func explain(err error) error {
	switch {
	case says(err, "duplicateDisplayNameJob", "displayName already exists"): // and no read shows the job
		return conflict(fmt.Sprintf("the name is that of a job that Graph does not show, such as one that was deleted: give another JobName (%s)", err))
	case tooLate(err):
		return wrong(fmt.Sprintf("CompleteAfter has passed: give a time in the future (%s)", err))
	}
	return err
}

// lookFor is a read of the job of a name; shows gets nil for none, if it may be missing.
func lookFor(name string, mayBeMissing bool, shows func(*job) (catalog.Shown, bool, error)) graph.Look {
	return graph.Look{Path: jobPath(name), MayBeMissing: mayBeMissing, Shows: func(object map[string]any) (catalog.Shown, bool, error) {
		if object == nil {
			return shows(nil)
		}
		j, err := readJob(object)
		if err != nil {
			return catalog.Shown{}, false, err
		}
		return shows(&j)
	}}
}

func (s service) unless(ctx context.Context, look graph.Look, write func() (bool, error), unseen string) (any, error) {
	return catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return s.graph.Look(ctx, look, wait) }, write, unseen)
}

// change is a write that takes a job to another status, unless the job has it.
type change struct {
	action, unseen string
	// shows judges a status. changed: the job was changed by this write, or by another delivery of the step's job.
	shows func(have job, changed bool) (met bool, err error)
}

// changeJob makes a change. A job that was changed and is where it was has failed at once; its time of change tells.
func (s service) changeJob(ctx context.Context, p catalog.Params, c change) (any, error) {
	name, err := jobName(p)
	if err != nil {
		return nil, err
	}
	step, written, before := catalog.JobOf(ctx), false, ""
	look := lookFor(name, false, func(have *job) (catalog.Shown, bool, error) {
		changed := step.Redelivered && have.updatedSince(step.Enqueued)
		if written {
			changed = changed || have.LastUpdatedDateTime != before
		} else {
			before = have.LastUpdatedDateTime
		}
		met, err := c.shows(*have, changed)
		return catalog.Shown{Answer: true, Met: met, Reason: fmt.Sprintf("the job %s is %s", name, have.describe())}, false, err
	})
	return s.unless(ctx, look, func() (bool, error) {
		written = true
		return s.graph.Write(ctx, http.MethodPost, jobPath(name)+"/"+c.action, nil)
	}, c.unseen)
}

func (s service) validateJob(ctx context.Context, p catalog.Params) (any, error) {
	enqueued := catalog.JobOf(ctx).Enqueued
	return s.changeJob(ctx, p, change{"validate", "the validation was requested, but Graph does not show it", func(have job, changed bool) (bool, error) {
		switch {
		case have.is("submitted"):
			return false, nil
		case have.is("validateFailed"):
			return changed, nil
		case have.is("validatePassed"):
			return changed || enqueued.IsZero() || have.updatedSince(enqueued.Add(-validFor)), nil
		case have.is(validating...), have.is(running...), have.is(restarted...), have.is("completed"):
			return true, nil
		}
		return false, conflict(fmt.Sprintf("the job %s is %s, expected that it can be validated", have.DisplayName, have.describe()))
	}})
}

func (s service) startJob(ctx context.Context, p catalog.Params) (any, error) {
	answer, err := s.changeJob(ctx, p, change{"migrate", "the job was started, but Graph does not show it", func(have job, changed bool) (bool, error) {
		switch {
		case have.is("validatePassed"):
			return false, nil
		case have.is(restarted...):
			return changed, nil
		case have.is(running...), have.is("completed"):
			return true, nil
		}
		return false, conflict(fmt.Sprintf("the job %s is %s, expected validatePassed: validate it with Confirm-CrossTenantMigrationJob, and wait with Test-CrossTenantMigrationJob", have.DisplayName, have.describe()))
	}})
	if refused(err) && expired(err.Error()) {
		err = conflict(fmt.Sprintf("the validation has expired; if Confirm-CrossTenantMigrationJob does not renew it, stop the job, remove it with Remove-CrossTenantMigrationJob, and create it again: %s", err))
	}
	return answer, err
}

// expired tells whether a refusal is for the age of a validation. No page has the text.
func expired(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "validation") && (strings.Contains(text, "expired") || strings.Contains(text, "days"))
}

// JobResult is the result of Test-CrossTenantMigrationJob.
type JobResult struct {
	Complete bool    `json:"complete"`
	Reason   string  `json:"reason,omitempty"` // why it is not complete
	Data     JobData `json:"data"`
}

// JobData tells of one job.
type JobData struct {
	JobName        string
	JobID          string `json:"JobId"`
	ExpectedStatus string
	Status         string
}

func (s service) readJob(ctx context.Context, name string) (job, error) {
	object, err := s.graph.Read(ctx, jobPath(name))
	if err != nil {
		return job{}, err
	}
	return readJob(object)
}

func (s service) testJob(ctx context.Context, p catalog.Params) (any, error) {
	name, err := jobName(p)
	if err != nil {
		return nil, err
	}
	have, err := s.readJob(ctx, name)
	if err != nil {
		return nil, err
	}
	data := JobData{name, have.ID, cmp.Or(p.String("ExpectedStatus"), "completed"), have.Status}
	reason := fmt.Sprintf("the job %s is %s, expected %s", name, have.describe(), data.ExpectedStatus)
	validated := have.is("validatePassed", "completedWithErrors") || have.is(running...)
	switch {
	case have.is("completed"), validated && data.ExpectedStatus == "validatePassed":
		return JobResult{Complete: true, Data: data}, nil
	case have.is("validateFailed"), have.is(restarted...), have.is(withdrawn...):
		return nil, failed(reason)
	}
	return JobResult{Reason: reason, Data: data}, nil
}

// setTries are how often the time is written when no answer tells that it was.
const setTries = 3

// setJob writes without reading first: what a read shows may be older than another step's change. A redelivered job reads
// first, since another step may have set a later time after an earlier delivery.
func (s service) setJob(ctx context.Context, p catalog.Params) (any, error) {
	name, err := jobName(p)
	if err != nil {
		return nil, err
	}
	at, err := readTime(p, "CompleteAfter")
	if err != nil {
		return nil, err
	}
	var have job
	look := lookFor(name, false, func(seen *job) (catalog.Shown, bool, error) {
		have = *seen
		set, err := time.Parse(time.RFC3339, have.CompleteAfterDateTime)
		return catalog.Shown{Answer: true, Met: err == nil && set.Equal(at), Reason: "CompleteAfter is " + cmp.Or(have.CompleteAfterDateTime, "not set")}, false, nil
	})
	if step := catalog.JobOf(ctx); step.Redelivered {
		shown, err := s.graph.Look(ctx, look, catalog.Waiting{Result: true})
		switch {
		case err != nil || shown.Met:
			return shown.Answer, err
		case have.updatedSince(step.Enqueued):
			return nil, conflict(fmt.Sprintf("the job %s was changed since the step was sent, and %s, expected %s: retry the step if that is still wanted", name, shown.Reason, at.Format(time.RFC3339)))
		}
	}
	for range setTries {
		var uncertain bool
		uncertain, err = s.graph.Write(ctx, http.MethodPatch, jobPath(name), map[string]any{"completeAfterDateTime": at.Format(time.RFC3339)})
		if !uncertain {
			break
		}
	}
	if err != nil {
		return nil, explain(err)
	}
	shown, err := s.graph.Look(ctx, look, catalog.Waiting{Result: true})
	if err == nil && !shown.Met {
		err = conflict("the time was written, but Graph does not show it: " + shown.Reason + ", expected " + at.Format(time.RFC3339))
	}
	return shown.Answer, err
}

func (s service) stopJob(ctx context.Context, p catalog.Params) (any, error) {
	name, err := jobName(p)
	if err != nil {
		return nil, err
	}
	restarts := false
	look := lookFor(name, true, func(have *job) (catalog.Shown, bool, error) {
		restarts = have != nil && have.is("failed")
		switch {
		case have == nil:
			return catalog.Shown{Answer: true, Met: true}, true, nil
		case catalog.JobOf(ctx).SentBefore(have.CreatedDateTime):
			return catalog.Shown{Answer: true, Met: true}, false, nil
		case have.is("completed", "completedWithErrors"):
			return catalog.Shown{}, false, conflict(fmt.Sprintf("the job %s is %s: data is in the target, and cancelling does not bring it back", name, have.Status))
		}
		return catalog.Shown{Answer: true, Met: have.is(withdrawn...), Reason: fmt.Sprintf("the job %s is %s", name, have.describe())}, false, nil
	})
	answer, err := s.unless(ctx, look, func() (bool, error) {
		return s.graph.Write(ctx, http.MethodPost, jobPath(name)+"/cancel", nil)
	}, "the job was cancelled, but Graph does not show it")
	if restarts && refused(err) {
		err = conflict(fmt.Sprintf("the job %s is failed, and would move people if the job is started again: remove it with Remove-CrossTenantMigrationJob (%s)", name, err))
	}
	return answer, err
}

func (s service) removeJob(ctx context.Context, p catalog.Params) (any, error) {
	name, err := jobName(p)
	if err != nil {
		return nil, err
	}
	look := lookFor(name, true, func(have *job) (catalog.Shown, bool, error) {
		switch {
		case have == nil:
			return catalog.Shown{Answer: true, Met: true}, true, nil
		case catalog.JobOf(ctx).SentBefore(have.CreatedDateTime):
			return catalog.Shown{Answer: true, Met: true}, false, nil
		}
		return catalog.Shown{Answer: true, Met: have.is("pendingDelete", "deleted"), Reason: fmt.Sprintf("the job %s is %s", name, have.describe())}, false, nil
	})
	answer, err := s.unless(ctx, look, func() (bool, error) {
		return s.graph.Write(ctx, http.MethodDelete, jobPath(name), nil)
	}, "the job was deleted, but Graph still shows it")
	if refused(err) {
		err = conflict(fmt.Sprintf("Graph deletes a job that is completed, failed or cancelled: cancel it with Stop-CrossTenantMigrationJob, or wait until it has ended (%s)", err))
	}
	return answer, err
}

// tooLate reports whether Graph refuses a time because it has passed.
func tooLate(err error) bool {
	return err != nil && says(err, "minThresholdFailed", "must be greater than the current time")
}
