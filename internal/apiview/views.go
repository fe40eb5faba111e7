package apiview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// Batch converts a batch.
func Batch(b model.Batch, now time.Time) api.Batch { return BatchSummary(store.SummaryOf(&b), now) }

// BatchSummary converts the summary of a batch.
func BatchSummary(b store.BatchSummary, now time.Time) api.Batch {
	outline := b.Outline()
	return api.Batch{
		ID: b.ID, Name: cmp.Or(b.Name, usualName(b)), Note: b.Note, Owner: b.Owner, RunbookName: b.RunbookName, RunbookVersion: b.RunbookVersion, Status: string(b.Status), IsManual: b.IsManual, Shadow: outline.IsShadow(),
		CreatedBy: b.CreatedBy, BatchStartTime: b.BatchStartTime, DetectedAt: b.DetectedAt, CompletedAt: b.CompletedAt,
		CurrentPhase: b.CurrentPhase, MemberCount: b.MemberCount, RemovedCount: b.RemovedCount, ActiveCount: outline.Active(), FailedCount: outline.Failed(), WaitingReason: waitingReason(engine.WaitingFor(outline, now)), Error: b.Error,
		Paused: Attribution(b.Paused), Cancelled: Attribution(b.Cancelled), Rescheduled: Attribution(b.Rescheduled), EarlierStarts: b.EarlierStarts,
		Filling: b.Filling, Held: RemovalHold(b.ID, b.Held), DiscardedRemovals: b.DiscardedRemovals, Shared: b.Shared,
	}
}

func waitingReason(w *engine.Waiting) *api.WaitingReason {
	if w == nil {
		return nil
	}
	return &api.WaitingReason{Code: string(w.Code), Phase: w.Phase, Since: w.Since, Until: w.Until, Reason: w.Reason}
}

// AddWorkerWait gives a batch that nothing else holds back the first worker that it waits for as its
// waiting reason. A worker that is not alive comes before one that is throttled or starting.
func AddWorkerWait(b *api.Batch, waits []api.WorkerWait) {
	if b.WaitingReason != nil {
		return
	}
	for _, w := range waits {
		r := &api.WaitingReason{Code: api.WaitsForThrottling, WorkerID: w.WorkerID, Until: w.ThrottledUntil}
		switch {
		case w.ThrottledUntil != nil:
		case w.State == api.WorkerScaledToZero:
			r.Code = api.WaitsForStart
		default:
			r.Code, r.Since = api.WaitsForWorker, w.Since
		}
		r.Reason = fmt.Sprintf("%s wait for worker %s: %s", humanize.Count(w.JobsQueued, "job"), w.WorkerID, w.Reason)
		if b.WaitingReason == nil || r.Code == api.WaitsForWorker && b.WaitingReason.Code != api.WaitsForWorker {
			b.WaitingReason = r
		}
	}
}

// usualName names a batch from a data source by its runbook and its start.
func usualName(b store.BatchSummary) string {
	if b.IsManual || b.BatchStartTime == nil {
		return ""
	}
	return b.RunbookName + " " + b.BatchStartTime.UTC().Format("2006-01-02 15:04Z")
}

// Attribution converts a mark; nil for none.
func Attribution(m *model.Attribution) *api.Attribution {
	if m == nil {
		return nil
	}
	return &api.Attribution{By: m.By, At: m.At, Why: m.Why}
}

