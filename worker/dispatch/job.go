package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

var jsonNull = json.RawMessage("null")

// ReasonUnreadable is the dead-letter reason of a job too damaged to be answered.
const ReasonUnreadable = "UnreadableJob"

// ReasonTries is the dead-letter reason of a job that was begun MaxTries times and never
// answered: it may be what ends its worker. The broker gives the same reason, and the
// orchestrator treats both alike.
const ReasonTries = "MaxDeliveryCountExceeded"

// MaxTries is how often a job is begun without an answer. The broker's own count is no
// measure: it also counts deliveries that were given back before the job was begun.
const MaxTries = 10

// handle takes one delivery of a job to its answer, and returns what tells the
// broker that it is complete, dead-lettered, or given back.
func (l *Loop) handle(d *received) (tell func()) {
	m, job, log := d.message, d.job, l.logFor(d.job)
	if errors.Is(d.err, errUnanswerable) {
		log.Error("dead-lettering an invalid job", logkey.Error, d.err, logkey.MessageID, m.ID)
		return func() { l.deadLetter(m, ReasonUnreadable, d.err.Error(), log) }
	}
	if d.err == nil && d.tries() > MaxTries && l.refusal(d) == nil && !l.memory.knows(d.identity) {
		log.Error("dead-lettering a job with too many attempts", logkey.Tries, MaxTries, logkey.DeliveryCount, m.DeliveryCount)
		return func() {
			l.deadLetter(m, ReasonTries, fmt.Sprintf("The job was started %d times and no replica answered it.", MaxTries), log)
		}
	}
	ctx, observed := l.config.Observer.Received(l.work, delivery(m, job))
	log = traced(ctx, log)
	a, ok := l.answer(ctx, d, log)
	if ok && a.send {
		ok = l.results.send(l.work, envelope(ctx, a.Result, d, l.config.WorkerID), job.AcceptsGroups) == nil
	}
	if !ok {
		observed(Outcome{})
		return func() { l.abandon(d, log) }
	}
	if a.send {
		l.report(log.With(logkey.DurationMs, a.Result.DurationMs), a.Result)
	}
	if a.call != nil {
		l.memory.keep(d.identity, a.call, m.Sequence)
	}
	a.Answered = true
	observed(a.Outcome)
	return func() { l.complete(m, log) }
}

// answered is the answer to one delivery.
type answered struct {
	Outcome
	send bool  // whether the broker does not have it already
	call *call // the run that it is of; nil where nothing was run
}

// answer finds the answer to a delivery, and calls the job's function where that takes it.
// It is false when there is none, and the job has to be given back.
func (l *Loop) answer(ctx context.Context, d *received, log *slog.Logger) (a answered, ok bool) {
	if d.err != nil {
		a.Result = failure(d.job, &catalog.Failure{Type: catalog.FailureInvalidJob, Message: d.err.Error()}, 0)
		a.send = true
		return a, true
	}
	c, part := l.memory.begin(d.identity, d.message.Sequence, false)
	if part == first {
		// The controls are checked once more when a slot is free: one may have arrived
		// since the job did. So may another delivery of the job, which answers when its run
		// has ended.
		slot := l.awaitSlot(d)
		refusal := l.refusal(d)
		begins := slot && refusal == nil && l.config.Controls.Err() == nil && d.lock.holds(0)
		if begins && d.doubtful() {
			begins = l.confirmLock(d)
		}
		c, part = l.memory.begin(d.identity, d.message.Sequence, begins)
		if part == first && refusal != nil {
			a.Result = l.refusalResult(d, refusal)
			a.send = true
			return a, true
		}
		if part == first && !begins {
			return a, false
		}
	}
	d.begun = true
	if part == first {
		a.Ran = true
		l.crew.do(l.work, func() { l.run(ctx, d, c) })
	} else {
		log.Info("the job was redelivered", logkey.DeliveryCount, d.message.DeliveryCount)
	}
	ready := c.ended
	if part == joins {
		ready = c.sent
	}
	select {
	case <-ready:
	case <-l.work.Done():
		return a, false
	}
	a.Result, a.call, a.send = c.result, c, part == first || part == asks
	return a, true
}

func (l *Loop) complete(m *bus.Received, log *slog.Logger) {
	if err := l.settleInTime(func(ctx context.Context) error { return l.receiver.Complete(ctx, m) }); err != nil {
		// It comes again, is answered from memory, and the repeated result is dropped.
		log.Warn("cannot complete the job: the broker will redeliver it", logkey.Error, err)
	}
}

