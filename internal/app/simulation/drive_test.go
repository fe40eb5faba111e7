package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// ada is the administrator, who creates the batch; grace approves what ada may not.
var (
	ada   = audit.Caller{Name: "ada"}
	grace = audit.Caller{Name: "grace"}
)

// create publishes the runbook and makes the batch, undisturbed.
func (w *world) create(ctx context.Context) error {
	text := w.plan.yaml(1)
	view, err := w.app.PublishRunbook(ctx, ada, "", []byte(text), api.PublishOptions{})
	if err != nil {
		return fmt.Errorf("publishing: %w %+v\n%s", err, problemsOf(err), text)
	}
	if w.plan.upload {
		b, err := w.app.CreateBatch(ctx, ada, view.Name, []byte(w.plan.csv(w.plan.members)))
		if err != nil {
			return fmt.Errorf("creating: %w %+v\n%s", err, problemsOf(err), w.plan.csv(w.plan.members))
		}
		w.batch = b.ID
	} else if err := w.write(ctx, text); err != nil {
		return err
	}
	w.worker.expected = w.plan.outcome(w.batch, nil)
	return nil
}

func problemsOf(err error) []api.InputProblem {
	var e *problem.Error
	if errors.As(err, &e) {
		return e.Problems
	}
	return nil
}

// write stores a batch as its creation would, its start and its members' data as
// the plan has them.
func (w *world) write(ctx context.Context, text string) error {
	w.batch = 7
	rb, diagnostics := runbook.Parse([]byte(text))
	if rb == nil {
		return diagnostics.Err()
	}
	start := &w.plan.start
	if w.plan.manual {
		start = nil
	}
	b := engine.NewBatch(w.batch, rb, 1, len(w.plan.members), start, "ada", w.now())
	for i, p := range w.plan.members {
		m := model.Member{
			ID: i + 1, Page: model.PageOf(i + 1), Key: p.key, Status: model.MemberActive,
			AddedAt: w.now(), Data: map[string]json.RawMessage{},
		}
		if rb.HoldsMembers() {
			m.OpenPhase = model.CheckPhase
		}
		for column, v := range p.data {
			encoded, err := json.Marshal(v)
			if err != nil {
				return err
			}
			m.Data[column] = encoded
		}
		if _, err := w.store.Apply(ctx, store.Writes{store.Create(store.MemberKey(b.ID, m.ID), m)}); err != nil {
			return err
		}
	}
	if _, err := w.store.Apply(ctx, store.Writes{store.Create(store.BatchKey(b.ID), b)}); err != nil {
		return err
	}
	entry := map[string]any{"id": b.ID, "runbookName": b.Runbook, "status": "detected", "creating": true}
	_, err := w.store.Apply(ctx, store.Writes{store.Create(store.EntryKey(b.ID), entry)})
	return err
}

// mostActions is more than any batch of a plan's size needs, and mostStill than it ever needs
// without a write.
const (
	mostActions = 60_000
	mostStill   = 8_000
)

// run drives the batch to its end and lets all that is left in the broker come.
func (w *world) run(ctx context.Context) {
	if !w.plan.manual && len(w.plan.init) > 0 { // what the scheduler does where it makes a batch
		w.announceInit()
	}
	lines := 0
	for range mostActions {
		synctest.Wait()
		w.sortLines(lines)
		w.reap()
		w.worker.catchUp()
		if now := w.back.progress(); now != w.progress {
			w.progress, w.still = now, 0
		}
		if w.still++; w.still > mostStill && w.worker.takes() && len(w.worker.running) == 0 {
			w.problem("nothing moves any more and the batch has not ended")
		}
		if w.failed() {
			return
		}
		if len(w.tasks) > 0 || len(w.broker.messages) > 0 || w.worker.flush() {
			w.act()
			lines = w.lines()
			continue
		}
		ended, err := w.ended(ctx)
		switch {
		case err != nil:
			w.problem("%v", err)
			return
		case ended && len(w.acts) > 0: // a command after the end is refused, or continues the batch
			if away := w.outage.Sub(w.now()); away > 0 { // a command that fails lets no time pass
				w.advance(away)
			}
			w.administer()
		case ended:
			return
		default:
			w.idle()
		}
		lines = w.lines()
	}
	w.problem("no end after %d actions", mostActions)
}

