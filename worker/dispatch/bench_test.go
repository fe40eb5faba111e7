package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// BenchmarkNoOp is how fast jobs that do nothing pass from the subscription to
// the results, with the broker and the reader of results in the same process.
func BenchmarkNoOp(b *testing.B) {
	for _, parallelism := range []int{8, 64} {
		b.Run(fmt.Sprint(parallelism), func(b *testing.B) {
			release := make(chan struct{})
			w := start(b, &function{run: func(context.Context, string, []byte) (any, error) {
				<-release
				return true, nil
			}}, options{config: dispatch.Config{MaxParallelism: parallelism}})
			w.fill(b, b.N)
			b.ResetTimer()
			close(release)
			for got := 0; got < b.N; {
				n := min(500, b.N-got)
				results, _ := w.receive(b, n)
				got += len(results)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

func (b *bus) fill(t testing.TB, n int) {
	ctx := context.Background()
	batch, err := b.jobs.NewMessageBatch(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		j := job(i + 1)
		body, _ := json.Marshal(j)
		id := j.ID()
		m := &azservicebus.Message{Body: body, MessageID: &id, ApplicationProperties: map[string]any{message.PropertyWorkerID: workerID}}
		if batch.AddMessage(m, nil) == nil {
			continue
		}
		if err := b.jobs.SendMessageBatch(ctx, batch, nil); err != nil {
			t.Fatal(err)
		}
		if batch, err = b.jobs.NewMessageBatch(ctx, nil); err == nil {
			err = batch.AddMessage(m, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := b.jobs.SendMessageBatch(ctx, batch, nil); err != nil {
		t.Fatal(err)
	}
}
