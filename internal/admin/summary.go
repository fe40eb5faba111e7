package admin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/notification"
	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	// openShards is how many pages with members in progress are read of each phase that runs. Members on
	// other pages count as running until all of their page have ended.
	openShards = 20
	// openMessages is how many unprocessable messages are read.
	openMessages = 50
	// upcomingWithin is how far a summary looks ahead.
	upcomingWithin = 7 * 24 * time.Hour
)

// Summary gives what waits for a person, what runs, and what starts in the next seven days. Its cost
// grows with the number of batches that have not ended, and of their phases that run, and not with the
// number of their members. Errors: CodeUnavailable.
func (a *Admin) Summary(ctx context.Context) (api.Summary, error) {
	c := summarizing{admin: a, now: a.now().UTC(), automated: map[string]bool{}, absent: map[string]*api.Attention{}}
	c.view = api.Summary{At: c.now, Attention: []api.Attention{}, Running: []api.RunningPhase{}, Upcoming: []api.UpcomingPhase{}}
	listed, err := a.store.BatchesToSweep(ctx, c.now)
	if err != nil {
		return api.Summary{}, err
	}
	slices.SortFunc(listed, func(x, y store.Item[store.BatchSummary]) int { return cmp.Compare(x.Doc.ID, y.Doc.ID) })
	for i := range listed {
		if b := &listed[i].Doc; !b.Creating && !b.Status.Terminal() {
			if err := c.addBatch(ctx, b); err != nil {
				return api.Summary{}, err
			}
		}
	}
	if err := c.addSources(ctx); err != nil {
		return api.Summary{}, err
	}
	for _, id := range slices.Sorted(maps.Keys(c.absent)) {
		c.view.Attention = append(c.view.Attention, *c.absent[id])
	}
	open, err := a.store.UnprocessableMessages(ctx, store.MessageFilter{Statuses: []store.UnprocessableStatus{store.UnprocessableOpen}}, store.Paging{Limit: openMessages})
	if err != nil {
		return api.Summary{}, err
	}
	c.addEvents("", notification.MessageEvents(open.Items))
	if a.scales {
		record, err := store.OrNone(store.Read[scaler.Record](ctx, a.store, store.ScalerKey()))
		if err != nil {
			return api.Summary{}, err
		}
		c.addEvents("", notification.LostNow(&record.Doc))
	}
	slices.SortStableFunc(c.view.Upcoming, func(x, y api.UpcomingPhase) int { return x.StartsAt.Compare(y.StartsAt) })
	c.view.UpcomingCount = len(c.view.Upcoming)
	c.view.Upcoming = c.view.Upcoming[:min(len(c.view.Upcoming), api.MaxUpcoming)]
	c.view.Running = c.view.Running[:min(len(c.view.Running), api.MaxRunning)]
	return c.view, nil
}

// summarizing collects a summary.
type summarizing struct {
	admin     *Admin
	now       time.Time
	view      api.Summary
	automated map[string]bool           // runbooks with batches from a data source
	absent    map[string]*api.Attention // by worker
}

// addBatch adds a batch that has not ended.
func (c *summarizing) addBatch(ctx context.Context, summary *store.BatchSummary) error {
	b, view := summary.Outline(), apiview.BatchSummary(*summary, c.now)
	c.automated[b.Runbook] = c.automated[b.Runbook] || b.FollowsSource()
	waits, err := c.admin.workers.RecentWaits(ctx, b)
	if err != nil {
		return err
	}
	apiview.AddWorkerWait(&view, waits)
	c.addAbsent(waits)
	failed, running := map[int]int{}, false
	for i := range b.Phases {
		p := &b.Phases[i]
		if p.Kind != model.KindPhase || p.Status != model.PhaseDispatched {
			continue
		}
		one, err := c.runningPhase(ctx, b, p)
		if err != nil {
			return err
		}
		running, failed[p.ID] = true, one.Failed-p.Failed
		one.BatchName, one.Owner, one.WaitingReason = view.Name, view.Owner, view.WaitingReason
		c.view.Running = append(c.view.Running, one)
	}
	if running {
		c.view.RunningBatches++
	}
	c.addEvents(view.Name, notification.BatchEvents(b, failed, c.now))
	c.addUpcoming(b, view.Name)
	return nil
}

