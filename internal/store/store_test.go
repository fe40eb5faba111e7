package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// The suite is the store's contract. It runs against local/cosmos, or against the
// account that COSMOS_TEST_ENDPOINT and COSMOS_TEST_KEY name: the official
// emulator, or Azure.
func open(t *testing.T) (*store.Store, *cosmos.Server) {
	t.Helper()
	c := store.Config{Endpoint: os.Getenv("COSMOS_TEST_ENDPOINT"), Key: os.Getenv("COSMOS_TEST_KEY"), Database: "matoolkit-test", Container: "state"}
	var server *cosmos.Server
	if c.Endpoint == "" {
		var err error
		if server, err = cosmos.Start(t.Context(), cosmos.Config{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		c.Endpoint, c.Key = server.URL(), cosmos.DefaultKey
	}
	s, err := store.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // provisioning is repeatable
		if err := s.Provision(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return s, server
}

type thing struct {
	N    int    `json:"n"`
	Text string `json:"text,omitempty"`
}

// place makes keys in a partition of the test's own.
func place(t *testing.T) func(id string) store.Key {
	pk := "test:" + strconv.FormatInt(time.Now().UnixNano(), 36) + t.Name()
	return func(id string) store.Key { return store.Key{PK: pk, ID: id, Type: "thing"} }
}

func must(t *testing.T, s *store.Store, ops ...store.Op) store.Outcome {
	t.Helper()
	o, err := s.Commit(t.Context(), ops...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func read(t *testing.T, s *store.Store, k store.Key) store.Item[thing] {
	t.Helper()
	item, err := store.Read[thing](t.Context(), s, k)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func TestItemIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	k := place(t)("a")
	must(t, s, store.Create(k, thing{N: 1, Text: "x"}))
	if got := read(t, s, k); got.Doc != (thing{N: 1, Text: "x"}) || got.ID != "a" || got.Type != "thing" || got.ETag == "" {
		t.Fatalf("%+v", got)
	}
	if _, err := store.Read[thing](t.Context(), s, place(t)("b")); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("%v", err)
	}
}

func TestCreateIsOnce(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	k := place(t)("a")
	must(t, s, store.Create(k, thing{N: 1}))
	if _, err := s.Commit(t.Context(), store.Create(k, thing{N: 2})); !errors.Is(err, store.ErrExists) {
		t.Fatalf("%v", err)
	}
	if got := read(t, s, k); got.Doc.N != 1 {
		t.Fatalf("%+v", got)
	}
}

func TestReplaceIsGuardedByTheETag(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	k := place(t)("a")
	must(t, s, store.Create(k, thing{N: 1}))
	first := read(t, s, k)
	must(t, s, store.Replace(k, thing{N: 2}, first.ETag))
	if _, err := s.Commit(t.Context(), store.Replace(k, thing{N: 3}, first.ETag)); !errors.Is(err, store.ErrChanged) {
		t.Fatalf("%v", err)
	}
	if _, err := s.Commit(t.Context(), store.Replace(k, thing{N: 3}, "")); err == nil {
		t.Fatal("replaced without an ETag")
	}
	if got := read(t, s, k); got.Doc.N != 2 {
		t.Fatalf("%+v", got)
	}
}

// tomorrows is a thing as a later version has it.
type tomorrows struct {
	thing
	Colour string `json:"colour"`
}

func TestWhatALaterVersionWroteIsNotReplaced(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	k, other := place(t)("a"), place(t)("b")
	other.PK = k.PK
	must(t, s, store.Create(k, tomorrows{thing{N: 1}, "red"}), store.Create(other, thing{N: 1}))
	item := read(t, s, k)
	if item.Doc.N != 1 {
		t.Fatalf("%+v", item)
	}
	listed, err := store.All[thing](t.Context(), s, k.PK, "SELECT * FROM c WHERE c.id = 'a'")
	if err != nil || len(listed) != 1 {
		t.Fatalf("%v %v", listed, err)
	}
	outcome := must(t, s, store.Patch(other, "", store.Increment("/n", 1)), store.Get(k))
	got, err := store.Decode[thing](outcome, 1)
	if err != nil {
		t.Fatal(err)
	}
	for way, etag := range map[string]string{"read": item.ETag, "listed": listed[0].ETag, "got in a commit": got.ETag} {
		for _, ops := range [][]store.Op{
			{store.Replace(k, thing{N: 2}, etag)},
			{store.Replace(other, thing{N: 5}, read(t, s, other).ETag), store.Replace(k, thing{N: 2}, etag)},
		} {
			if _, err := s.Commit(t.Context(), ops...); !errors.Is(err, store.ErrLater) || !strings.Contains(err.Error(), k.String()) || !strings.Contains(err.Error(), `"colour"`) {
				t.Errorf("%s, %d operations: %v", way, len(ops), err)
			}
		}
	}
	if n := read(t, s, other).Doc.N; n != 2 {
		t.Errorf("the other operation was carried out: %d", n)
	}
	must(t, s, store.Patch(k, item.ETag, store.Increment("/n", 1)))
	now, err := store.Read[tomorrows](t.Context(), s, k)
	if err != nil || now.Doc != (tomorrows{thing{N: 2}, "red"}) {
		t.Fatalf("%+v %v", now, err)
	}
	must(t, s, store.Replace(k, tomorrows{thing{N: 3}, "blue"}, now.ETag)) // the later version itself
	if _, err := s.Commit(t.Context(), store.Delete(k, item.ETag)); !errors.Is(err, store.ErrChanged) {
		t.Errorf("deleted at an old ETag: %v", err)
	}
	must(t, s, store.Delete(k, read(t, s, k).ETag))
}

func TestDeleteIsGuardedByTheETag(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	at := place(t)
	k, other := at("a"), at("b")
	must(t, s, store.Create(k, thing{N: 1}))
	first := read(t, s, k)
	must(t, s, store.Replace(k, thing{N: 2}, first.ETag))
	for _, etag := range []string{first.ETag, ""} {
		if _, err := s.Commit(t.Context(), store.Delete(k, etag)); err == nil {
			t.Fatalf("removed with the ETag %q", etag)
		}
	}
	if _, err := s.Commit(t.Context(), store.Delete(k, first.ETag)); !errors.Is(err, store.ErrChanged) {
		t.Fatalf("%v", err)
	}
	second := read(t, s, k)
	must(t, s, store.Create(other, thing{N: 3}))
	third := read(t, s, other)
	must(t, s, store.Delete(k, second.ETag))
	must(t, s, store.Delete(other, third.ETag), store.Create(k, thing{N: 4})) // within a transaction too
	if _, err := store.Read[thing](t.Context(), s, other); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("%v", err)
	}
}

func TestSelectGivesAllOfAProjection(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	at := place(t)
	for i := range 30 {
		must(t, s, store.Create(at(fmt.Sprintf("item-%02d", i)), thing{N: i, Text: strings.Repeat("x", 100)}))
	}
	type line struct {
		ID string `json:"id"`
		N  int    `json:"n"`
	}
	got, err := store.Select[line](t.Context(), s, at("").PK, "SELECT c.id AS id, c.doc.n AS n FROM c WHERE c.doc.n >= @least ORDER BY c.id", store.Param{Name: "@least", Value: 10})
	if err != nil || len(got) != 20 || got[0] != (line{"item-10", 10}) || got[19] != (line{"item-29", 29}) {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestCommitIsAllOrNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		bad  func(k func(string) store.Key) store.Op
		want error
	}{
		{"exists", func(k func(string) store.Key) store.Op { return store.Create(k("there"), thing{}) }, store.ErrExists},
		{"changed", func(k func(string) store.Key) store.Op { return store.Replace(k("there"), thing{}, `"stale"`) }, store.ErrChanged},
		{"missing", func(k func(string) store.Key) store.Op {
			return store.Patch(k("nowhere"), "", store.Increment("/n", 1))
		}, store.ErrNotFound},
		{"changed, patch", func(k func(string) store.Key) store.Op {
			return store.Patch(k("there"), `"stale"`, store.Increment("/n", 1))
		}, store.ErrChanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _ := open(t)
			k := place(t)
			must(t, s, store.Create(k("there"), thing{N: 7}))
			_, err := s.Commit(t.Context(), store.Create(k("new"), thing{N: 1}), tt.bad(k), store.Create(k("other"), thing{}))
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			if _, err := store.Read[thing](t.Context(), s, k("new")); !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("part of the commit is there: %v", err)
			}
			if got := read(t, s, k("there")); got.Doc.N != 7 {
				t.Fatalf("%+v", got)
			}
		})
	}
}

func TestPatchAndReadWithinACommit(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	k := place(t)
	must(t, s, store.Create(k("a"), thing{N: 5}))
	o := must(t, s, store.Patch(k("a"), "", store.Increment("/n", -2), store.Set("/text", "y")), store.Get(k("a")))
	got, err := store.Decode[thing](o, 1)
	if err != nil || got.Doc != (thing{N: 3, Text: "y"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if now := read(t, s, k("a")); now.ETag != got.ETag {
		t.Fatalf("the read's ETag is %s, the item's %s", got.ETag, now.ETag)
	}
	if o.ETag(0) != got.ETag {
		t.Fatalf("the patch's ETag is %s, the item's %s", o.ETag(0), got.ETag)
	}
	o = must(t, s, store.Replace(k("a"), thing{N: 4}, got.ETag))
	if now := read(t, s, k("a")); now.ETag != o.ETag(0) {
		t.Fatalf("the replace's ETag is %s, the item's %s", o.ETag(0), now.ETag)
	}
}

func TestPartitionsAreApart(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	a, b := store.Key{PK: t.Name() + "a", ID: "x", Type: "thing"}, store.Key{PK: t.Name() + "b", ID: "x", Type: "thing"}
	must(t, s, store.Upsert(a, thing{N: 1}))
	must(t, s, store.Upsert(b, thing{N: 2}))
	if read(t, s, a).Doc.N != 1 || read(t, s, b).Doc.N != 2 {
		t.Fatal("one id in two partitions is one item")
	}
	if _, err := s.Commit(t.Context(), store.Upsert(a, thing{}), store.Upsert(b, thing{})); err == nil {
		t.Fatal("a commit went over two partitions")
	}
}

func TestQueryGivesPagesInOrder(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	k := place(t)
	for i := range 25 {
		must(t, s, store.Create(k("i"+strconv.Itoa(10+i)), thing{N: i}))
	}
	const text = "SELECT * FROM c WHERE c.type = 'thing' AND c.doc.n >= @least ORDER BY c.id"
	least := []store.Param{{Name: "@least", Value: 5}}
	var got []int
	continuation, pages := "", 0
	for {
		items, next, err := store.Query[thing](t.Context(), s, k("").PK, text, least, 8, continuation)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			got = append(got, i.Doc.N)
		}
		pages++
		if continuation = next; next == "" {
			break
		}
	}
	if len(got) != 20 || got[0] != 5 || got[19] != 24 || pages < 3 {
		t.Fatalf("%d pages: %v", pages, got)
	}
	all, err := store.All[thing](t.Context(), s, k("").PK, text, least...)
	if err != nil || len(all) != 20 {
		t.Fatalf("%d, %v", len(all), err)
	}
}

// A continuation comes from whoever asks for the next page, and can be anything.
func TestAWrongContinuationIsToldApart(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	k := place(t)
	for i := range 5 {
		must(t, s, store.Create(k("i"+strconv.Itoa(i)), thing{N: i}))
	}
	ask := func(text, continuation string) (string, error) {
		_, next, err := store.Query[thing](t.Context(), s, k("").PK, text, nil, 2, continuation)
		return next, err
	}
	const ascending, descending = "SELECT * FROM c ORDER BY c.id", "SELECT * FROM c ORDER BY c.id DESC"
	next, err := ask(ascending, "")
	if err != nil || next == "" {
		t.Fatalf("no second page: %v", err)
	}
	if _, err := ask(ascending, next); err != nil {
		t.Errorf("the continuation that was given: %v", err)
	}
	for _, continuation := range []string{"x", "{}", "a\nb", "münchen", next[:len(next)-4]} {
		if _, err := ask(ascending, continuation); !errors.Is(err, store.ErrContinuation) {
			t.Errorf("%q: %v", continuation, err)
		}
	}
	if _, err := ask(descending, next); !errors.Is(err, store.ErrContinuation) {
		t.Errorf("of another query: %v", err)
	}
	// Without one it is the query that is wrong, which is nobody's fault but ours.
	if _, err := ask("SELECT * FROM", ""); err == nil || errors.Is(err, store.ErrContinuation) {
		t.Errorf("a wrong query: %v", err)
	}
}

func TestTooLargeIsToldApart(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	if _, err := s.Commit(t.Context(), store.Create(place(t)("a"), thing{Text: strings.Repeat("x", 3<<20)})); !errors.Is(err, store.ErrTooLarge) {
		t.Fatalf("%.200v", err)
	}
}

// What was measured before it was stored must not grow on the way.
func TestTextIsStoredAtItsLength(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	k := place(t)("a")
	long := strings.Repeat("<&>", 300_000) // 0.9 MB, and 5.4 MB escaped
	must(t, s, store.Create(k, thing{Text: long}))
	if got := read(t, s, k); got.Doc.Text != long {
		t.Fatal("it was read otherwise than it was written")
	}
}

func TestOutagesAreUnavailable(t *testing.T) {
	t.Parallel()
	s, server := open(t)
	if server == nil {
		t.Log("faults can be injected only into the local server")
		return
	}
	k := place(t)("a")
	must(t, s, store.Create(k, thing{}))
	for _, status := range []int{503, 403} {
		remove := server.Inject(cosmos.Fault{Status: status})
		if _, err := store.Read[thing](t.Context(), s, k); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("read, %d: %v", status, err)
		}
		if _, err := s.Commit(t.Context(), store.Upsert(k, thing{})); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("write, %d: %v", status, err)
		}
		remove()
	}
	server.Inject(cosmos.Fault{DropAfter: true, Count: 1})
	if _, err := s.Commit(t.Context(), store.Upsert(k, thing{N: 9})); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("write whose answer was lost: %v", err)
	}
	if got := read(t, s, k); got.Doc.N != 9 {
		t.Fatalf("it was not carried out: %+v", got)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := s.Ping(ctx); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("no server: %v", err)
	}
}

