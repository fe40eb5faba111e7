package workers

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/store"
)

func TestStateOfAWorker(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	at := func(d time.Duration) *time.Time { t := ago(d); return &t }
	const minute, startup = time.Minute, 10 * time.Minute
	running := func(seen time.Duration) store.ReplicaRecord { return store.ReplicaRecord{ID: "r", SeenAt: ago(seen)} }
	stopped := func(seen time.Duration) store.ReplicaRecord {
		return store.ReplicaRecord{ID: "s", SeenAt: ago(seen), Stopped: true}
	}
	with := func(p store.ReplicaRecord, change func(*store.ReplicaRecord)) store.ReplicaRecord {
		change(&p)
		return p
	}
	job := func(seen, since time.Duration) store.ReplicaRecord {
		return with(running(seen), func(p *store.ReplicaRecord) {
			p.InFlight, p.Jobs = 1, []store.JobRecord{{ID: "job", Since: ago(since)}}
		})
	}
	throttled := func(p store.ReplicaRecord) store.ReplicaRecord {
		return with(p, func(p *store.ReplicaRecord) { p.ThrottledUntil = at(-3 * minute) })
	}
	taken := func(through, seen time.Duration) Record {
		return Record{ID: "w", Replicas: []store.ReplicaRecord{running(0)}, Taken: []store.TakenRecord{{Through: ago(through), SeenAt: ago(seen)}}}
	}
	replicas := func(all ...store.ReplicaRecord) Record { return Record{ID: "w", Replicas: all} }
	answered := func(d, sent time.Duration) Record {
		return Record{ID: "w", AnsweredAt: ago(d), SentAt: ago(sent)}
	}

	for name, tt := range map[string]struct {
		worker Record
		sent   time.Duration   // before now: the only job that waits
		state  api.WorkerState // with that job, and without it
		idle   api.WorkerState
		cause  string // empty: the job's deadline is put off
	}{
		"never seen, may be starting":              {Record{}, 9 * minute, api.WorkerScaledToZero, api.WorkerScaledToZero, ""},
		"never seen, did not start":                {Record{}, 10 * minute, api.WorkerGone, api.WorkerScaledToZero, "worker w was never seen"},
		"replica reports and has work":             {replicas(running(minute)), time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"replica last reported two minutes ago":    {replicas(running(2 * minute)), 3 * minute, api.WorkerGone, api.WorkerScaledToZero, "worker w was last seen at 2026-03-01T11:58:00Z"},
		"killed just before the dispatch":          {replicas(running(4 * minute)), 3 * minute, api.WorkerGone, api.WorkerScaledToZero, "worker w was last seen at 2026-03-01T11:56:00Z"},
		"away at the dispatch, may be starting":    {replicas(running(30 * minute)), 3 * minute, api.WorkerScaledToZero, api.WorkerScaledToZero, ""},
		"away at the dispatch, did not start":      {replicas(running(30 * minute)), 11 * minute, api.WorkerGone, api.WorkerScaledToZero, "worker w was last seen at 2026-03-01T11:30:00Z"},
		"goodbye before the dispatch":              {replicas(stopped(4 * minute)), 3 * minute, api.WorkerScaledToZero, api.WorkerScaledToZero, ""},
		"goodbye while the job waits":              {replicas(stopped(5 * minute)), time.Hour, api.WorkerScaledToZero, api.WorkerScaledToZero, ""},
		"goodbye, and none started":                {replicas(stopped(10 * minute)), time.Hour, api.WorkerGone, api.WorkerScaledToZero, "worker w was last seen at 2026-03-01T11:50:00Z"},
		"goodbye of one of two":                    {replicas(running(minute), stopped(0)), time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"goodbye after the other was killed":       {replicas(running(9*minute), stopped(5*minute)), time.Hour, api.WorkerScaledToZero, api.WorkerScaledToZero, ""},
		"killed after the other's goodbye":         {replicas(stopped(9*minute), running(5*minute)), time.Hour, api.WorkerGone, api.WorkerScaledToZero, "worker w was last seen at 2026-03-01T11:55:00Z"},
		"throttled":                                {replicas(throttled(running(0))), time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"throttled, and it took later jobs":        {Record{Replicas: []store.ReplicaRecord{throttled(running(0))}, Taken: taken(30*minute, 20*minute).Taken}, time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"throttled when it was killed":             {replicas(throttled(running(5 * minute))), time.Hour, api.WorkerGone, api.WorkerScaledToZero, "worker w was last seen at 2026-03-01T11:55:00Z"},
		"took jobs of the same moment":             {taken(time.Hour, 50*minute), time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"took later jobs":                          {taken(30*minute, 2*minute), time.Hour, api.WorkerAlive, api.WorkerAlive, "worker w took jobs that were sent later"},
		"took later jobs a minute ago":             {taken(30*minute, minute), time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"took jobs that were sent a minute later":  {taken(59*minute, 50*minute), time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"answered a later job a moment ago":        {Record{Replicas: []store.ReplicaRecord{running(0)}, Taken: taken(30*minute, minute).Taken, AnsweredAt: now, SentAt: ago(30 * minute)}, time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"runs the job":                             {replicas(job(0, 40*minute)), time.Hour, api.WorkerAlive, api.WorkerAlive, "the job started at 2026-03-01T11:20:00Z and did not end within its timeout"},
		"runs the job and is throttled":            {replicas(throttled(job(0, 40*minute))), time.Hour, api.WorkerAlive, api.WorkerAlive, "worker w is throttled until 2026-03-01T12:03:00Z"},
		"killed with the job":                      {replicas(job(9*minute, 40*minute)), time.Hour, api.WorkerGone, api.WorkerScaledToZero, "the job started at 2026-03-01T11:20:00Z; worker w was last seen at 2026-03-01T11:51:00Z"},
		"killed with the job, and another took up": {replicas(job(9*minute, 40*minute), running(0)), time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"nothing to do for a minute":               {replicas(with(running(0), func(p *store.ReplicaRecord) { p.IdleSince = at(minute) })), time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"nothing to do since the dispatch":         {replicas(with(running(0), func(p *store.ReplicaRecord) { p.IdleSince = at(time.Hour) })), minute, api.WorkerAlive, api.WorkerAlive, ""},
		"nothing to do for two minutes":            {replicas(with(running(0), func(p *store.ReplicaRecord) { p.IdleSince = at(2 * minute) })), time.Hour, api.WorkerAlive, api.WorkerAlive, "worker w has been idle since 2026-03-01T11:58:00Z and did not receive the job"},
		"one of two has nothing to do":             {replicas(running(0), with(running(0), func(p *store.ReplicaRecord) { p.IdleSince = at(9 * minute) })), time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"sends no heartbeats, answers":             {answered(minute, time.Hour), time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"sends no heartbeats, answers later jobs":  {answered(minute, 30*minute), time.Hour, api.WorkerAlive, api.WorkerAlive, "worker w took jobs that were sent later"},
		"sends no heartbeats, stopped answering":   {answered(2*minute, time.Hour), time.Hour, api.WorkerSilent, api.WorkerScaledToZero, "worker w was last seen at 2026-03-01T11:58:00Z"},
		"sends no heartbeats, may be starting":     {answered(time.Hour, time.Hour), 3 * minute, api.WorkerScaledToZero, api.WorkerScaledToZero, ""},
		"sends no heartbeats, did not start":       {answered(time.Hour, time.Hour), 20 * minute, api.WorkerGone, api.WorkerScaledToZero, "worker w was last seen at 2026-03-01T11:00:00Z"},
		"sends no heartbeats any more, answers":    {Record{Replicas: []store.ReplicaRecord{stopped(30 * minute)}, AnsweredAt: ago(minute), SentAt: ago(time.Hour)}, time.Hour, api.WorkerAlive, api.WorkerAlive, ""},
		"its last answer comes after its goodbye":  {Record{Replicas: []store.ReplicaRecord{stopped(minute)}, AnsweredAt: ago(0), SentAt: ago(time.Hour)}, time.Hour, api.WorkerScaledToZero, api.WorkerScaledToZero, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := ago(tt.sent)
			if got := tt.worker.state(sent, now, startup); got != tt.state {
				t.Errorf("with a job the worker is %s, want %s", got, tt.state)
			}
			if got := tt.worker.state(time.Time{}, now, startup); got != tt.idle {
				t.Errorf("without a job the worker is %s, want %s", got, tt.idle)
			}
			look := tt.worker.outlook("w", dispatchedJob{id: "job", sent: sent}, now, startup)
			if look.Waits != (tt.cause == "") || !strings.Contains(look.Cause, tt.cause) {
				t.Errorf("outlook %+v, want %q", look, tt.cause)
			}
			if look.Waits && tt.state == api.WorkerGone {
				t.Error("a job waits for a worker that is gone")
			}
		})
	}
}

func TestTakenJobsAreKnownForSilenceAndNoLonger(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := Record{ID: "w"}
	for i := range 200 { // twenty replicas, for five minutes
		now := start.Add(time.Duration(i) * 1500 * time.Millisecond)
		r.addTaken(now.Add(-time.Second), now)
	}
	if n := len(r.Taken); n > 6 {
		t.Errorf("%d times are kept", n)
	}
	now := start.Add(5 * time.Minute)
	r.Replicas = []store.ReplicaRecord{{ID: "r", SeenAt: now}}
	for sent, want := range map[time.Duration]bool{0: true, 30 * time.Second: true, 70 * time.Second: false, 4 * time.Minute: false} {
		if got := r.tookLater(start.Add(sent), now); got != want {
			t.Errorf("job sent after %s: %v", sent, got)
		}
	}
}
