package deadletter

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

func TestFateOfADeadLetter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	past, future := now.Add(-time.Second), now.Add(time.Second)
	result := deadLetterCase{topic: message.TopicWorkerResults, kind: message.TypeWorkerResult, reason: bus.ReasonDeliveries, whole: true}
	job := deadLetterCase{topic: message.TopicWorkerJobs, reason: bus.ReasonDeliveries, whole: true, job: jobCase{waits: true, expiresAt: &future}}
	with := func(c deadLetterCase, change func(*deadLetterCase)) deadLetterCase { change(&c); return c }
	for name, tc := range map[string]struct {
		of   deadLetterCase
		want fate
	}{
		"a result without a handler":     {result, fateReturn},
		"a result that outlived its TTL": {with(result, func(c *deadLetterCase) { c.reason = bus.ReasonExpired }), fateReturn},
		"an event":                       {with(result, func(c *deadLetterCase) { c.topic, c.kind = message.TopicOrchestratorEvents, message.TypePhaseDue }), fateReturn},
		"returned four times":            {with(result, func(c *deadLetterCase) { c.returns = 4 }), fateReturn},
		"returned five times":            {with(result, func(c *deadLetterCase) { c.returns = 5 }), fateHold},
		"dead-lettered by a receiver":    {with(result, func(c *deadLetterCase) { c.reason = "by hand" }), fateHold},
		"without a reason":               {with(result, func(c *deadLetterCase) { c.reason = "" }), fateHold},
		"too large":                      {with(result, func(c *deadLetterCase) { c.whole = false }), fateHold},
		"a heartbeat":                    {with(result, func(c *deadLetterCase) { c.kind = message.TypeWorkerHeartbeat }), fateForget},
		"a job that its step waits for":  {job, fateReturn},
		"a job that never expires":       {with(job, func(c *deadLetterCase) { c.job.expiresAt = nil }), fateReturn},
		"a job that has expired":         {with(job, func(c *deadLetterCase) { c.job.expiresAt = &past }), fateDrop},
		"a job that expires now":         {with(job, func(c *deadLetterCase) { c.job.expiresAt = &now }), fateDrop},
		"a job that nobody waits for":    {with(job, func(c *deadLetterCase) { c.job.waits = false }), fateDrop},
		"a job that killed workers":      {with(job, func(c *deadLetterCase) { c.returns = 5 }), fateHold},
		"a job that cannot be read":      {with(job, func(c *deadLetterCase) { c.job = jobCase{unreadable: "no JSON"} }), fateHold},
		"a job that a worker refused":    {with(job, func(c *deadLetterCase) { c.reason = "UnreadableJob" }), fateHold},
	} {
		if got, why := tc.of.decide(now); got != tc.want || why == "" {
			t.Errorf("%s: %d, %q; want %d", name, got, why, tc.want)
		}
	}
}