// runningPhase counts the members of a phase that runs.
func (c *summarizing) runningPhase(ctx context.Context, b *model.Batch, p *model.Phase) (api.RunningPhase, error) {
	one := api.RunningPhase{
		BatchID: b.ID, Runbook: b.Runbook, PhaseID: p.ID, Phase: p.Name, DispatchedAt: p.DispatchedAt,
		Succeeded: p.Succeeded, Failed: p.Failed, Cancelled: p.Cancelled,
	}
	shards, err := c.admin.store.Shards(ctx, b.ID, store.ShardFilter{Phase: p.ID, Open: true, Limit: openShards})
	if err != nil {
		return one, err
	}
	for _, s := range shards {
		one.Succeeded, one.Failed, one.Cancelled = one.Succeeded+s.Doc.Succeeded, one.Failed+s.Doc.Failed, one.Cancelled+s.Doc.Cancelled
	}
	ended := one.Succeeded + one.Failed + one.Cancelled
	one.Members = max(engine.TakingPart(b, *p)-p.Carried, ended)
	one.Running = one.Members - ended
	if took := c.now.Sub(*p.DispatchedAt); took > 0 {
		one.PerMinute = math.Round(100*float64(ended)/max(took.Minutes(), 1)) / 100
	}
	return one, nil
}

// addAbsent adds workers that jobs of a batch wait for and that give no sign of life.
func (c *summarizing) addAbsent(waits []api.WorkerWait) {
	for _, w := range waits {
		if w.State == api.WorkerAlive || w.State == api.WorkerScaledToZero {
			continue
		}
		one := c.absent[w.WorkerID]
		if one == nil {
			one = &api.Attention{Event: api.EventWorkerSilent, WorkerID: w.WorkerID, Subject: w.WorkerID + ": jobs wait for the worker"}
			c.absent[w.WorkerID] = one
		}
		one.Count += w.JobsQueued
		one.Text = fmt.Sprintf("The worker %s has %s to do: %s.", w.WorkerID, humanize.Count(one.Count, "job"), w.Reason)
	}
}

// addEvents adds what a notification rule can announce. A batch that was given no name has batchName.
func (c *summarizing) addEvents(batchName string, events []notification.Event) {
	for _, e := range events {
		c.view.Attention = append(c.view.Attention, api.Attention{
			Event: e.Kind, Subject: e.Subject, Text: e.Text, BatchID: e.Batch, BatchName: cmp.Or(e.BatchName, batchName), Runbook: e.Runbook, Owner: e.Owner, Phase: e.Phase, WorkerID: e.Worker,
			Count: max(e.Failed, e.Count), DueAt: e.DueAt,
		})
	}
}

// addUpcoming adds the pending phases of a batch that start within seven days, and their gates.
func (c *summarizing) addUpcoming(b *model.Batch, name string) {
	waiting, _, _ := engine.WaitingGate(b, c.now)
	for i := range b.Phases {
		p := &b.Phases[i]
		if p.Kind != model.KindPhase || p.Status != model.PhasePending || p.DueAt == nil || p.DueAt.Sub(c.now) > upcomingWithin {
			continue
		}
		c.view.Upcoming = append(c.view.Upcoming, api.UpcomingPhase{
			BatchID: b.ID, BatchName: name, Runbook: b.Runbook, Owner: b.Owner, PhaseID: p.ID, Phase: p.Name, DueAt: *p.DueAt, StartsAt: engine.StartsAt(b, p, c.now),
			Members: b.Active(), Approval: p.Approval, Approved: apiview.Attribution(p.Approved), Paused: apiview.Attribution(b.Paused), Reason: p.Reason,
		})
		if p.Approval && p.Approved == nil && (waiting == nil || waiting.ID != p.ID) {
			c.addEvents(name, []notification.Event{notification.GateAhead(b, p)})
		}
	}
}

// addSources adds data sources that cannot be read, and held additions.
func (c *summarizing) addSources(ctx context.Context) error {
	enabled, err := c.admin.store.EnabledAutomations(ctx)
	if err != nil {
		return err
	}
	for _, s := range enabled {
		c.automated[s.Doc.Runbook] = true
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.automated)) {
		if c.automated[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	records, err := c.admin.store.SyncRecords(ctx, names)
	if err != nil {
		return err
	}
	slices.SortFunc(records, func(x, y store.Item[store.SyncRecord]) int { return cmp.Compare(x.Doc.Runbook, y.Doc.Runbook) })
	for _, r := range records {
		c.addEvents("", notification.SourceEvents(r.Doc))
	}
	return nil
}