func (w *world) announceInit() {
	body, err := json.Marshal(message.BatchInit{BatchID: w.batch, RunbookName: "simulated", RunbookVersion: 1})
	if err != nil {
		panic(err) // a plain struct
	}
	w.broker.take(message.TopicOrchestratorEvents, bus.Message{
		ID: "init", Body: body, Properties: map[string]any{message.PropertyMessageType: message.TypeBatchInit},
	}, w.now())
}

func (w *world) ended(ctx context.Context) (bool, error) {
	b, err := store.Read[model.Batch](ctx, w.store, store.BatchKey(w.batch))
	return err == nil && b.Doc.Status.Terminal(), err
}

// act does one thing of those that are possible: lets an operation go on, hands
// out a message, has the worker do a job, or lets time pass.
func (w *world) act() {
	c := w.plan.chaos
	if len(w.worker.groups.ready) > 0 && w.worker.groups.rng.IntN(100) == 0 {
		w.worker.flush()
	}
	switch {
	case w.mayFail(nil) && w.chance(c.jump/20):
		w.jump()
		return
	case w.chance(c.outage / 20):
		w.outage = w.now().Add(time.Duration(w.rng.IntN(900)) * time.Second)
		w.trace("the store is away until %v", w.outage.Sub(epoch))
		return
	case w.worker.falter():
		return
	case w.rng.IntN(w.calls()) == 0 && len(w.tasks) < c.concurrency+2 && w.mayAct():
		w.administer()
		return
	}
	if !w.now().Before(w.nextTick) {
		w.scheduler()
		return
	}
	parked, visible := w.waiting(), w.broker.visible(w.faults > 0 && w.rng.IntN(8) == 0)
	if len(w.tasks) >= c.concurrency { // only the worker is another's
		visible = slices.DeleteFunc(visible, func(m *held) bool { return m.topic != message.TopicWorkerJobs })
	}
	if !w.worker.takes() {
		visible = slices.DeleteFunc(visible, func(m *held) bool { return m.topic == message.TopicWorkerJobs })
	}
	sleeping := len(w.tasks) - len(parked)
	n := w.rng.IntN(3*len(parked) + 2*len(visible) + sleeping + 1)
	switch {
	case n < 3*len(parked):
		w.decide(parked[n/3])
	case n < 3*len(parked)+2*len(visible):
		m := visible[(n-3*len(parked))/2]
		if m.topic == message.TopicWorkerJobs {
			if w.plan.hasDeadlines() { // what a worker was known to have taken tells what still waits
				m = visible[slices.IndexFunc(visible, func(m *held) bool { return m.topic == message.TopicWorkerJobs })]
			}
			w.worker.execute(m)
			return
		}
		w.deliver(m)
	case len(parked) == 0 && len(visible) == 0 && len(w.tasks) == 0:
		w.idle()
	case sleeping > 0:
		w.advance(longestWait)
	default:
		w.advance(time.Duration(w.rng.IntN(3000)) * time.Millisecond)
	}
}

// calls is after how many actions, about, the administrator does something: sooner
// while jobs are being carried out.
func (w *world) calls() int {
	if len(w.worker.running) > 0 {
		return 20
	}
	return 60
}

// idle lets time pass until something falls due.
func (w *world) idle() {
	if w.worker.flush() {
		return
	}
	if w.mayAct() && w.rng.IntN(2) == 0 {
		w.administer()
		if len(w.tasks) > 0 {
			return
		}
	}
	to := w.nextTick
	if next, ok := w.broker.next(); ok && next.Before(to) {
		to = next
	}
	if next, ok := w.worker.due(); ok && next.Before(to) {
		to = next
	}
	late := time.Duration(0)
	if w.rng.IntN(4) == 0 {
		late = time.Duration(w.rng.IntN(200)) * time.Second
	}
	if d := to.Sub(w.now()) + late; d > 0 {
		w.advance(d)
		return
	}
	w.scheduler()
}

