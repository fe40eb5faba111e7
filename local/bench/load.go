package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/local/entra"
)

// Load is people who use the admin API at once. Each is a caller of their own who asks
// again as soon as there is an answer.
type Load struct {
	Readers, Writers int           // no reader: the load is left out
	Members          int           // of the batch that all readers look into
	For              time.Duration // then callers begin nothing new
}

// MeasureLoad puts the admin API under a load and prints what each route took. Any
// failure of any request is an error, and so is anything that was answered with yes and
// is not there afterwards.
func MeasureLoad(ctx context.Context, c Config, l Load) (err error) {
	dir, err := os.MkdirTemp("", "matoolkit-bench-")
	if err != nil {
		return err
	}
	b := &bed{Config: c, dir: dir, people: true}
	defer func() { err = errors.Join(err, b.stop(), os.RemoveAll(dir)) }()
	if err = b.start(ctx); err == nil {
		err = b.load(ctx, l)
	}
	if err != nil {
		return errors.Join(err, b.logs())
	}
	return nil
}

func (b *bed) load(ctx context.Context, l Load) error {
	who := b.callers(l.Readers + l.Writers)
	client, err := who.sign("prepares@contoso.com", entra.RoleAdmin)
	if err != nil {
		return err
	}
	big, err := prepare(ctx, client, l.Members)
	if err != nil {
		return err
	}
	before, err := b.usage()
	if err != nil {
		return err
	}
	m, made, took, err := b.crowd(ctx, who, l, big)
	if err != nil {
		return errors.Join(append([]error{fmt.Errorf("under the load of %d readers and %d writers", l.Readers, l.Writers), err}, m.failures...)...)
	}
	after, err := b.usageSince(before)
	if err != nil {
		return err
	}
	if err := consistent(ctx, client, big, l.Members, made); err != nil {
		return fmt.Errorf("after the load: %w", err)
	}
	b.add(m.table(fmt.Sprintf("%d readers, %d writers, a batch of %d members", l.Readers, l.Writers, l.Members), took))
	b.note("The writers completed %d batches. The handler used %.1f s of CPU time and at most %.0f MB (%.0f MB before the load).",
		len(made.batches), result{usage: after}.of("handler").cpu.Seconds(),
		float64(result{usage: after}.of("handler").peak)/(1<<20), float64(result{usage: before}.of("handler").peak)/(1<<20))
	return nil
}

// prepare makes the batch that the readers look into, and has it go through its phase.
func prepare(ctx context.Context, client *apiclient.Client, members int) (batch int, err error) {
	if _, err := client.PublishRunbook(ctx, []byte(flat(1))); err != nil {
		return 0, err
	}
	view, err := client.CreateBatch(ctx, "bench", []byte(people(0, members)))
	if err != nil {
		return 0, err
	}
	return view.ID, advanceOnce(ctx, client, view.ID)
}

// crowd runs all callers until the time has passed and the writers have come to an
// end with what they are at.
func (b *bed) crowd(ctx context.Context, who callers, l Load, big int) (m *meter, made made, took time.Duration, err error) {
	m = newMeter()
	var all []func(end time.Time)
	for i := range l.Readers {
		client, err := who.sign(fmt.Sprintf("reader-%03d@contoso.com", i), entra.RoleReader)
		if err != nil {
			return m, made, 0, err
		}
		r := &reader{meter: m, api: client, batch: big, random: rand.New(rand.NewPCG(1, uint64(i)))}
		all = append(all, func(end time.Time) { r.read(ctx, end) })
	}
	writers := make([]*writer, l.Writers)
	for i := range writers {
		client, err := who.sign(fmt.Sprintf("writer-%03d@contoso.com", i), entra.RoleAdmin)
		if err != nil {
			return m, made, 0, err
		}
		w := &writer{meter: m, api: client, runbook: fmt.Sprintf("load-%03d", i)}
		writers[i] = w
		all = append(all, func(end time.Time) { w.write(ctx, end) })
	}
	began := time.Now()
	var wait sync.WaitGroup
	for _, one := range all {
		wait.Go(func() { one(began.Add(l.For)) })
	}
	wait.Wait()
	took = time.Since(began)
	made.versions = map[string]int{}
	for _, w := range writers {
		made.versions[w.runbook] = w.versions
		made.batches = append(made.batches, w.batches...)
	}
	if len(m.failures) > 0 {
		err = fmt.Errorf("%d requests failed", m.failed)
	}
	return m, made, took, err
}

// reader lists the batches and pages through one of them.
type reader struct {
	*meter
	api     *apiclient.Client
	batch   int
	random  *rand.Rand
	members string // where to go on in the members, empty at the beginning
	steps   string // and in the steps
}

func (r *reader) read(ctx context.Context, end time.Time) {
	for time.Now().Before(end) {
		if r.look(ctx) != nil {
			return
		}
	}
}

