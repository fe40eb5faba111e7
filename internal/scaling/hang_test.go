package scaling_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/scaling"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// hanging is an Azure with a message and an ended group, whose Service Bus may never answer.
type hanging struct {
	settings *scaler.Settings
	bus      bool
	changes  []string
}

func (h *hanging) Settings() *scaler.Settings { return h.settings }

func (h *hanging) Groups(context.Context) (scaler.Inventory, error) {
	return scaler.Inventory{{Name: "ended", MessageID: "m0", Ended: true}}, nil
}

func (h *hanging) Waiting(ctx context.Context) (scaler.Waiting, error) {
	if h.bus {
		<-ctx.Done()
		return scaler.Waiting{}, ctx.Err()
	}
	return scaler.Waiting{
		Subscriptions: []scaler.Subscription{{Name: "a", MaxDeliveries: 3, LockDuration: time.Minute}},
		Messages:      []scaler.Message{{Subscription: "a", ID: "m1", Size: scaler.Size{MB: "1"}}},
	}, nil
}

func (h *hanging) Create(ctx context.Context, g scaler.Group) (bool, error) {
	if ctx.Err() == nil {
		h.changes = append(h.changes, "create "+g.Tags[scaler.TagMessageID])
	}
	return ctx.Err() == nil, ctx.Err()
}

func (h *hanging) Delete(ctx context.Context, name string) (bool, error) {
	if ctx.Err() == nil {
		h.changes = append(h.changes, "delete "+name)
	}
	return ctx.Err() == nil, ctx.Err()
}

// TestAServiceThatHangsDoesNotTakeTheWholeTick has its own Azure, because time passes by itself only without connections.
func TestAServiceThatHangsDoesNotTakeTheWholeTick(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"AZURE_SUBSCRIPTION_ID": "6b4a8f0e-0000-4000-8000-000000000001", "AZURE_RESOURCE_GROUP": "validators", "ACI_IMAGE": "registry.example/validator:1",
		"ACI_NAME_PREFIX": "validator", "ACI_LOCATION": "westeurope", "ACI_MAX_INSTANCES": "3", "SB_NAMESPACE": "contoso", "SB_TOPIC_NAME": "validations",
	}
	settings := testenv.Must(scaler.ReadSettings(func(name string) string { return values[name] }, nil))(t)
	for name, c := range map[string]struct {
		store, bus bool
		want       []string
	}{
		"the store":       {store: true, want: []string{"create m1", "delete ended"}},
		"the Service Bus": {bus: true, want: []string{"delete ended"}},
		"both":            {store: true, bus: true, want: []string{"delete ended"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				azure := &hanging{settings: settings, bus: c.bus}
				documents := memory.New(memory.Config{Hook: func(ctx context.Context, _ memory.Operation) memory.Fault {
					if !c.store {
						return memory.Fault{}
					}
					<-ctx.Done()
					return memory.Fault{Before: ctx.Err()}
				}})
				s := scaling.New(scaling.Config{Azure: azure, Store: documents, Now: time.Now, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)})
				begin := time.Now()
				if err := s.ScaleContainers(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); !slices.Equal(azure.changes, c.want) || took > 45*time.Second {
					t.Errorf("changes %q after %s, want %q", azure.changes, took, c.want)
				}
			})
		})
	}
}
