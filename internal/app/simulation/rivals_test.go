package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
)

// TestRivals runs a thousand seeds of administrators who put the same people into
// batches at the same time.
func TestRivals(t *testing.T) {
	t.Parallel()
	if *rivalSeed != 0 {
		text, ok := compete(t, *rivalSeed, true)
		t.Log(text)
		if !ok {
			t.Fail()
		}
		return
	}
	next, begin := *from-1, time.Now()
	for (*all || !t.Failed()) && next < *from+rivalSeeds-1 && time.Since(begin) < patience {
		next++
		if text, ok := compete(t, next, false); !ok {
			t.Errorf("seed %d fails; replay it with\n  go test ./internal/app/simulation -run TestRivals -simulation.rivals %d\n%s", next, next, text)
		}
	}
	t.Logf("%d seeds from %d", next-*from+1, *from)
}

// rival is a request of an administrator that changes memberships.
type rival struct {
	kind   rivalKind
	by     audit.Caller
	keys   []string // of the people that it is about
	shares bool     // with those of other batches
	of     int      // the request that made the batch that it is about
	begun  bool
	asking bool // a task has it in hand
	over   bool // it was answered for good
	failed bool // with a refusal
	batch  int  // what was made
}

type rivalKind string

const (
	creates rivalKind = "create"
	joins   rivalKind = "add"
	ends    rivalKind = "cancel"
	leaves  rivalKind = "remove"
)

// competition is the requests of some administrators in one system.
type competition struct {
	*world
	rivals []*rival
}

// compete runs one seed and tells what happened, and whether all was well.
func compete(t *testing.T, seed uint64, verbose bool) (text string, ok bool) {
	synctest.Test(t, func(*testing.T) {
		ctx := context.Background()
		p := &plan{seed: seed, manual: true, work: work{replicas: 1}, phases: []*phase{{name: "only", steps: []*step{{place: "p1.1", name: "step p1.1", function: "Do", params: []param{{key: "Who", variable: "Key"}}}}}}}
		p.drawChaos()
		w, err := newWorld(p, overProtocols(seed), verbose)
		if err != nil {
			text = err.Error()
			return
		}
		c := &competition{world: w}
		c.drawRivals()
		if _, err := w.app.PublishRunbook(ctx, ada, "", []byte(p.yaml(1)), api.PublishOptions{}); err != nil {
			w.problem("publishing: %v", err)
		}
		c.run(ctx)
		text, ok = w.report(linesToShow()), !w.failed()
		for _, r := range c.rivals {
			text += fmt.Sprintf("%+v\n", *r)
		}
		if err := w.close(); err != nil {
			text, ok = text+err.Error(), false
		}
	})
	return text, ok
}

func (c *competition) drawRivals() {
	r := c.plan.rng("rivals")
	people := 1 + r.IntN(5)
	some := func() (keys []string) {
		for i := range people {
			if r.IntN(2) == 0 {
				keys = append(keys, fmt.Sprintf("p%d", i+1))
			}
		}
		if len(keys) == 0 {
			keys = []string{"p1"}
		}
		return keys
	}
	for i := range 2 + r.IntN(5) {
		v := &rival{kind: pick(r, creates, creates, creates, joins, joins, ends, leaves), keys: some()}
		v.by = audit.Caller{Name: pick(r, "ada", "grace"), Key: fmt.Sprintf("request-%d", i+1)}
		v.shares = r.IntN(6) == 0
		if i == 0 {
			v.kind = creates
		}
		if v.kind != creates {
			v.of = r.IntN(i)
			for c.rivals[v.of].kind != creates {
				v.of--
			}
		}
		if v.kind == creates { // so that each batch has somebody of its own
			v.keys = append(v.keys, fmt.Sprintf("own%d", i+1))
		}
		c.rivals = append(c.rivals, v)
	}
}