func (r *reader) look(ctx context.Context) (err error) {
	switch r.random.IntN(12) {
	case 0:
		_, err = timed(r.meter, "GET batches", func() (api.Page[api.Batch], error) { return r.api.Batches(ctx, api.ListOptions{}) })
	case 1:
		_, err = timed(r.meter, "GET batches?status", func() (api.Page[api.Batch], error) {
			return r.api.Batches(ctx, api.ListOptions{Statuses: []string{"active"}, Limit: 20})
		})
	case 2:
		_, err = timed(r.meter, "GET batches?runbook", func() (api.Page[api.Batch], error) {
			return r.api.Batches(ctx, api.ListOptions{Runbook: "load-000", Limit: 20})
		})
	case 3, 4:
		_, err = timed(r.meter, "GET batch", func() (api.Batch, error) { return r.api.Batch(ctx, r.batch) })
	case 5, 6:
		var page api.Page[api.Member]
		page, err = timed(r.meter, "GET members", func() (api.Page[api.Member], error) {
			return r.api.Members(ctx, r.batch, api.ListOptions{Continuation: r.members})
		})
		r.members = page.Continuation
	case 7:
		_, err = timed(r.meter, "GET members?status", func() (api.Page[api.Member], error) {
			return r.api.Members(ctx, r.batch, api.ListOptions{Statuses: []string{"failed"}})
		})
	case 8:
		_, err = timed(r.meter, "GET phases", func() (api.Page[api.Phase], error) { return r.api.Phases(ctx, r.batch) })
	case 9:
		var page api.Page[api.Step]
		page, err = timed(r.meter, "GET steps", func() (api.Page[api.Step], error) {
			return r.api.Steps(ctx, r.batch, api.ListOptions{Continuation: r.steps})
		})
		r.steps = page.Continuation
	case 10:
		_, err = timed(r.meter, "GET steps?member", func() (api.Page[api.Step], error) {
			return r.api.Steps(ctx, r.batch, api.ListOptions{Member: 1 + r.random.IntN(10)})
		})
	default:
		_, err = timed(r.meter, "GET runbooks", func() (api.Page[api.Runbook], error) { return r.api.Runbooks(ctx, api.ListOptions{}) })
	}
	return err
}

// writer owns a runbook and runs one batch of it after another.
type writer struct {
	*meter
	api      *apiclient.Client
	runbook  string
	versions int   // published
	batches  []int // completed
}

const (
	brought = 20 // members of a writer's batch when it is made
	joined  = 5  // who are added
	left    = 1  // who is removed
)

func (w *writer) write(ctx context.Context, end time.Time) {
	for time.Now().Before(end) {
		if err := w.story(ctx); err != nil {
			return
		}
	}
}

func (w *writer) story(ctx context.Context) error {
	text := strings.Replace(flat(2), "name: bench\n", fmt.Sprintf("name: %s\ndescription: The version %d\n", w.runbook, w.versions+1), 1)
	published, err := timed(w.meter, "POST runbooks", func() (api.Runbook, error) { return w.api.PublishRunbook(ctx, []byte(text)) })
	if err != nil {
		return err
	}
	w.versions++
	rows := strings.SplitAfter(people(0, brought+joined), "\n")
	batch, err := timed(w.meter, "POST batches", func() (api.Batch, error) {
		return w.api.CreateBatch(ctx, w.runbook, []byte(strings.Join(rows[:1+brought], "")), api.AllowInOtherBatches)
	})
	if err == nil && (published.Version != w.versions || batch.RunbookVersion != w.versions) {
		err = w.fail(fmt.Errorf("%s: version %d was published, batch %d is of version %d; want %d", w.runbook, published.Version, batch.ID, batch.RunbookVersion, w.versions))
	}
	if err != nil {
		return err
	}
	for _, do := range []func() error{
		func() error {
			paused, err := timed(w.meter, "POST pause", func() (api.Batch, error) { return w.api.Pause(ctx, batch.ID, "the load") })
			if err == nil && paused.Paused == nil {
				err = w.fail(fmt.Errorf("batch %d is not paused", batch.ID))
			}
			return err
		},
		func() error {
			added, err := timed(w.meter, "POST members", func() (api.AddResult, error) {
				return w.api.AddMembers(ctx, batch.ID, []byte(rows[0]+strings.Join(rows[1+brought:], "")), api.AllowInOtherBatches)
			})
			if err == nil && added.Added != joined {
				err = w.fail(fmt.Errorf("batch %d: %d members were added, want %d", batch.ID, added.Added, joined))
			}
			return err
		},
		func() error {
			_, err := timed(w.meter, "DELETE member", func() (api.Member, error) { return w.api.RemoveMember(ctx, batch.ID, "1", "the load") })
			return err
		},
		func() error {
			resumed, err := timed(w.meter, "POST resume", func() (api.Batch, error) { return w.api.Resume(ctx, batch.ID, "the load") })
			if err == nil && resumed.Paused != nil {
				err = w.fail(fmt.Errorf("batch %d is still paused", batch.ID))
			}
			return err
		},
		func() error {
			_, err := timed(w.meter, "POST advance", func() (api.AdvanceResult, error) { return w.api.Advance(ctx, batch.ID, "only", "") })
			return err
		},
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return w.finish(ctx, batch.ID)
}

// finish waits until a batch has ended.
func (w *writer) finish(ctx context.Context, batch int) error {
	for {
		view, err := timed(w.meter, "GET batch", func() (api.Batch, error) { return w.api.Batch(ctx, batch) })
		if err != nil {
			return err
		}
		if view.CompletedAt != nil {
			w.batches = append(w.batches, batch)
			return nil
		}
		select {
		case <-ctx.Done():
			return w.fail(fmt.Errorf("batch %d has not ended: %w", batch, ctx.Err()))
		case <-time.After(250 * time.Millisecond):
		}
	}
}
