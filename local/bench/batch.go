package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
)

// load is a batch to measure with.
type load struct {
	runbook string // YAML of a runbook named bench
	members int
	// drive does what an administrator does until the batch has ended.
	drive func(ctx context.Context, client *apiclient.Client, batch int) error
	// succeed is how many members must succeed in the first phase.
	succeed int
	logs    bool // they are measured: the worker's too
	alone   bool // nothing coincides
}

// straight is a batch whose members go through one phase of steps that succeed.
func straight(members, steps int) load {
	return load{runbook: flat(steps), members: members, succeed: members, drive: advanceOnce}
}

// unstarted is the batch of straight, which is created and not advanced: the costs of a step leave
// out what the start of the system and the upload cost.
func unstarted(members, steps int) load {
	return load{runbook: flat(steps), members: members, drive: func(context.Context, *apiclient.Client, int) error { return nil }}
}

func advanceOnce(ctx context.Context, client *apiclient.Client, batch int) error {
	if _, err := client.Advance(ctx, batch, "only", ""); err != nil {
		return err
	}
	return await(ctx, client, batch, func(b api.Batch) bool { return b.CompletedAt != nil })
}

// await waits until a batch is as it must be. It asks some twenty times in as long as it has waited,
// so that its requests are few beside the measured ones.
func await(ctx context.Context, client *apiclient.Client, batch int, done func(api.Batch) bool) error {
	return awaitWith(ctx, client, batch, done, func(waited time.Duration) time.Duration { return max(50*time.Millisecond, waited/20) })
}

// awaitSeldom is await where each request is counted among the costs, and time is not.
func awaitSeldom(ctx context.Context, client *apiclient.Client, batch int, done func(api.Batch) bool) error {
	return awaitWith(ctx, client, batch, done, func(time.Duration) time.Duration { return 3 * time.Second })
}

func awaitWith(ctx context.Context, client *apiclient.Client, batch int, done func(api.Batch) bool, pause func(waited time.Duration) time.Duration) error {
	for began := time.Now(); ; {
		view, err := client.Batch(ctx, batch)
		if err != nil || done(view) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause(time.Since(began))):
		}
	}
}

func flat(steps int) string {
	var y strings.Builder
	y.WriteString("name: bench\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: only\n    offset: T-0\n    steps:\n")
	for i := range steps {
		fmt.Fprintf(&y, "      - {name: step-%d, worker_id: worker-01, function: No-Op, params: {Value: \"{{Name}}\"}}\n", i+1)
	}
	return y.String()
}

// people is the file of n members, the first of whom has the number from.
func people(from, n int) string {
	var csv strings.Builder
	csv.WriteString("Upn,Name\n")
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&csv, "person%06d@contoso.com,Person %d\n", i, i)
	}
	return csv.String()
}