// What the service refuses for good is no outage.
func TestRefusalsAreNoOutages(t *testing.T) {
	t.Parallel()
	s, server := open(t)
	at := place(t)
	deep := json.RawMessage(strings.Repeat("[", 130) + strings.Repeat("]", 130))
	for name, doc := range map[string]any{"nested too deep": deep, "a number beyond a double": json.RawMessage(`1e400`), "not UTF-8": json.RawMessage("\"\xff\"")} {
		if _, err := s.Commit(t.Context(), store.Create(at("single"), doc)); !errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s, alone: %v", name, err)
		}
		if _, err := s.Commit(t.Context(), store.Create(at("a"), thing{}), store.Create(at("b"), doc)); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), at("b").String()) {
			t.Errorf("%s, in a batch: %v", name, err)
		}
	}
	if server == nil {
		t.Log("faults can be injected only into the local server")
		return
	}
	remove := server.Inject(cosmos.Fault{Status: 403, SubStatus: 1014})
	if _, err := s.Commit(t.Context(), store.Create(at("single"), thing{})); !errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a full partition: %v", err)
	}
	if _, err := s.Commit(t.Context(), store.Create(at("a"), thing{}), store.Create(at("b"), thing{})); !errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a full partition, for a batch: %v", err)
	}
	remove()
	must(t, s, store.Create(at("single"), thing{}))
}

