package cosmos_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/local/cosmos"
)

// The benchmarks run azcosmos and the server in one process, on disk, with
// documents of 1 KB; the SDK's own cost is part of every result.

var padding = `"type":"run","text":"` + strings.Repeat("x", 900) + `"`

func benchmark(b *testing.B, prepare func(c *azcosmos.ContainerClient, n int), step func(c *azcosmos.ContainerClient, i int) error) {
	for _, workers := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("%dclients", workers), func(b *testing.B) {
			server := start(b, cosmos.Config{DataDir: b.TempDir()})
			c := newContainer(b, clientFor(b, server.URL(), server.Key()))
			prepare(c, b.N)
			b.ResetTimer()
			var next atomic.Int64
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
						if err := step(c, i-1); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}

func fill(b *testing.B, items int) func(c *azcosmos.ContainerClient, n int) {
	return func(c *azcosmos.ContainerClient, n int) {
		for first := 0; first < min(n, items); first += 100 {
			batch := c.NewTransactionalBatch(p1)
			for i := first; i < min(n, items, first+100); i++ {
				batch.UpsertItem(doc(fmt.Sprint("i", i), padding), nil)
			}
			if response, err := c.ExecuteTransactionalBatch(context.Background(), batch, nil); err != nil || !response.Success {
				b.Fatal(err, response.Success)
			}
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	benchmark(b, func(*azcosmos.ContainerClient, int) {}, func(c *azcosmos.ContainerClient, i int) error {
		_, err := c.CreateItem(context.Background(), p1, doc(fmt.Sprint("i", i), padding), nil)
		return err
	})
}

func BenchmarkReplace(b *testing.B) {
	benchmark(b, fill(b, 1000), func(c *azcosmos.ContainerClient, i int) error {
		id := fmt.Sprint("i", i%1000)
		_, err := c.ReplaceItem(context.Background(), p1, id, doc(id, padding), nil)
		return err
	})
}

func BenchmarkRead(b *testing.B) {
	benchmark(b, fill(b, 1000), func(c *azcosmos.ContainerClient, i int) error {
		_, err := c.ReadItem(context.Background(), p1, fmt.Sprint("i", i%1000), nil)
		return err
	})
}

func BenchmarkBatchOfTen(b *testing.B) {
	benchmark(b, func(*azcosmos.ContainerClient, int) {}, func(c *azcosmos.ContainerClient, i int) error {
		batch := c.NewTransactionalBatch(p1)
		for j := range 10 {
			batch.UpsertItem(doc(fmt.Sprint("i", i%100, "-", j), padding), nil)
		}
		response, err := c.ExecuteTransactionalBatch(context.Background(), batch, nil)
		if err == nil && !response.Success {
			err = fmt.Errorf("statuses %v", batchStatuses(response))
		}
		return err
	})
}

// A query for 90 ids costs the same in a large partition as in a small one.
func BenchmarkQueryByID(b *testing.B) {
	for _, items := range []int{1_000, 50_000} {
		b.Run(fmt.Sprintf("%ditems", items), func(b *testing.B) {
			server := start(b, cosmos.Config{DataDir: b.TempDir()})
			c := newContainer(b, clientFor(b, server.URL(), server.Key()))
			fill(b, items)(c, items)
			var ids []string
			for i := range 90 {
				ids = append(ids, fmt.Sprint("i", i*items/90))
			}
			o := azcosmos.QueryOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@ids", Value: ids}}}
			for b.Loop() {
				if rows := queryAll(b, c, p1, "SELECT VALUE c.id FROM c WHERE c.type = 'run' AND ARRAY_CONTAINS(@ids, c.id)", &o); len(rows) != len(ids) {
					b.Fatalf("%d rows, want %d", len(rows), len(ids))
				}
			}
		})
	}
}
