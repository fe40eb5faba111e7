package scaling

import (
	"context"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/store"
)

// ScalerStatus returns the settings and the result of the latest tick. It costs one point read.
func (s *Scaler) ScalerStatus(ctx context.Context) (api.ScalerStatus, error) {
	if s.settings == nil {
		return api.ScalerStatus{}, nil
	}
	c := s.settings
	multiplier, _ := c.Memory.Multiplier.Float64()
	status := api.ScalerStatus{Configured: true, Settings: &api.ScalerSettings{
		Topic: c.Topic, Image: c.Image, NamePrefix: c.Prefix, Location: c.Location, MaxInstances: c.MaxInstances, MaxPerTick: scaler.PerTick,
		CPU: float64(c.CPU) / 10, MemoryMultiplier: multiplier, MinMemoryGB: float64(c.Memory.Min) / 10, MaxMemoryGB: float64(c.Memory.Max) / 10,
	}}
	item, err := store.OrNone(store.Read[scaler.Record](ctx, s.store, store.ScalerKey()))
	record := item.Doc
	if err != nil || record.Tick.At.IsZero() {
		return status, err
	}
	status.LastTick = tickView(record.Tick)
	for _, a := range record.Attempts {
		if a.Lost > 0 {
			status.LostContainers = append(status.LostContainers, api.LostContainer{Subscription: a.Subscription, MessageID: a.MessageID, Count: a.Lost, Detail: a.Detail})
		}
	}
	return status, nil
}

func tickView(t scaler.Tick) *api.ScalerTick {
	view := &api.ScalerTick{
		At: t.At, Error: t.Error, CreatedCount: t.Created, DeletedCount: t.Deleted, ActiveCount: t.Active, MessageCount: sum(t.Verdicts), Verdicts: verdictsView(t.Verdicts),
		Containers: []api.ScalerContainer{}, Skipped: []api.ScalerMessage{}, Failures: []api.ScalerFailure{}, Subscriptions: blockedView(t.Blocked),
		Partial: append([]string{}, t.Partial...),
	}
	for _, c := range t.Containers {
		exitCode := 0
		if c.ExitCode != nil {
			exitCode = *c.ExitCode
		}
		view.Containers = append(view.Containers, api.ScalerContainer{
			Group: c.Name, Subscription: c.Subscription, MessageID: c.MessageID, FileSizeMB: c.SizeMB, State: c.State, Ended: c.Ended,
			ExitCode: exitCode, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt, Detail: c.Detail,
		})
	}
	for _, m := range t.Skipped {
		view.Skipped = append(view.Skipped, api.ScalerMessage{
			Subscription: m.Subscription, MessageID: m.MessageID, SequenceNumber: m.Sequence, DeliveryCount: m.Deliveries,
			EnqueuedAt: timeView(m.EnqueuedAt), Verdict: api.ScalerVerdict(m.Verdict),
		})
	}
	for _, f := range t.Failures {
		view.Failures = append(view.Failures, api.ScalerFailure(f))
	}
	return view
}

func sum(counts map[scaler.Verdict]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

func verdictsView(counts map[scaler.Verdict]int) map[api.ScalerVerdict]int {
	view := map[api.ScalerVerdict]int{}
	for verdict, n := range counts {
		view[api.ScalerVerdict(verdict)] = n
	}
	return view
}

func blockedView(all []scaler.Blocked) []api.BlockedSubscription {
	view := []api.BlockedSubscription{}
	for _, b := range all {
		view = append(view, api.BlockedSubscription(b))
	}
	return view
}

func timeView(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

const (
	// planTime bounds the reading of a plan.
	planTime = 30 * time.Second
	// maxPlanned bounds the messages of a plan's view.
	maxPlanned = 1000
)

// PlanScaling returns what a tick would do now. It changes nothing.
func (s *Scaler) PlanScaling(ctx context.Context) (api.ScalerPlan, error) {
	if s.settings == nil {
		return api.ScalerPlan{}, problem.New(api.CodeConflict, "the container scaler is not configured: set ACI_IMAGE and the other settings of the handler")
	}
	bounded, cancel := context.WithTimeout(ctx, planTime)
	defer cancel()
	inventory, err := s.azure.Groups(bounded)
	if err != nil {
		return api.ScalerPlan{}, unavailable("container groups", err)
	}
	waiting, err := s.azure.Waiting(bounded)
	if err != nil {
		return api.ScalerPlan{}, unavailable("messages", err)
	}
	plan := scaler.NewPlan(inventory, waiting, s.settings.Limits())
	view := api.ScalerPlan{
		At: s.now().UTC(), ActiveCount: plan.Active, MaxInstances: s.settings.MaxInstances, Create: []api.PlannedGroup{}, Delete: append([]string{}, plan.Delete...),
		MessageCount: len(plan.Decisions), Verdicts: verdictsView(plan.Count()), Messages: []api.ScalerMessage{}, Subscriptions: blockedView(blocked(waiting)),
		Partial: append([]string{}, partial(waiting)...),
	}
	for _, m := range plan.Create {
		g := s.settings.GroupFor(m)
		view.Create = append(view.Create, api.PlannedGroup{
			Group: g.Name, Subscription: m.Subscription, MessageID: m.ID, FileSizeMB: m.Size.MB, CPU: float64(g.CPU) / 10, MemoryGB: float64(g.Memory) / 10,
		})
	}
	for _, d := range plan.Decisions[:min(len(plan.Decisions), maxPlanned)] {
		view.Messages = append(view.Messages, api.ScalerMessage{
			Subscription: d.Subscription, MessageID: d.ID, SequenceNumber: d.Sequence, DeliveryCount: d.Deliveries,
			EnqueuedAt: timeView(d.EnqueuedAt), FileSizeMB: d.Size.MB, Verdict: api.ScalerVerdict(d.Verdict),
		})
	}
	return view, nil
}

// unavailable is the problem of a service that cannot be read. The error of the service says why and has no secret.
func unavailable(what string, err error) error {
	return &problem.Error{Code: api.CodeUnavailable, Message: fmt.Sprintf("the %s cannot be read: %v", what, err), Cause: err}
}