// jump moves the clock by minutes or hours at once; most work under way then
// misses its deadline.
func (w *world) jump() {
	if len(w.tasks) > 0 && w.rng.IntN(4) > 0 {
		return
	}
	d := time.Duration(w.rng.IntN(90)) * time.Minute
	if w.rng.IntN(3) == 0 {
		d = time.Duration(w.rng.IntN(40)) * time.Hour
	}
	w.trace("the clock jumps by %s", d)
	w.advance(d)
	// The replicas ran in that time. Without this a worker whose jobs a process had stored and
	// not sent would look as if it had ended without a goodbye.
	if k := w.worker; d > unheard && heartbeats && w.plan.hasDeadlines() && len(k.replicas) > 0 {
		k.sendBeats()
	}
}

// scheduler ticks: late, now and then twice at once, now and then not at all.
func (w *world) scheduler() {
	w.nextTick = w.now().Truncate(model.TickInterval).Add(model.TickInterval)
	if w.rng.IntN(3) == 0 {
		return
	}
	w.tick()
	if w.rng.IntN(8) == 0 {
		w.tick()
	}
}

// mayAct tells whether the administrator has anything in mind.
func (w *world) mayAct() bool {
	return w.plan.manual || len(w.acts) > 0 || w.paused || w.plan.gated()
}

func (p *plan) gated() bool {
	return slices.ContainsFunc(p.phases, func(ph *phase) bool { return ph.approval || ph.success > 0 })
}

// administer does one of the things that the administrator has in mind. What could
// not be done is tried again.
func (w *world) administer() {
	var options []func()
	if w.plan.manual {
		options = append(options, func() {
			w.ask("advance", func(ctx context.Context, a *app.App) error {
				phases, err := a.Phases(ctx, ada, w.batch)
				if err != nil {
					return err
				}
				next := slices.IndexFunc(phases.Items, func(p api.Phase) bool { return p.Status == "pending" })
				if next < 0 {
					next = len(phases.Items) - 1
				}
				_, err = a.Advance(ctx, ada, w.batch, phases.Items[next].Name)
				return err
			}, func() {})
		})
	}
	for _, ph := range w.plan.phases {
		if ph.approval || ph.success > 0 {
			options = append(options, func() {
				w.ask("approve "+ph.name, func(ctx context.Context, a *app.App) error {
					_, err := a.Approve(ctx, ada, w.batch, ph.name, "it is time")
					if ph.second && problem.CodeOf(err) != api.CodeUnavailable { // verify finds an approval of ada's
						_, err = a.Approve(ctx, grace, w.batch, ph.name, "it is time")
					}
					return err
				}, func() {})
			})
		}
	}
	if w.paused && w.pausing == 0 {
		options = append(options, func() {
			asked := w.pauses
			w.ask("resume", func(ctx context.Context, a *app.App) error {
				_, err := a.Resume(ctx, ada, w.batch, "")
				return err
			}, func() { w.paused = w.pauses > asked })
		})
	}
	for _, a := range w.acts {
		options = append(options, func() { w.do(a) })
	}
	if len(options) > 0 {
		options[w.rng.IntN(len(options))]()
	}
}

// do does one of the plan's acts.
func (w *world) do(a act) {
	finish := func() {
		w.acts = slices.DeleteFunc(w.acts, func(b act) bool { return a == b })
	}
	switch a.kind {
	case removes:
		id, ok := w.member(a.member)
		if !ok {
			finish()
			return
		}
		w.ask("remove "+a.member, func(ctx context.Context, p *app.App) error {
			_, err := p.RemoveMember(ctx, ada, w.batch, id, "")
			return err
		}, finish)
	case adds:
		w.ask("add", func(ctx context.Context, p *app.App) error {
			_, err := p.AddMembers(ctx, ada, w.batch, []byte(w.plan.csv(w.plan.late)))
			return err
		}, finish)
	case pauses:
		w.paused = true
		w.pausing++
		w.pauses++
		w.ask("pause", func(ctx context.Context, p *app.App) error {
			_, err := p.Pause(ctx, ada, w.batch, "")
			return err
		}, finish)
	case cancels:
		w.stopped = true
		w.ask("cancel", func(ctx context.Context, p *app.App) error {
			_, err := p.Cancel(ctx, ada, w.batch, "")
			return err
		}, finish)
	case revises:
		w.versions++
		text := w.plan.yaml(w.versions)
		w.ask("publish", func(ctx context.Context, p *app.App) error {
			_, err := p.PublishRunbook(ctx, ada, "", []byte(text), api.PublishOptions{})
			return err
		}, finish)
	case retries:
		w.retries++
		w.ask("retry", func(ctx context.Context, p *app.App) error {
			_, err := p.Repair(ctx, ada, w.batch, api.Repair{Selection: api.Selection{}})
			return err
		}, finish)
	}
}

