package scaling_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/scaling"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// drawnAzure is an Azure whose answers are drawn. It fails the test at a second group of a message, at more active groups
// than allowed, and at the deletion of a group that runs.
type drawnAzure struct {
	*rapid.T
	settings *scaler.Settings
	messages map[string]scaler.Message
	groups   map[string]scaler.Container // by name
	die      func()                      // of the process of the tick
}

func (a *drawnAzure) Settings() *scaler.Settings { return a.settings }

func (a *drawnAzure) Groups(context.Context) (scaler.Inventory, error) {
	return slices.Collect(maps.Values(a.groups)), a.away("groups")
}

func (a *drawnAzure) Waiting(context.Context) (scaler.Waiting, error) {
	w := scaler.Waiting{Messages: slices.Collect(maps.Values(a.messages))}
	for _, name := range []string{"a", "b"} {
		w.Subscriptions = append(w.Subscriptions, scaler.Subscription{Name: name, MaxDeliveries: 3, LockDuration: time.Minute})
	}
	return w, a.away("messages")
}

func (a *drawnAzure) away(what string) error {
	if rapid.IntRange(0, 9).Draw(a.T, what+" are away") == 0 {
		return errors.New("away")
	}
	return nil
}

func (a *drawnAzure) Create(ctx context.Context, g scaler.Group) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if _, exists := a.groups[g.Name]; exists {
		return false, nil
	}
	outcome := rapid.SampledFrom([]error{nil, nil, nil, scaler.ErrRefused, scaler.ErrNoCapacity, scaler.ErrExhausted, errLost, errAway}).Draw(a.T, "creation")
	if outcome != nil && outcome != errLost {
		return false, outcome
	}
	a.groups[g.Name] = scaler.Container{Name: g.Name, MessageID: g.Tags[scaler.TagMessageID], Subscription: g.Tags[scaler.TagSubscription]}
	active, of := 0, map[string]int{}
	for _, c := range a.groups {
		if !c.Ended {
			active++
		}
		if of[c.MessageID]++; of[c.MessageID] > 1 {
			a.Fatalf("a second group of the message %s", c.MessageID)
		}
	}
	if active > a.settings.MaxInstances {
		a.Fatalf("%d active groups, %d are allowed", active, a.settings.MaxInstances)
	}
	if rapid.IntRange(0, 9).Draw(a.T, "the process dies") == 0 {
		a.die()
	}
	return outcome == nil, outcome
}

var errLost, errAway = errors.New("the answer is lost"), errors.New("503 ServiceUnavailable")

func (a *drawnAzure) Delete(ctx context.Context, name string) (bool, error) {
	if ctx.Err() != nil || a.away("deletions") != nil {
		return false, errAway
	}
	if !a.groups[name].Ended {
		a.Fatalf("the group %s runs", name)
	}
	delete(a.groups, name)
	return true, nil
}

// TestNoTickExceedsTheLimitOrCreatesASecondGroup lets ticks pass with every outcome of their requests, processes that die
// after a creation, and containers that end with and without their messages. The numbers of each tick add up.
func TestNoTickExceedsTheLimitOrCreatesASecondGroup(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := map[string]string{
			"AZURE_SUBSCRIPTION_ID": "6b4a8f0e-0000-4000-8000-000000000001", "AZURE_RESOURCE_GROUP": "validators", "ACI_IMAGE": "registry.example/validator:1", "ACI_NAME_PREFIX": "validator",
			"ACI_LOCATION": "westeurope", "ACI_MAX_INSTANCES": fmt.Sprint(rapid.IntRange(0, 7).Draw(t, "limit")), "SB_NAMESPACE": "contoso", "SB_TOPIC_NAME": "validations",
		}
		settings, err := scaler.ReadSettings(func(name string) string { return values[name] }, nil)
		if err != nil {
			t.Fatal(err)
		}
		azure := &drawnAzure{T: t, settings: settings, messages: map[string]scaler.Message{}, groups: map[string]scaler.Container{}}
		now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		s := scaling.New(scaling.Config{Azure: azure, Store: memory.New(memory.Config{}), Now: func() time.Time { return now }, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)})
		for range rapid.IntRange(1, 12).Draw(t, "ticks") {
			for range rapid.IntRange(0, 5).Draw(t, "messages") {
				m := scaler.Message{Subscription: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "subscription"), ID: fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "id")), Size: scaler.Size{MB: "1"}}
				m.Sequence = int64(len(azure.messages))
				azure.messages[m.Subscription+"/"+m.ID] = m
			}
			for _, name := range slices.Sorted(maps.Keys(azure.groups)) {
				c := azure.groups[name]
				if c.Ended || !rapid.Bool().Draw(t, "ends") {
					continue
				}
				c.Ended, c.FinishedAt = true, &now
				if azure.groups[name] = c; rapid.Bool().Draw(t, "settles") {
					delete(azure.messages, c.Subscription+"/"+c.MessageID)
				}
			}
			now = now.Add(time.Minute)
			ctx, die := context.WithCancel(context.Background())
			azure.die = die
			if err := s.ScaleContainers(ctx); err != nil {
				t.Fatal(err)
			}
			die()
			addsUp(t, s)
		}
	})
}

// addsUp checks the numbers of the latest tick.
func addsUp(t *rapid.T, s *scaling.Scaler) {
	status, err := s.ScalerStatus(context.Background())
	if err != nil || status.LastTick == nil {
		t.Fatal(status, err)
	}
	tick, messages := status.LastTick, 0
	for _, n := range tick.Verdicts {
		messages += n
	}
	failed := 0
	for _, f := range tick.Failures {
		if f.MessageID != "" {
			failed++
		}
	}
	if messages != tick.MessageCount || tick.Verdicts[api.ScalerCreate] != tick.CreatedCount || tick.Verdicts[api.ScalerCreateFailed] != failed {
		t.Fatalf("the numbers do not add up: %+v", tick)
	}
}
