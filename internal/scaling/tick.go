package scaling

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/scaler"
)

const (
	// tickTime bounds a tick, and how long it keeps others from running: the next one begins a minute later.
	tickTime = 50 * time.Second
	// waitingTime bounds the reading of the messages, so that time for the changes remains.
	waitingTime = 25 * time.Second
	// storeTime bounds each change of the record, also that with the result of a tick that took all of its time.
	storeTime = 5 * time.Second
	// maxCreations bounds the requested creations of a tick, of which many may be refused.
	maxCreations = 2 * scaler.PerTick
)

// ScaleContainers runs one tick; one of a scaler that is off does nothing. It reports failures in the log and in the
// status, and returns no error: a host that repeats a failed tick at once would not help.
func (s *Scaler) ScaleContainers(ctx context.Context) error {
	if s.settings == nil {
		s.off.Do(func() {
			s.log.DebugContext(ctx, "the container scaler is off: to use it, set ACI_IMAGE and its other settings; to stop its timer, set AzureWebJobs.containerscaler.Disabled")
		})
		return nil
	}
	tick := scaler.Tick{At: s.now().UTC()}
	bounded, cancel := context.WithTimeout(ctx, tickTime)
	defer cancel()
	id := s.newID()
	if !s.acquire(bounded, id, tick.At) {
		s.log.InfoContext(ctx, "another tick of the container scaler runs")
		return nil
	}
	var instead []scaler.Message
	inventory, err := s.azure.Groups(bounded)
	if err != nil {
		tick.Error = fmt.Sprintf("container groups cannot be read: %v", err)
	} else {
		instead = s.scale(bounded, inventory, &tick)
	}
	attributes := []any{
		logkey.Event, alert.ScalerTick, logkey.Created, tick.Created, logkey.Deleted, tick.Deleted, logkey.Active, tick.Active,
		logkey.Failed, tick.Error != "" || len(tick.Failures) > 0,
	}
	if tick.Error != "" {
		attributes = append(attributes, logkey.Error, tick.Error)
	}
	s.log.InfoContext(ctx, "scaler tick", attributes...)
	s.release(ctx, id, tick, instead)
	return nil
}

// acquire reports whether this tick may run. It may if the store does not answer.
func (s *Scaler) acquire(ctx context.Context, id string, at time.Time) bool {
	asking, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	held := false
	err := s.update(asking, func(r *scaler.Record) bool {
		if held = r.HeldUntil.After(at); held {
			return false
		}
		r.Holder, r.HeldUntil = id, at.Add(tickTime)
		return true
	})
	if err != nil {
		s.log.WarnContext(ctx, "the container scaler runs without the store", logkey.Error, err)
	}
	return !held
}

// release stores the result of a tick, also the attempts at messages beyond its plan, and lets the next one run.
func (s *Scaler) release(ctx context.Context, id string, tick scaler.Tick, instead []scaler.Message) {
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	err := s.update(storing, func(r *scaler.Record) bool {
		if r.Holder == id {
			r.Holder, r.HeldUntil = "", time.Time{}
		}
		if !r.Tick.At.After(tick.At) {
			r.Tick = tick
		}
		r.Attempts = s.settings.Opened(r.Attempts, instead)
		return true
	})
	if err != nil {
		s.log.WarnContext(ctx, "failed to store the result of a scaler tick", logkey.Error, err)
	}
}

// scale plans, creates and then deletes. It returns the messages whose containers it created instead of the plan's.
func (s *Scaler) scale(ctx context.Context, inventory scaler.Inventory, tick *scaler.Tick) []scaler.Message {
	reading, cancel := context.WithTimeout(ctx, waitingTime)
	defer cancel()
	waiting, err := s.azure.Waiting(reading)
	if err != nil {
		waiting = scaler.Waiting{}
		tick.Error = fmt.Sprintf("messages cannot be read, so that no container group is created: %v", err)
	}
	plan := scaler.NewPlan(inventory, waiting, s.settings.Limits())
	describe(tick, inventory, waiting, plan)
	s.observe(ctx, inventory, waiting, plan)
	tried, instead := s.create(ctx, plan, tick)
	tick.Verdicts = plan.CountCarriedOut(tried)
	for _, name := range plan.Delete {
		deleted, err := s.azure.Delete(ctx, name)
		if err != nil {
			s.fail(ctx, tick, scaler.Failure{Group: name, Reason: "deletion: " + err.Error()})
		}
		if deleted {
			tick.Deleted++
		}
	}
	return instead
}

