package dispatch

import (
	"context"
	"log/slog"
	"slices"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/blank"
)

// logFor adds what a job is known by to the log, and blanks the job's secrets in it.
func (l *Loop) logFor(job message.Job) *slog.Logger {
	return slog.New(lateAttrs{blank.Logger(l.log, job.Secrets).Handler(), []slog.Attr{
		slog.Int(logkey.BatchID, job.CorrelationData.BatchID),
		slog.Int64(logkey.StepExecutionID, job.CorrelationData.StepExecutionID),
		slog.String(logkey.JobID, job.JobID), slog.String(logkey.Function, job.FunctionName),
	}})
}

// lateAttrs is a log handler that formats its attributes with each record: most jobs log none.
type lateAttrs struct {
	slog.Handler
	attrs []slog.Attr
}

func (h lateAttrs) Handle(ctx context.Context, r slog.Record) error {
	full := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	full.AddAttrs(h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		full.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, full)
}

func (h lateAttrs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lateAttrs{h.Handler, slices.Concat(h.attrs, attrs)}
}

func (h lateAttrs) WithGroup(name string) slog.Handler {
	return h.Handler.WithAttrs(h.attrs).WithGroup(name)
}