func (l *Loop) deadLetter(m *bus.Received, reason, description string, log *slog.Logger) {
	if err := l.settleInTime(func(ctx context.Context) error {
		return l.receiver.DeadLetter(ctx, m, reason, description)
	}); err != nil {
		log.Warn("cannot dead-letter the job: the broker will redeliver it", logkey.Error, err)
	}
}

// settleInTime settles the message of a job within SettleTimeout. A job whose
// settling does not succeed comes again and is answered from memory.
func (l *Loop) settleInTime(settle func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(l.settle, l.config.SettleTimeout)
	defer cancel()
	return settle(ctx)
}

// abandon gives a job back. The message then says how many of its deliveries, which the
// broker counts, did not begin the job.
func (l *Loop) abandon(d *received, log *slog.Logger) {
	var set map[string]any
	if !d.begun {
		set = map[string]any{message.PropertyNotBegun: int64(d.notBegun() + 1)}
	}
	if err := l.settleInTime(func(ctx context.Context) error { return l.receiver.Abandon(ctx, d.message, set) }); err != nil {
		log.Warn("cannot abandon the job: the broker will redeliver it when its lock ends", logkey.Error, err)
		return
	}
	log.Info("abandoned the job")
}

// refusal is why a job must not be begun, and nil where it may be. The orchestrator has
// given up the step of a job that expired, and paused or cancelled the batch of one that
// was revoked. It may have dispatched either anew: to begin now would be to do it twice.
func (l *Loop) refusal(d *received) *catalog.Failure {
	job, here, before := d.job, "", ""
	if d.again() { // it was perhaps begun by a worker that was killed, or that lost the lock
		here, before = " by this delivery", "; the job was redelivered, and an earlier delivery may have run it, wholly or in part"
	}
	switch {
	case l.config.Controls.Revoked(job):
		return &catalog.Failure{Type: catalog.FailureRevoked, Message: fmt.Sprintf(
			"%s was not started%s: its batch was paused or cancelled while the job waited%s", job.FunctionName, here, before)}
	case job.ExpiresAt != nil && !l.config.Now().Before(*job.ExpiresAt):
		return expired(job, here, before)
	}
	return nil
}

// Expired returns the failure of a job that expired before a worker began it.
func Expired(job message.Job) *catalog.Failure { return expired(job, "", "") }

func expired(job message.Job, here, before string) *catalog.Failure {
	return &catalog.Failure{Type: catalog.FailureExpired, Message: fmt.Sprintf(
		"%s was not started%s: the job expired at %s in the worker's queue, before the step's timeout%s",
		job.FunctionName, here, job.ExpiresAt.UTC().Format(time.RFC3339), before)}
}

// refusalResult is the answer to a job that is not begun. It says so where an earlier delivery of
// the job may have been begun, or where a later one may be because the lock of this one ends
// before each replica knows that the job must not be begun.
func (l *Loop) refusalResult(d *received, why *catalog.Failure) message.Result {
	r := failure(d.job, why, 0)
	if !d.lock.holds(message.ControlMaxAge) {
		l.confirmLock(d)
	}
	r.Error.Redelivered = d.again() || !d.lock.holds(message.ControlMaxAge)
	return r
}

