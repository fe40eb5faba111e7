package main

import (
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Environment variables of what the worker asks of its tenant at most.
const (
	envWrites = "GRAPH_WRITE_LIMIT"    // writes that the tenant allows the app registration in 150 seconds. Default: 3000
	envShare  = "TENANT_SHARE_PERCENT" // share of the tenant's limits that this process may use
)

// limits are this process's part of what the tenant allows the application.
type limits struct {
	Writes, Invitations throttle.Rate
	Commands            int // of Exchange Online at once
}

// limits reads the part: all, unless other processes sign in as the same
// application to the same tenant.
func (r reader) limits() limits {
	writes := graph.PublishedWrites
	writes.Calls = r.Number(envWrites, writes.Calls, 1, 1_000_000)
	percent := r.Number(envShare, 100, 1, 100)
	return limits{
		Writes:      writes.Share(percent),
		Invitations: graph.PublishedInvitations.Share(percent),
		Commands:    max(session.Concurrency*percent/100, 1),
	}
}