// Member converts a member of a batch. It redacts the columns that secrets names.
func Member(b *model.Batch, m model.Member, secrets []string) api.Member {
	view := api.Member{
		ID: m.ID, Key: m.Key, Display: Display(b, m.Data[b.Display], secrets), Status: MemberStatus(b, &m), Data: sealing.RedactData(m.Data, secrets), WorkerData: sealing.RedactData(m.WorkerData, secrets),
		AddedAt: m.AddedAt, FailedAt: m.FailedAt, FailedIn: m.FailedIn, FailedStep: m.FailedStep, RemovedAt: m.RemovedAt, RemovedBy: m.RemovedBy, Error: m.Error, MovedTo: m.MovedTo, MovedToID: m.MovedToBatch, MovedFrom: m.MovedFrom, Carried: m.Carried,
	}
	for name, o := range m.Overrides {
		if view.Overrides == nil {
			view.Overrides = map[string]api.Override{}
		}
		source := sealing.RedactData(map[string]json.RawMessage{name: o.Source}, secrets)
		view.Overrides[name] = api.Override{Source: source[name], By: o.By, At: o.At}
	}
	if p, ok := b.Phase(m.OpenPhase); ok {
		view.Phase = p.Name
	} else if m.OpenPhase == model.CheckPhase {
		view.Phase = runbook.ChecksName
	}
	return view
}

// MemberStatus gives the status of a member for the API: an active member is done who has finished the
// last phase of the batch.
func MemberStatus(b *model.Batch, m *model.Member) string {
	if b.Done(m) {
		return api.MemberDone
	}
	return string(m.Status)
}

// StoredMemberStatuses gives the statuses in the store of members with one of the given statuses of the API.
func StoredMemberStatuses(shown []string) []model.MemberStatus {
	return stored(shown, func(status string) model.MemberStatus {
		if status == api.MemberDone {
			return model.MemberActive
		}
		return model.MemberStatus(status)
	})
}

