package cosmos_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// stamp distinguishes the items of a partition by their last write.
type stamp struct {
	ID   string `json:"id"`
	TS   int64  `json:"_ts"`
	ETag string `json:"_etag"`
	N    int    `json:"n"`
}

func stamps(t testing.TB, c *azcosmos.ContainerClient, text string, o *azcosmos.QueryOptions) []stamp {
	t.Helper()
	var all []stamp
	for _, row := range queryAll(t, c, p1, text, o) {
		var one stamp
		if err := json.Unmarshal([]byte(row), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// The items written last in a large partition are found without reading it, and are those that a scan
// finds: after creates, updates and deletes, within one second and with a clock that is set back,
// by WHERE, page by page, and after a restart.
func TestTheNewestItemsAreFoundWithoutAScan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var clock atomic.Int64
	clock.Store(1_700_000_000)
	config := cosmos.Config{DataDir: t.TempDir(), Now: func() time.Time { return time.Unix(clock.Load(), 0) }}
	server := testenv.Must(cosmos.Start(ctx, config))(t)
	client := clientFor(t, server.URL(), server.Key())
	wantStatus(t, second(client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "d"}, nil)), 0)
	database := testenv.Must(client.NewDatabase("d"))(t)
	wantStatus(t, second(database.CreateContainer(ctx, azcosmos.ContainerProperties{ID: "c", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}}, nil)), 0)
	c := testenv.Must(database.NewContainer("c"))(t)
	for first := 0; first < 1500; first += 100 {
		batch := c.NewTransactionalBatch(p1)
		for i := first; i < first+100; i++ {
			batch.CreateItem(doc(fmt.Sprintf("i%04d", i), fmt.Sprintf(`"n":%d`, i%3)), nil)
		}
		response := testenv.Must(c.ExecuteTransactionalBatch(ctx, batch, nil))(t)
		if !response.Success {
			t.Fatal(batchStatuses(response))
		}
		clock.Add(1)
	}
	random := rand.New(rand.NewPCG(1, 2))
	check := func(name, where string, keep func(stamp) bool, skip, take int, size int32) {
		t.Helper()
		want := slices.DeleteFunc(stamps(t, c, "SELECT * FROM c", &azcosmos.QueryOptions{PageSizeHint: 1000}), func(s stamp) bool { return !keep(s) })
		slices.SortFunc(want, func(a, b stamp) int { return cmp.Or(cmp.Compare(b.TS, a.TS), cmp.Compare(a.ID, b.ID)) })
		got := stamps(t, c, fmt.Sprintf("SELECT * FROM c %s ORDER BY c._ts DESC OFFSET %d LIMIT %d", where, skip, take), &azcosmos.QueryOptions{PageSizeHint: size})
		if len(got) != take {
			t.Fatalf("%s: %d items, want %d", name, len(got), take)
		}
		for i, one := range got {
			cut := one.TS == want[skip+take].TS || skip > 0 && one.TS == want[skip-1].TS
			if at := want[skip+i]; one != at && !(cut && one.TS == at.TS && slices.Contains(want, one)) {
				t.Fatalf("%s: item %d is %+v, want %+v", name, i, one, at)
			}
		}
	}
	all := func(stamp) bool { return true }
	scanned := func() int64 {
		before := server.Stats().Scanned
		stamps(t, c, "SELECT TOP 20 * FROM c ORDER BY c._ts DESC", &azcosmos.QueryOptions{PageSizeHint: 5000})
		return server.Stats().Scanned - before
	}
	scanned() // from here on it is known
	for round := range 60 {
		for range random.IntN(12) {
			id := fmt.Sprintf("i%04d", random.IntN(1600))
			if random.IntN(5) == 0 {
				_, _ = c.DeleteItem(ctx, p1, id, nil) // it may be gone
				continue
			}
			wantStatus(t, second(c.UpsertItem(ctx, p1, doc(id, fmt.Sprintf(`"n":%d`, random.IntN(3))), nil)), 0)
		}
		switch random.IntN(6) {
		case 0:
			clock.Add(-2)
		case 1, 2, 3:
			clock.Add(1)
		}
		if n := scanned(); n > 20 {
			t.Errorf("round %d: it looks at %d documents for 20", round, n)
		}
		check("the newest", "", all, 0, 20, 5000)
		check("by pages", "", all, 0, 20, 7)
		check("behind others", "", all, 3, 10, 100)
		check("more than are remembered", "", all, 0, 100, 100)
		check("by WHERE", "WHERE c.n = 1", func(s stamp) bool { return s.N == 1 }, 0, 10, 100)
		check("by a rare WHERE", "WHERE c.id < 'i0100'", func(s stamp) bool { return s.ID < "i0100" }, 0, 10, 100)
	}
	newest := func() string { return fmt.Sprint(stamps(t, c, "SELECT TOP 20 * FROM c ORDER BY c._ts DESC", nil)) }
	for _, one := range stamps(t, c, "SELECT TOP 50 * FROM c ORDER BY c._ts DESC", nil) { // most of what is remembered
		wantStatus(t, second(c.DeleteItem(ctx, p1, one.ID, nil)), 0)
	}
	check("after deletes", "", all, 0, 20, 100)
	for i := range 20 {
		clock.Add(1)
		wantStatus(t, second(c.UpsertItem(ctx, p1, doc(fmt.Sprint("new", i), ``), nil)), 0)
	}
	before := newest()
	wantStatus(t, server.Close(), 0)
	server = start(t, config)
	c = testenv.Must(clientFor(t, server.URL(), server.Key()).NewContainer("d", "c"))(t)
	for range 2 {
		if after := newest(); after != before {
			t.Errorf("after a restart the newest are\n%s, before it\n%s", after, before)
		}
	}
	if n := scanned(); n > 20 {
		t.Errorf("after a restart it looks at %d documents for 20", n)
	}
}

func second[T any](_ T, err error) error { return err }

// A read of the newest items costs the same in a large partition as in a small one, and each write the same.
func BenchmarkNewestAmidWrites(b *testing.B) {
	for _, items := range []int{1_000, 25_000} {
		b.Run(fmt.Sprintf("%ditems", items), func(b *testing.B) {
			server := start(b, cosmos.Config{DataDir: b.TempDir()})
			c := newContainer(b, clientFor(b, server.URL(), server.Key()))
			fill(b, items)(c, items)
			i := 0
			for b.Loop() {
				for range 10 {
					i++
					if _, err := c.UpsertItem(context.Background(), p1, doc(fmt.Sprint("i", i*7%items), padding), nil); err != nil {
						b.Fatal(err)
					}
				}
				if rows := queryAll(b, c, p1, "SELECT TOP 20 c._ts AS at, c._etag AS etag FROM c ORDER BY c._ts DESC", nil); len(rows) != 20 {
					b.Fatalf("%d rows", len(rows))
				}
			}
		})
	}
}