// A container that was made with another policy gets this version's, and keeps its items.
func TestProvisionBringsTheIndexUpToDate(t *testing.T) {
	t.Parallel()
	server, err := cosmos.Start(t.Context(), cosmos.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	key, err := azcosmos.NewKeyCredential(cosmos.DefaultKey)
	if err != nil {
		t.Fatal(err)
	}
	client, err := azcosmos.NewClientWithKey(server.URL(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "d"}, nil); err != nil {
		t.Fatal(err)
	}
	database, err := client.NewDatabase("d")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := database.CreateContainer(t.Context(), azcosmos.ContainerProperties{
		ID: "c", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Kind: azcosmos.PartitionKeyKindHash},
	}, nil); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(store.Config{Endpoint: server.URL(), Key: cosmos.DefaultKey, Database: "d", Container: "c"})
	if err != nil {
		t.Fatal(err)
	}
	k := place(t)("a")
	must(t, s, store.Create(k, thing{N: 1}))
	container, err := client.NewContainer("d", "c")
	if err != nil {
		t.Fatal(err)
	}
	provisioned := func() *azcosmos.ContainerProperties {
		t.Helper()
		if err := s.Provision(t.Context()); err != nil {
			t.Fatal(err)
		}
		there, err := container.Read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return there.ContainerProperties
	}
	first := provisioned()
	if policy := first.IndexingPolicy; policy == nil || len(policy.IncludedPaths) < 20 || policy.ExcludedPaths[0].Path != "/*" {
		t.Fatalf("%+v", policy)
	}
	if again := provisioned(); *again.ETag != *first.ETag {
		t.Error("the container is changed where nothing has to be")
	}
	// Another version's has a path more, or another one instead.
	for _, without := range []string{"", first.IndexingPolicy.IncludedPaths[7].Path} {
		other := *first.IndexingPolicy
		other.IncludedPaths = append([]azcosmos.IncludedPath{{Path: "/doc/other/?"}}, other.IncludedPaths...)
		other.IncludedPaths = slices.DeleteFunc(other.IncludedPaths, func(p azcosmos.IncludedPath) bool { return p.Path == without })
		properties := *first
		properties.IndexingPolicy = &other
		if _, err := container.Replace(t.Context(), properties, nil); err != nil {
			t.Fatal(err)
		}
		if got := provisioned().IndexingPolicy; !slices.Equal(got.IncludedPaths, first.IndexingPolicy.IncludedPaths) {
			t.Errorf("the policy is still of another version: %+v", got.IncludedPaths)
		}
	}
	if got := read(t, s, k); got.Doc.N != 1 {
		t.Errorf("%+v", got)
	}
}