// stored converts statuses of the API, of which several can be the same one in the store.
func stored[S comparable](shown []string, convert func(string) S) (all []S) {
	for _, status := range shown {
		if s := convert(status); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// maxDisplay is how many characters of the display column are shown.
const maxDisplay = 200

// Display gives the value of the batch's display column for people; empty where the batch has none, or
// the column is one of the secrets.
func Display(b *model.Batch, value json.RawMessage, secrets []string) string {
	if b.Display == "" || slices.Contains(secrets, b.Display) {
		return ""
	}
	return DisplayText(value)
}

// DisplayText gives a value of a display column for people.
func DisplayText(value json.RawMessage) string { return humanize.Clip(model.Text(value), maxDisplay) }

// Phase converts a phase execution, without counts of its members.
func Phase(p model.Phase) api.Phase {
	view := api.Phase{
		ID: p.ID, Name: p.Name, Kind: string(p.Kind), RunbookVersion: p.Version, Status: string(p.Status), Reason: p.Reason,
		Approval: p.Approval, SecondApprover: p.SecondApprover, Approved: Attribution(p.Approved), RequireSuccess: p.RequireSuccess, StopWhen: p.StopWhen.String(),
		OffsetMinutes: p.OffsetMinutes, DueAt: p.DueAt, DispatchedAt: p.DispatchedAt, CompletedAt: p.CompletedAt, Carried: p.Carried,
	}
	if p.Kind == model.KindRemoval && p.Open == 0 && !p.Status.Terminal() {
		// The removal phase ends with the batch. While no member is in it, it is shown as completed.
		view.Status = string(model.PhaseCompleted)
	}
	if p.OnComplete {
		view.OnComplete = "pending"
		if p.OnCompleteStatus != "" {
			view.OnComplete = string(p.OnCompleteStatus)
		}
	}
	return view
}

// Step converts a step of a run, with redacted values. rb is the run's version of the runbook;
// records are of the workers of the run's steps.
func Step(rb *runbook.Runbook, r *model.Run, index int, records map[string]workers.Record, now time.Time) (api.Step, error) {
	definition, err := r.Definition(rb, index)
	if err != nil {
		return api.Step{}, err
	}
	s, redactor := r.Steps[index], sealing.NewStepRedactor(rb, definition)
	view := api.Step{
		ID: r.StepID(index), Phase: r.PhaseName, RunbookVersion: r.Version, MemberID: r.Member, MemberKey: r.Key, Name: definition.Name, Index: index,
		IsInit: r.Kind == model.KindInit, Kind: string(r.Kind), Rollback: s.Rollback, WorkerID: definition.WorkerID, Function: cmp.Or(s.Function, definition.Function), When: definition.When.Text(), Params: redactor.Params(s.Params),
		Status: StepStatus(r, index, records, now), JobID: r.JobID(index), Result: redactor.Result(s.Result), Error: s.Error, DispatchedAt: s.DispatchedAt,
		CompletedAt: s.CompletedAt, PollCount: pollsBegun(s, now), RetryCount: s.RetryCount, RetryAfter: s.RetryAfter,
		Resolved: Attribution(s.Resolved), TimeoutSeconds: seconds(definition.Timeout), OnFailure: definition.OnFailure,
	}
	if retry := rb.EffectiveRetry(definition); retry.MaxRetries > 0 {
		view.MaxRetries, view.RetryInterval = retry.MaxRetries, seconds(retry.Interval)
	}
	if poll := definition.Poll; poll != nil {
		view.Poll = &api.StepPoll{
			IntervalSeconds: seconds(poll.Interval), TimeoutSeconds: seconds(poll.Timeout), StartedAt: s.PollStartedAt, LastPolledAt: s.PolledAt,
		}
		for _, a := range s.Answers {
			view.Poll.EarlierAnswers = append(view.Poll.EarlierAnswers, api.PollAnswer{Text: a.Text, LastAt: a.Last})
		}
	}
	if c := s.Cached; c != nil && (c.At != nil || s.Status == model.StepPending) {
		view.Cached = &api.CachedResult{BatchID: c.Batch, MemberID: c.Member, StepID: model.StepID(c.Phase, c.Member, c.Step), At: c.At}
	}
	if s.JobInFlight() {
		view.Deadline = r.DeadlineAt
	}
	for _, a := range s.History {
		view.Attempts = append(view.Attempts, api.StepAttempt{JobID: a.JobID, StartedAt: a.StartedAt, EndedAt: a.EndedAt, Outcome: string(a.Outcome), Error: a.Error})
	}
	for _, late := range s.Abandoned {
		view.Late = append(view.Late, api.AbandonedJob{
			JobID: late.JobID, AbandonedAt: late.At, At: late.Late, Succeeded: late.OK, Result: redactor.Result(late.Result), Error: late.Error,
		})
	}
	return view, nil
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// pollsBegun returns how often a step was polled by now, without a poll that was sent ahead.
func pollsBegun(s model.Step, now time.Time) int {
	if s.Status == model.StepPolling && s.PollSent && s.PollAt.After(now) {
		return s.PollCount - 1
	}
	return s.PollCount
}

// StepStatus gives the status of the run's step at index for the API: of a dispatched step it says whether a worker has
// the job, by the records of the workers.
func StepStatus(r *model.Run, index int, records map[string]workers.Record, now time.Time) string {
	s := r.Steps[index]
	switch {
	case s.Status == model.StepDispatched:
		worker := records[r.Worker]
		job := message.Job{JobID: r.JobID(index), BatchID: r.Batch}
		if worker.Runs(job.ID(), now) || s.Refused != nil {
			return api.StepAtWorker
		}
		return api.StepQueued
	case s.Status == model.StepPending && s.RetryAfter != nil && (!s.Postponed || s.Attempts > 0):
		return api.StepWaitingForRetry
	}
	return string(s.Status)
}

// StoredStepStatuses gives the statuses in the store of steps with one of the given statuses of the API.
func StoredStepStatuses(shown []string) []model.StepStatus {
	return stored(shown, func(status string) model.StepStatus {
		switch status {
		case api.StepQueued, api.StepAtWorker:
			return model.StepDispatched
		case api.StepWaitingForRetry:
			return model.StepPending
		}
		return model.StepStatus(status)
	})
}

// StoredBatchStatuses gives the statuses in the store of batches with one of the given statuses of the API.
func StoredBatchStatuses(shown []string) []model.BatchStatus {
	return stored(shown, func(status string) model.BatchStatus { return model.BatchStatus(status) })
}