// member finds a member's number by its key.
func (w *world) member(key string) (int, bool) {
	for i, m := range w.plan.members {
		if m.key == key {
			return i + 1, true
		}
	}
	return 0, false
}

// ask calls a use case. It has been answered once it succeeded, or the state of the
// batch did not allow it.
func (w *world) ask(what string, call func(ctx context.Context, a *app.App) error, answered func()) {
	if what == "resume" || what == "cancel" { // which ends the pause, too
		w.pausedAt = time.Time{}
		w.unpaused++
	}
	unpaused, ends := w.unpaused, w.asking("resume", "cancel")
	w.spawn(w.anyProcess(), nil, what, call, func(err error) {
		if what == "pause" {
			w.pausing--
		}
		switch {
		case err == nil, problem.CodeOf(err) == api.CodeConflict:
			if err == nil && what == "pause" && w.unpaused == unpaused && !ends {
				w.pausedAt = w.now()
			}
			if key, ok := strings.CutPrefix(what, "remove "); ok && err == nil {
				w.leftAt[key] = w.now()
			}
			if err == nil && what == "cancel" {
				w.stoppedAt = w.now()
			}
			answered()
		case problem.CodeOf(err) == api.CodeUnavailable:
		case w.plan.chaos.calm:
			w.problem("%s failed without a fault: %v", what, err)
		}
	})
}

// isPaused tells whether the batch is still paused: its end ends the pause, too.
func (w *world) isPaused() bool {
	b, err := store.Read[model.Batch](context.Background(), w.store, store.BatchKey(w.batch))
	if err != nil {
		w.problem("%v", err)
	}
	if b.Doc.Paused == nil {
		w.pausedAt = time.Time{}
	}
	return b.Doc.Paused != nil
}

// asking tells whether any of some use cases is being carried out.
func (w *world) asking(what ...string) bool {
	return slices.ContainsFunc(w.tasks, func(t *task) bool { return slices.Contains(what, t.what) && !t.done.Load() })
}

// linesToShow is how many lines of its history a seed shows: fewer where it fails among
// others.
func linesToShow() int {
	if *oneSeed == 0 {
		return 400
	}
	return math.MaxInt
}

// report describes a failed run with the last lines of its history.
func (w *world) report(lines int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := ""
	for _, p := range w.problems {
		text += "PROBLEM " + p + "\n"
	}
	if !w.verbose {
		return text
	}
	text += fmt.Sprintf("\n%s\nchaos: %+v, manual: %v, start: %v\n", w.plan.yaml(1), w.plan.chaos, w.plan.manual, w.plan.start.Sub(epoch))
	text += fmt.Sprintf("acts: %+v\n", w.plan.acts)
	for _, m := range w.plan.everybody() {
		text += fmt.Sprintf("%v\n", m.data)
	}
	for _, key := range slices.Sorted(maps.Keys(w.plan.answers)) {
		text += fmt.Sprintf("answers %s: %+v\n", key, *w.plan.answers[key])
	}
	history := w.history
	if cut := len(history) - lines; cut > 0 {
		text += fmt.Sprintf("(%d lines are left out; the replay has them all)\n", cut)
		history = history[cut:]
	}
	text += strings.Join(history, "\n") + "\n"
	items, err := w.store.Dump(context.Background(), store.BatchPartition(w.batch))
	if err != nil {
		text += err.Error()
	}
	for _, i := range items {
		text += fmt.Sprintf("%s: %s\n", i.ID, i.Doc)
	}
	return text
}