// observe stores the attempts at messages and the lost containers before the plan is carried out, and logs the latter:
// not after a crash in between, unlike notifications, which follow from the stored record.
func (s *Scaler) observe(ctx context.Context, inventory scaler.Inventory, waiting scaler.Waiting, plan scaler.Plan) {
	storing, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	now := s.now()
	var lost []scaler.Attempt
	err := s.update(storing, func(r *scaler.Record) bool {
		before := *r
		lost = r.Observe(s.settings, inventory, waiting, plan, now)
		return !reflect.DeepEqual(before, *r)
	})
	if err != nil {
		s.log.WarnContext(ctx, "failed to store the attempts of the container scaler", logkey.Error, err)
		return
	}
	for _, a := range lost {
		s.log.WarnContext(ctx, "a container ended before it received its message", logkey.Event, alert.ContainerLost,
			logkey.Subscription, a.Subscription, logkey.MessageID, a.MessageID, logkey.Count, a.Lost, logkey.Reason, a.Detail)
	}
}

// create creates the groups of a plan, and in place of refused ones those of its next messages. It asks for none with
// as much memory as one for which there was no capacity, and for no others if none can succeed. A group counts towards
// the limit also after an error that is no refusal: it may exist. Create returns what came of each request by the id of
// its message, and the next messages whose groups may exist.
func (s *Scaler) create(ctx context.Context, plan scaler.Plan, tick *scaler.Tick) (tried map[string]scaler.Verdict, instead []scaler.Message) {
	free, requests, tooMuch := len(plan.Create), 0, math.MaxInt
	tried = map[string]scaler.Verdict{}
	for i, m := range slices.Concat(plan.Create, plan.Next) {
		if free == 0 || requests == maxCreations {
			break
		}
		group := s.settings.GroupFor(m)
		if group.Memory >= tooMuch {
			continue
		}
		requests++
		created, err := s.azure.Create(ctx, group)
		switch {
		case err != nil:
			tried[m.ID] = scaler.CreateFailed
			s.fail(ctx, tick, scaler.Failure{Group: group.Name, MessageID: m.ID, Reason: err.Error()})
		case created:
			tried[m.ID] = scaler.Create
			tick.Created++
			tick.Active++
		default: // another tick created it
			tried[m.ID] = scaler.HasContainer
		}
		switch {
		case errors.Is(err, scaler.ErrExhausted):
			tick.Error = err.Error()
			return tried, instead
		case errors.Is(err, scaler.ErrNoCapacity):
			tooMuch = group.Memory
		case !errors.Is(err, scaler.ErrRefused):
			free--
			if i >= len(plan.Create) {
				instead = append(instead, m)
			}
		}
	}
	return tried, instead
}

func (s *Scaler) fail(ctx context.Context, tick *scaler.Tick, f scaler.Failure) {
	tick.Failures = append(tick.Failures, f)
	s.log.WarnContext(ctx, "failed to change a container group", logkey.ContainerGroup, f.Group, logkey.MessageID, f.MessageID, logkey.Reason, f.Reason)
}

// describe notes what a tick found.
func describe(tick *scaler.Tick, inventory scaler.Inventory, waiting scaler.Waiting, plan scaler.Plan) {
	tick.Active = plan.Active
	tick.Containers = inventory[:min(len(inventory), scaler.MaxListed)]
	for _, d := range plan.Decisions {
		if slices.Contains(scaler.Unusable, d.Verdict) && len(tick.Skipped) < scaler.MaxListed {
			tick.Skipped = append(tick.Skipped, scaler.Skipped{
				Subscription: d.Subscription, MessageID: d.ID, Sequence: d.Sequence, Deliveries: d.Deliveries, EnqueuedAt: d.EnqueuedAt, Verdict: d.Verdict,
			})
		}
	}
	tick.Blocked, tick.Partial = blocked(waiting), partial(waiting)
}

func blocked(waiting scaler.Waiting) (all []scaler.Blocked) {
	for _, s := range waiting.Subscriptions {
		if s.Blocked != "" {
			all = append(all, scaler.Blocked{Subscription: s.Name, Reason: s.Blocked})
		}
	}
	return all
}

// partial returns the subscriptions with more messages than were read.
func partial(waiting scaler.Waiting) (names []string) {
	for _, s := range waiting.Subscriptions {
		if s.Partial && s.Blocked == "" {
			names = append(names, s.Name)
		}
	}
	return names
}
