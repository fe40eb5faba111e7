package catalog

import (
	"context"
	"log/slog"
	"time"
)

// Job describes the job of a call. Functions of the catalogue do not need
// it; custom functions pass it on and log it.
type Job struct {
	// ID is unique in the whole system and the same on each delivery of the job. Each
	// retry and each poll of a step is another job.
	ID string
	// EffectID is the idempotency key: the same on each delivery, retry and poll of what
	// must be done once.
	EffectID        string
	BatchID         int
	StepExecutionID int64
	Secrets         []string     // texts among the parameters that must not be logged or reported
	Log             *slog.Logger // names the job in every line; nil means slog.Default()
	// Redelivered: another delivery of the job may have been carried out, wholly or in
	// part, and later jobs since then.
	Redelivered bool
	// Enqueued is when the job was sent first, by the broker's clock, or by the orchestrator's where the job is sent again as
	// another message; zero when not known.
	Enqueued time.Time
}

// SentBefore tells whether the job was redelivered and an object was made after it was sent. The object has then only
// the name of the one that the job meant, which an earlier delivery may have removed.
func (j Job) SentBefore(made time.Time) bool {
	return j.Redelivered && !j.Enqueued.IsZero() && made.After(j.Enqueued)
}

type jobKey struct{}

// WithJob gives a call's context the job that the call is for.
func WithJob(ctx context.Context, job Job) context.Context {
	return context.WithValue(ctx, jobKey{}, job)
}

// JobOf is the job of a call's context: an empty one, with a log, when it has none.
func JobOf(ctx context.Context) Job {
	job, _ := ctx.Value(jobKey{}).(Job)
	if job.Log == nil {
		job.Log = slog.Default()
	}
	return job
}
