package rehearse

import (
	"cmp"
	"container/heap"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// jobTimeout is the default of a worker for one run of a function.
const jobTimeout = 10 * time.Minute

// performer is the workers of a rehearsal. It carries a job out as soon as a worker has room for it, and then counts how
// long its calls take beside those of other jobs.
type performer struct {
	assumed Assumptions
	ends    map[string]*end // by name
	// assigned are the tenants of workers by worker id, in lower case.
	assigned map[string]*end
	// untouched are functions that are not carried out, with why.
	untouched map[string]string
	agenda    agenda
	results   []message.Result
	// skipped are calls that were not carried out, by function.
	skipped map[string]int
	errors  map[string]string // types of the errors of failed jobs, by job id
}

// job is a job at its worker.
type job struct {
	message.Job
	end     *end
	started time.Time
	limit   time.Time // when the worker stops it
	late    *catalog.Failure
	parts   []part
	result  message.Result
}

// Take gives a job to its worker.
func (p *performer) Take(now time.Time, j message.Job) bool {
	e := p.assigned[strings.ToLower(j.WorkerID)]
	if e == nil {
		return false
	}
	if _, left := p.untouched[strings.ToLower(j.FunctionName)]; left {
		p.skipped[j.FunctionName]++
		return false
	}
	taken := &job{Job: j, end: e}
	p.agenda.plan(now.Add(seconds(p.assumed.DispatchSeconds)), func(now time.Time) error {
		e.queue = append(e.queue, taken)
		return p.fill(e, now)
	})
	return true
}

// Next is when the next call ends, or the next job begins.
func (p *performer) Next() (time.Time, bool) {
	if len(p.agenda.events) == 0 {
		return time.Time{}, false
	}
	return p.agenda.events[0].at, true
}

// Advance has everything happen that is planned until a time.
func (p *performer) Advance(ctx context.Context, now time.Time) ([]message.Result, error) {
	for len(p.agenda.events) > 0 && !p.agenda.events[0].at.After(now) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := heap.Pop(&p.agenda).(event)
		if err := e.do(e.at); err != nil {
			return nil, err
		}
	}
	results := p.results
	p.results = nil
	return results, nil
}

// fill begins the jobs that a worker has room for.
func (p *performer) fill(e *end, now time.Time) error {
	for len(e.queue) > 0 && e.running < p.assumed.Parallelism {
		next := e.queue[0]
		e.queue = e.queue[1:]
		e.running++
		p.begin(next, now)
		if err := p.step(next, now); err != nil {
			return err
		}
	}
	return nil
}

// begin carries a job out, and takes down what it does. The tenant changes at once; the time comes afterwards.
func (p *performer) begin(j *job, now time.Time) {
	limit, late := dispatch.Limit(j.Job, now, jobTimeout)
	j.started, j.limit, j.late = now, now.Add(limit), late
	if limit <= 0 {
		j.result = dispatch.Answer(j.Job, nil, dispatch.Expired(j.Job), 0)
		return
	}
	ctx := catalog.WithJob(context.Background(), catalog.Job{
		ID: j.ID(), EffectID: cmp.Or(j.EffectID, j.ID()), BatchID: j.CorrelationData.BatchID, StepExecutionID: j.CorrelationData.StepExecutionID,
		Log: slog.New(slog.DiscardHandler), Secrets: j.Secrets, Enqueued: now,
	})
	value, err := j.end.carryOut(ctx, j, now)
	j.result = dispatch.Answer(j.Job, value, err, 0)
}

// step goes on with a job: with its next part, or its end.
func (p *performer) step(j *job, now time.Time) error {
	if len(j.parts) > 0 && now.Before(j.limit) {
		next, b := j.parts[0], j.end.budget
		j.parts = j.parts[1:]
		switch next.kind {
		case wait:
			p.later(j, now.Add(next.wait))
		case command:
			if b.commands >= max(p.assumed.Commands, 1) {
				b.waiting = append(b.waiting, j)
				return nil
			}
			p.command(j, now)
		default:
			p.later(j, b.reserve(next.kind, now))
		}
		return nil
	}
	if len(j.parts) > 0 { // its time is up
		j.result = dispatch.Answer(j.Job, nil, j.late, 0)
	}
	return p.finish(j, now)
}

// command runs a command of Exchange Online. The next that waits follows.
func (p *performer) command(j *job, now time.Time) {
	b := j.end.budget
	b.commands++
	p.agenda.plan(b.reserve(command, now), func(now time.Time) error {
		b.commands--
		if len(b.waiting) > 0 {
			next := b.waiting[0]
			b.waiting = b.waiting[1:]
			p.command(next, now)
		}
		return p.step(j, now)
	})
}

func (p *performer) later(j *job, at time.Time) {
	if at.After(j.limit) {
		at = j.limit
		j.parts = append(j.parts, part{kind: wait}) // it has not ended by then
	}
	p.agenda.plan(at, func(now time.Time) error { return p.step(j, now) })
}

// finish answers a job, and begins those for which there is room now.
func (p *performer) finish(j *job, now time.Time) error {
	j.result.Timestamp, j.result.DurationMs = now, now.Sub(j.started).Milliseconds()
	p.results = append(p.results, j.result)
	if j.result.Error != nil {
		p.errors[j.JobID] = j.result.Error.Type
	}
	j.end.running--
	return p.fill(j.end, now)
}