// run completes all requests and checks the memberships each time that none is under
// way.
func (c *competition) run(ctx context.Context) {
	for range mostActions {
		synctest.Wait()
		c.reap()
		if c.failed() {
			return
		}
		under := slices.ContainsFunc(c.rivals, func(r *rival) bool { return r.begun && !r.over })
		if !under && len(c.tasks) == 0 {
			c.check(ctx)
		}
		waiting := slices.DeleteFunc(slices.Clone(c.rivals), func(r *rival) bool { return !c.may(r) })
		if len(waiting) == 0 && len(c.tasks) == 0 && len(c.broker.messages) == 0 {
			c.verifyUnprocessable(ctx)
			return
		}
		parked, visible := c.waiting(), c.broker.visible(false)
		visible = slices.DeleteFunc(visible, func(m *held) bool { return m.topic == message.TopicWorkerJobs })
		switch n := c.rng.IntN(3*len(parked) + len(visible) + len(waiting) + 1); {
		case !c.now().Before(c.nextTick):
			c.scheduler()
		case n < 3*len(parked):
			c.decide(parked[n/3])
		case n < 3*len(parked)+len(visible):
			c.deliver(visible[n-3*len(parked)])
		case n < 3*len(parked)+len(visible)+len(waiting):
			c.begin(waiting[n-3*len(parked)-len(visible)])
		case len(c.tasks) > len(parked):
			c.advance(longestWait)
		case len(c.tasks) > 0:
			c.advance(time.Duration(c.rng.IntN(3000)) * time.Millisecond)
		default:
			c.advance(time.Duration(c.rng.IntN(60)) * time.Second)
		}
	}
	c.problem("no end after %d actions", mostActions)
}

// may reports whether a request can be made: its batch exists, and it is not under way.
func (c *competition) may(r *rival) bool {
	if r.over || r.asking {
		return false
	}
	if r.kind != creates {
		if of := c.rivals[r.of]; !of.over {
			return false
		} else if of.batch == 0 { // which was refused
			r.over = true
			return false
		}
	}
	return true
}

func (c *competition) begin(r *rival) {
	r.begun, r.asking = true, true
	c.spawn(c.anyProcess(), nil, fmt.Sprintf("%s by %s: %v", r.kind, r.by.Key, r.keys), func(ctx context.Context, a *app.App) error {
		csv := []byte("Key\n" + strings.Join(r.keys, "\n") + "\n")
		batch := c.rivals[r.of].batch
		var options []api.UploadOption
		if r.shares {
			options = append(options, api.AllowInOtherBatches)
		}
		switch r.kind {
		case creates:
			view, err := a.CreateBatch(ctx, r.by, "simulated", csv, options...)
			if err == nil {
				r.batch = view.ID
			}
			return err
		case joins:
			_, err := a.AddMembers(ctx, r.by, batch, csv, options...)
			return err
		case ends:
			_, err := a.Cancel(ctx, r.by, batch, "")
			return err
		}
		_, err := a.RemoveMember(ctx, r.by, batch, 1, "")
		return err
	}, func(err error) {
		r.asking = false
		switch {
		case err == nil:
			r.over = true
		case problem.CodeOf(err) == api.CodeConflict || problem.CodeOf(err) == api.CodeNotFound:
			r.over, r.failed = true, true
		case problem.CodeOf(err) == api.CodeUnavailable:
		case c.plan.chaos.calm:
			c.problem("%s failed without a fault: %v", r.by.Key, err)
		}
	})
}

// check fails if a person is in two open batches.
func (c *competition) check(ctx context.Context) {
	homes := map[string]int{}
	for _, r := range c.rivals {
		if r.kind != creates || r.batch == 0 {
			continue
		}
		b, err := store.Read[model.Batch](ctx, c.store, store.BatchKey(r.batch))
		if err != nil {
			c.problem("%v", err)
			return
		}
		if b.Doc.Status.Terminal() {
			continue
		}
		members, err := storetest.All[model.Member](ctx, c.store, store.BatchPartition(r.batch), "member")
		if err != nil {
			c.problem("%v", err)
			return
		}
		for _, m := range members {
			if m.Doc.Status != model.MemberActive {
				continue
			}
			if c.shared(r.batch, m.Doc.Key) {
				continue
			}
			if other := homes[m.Doc.Key]; other != 0 {
				c.problem("%s is in the batches %d and %d", m.Doc.Key, other, r.batch)
				return
			}
			homes[m.Doc.Key] = r.batch
		}
	}
}

// shared reports whether a person was added to a batch with the option to be in others, too.
func (c *competition) shared(batch int, key string) bool {
	return slices.ContainsFunc(c.rivals, func(r *rival) bool {
		of := r.batch
		if r.kind == joins {
			of = c.rivals[r.of].batch
		}
		return r.shares && (r.kind == creates || r.kind == joins) && of == batch && slices.Contains(r.keys, key)
	})
}
