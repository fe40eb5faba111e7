package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/membercsv"
)

// sideBySide has several batches go through one phase of one step at the same time, and returns the
// process with the most memory.
func (c Config) sideBySide(ctx context.Context) (largest peak, err error) {
	dir, err := os.MkdirTemp("", "matoolkit-bench-")
	if err != nil {
		return largest, err
	}
	b := &bed{Config: c, dir: dir}
	defer func() { err = errors.Join(err, b.stop(), os.RemoveAll(dir)) }()
	if err := b.start(ctx); err != nil {
		return largest, errors.Join(err, b.logs())
	}
	client, err := b.api()
	if err == nil {
		err = b.allBatches(ctx, client)
	}
	if err != nil {
		return largest, errors.Join(err, b.logs())
	}
	all, err := b.usage()
	for _, u := range all {
		if u.peak > largest.bytes {
			largest = peak{u.name, u.peak}
		}
	}
	return largest, err
}

func (b *bed) allBatches(ctx context.Context, client *apiclient.Client) error {
	if _, err := client.PublishRunbook(ctx, []byte(flat(1))); err != nil {
		return err
	}
	total := b.Batches * b.BatchMembers
	ids := make([]int, b.Batches)
	uploaded := time.Now()
	for i := range ids {
		id, err := upload(ctx, client, i*b.BatchMembers, b.BatchMembers)
		if err != nil {
			return fmt.Errorf("upload %d of %d: %w", i+1, b.Batches, err)
		}
		ids[i] = id
		b.progress("uploaded %d of %d batches", i+1, b.Batches)
	}
	t := Table{
		Name:    fmt.Sprintf("%d batches of %s members, one step each, at the same time", b.Batches, grouped(b.BatchMembers)),
		Columns: []string{"members", "upload seconds", "seconds", "steps/s", "CPU ms/step", "KB written/step", "load average"},
	}
	row := []any{total, whole(time.Since(uploaded).Seconds())}
	before, err := b.usage()
	if err != nil {
		return err
	}
	began := time.Now()
	for _, id := range ids {
		if _, err := client.Advance(ctx, id, "only", ""); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := b.awaitSucceeded(ctx, client, id); err != nil {
			return fmt.Errorf("batch %d: %w", id, err)
		}
	}
	took := result{elapsed: time.Since(began)}
	if took.usage, err = b.usageSince(before); err != nil {
		return err
	}
	rate := took.rate(total)
	t.Rows = [][]any{append(row, whole(took.elapsed.Seconds()), whole(rate.perSecond), two(rate.cpu), one(rate.written), loadAverage())}
	b.add(t)
	b.note("CPU seconds and peak resident memory: %s.", took.processes())
	return nil
}

// awaitSucceeded waits until all members of a batch have succeeded, and reports the progress.
func (b *bed) awaitSucceeded(ctx context.Context, client *apiclient.Client, batch int) error {
	for told := time.Now(); ; {
		view, err := client.Batch(ctx, batch)
		if err != nil {
			return err
		}
		phases, err := client.Phases(ctx, batch)
		if err != nil {
			return err
		}
		p := phases.Items[0]
		if view.CompletedAt != nil {
			if p.Succeeded != b.BatchMembers {
				return fmt.Errorf("%d members succeeded, want %d", p.Succeeded, b.BatchMembers)
			}
			b.progress("batch %d has ended", batch)
			return nil
		}
		if time.Since(told) > 20*time.Second {
			told = time.Now()
			used, err := b.usage()
			if err != nil {
				return err
			}
			b.progress("batch %d: %s of %s members; %s", batch, grouped(p.Succeeded), grouped(b.BatchMembers), result{usage: used}.processes())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// mostAdded is how many members one request can add to a batch that exists.
const mostAdded = 10_000

// upload creates a batch, in as many requests as its size needs.
func upload(ctx context.Context, client *apiclient.Client, from, members int) (batch int, err error) {
	first := min(members, membercsv.MaxRows)
	view, err := client.CreateBatch(ctx, "bench", []byte(people(from, first)))
	for done := first; err == nil && done < members; {
		n := min(members-done, mostAdded)
		_, err = client.AddMembers(ctx, view.ID, []byte(people(from+done, n)))
		done += n
	}
	return view.ID, err
}
