package system_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/clock"
	"github.com/matoolkit/matoolkit/local/system"
)

// Service Bus goes by the clock that the host moves, also where each is a process of
// its own: here the test stands for the host.
func TestTheClockIsMovedElsewhere(t *testing.T) {
	t.Parallel()
	c := system.Config{DataDir: t.TempDir(), Addresses: system.FreeAddresses(), Parts: []system.Part{system.ServiceBus}}
	s := testenv.Started(system.Start(t.Context(), c))(t)
	client := testenv.Connected(azservicebus.NewClientFromConnectionString(s.ServiceBusConnection(), nil))(t)
	sender := testenv.Must(client.NewSender("orchestrator-events", nil))(t)
	if _, err := sender.ScheduleMessages(t.Context(), []*azservicebus.Message{{Body: []byte("day 3")}}, time.Now().Add(72*time.Hour), nil); err != nil {
		t.Fatal(err)
	}

	host := testenv.Must(clock.Open(filepath.Join(c.DataDir, "clock.json")))(t)
	if err := host.Advance(120 * time.Hour); err != nil {
		t.Fatal(err)
	}
	receiver := testenv.Must(client.NewReceiverForSubscription("orchestrator-events", "orchestrator", nil))(t)
	got, err := receiver.ReceiveMessages(t.Context(), 1, nil)
	if err != nil || len(got) != 1 || string(got[0].Body) != "day 3" {
		t.Fatalf("received %v, %v", got, err)
	}
	if s.Clock().Offset() != 120*time.Hour {
		t.Errorf("the clock is %s ahead", s.Clock().Offset())
	}
}
