package servicebus_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/local/servicebus"
)

// BenchmarkSendReceiveComplete sends from 32 goroutines while one receiver takes
// and completes: three operations a message, client and server in one process.
func BenchmarkSendReceiveComplete(b *testing.B) {
	for name, durable := range map[string]bool{"memory": false, "durable": true} {
		b.Run(name, func(b *testing.B) {
			ctx, dir := context.Background(), ""
			if durable {
				dir = b.TempDir()
			}
			server, err := servicebus.Start(ctx, servicebus.Config{Addr: "127.0.0.1:0", DataDir: dir, Topology: servicebus.DefaultTopology(), Key: testKey})
			if err != nil {
				b.Fatal(err)
			}
			defer server.Close()
			client, err := azservicebus.NewClientFromConnectionString(server.ConnectionString(), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close(ctx)
			sender, err := client.NewSender("worker-results", nil)
			if err != nil {
				b.Fatal(err)
			}
			receiver, err := client.NewReceiverForSubscription("worker-results", "orchestrator", nil)
			if err != nil {
				b.Fatal(err)
			}
			body := make([]byte, 512)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var group sync.WaitGroup
			for range 32 {
				group.Go(func() {
					for left.Add(-1) >= 0 {
						if err := sender.SendMessage(ctx, &azservicebus.Message{Body: body}, nil); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			for done := 0; done < b.N; {
				got, err := receiver.ReceiveMessages(ctx, 100, nil)
				if err != nil {
					b.Fatal(err)
				}
				var settling sync.WaitGroup
				for _, m := range got {
					settling.Go(func() {
						if err := receiver.CompleteMessage(ctx, m, nil); err != nil {
							b.Error(err)
						}
					})
				}
				settling.Wait()
				done += len(got)
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
