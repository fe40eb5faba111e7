package servicebus

import (
	"context"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

func TestSlice(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := Start(ctx, Config{Addr: "127.0.0.1:0", Topology: DefaultTopology(), Key: "c2VjcmV0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client, err := azservicebus.NewClientFromConnectionString(s.ConnectionString(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(ctx)
	sender, err := client.NewSender("worker-jobs", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"worker-02", "worker-01"} {
		if err := sender.SendMessage(ctx, &azservicebus.Message{Body: []byte(w), ApplicationProperties: map[string]any{"WorkerId": w}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	r, err := client.NewReceiverForSubscription("worker-jobs", "worker-worker-01", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		got, err := r.ReceiveMessages(ctx, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || string(got[0].Body) != "worker-01" || got[0].DeliveryCount != uint32(i+1) {
			t.Fatalf("got %v %s %d", got, got[0].Body, got[0].DeliveryCount)
		}
		if i == 0 {
			err = r.AbandonMessage(ctx, got[0], nil)
		} else {
			err = r.CompleteMessage(ctx, got[0], nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sender.ScheduleMessages(ctx, []*azservicebus.Message{{Body: []byte("later"), ApplicationProperties: map[string]any{"WorkerId": "worker-01"}}}, time.Now().Add(300*time.Millisecond), nil); err != nil {
		t.Fatal(err)
	}
	got, err := r.ReceiveMessages(ctx, 1, nil)
	if err != nil || len(got) != 1 || string(got[0].Body) != "later" {
		t.Fatal(got, err)
	}
}