// run runs the function and records the result under c, or forgets c when the
// worker stops, and ctx with it, before there is one.
func (l *Loop) run(ctx context.Context, d *received, c *call) {
	job := d.job
	limit, late := Limit(job, l.config.Now(), l.config.JobTimeout)
	if limit <= 0 { // it has expired since it was looked at
		c.end(l.refusalResult(d, Expired(job)))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	log := traced(ctx, l.logFor(job))
	ctx = catalog.WithJob(ctx, catalog.Job{
		ID: job.ID(), EffectID: cmp.Or(job.EffectID, job.ID()), BatchID: job.CorrelationData.BatchID, StepExecutionID: job.CorrelationData.StepExecutionID, Log: log,
		Secrets:     job.Secrets,
		Redelivered: d.again(), Enqueued: d.sentAt(),
	})
	start := time.Now()
	returned := make(chan outcome, 1)
	l.crew.do(l.work, func() { l.call(ctx, job, log, returned) })

	o, ok := l.awaitOutcome(ctx, returned)
	took := time.Since(start)
	switch {
	case ok && o.err == nil:
		c.end(Answer(job, o.value, nil, took))
	case l.work.Err() != nil: // stopped from outside: no verdict on the job
		l.memory.forget(d.identity)
	case ctx.Err() != nil:
		if !ok {
			log.Error("the function still runs after its context ended", logkey.After, unwind.String())
		}
		c.end(failure(job, late, took))
	default:
		c.end(failure(job, o.err, took))
	}
}

// Limit returns how long the function of a job that begins now may run, the lesser of the worker's time
// limit and the time until the job expires, and the failure of a job that takes
// longer. The clock of job expiry is read once; from then on real time counts, as
// for every context, so that a change of the clock neither ends the function nor extends
// it.
func Limit(job message.Job, now time.Time, most time.Duration) (time.Duration, *catalog.Failure) {
	if job.ExpiresAt != nil {
		if left := job.ExpiresAt.Sub(now); left < most {
			return left, &catalog.Failure{Type: catalog.FailureTimeout, Message: fmt.Sprintf(
				"%s did not finish before the step's timeout: the job expired at %s and was stopped; its changes remain",
				job.FunctionName, job.ExpiresAt.UTC().Format(time.RFC3339))}
		}
	}
	return most, &catalog.Failure{Type: catalog.FailureTimeout, Message: fmt.Sprintf("%s did not finish within %s", job.FunctionName, most)}
}

// outcome is how a function ended.
type outcome struct {
	value any
	err   error
}

// call calls the function.
func (l *Loop) call(ctx context.Context, job message.Job, log *slog.Logger, returned chan<- outcome) {
	defer func() {
		if r := recover(); r != nil {
			log.Error("the function panicked", logkey.Panic, fmt.Sprint(r), logkey.Stack, string(debug.Stack()))
			returned <- outcome{err: &catalog.Failure{
				Type: catalog.FailurePanic, Message: fmt.Sprintf("%s panicked: %v", job.FunctionName, r),
			}}
		}
	}()
	value, err := l.functions.Call(ctx, job.FunctionName, job.Parameters)
	returned <- outcome{value, err}
}

// unwind is how long a function whose context has ended may take to return. The result
// waits for it, so that it reports the function's actual outcome and no part of the job
// runs on. Killing the processes of a custom function takes longest.
const unwind = 3 * time.Second

// awaitOutcome waits until the function returns; ok is false when it does not, although
// its context has ended.
func (l *Loop) awaitOutcome(ctx context.Context, returned <-chan outcome) (o outcome, ok bool) {
	select {
	case o = <-returned:
		return o, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(unwind)
	defer timer.Stop()
	select {
	case o = <-returned:
		return o, true
	case <-timer.C:
	case <-l.work.Done():
		// Answers that came at the same moment count.
		select {
		case o = <-returned:
			return o, true
		default:
		}
	}
	return outcome{}, false
}

// errUnanswerable marks jobs that hold nothing to send an answer to.
var errUnanswerable = errors.New("the job has no JobId or no CorrelationData.StepExecutionId")

// maxMessageID is how long the id of a message may be in Service Bus
// (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas).
const maxMessageID = 128

// readJob reads a job for this worker, and its correlation as it came. With an error that is not
// errUnanswerable the job has what an answer needs.
func readJob(body []byte, workerID string) (message.Job, json.RawMessage, error) {
	var in struct {
		message.Job
		CorrelationData json.RawMessage // in the place of the job's
	}
	err := json.Unmarshal(body, &in)
	job, came := in.Job, in.CorrelationData
	if err == nil && len(came) > 0 {
		err = json.Unmarshal(came, &job.CorrelationData)
	}
	if err != nil { // what can be read, and the name of the field that cannot
		job = message.Job{}
		err = json.Unmarshal(body, &job)
	}
	err = checkJob(&job, err, workerID)
	return job, came, err
}

// checkJob checks a job that was read with err.
func checkJob(job *message.Job, err error, workerID string) error {
	// Where a field cannot be read the others may be: of one with the wrong type all
	// others, of a bad date those before it.
	_, _, mail := message.SplitNotificationJobID(job.JobID)
	if job.JobID == "" || job.CorrelationData.StepExecutionID == 0 && !mail {
		if err != nil {
			return fmt.Errorf("%w: %w", errUnanswerable, err)
		}
		return errUnanswerable
	}
	if id := result(*job, 0).ID(); len(id) > maxMessageID {
		return fmt.Errorf("%w: the JobId is too long: the message id of the result would have %d characters, more than %d", errUnanswerable, len(id), maxMessageID)
	}
	parameters := bytes.TrimSpace(job.Parameters)
	switch {
	case err != nil:
		return fmt.Errorf("invalid job: %w", err)
	case job.FunctionName == "":
		return errors.New("the job has no FunctionName")
	case job.WorkerID != "" && !strings.EqualFold(job.WorkerID, workerID):
		return fmt.Errorf("the job is for worker %q, not for %q", job.WorkerID, workerID)
	case len(parameters) > 0 && parameters[0] != '{' && !bytes.Equal(parameters, jsonNull):
		return errors.New("the job's Parameters are not a JSON object")
	}
	if bytes.Equal(parameters, jsonNull) {
		job.Parameters = nil
	}
	return nil
}
