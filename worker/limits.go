package main

import (
	"time"

	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Environment variables of what the worker asks of its tenant at most, and of how it repeats calls.
const (
	envWrites      = "GRAPH_WRITE_LIMIT"      // writes that the tenant allows the app registration in 150 seconds. Default: 3000
	envInvitations = "GRAPH_INVITATION_LIMIT" // invitations that the tenant allows the app registration in 5 seconds. Default: 150
	envCommands    = "EXCHANGE_COMMAND_LIMIT" // commands that Exchange Online runs for the app registration at the same time. Default: 3
	envShare       = "TENANT_SHARE_PERCENT"   // share of these limits that this process may use

	envThrottleRetries  = "THROTTLE_RETRIES"         // how often a throttled call is repeated; then the job fails, and the step's retry continues
	envTransientRetries = "TRANSIENT_RETRIES"        // how often a call is repeated that got no answer, or a server error
	envGraphBackoff     = "GRAPH_BACKOFF_SECONDS"    // delay before the first repetition where Graph gives no Retry-After; each delay is twice the previous one. Default: 2
	envExchangeBackoff  = "EXCHANGE_BACKOFF_SECONDS" // delay before the first repetition where Exchange Online gives no Retry-After; each delay is longer by as much. Default: 3
	envMaxBackoff       = "MAX_BACKOFF_SECONDS"      // longest of these delays. Default: 120
)

// limits are this process's part of what the tenant allows the application, and the policy for calls that it refuses.
type limits struct {
	Writes, Invitations throttle.Rate
	Commands            int // of Exchange Online at once

	Retries, TransientRetries     int
	GraphBackoff, ExchangeBackoff time.Duration
	MaxBackoff                    time.Duration
}

// limits reads the part: all, unless other processes sign in as the same
// application to the same tenant.
func (r reader) limits() limits {
	standard := throttle.Default()
	writes, invitations := graph.PublishedWrites, graph.PublishedInvitations
	writes.Calls = r.Number(envWrites, writes.Calls, 1, 1_000_000)
	invitations.Calls = r.Number(envInvitations, invitations.Calls, 1, 100_000)
	percent := r.Number(envShare, 100, 1, 100)
	l := limits{
		Writes:           writes.Share(percent),
		Invitations:      invitations.Share(percent),
		Commands:         max(r.Number(envCommands, session.Concurrency, 1, 100)*percent/100, 1),
		Retries:          r.Number(envThrottleRetries, 5, 0, 100),
		TransientRetries: r.Number(envTransientRetries, 4, 0, 100),
		GraphBackoff:     r.backoff(envGraphBackoff, standard.Base),
		ExchangeBackoff:  r.backoff(envExchangeBackoff, session.Step),
		MaxBackoff:       r.backoff(envMaxBackoff, standard.Max),
	}
	if l.MaxBackoff < l.GraphBackoff || l.MaxBackoff < l.ExchangeBackoff {
		r.Wrong(envMaxBackoff, "must be at least %s and %s", envGraphBackoff, envExchangeBackoff)
	}
	return l
}

// backoff reads a delay between 1 second and an hour.
func (r reader) backoff(name string, otherwise time.Duration) time.Duration {
	return time.Duration(r.Number(name, int(otherwise/time.Second), 1, 3600)) * time.Second
}

// graphPace is the policy for calls of Graph.
func (l limits) graphPace(lag time.Duration, gauge *throttle.Gauge) throttle.Policy {
	pace := throttle.Default()
	pace.Retries, pace.TransientRetries, pace.Base, pace.Max = l.Retries, l.TransientRetries, l.GraphBackoff, l.MaxBackoff
	pace.Lag, pace.Gauge = lag, gauge
	return pace
}

// exchangePace is the policy for commands of Exchange Online, whose delays grow evenly.
func (l limits) exchangePace(lag time.Duration, gauge *throttle.Gauge) throttle.Policy {
	pace := l.graphPace(lag, gauge)
	pace.Base, pace.Step = l.ExchangeBackoff, l.ExchangeBackoff
	return pace
}
