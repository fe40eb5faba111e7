package cosmos_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

func TestPartitionsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	keys := map[string]azcosmos.PartitionKey{
		`"42"`: azcosmos.NewPartitionKeyString("42"),
		`42`:   azcosmos.NewPartitionKeyNumber(42),
		`true`: azcosmos.NewPartitionKeyBool(true),
		`null`: azcosmos.NullPartitionKey,
		`"é"`:  azcosmos.NewPartitionKeyString("é"),
	}
	for value, key := range keys {
		_, err := c.CreateItem(ctx, key, fmt.Appendf(nil, `{"id":"same","pk":%s,"at":%q}`, value, value), nil)
		wantStatus(t, err, 0)
	}
	for value, key := range keys {
		response, err := c.ReadItem(ctx, key, "same", nil)
		wantStatus(t, err, 0)
		if got := members(t, response.Value)["at"]; got != value {
			t.Errorf("partition %s holds the item of %s", value, got)
		}
		if rows := queryAll(t, c, key, "SELECT VALUE c.at FROM c", nil); len(rows) != 1 {
			t.Errorf("a query in partition %s found %v", value, rows)
		}
	}
	_, err := c.DeleteItem(ctx, keys[`42`], "same", nil)
	wantStatus(t, err, 0)
	_, err = c.ReadItem(ctx, keys[`"42"`], "same", nil)
	wantStatus(t, err, 0)
	_, err = c.CreateItem(ctx, keys[`42`], []byte(`{"id":"other","pk":"42"}`), nil)
	wantStatus(t, err, http.StatusBadRequest)
}

func TestHierarchicalPartitionKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t), "/tenant", "/user/name", "/n")
	key := azcosmos.NewPartitionKeyString("t1").AppendString("u1").AppendNumber(7)
	item := []byte(`{"id":"a","tenant":"t1","user":{"name":"u1"},"n":7}`)
	_, err := c.CreateItem(ctx, key, item, nil)
	wantStatus(t, err, 0)
	_, err = c.ReadItem(ctx, key, "a", nil)
	wantStatus(t, err, 0)
	_, err = c.ReadItem(ctx, azcosmos.NewPartitionKeyString("t1").AppendString("u1").AppendNumber(8), "a", nil)
	wantStatus(t, err, http.StatusNotFound)
	_, err = c.CreateItem(ctx, azcosmos.NewPartitionKeyString("t1"), item, nil)
	wantStatus(t, err, http.StatusBadRequest)
}

func TestItemsThatAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	for name, item := range map[string]string{
		"no id":            `{"pk":"p1"}`,
		"id not a string":  `{"id":7,"pk":"p1"}`,
		"empty id":         `{"id":"","pk":"p1"}`,
		"slash in id":      `{"id":"a/b","pk":"p1"}`,
		"backslash in id":  `{"id":"a\\b","pk":"p1"}`,
		"question mark":    `{"id":"a?b","pk":"p1"}`,
		"hash":             `{"id":"a#b","pk":"p1"}`,
		"long id":          `{"id":"` + strings.Repeat("x", 1024) + `","pk":"p1"}`,
		"other partition":  `{"id":"a","pk":"p2"}`,
		"not an object":    `["a"]`,
		"not JSON":         `{"id":"a","pk":"p1",}`,
		"array as key":     `{"id":"a","pk":["p1"]}`,
		"number too large": `{"id":"a","pk":"p1","n":1e999}`,
		"129 levels":       `{"id":"a","pk":"p1","n":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`,
		"not UTF-8":        "{\"id\":\"a\",\"pk\":\"p1\",\"n\":\"\xff\"}",
	} {
		_, err := c.CreateItem(ctx, p1, []byte(item), nil)
		if t.Log(name); err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		wantStatus(t, err, http.StatusBadRequest)
	}
	large := doc("large", `"text":"`+strings.Repeat("x", 2<<20)+`"`)
	_, err := c.CreateItem(ctx, p1, large, nil)
	wantStatus(t, err, http.StatusRequestEntityTooLarge)
	nearly := doc("large", `"text":"`+strings.Repeat("x", 2<<20-200)+`"`)
	_, err = c.CreateItem(ctx, p1, nearly, nil)
	wantStatus(t, err, 0)
	_, err = c.ReplaceItem(ctx, p1, "large", doc("another", ""), nil)
	wantStatus(t, err, http.StatusBadRequest)
}

// What a single write refuses, a batch and a patch refuse too.
func TestWhatIsRefusedIsRefusedByEveryWrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	mustCreate(t, c, "there", `"o":{}`)
	deep := json.RawMessage(strings.Repeat("[", 127) + strings.Repeat("]", 127))
	batch := c.NewTransactionalBatch(p1)
	batch.UpsertItem(doc("fine", ""), nil)
	batch.UpsertItem(doc("deep", `"o":{"n":`+string(deep)+`}`), nil)
	response, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
	if err == nil && (response.Success || response.OperationResults[1].StatusCode != http.StatusBadRequest) {
		t.Errorf("a batch took a document of 129 levels: %+v", response.OperationResults)
	}
	var patch azcosmos.PatchOperations
	patch.AppendSet("/o/n", deep)
	_, err = c.PatchItem(ctx, p1, "there", patch, nil)
	wantStatus(t, err, http.StatusBadRequest)
	wantItem(t, c, "there", `"o":{}`)
	_, err = c.CreateItem(ctx, p1, doc("nearly", `"n":`+string(deep)), nil) // 128 levels
	wantStatus(t, err, 0)
}

// Every kind of write stores numbers as doubles.
func TestNumbersAreKeptAsDoubles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	const sent = `"long":9007199254740993,"decimal":0.12345678901234567890,"exact":9007199254740992,"small":1e-400`
	want := map[string]float64{"long": 9007199254740992, "decimal": 0.12345678901234568, "exact": 9007199254740992, "small": 0}
	mustCreate(t, c, "written", sent)
	mustCreate(t, c, "patched", "")
	var patch azcosmos.PatchOperations
	for _, member := range strings.Split(sent, ",") {
		name, value, _ := strings.Cut(member, ":")
		patch.AppendSet("/"+strings.Trim(name, `"`), json.RawMessage(value))
	}
	_, err := c.PatchItem(ctx, p1, "patched", patch, nil)
	wantStatus(t, err, 0)
	for _, id := range []string{"written", "patched"} {
		item, err := c.ReadItem(ctx, p1, id, nil)
		wantStatus(t, err, 0)
		var got map[string]json.RawMessage
		if err := json.Unmarshal(item.Value, &got); err != nil {
			t.Fatal(err)
		}
		for name, number := range want {
			var kept json.Number
			if err := json.Unmarshal(got[name], &kept); err != nil {
				t.Fatal(err)
			}
			exact, _ := new(big.Rat).SetString(kept.String())
			shortest, _ := new(big.Rat).SetString(strconv.FormatFloat(number, 'e', -1, 64))
			if exact == nil || exact.Cmp(shortest) != 0 {
				t.Errorf("%s: %s comes back as %s", id, name, kept)
			}
		}
	}
}

func TestBatchLimits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	for n, want := range map[int]int{100: 0, 101: http.StatusBadRequest} {
		batch := c.NewTransactionalBatch(p1)
		for i := range n {
			batch.UpsertItem(doc(fmt.Sprint(n, "-", i), ""), nil)
		}
		_, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
		wantStatus(t, err, want)
	}
	batch := c.NewTransactionalBatch(p1)
	for i := range 3 {
		batch.UpsertItem(doc(fmt.Sprint("large", i), `"text":"`+strings.Repeat("x", 700<<10)+`"`), nil)
	}
	_, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
	wantStatus(t, err, http.StatusRequestEntityTooLarge)
}

func TestBatchFailures(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	mustCreate(t, c, "a", `"n":1`)
	incrementText := azcosmos.PatchOperations{}
	incrementText.AppendIncrement("/id2/x", 1)
	conditional := azcosmos.PatchOperations{}
	conditional.SetCondition("from c where c.n = 2")
	conditional.AppendSet("/n", 3)
	for name, test := range map[string]struct {
		add  func(*azcosmos.TransactionalBatch)
		want int32
	}{
		"create of what exists":  {func(b *azcosmos.TransactionalBatch) { b.CreateItem(doc("a", ""), nil) }, 409},
		"create of the same":     {func(b *azcosmos.TransactionalBatch) { b.CreateItem(doc("first", ""), nil) }, 409},
		"replace of nothing":     {func(b *azcosmos.TransactionalBatch) { b.ReplaceItem("x", doc("x", ""), nil) }, 404},
		"delete of nothing":      {func(b *azcosmos.TransactionalBatch) { b.DeleteItem("x", nil) }, 404},
		"read of nothing":        {func(b *azcosmos.TransactionalBatch) { b.ReadItem("x", nil) }, 404},
		"patch of nothing":       {func(b *azcosmos.TransactionalBatch) { b.PatchItem("x", conditional, nil) }, 404},
		"patch without a parent": {func(b *azcosmos.TransactionalBatch) { b.PatchItem("a", incrementText, nil) }, 400},
		"condition not met":      {func(b *azcosmos.TransactionalBatch) { b.PatchItem("a", conditional, nil) }, 412},
		"other partition":        {func(b *azcosmos.TransactionalBatch) { b.CreateItem([]byte(`{"id":"y","pk":"p2"}`), nil) }, 400},
	} {
		t.Run(name, func(t *testing.T) {
			batch := c.NewTransactionalBatch(p1)
			batch.CreateItem(doc("first", ""), nil)
			test.add(&batch)
			batch.CreateItem(doc("last", ""), nil)
			response, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
			wantStatus(t, err, 0)
			if got, want := fmt.Sprint(batchStatuses(response)), fmt.Sprint([]int32{424, test.want, 424}); response.Success || got != want {
				t.Errorf("success %v, statuses %s, want %s", response.Success, got, want)
			}
			_, err = c.ReadItem(ctx, p1, "first", nil)
			wantStatus(t, err, http.StatusNotFound)
		})
	}
}

func TestBatchReturnsContentWhenAskedAndForReads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	mustCreate(t, c, "a", `"n":1`)
	for _, content := range []bool{false, true} {
		batch := c.NewTransactionalBatch(p1)
		batch.UpsertItem(doc("b", `"n":2`), nil)
		response, err := c.ExecuteTransactionalBatch(ctx, batch, &azcosmos.TransactionalBatchOptions{EnableContentResponseOnWrite: content})
		wantStatus(t, err, 0)
		if got := len(response.OperationResults[0].ResourceBody) > 0; got != content {
			t.Errorf("content asked for: %v, returned: %v", content, got)
		}
	}
	batch := c.NewTransactionalBatch(p1)
	batch.ReplaceItem("b", doc("b", `"n":3`), nil)
	batch.ReadItem("b", nil)
	response, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
	wantStatus(t, err, 0)
	if got := members(t, response.OperationResults[1].ResourceBody)["n"]; got != 3.0 {
		t.Errorf("the read in a batch saw n = %v, want what the batch wrote", got)
	}
}

func TestPatch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	const start = `"n":1,"big":9007199254740992,"f":0.5,"o":{"a":"x"},"list":[1,2],"gone":true`
	type ops = azcosmos.PatchOperations
	for i, test := range []struct {
		name   string
		build  func(*ops)
		want   string // members, when it succeeds
		status int
	}{
		{"set new", func(p *ops) { p.AppendSet("/new", "v") }, start + `,"new":"v"`, 0},
		{"set nested", func(p *ops) { p.AppendSet("/o/b", 1) }, strings.Replace(start, `"x"`, `"x","b":1`, 1), 0},
		{"add replaces a member", func(p *ops) { p.AppendAdd("/n", 2) }, strings.Replace(start, `"n":1`, `"n":2`, 1), 0},
		{"add inserts", func(p *ops) { p.AppendAdd("/list/1", 9) }, strings.Replace(start, `[1,2]`, `[1,9,2]`, 1), 0},
		{"add appends", func(p *ops) { p.AppendAdd("/list/-", 9) }, strings.Replace(start, `[1,2]`, `[1,2,9]`, 1), 0},
		{"set changes an element", func(p *ops) { p.AppendSet("/list/1", 9) }, strings.Replace(start, `[1,2]`, `[1,9]`, 1), 0},
		{"replace", func(p *ops) { p.AppendReplace("/o/a", []int{1}) }, strings.Replace(start, `"x"`, `[1]`, 1), 0},
		{"remove", func(p *ops) { p.AppendRemove("/gone") }, strings.Replace(start, `,"gone":true`, ``, 1), 0},
		{"remove an element", func(p *ops) { p.AppendRemove("/list/0") }, strings.Replace(start, `[1,2]`, `[2]`, 1), 0},
		{"increment", func(p *ops) { p.AppendIncrement("/n", -3) }, strings.Replace(start, `"n":1`, `"n":-2`, 1), 0},
		{"increment a fraction", func(p *ops) { p.AppendIncrement("/f", 2) }, strings.Replace(start, `0.5`, `2.5`, 1), 0},
		{"increment what is not there", func(p *ops) { p.AppendIncrement("/o/count", 4) }, strings.Replace(start, `"x"`, `"x","count":4`, 1), 0},
		{"several in order", func(p *ops) { p.AppendSet("/m", 1); p.AppendIncrement("/m", 1); p.AppendRemove("/n") }, strings.Replace(start, `"n":1,`, ``, 1) + `,"m":2`, 0},
		{"condition met", func(p *ops) { p.SetCondition("from c where c.n = 1 and c.o.a = 'x'"); p.AppendSet("/n", 2) }, strings.Replace(start, `"n":1`, `"n":2`, 1), 0},
		{"condition not met", func(p *ops) { p.SetCondition("from c where c.n > 1"); p.AppendSet("/n", 2) }, "", 412},
		{"condition malformed", func(p *ops) { p.SetCondition("where c.n > 1"); p.AppendSet("/n", 2) }, "", 400},
		{"none", func(*ops) {}, "", 400},
		{"eleven", func(p *ops) {
			for range 11 {
				p.AppendIncrement("/n", 1)
			}
		}, "", 400},
		{"replace of nothing", func(p *ops) { p.AppendReplace("/x", 1) }, "", 400},
		{"remove of nothing", func(p *ops) { p.AppendRemove("/x") }, "", 400},
		{"no parent", func(p *ops) { p.AppendSet("/x/y", 1) }, "", 400},
		{"beyond the array", func(p *ops) { p.AppendAdd("/list/3", 1) }, "", 400},
		{"increment of text", func(p *ops) { p.AppendIncrement("/o/a", 1) }, "", 400},
		{"id", func(p *ops) { p.AppendSet("/id", "z") }, "", 400},
		{"partition key", func(p *ops) { p.AppendSet("/pk", "p2") }, "", 400},
		{"later failure undoes all", func(p *ops) { p.AppendSet("/n", 2); p.AppendRemove("/x") }, "", 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := fmt.Sprint("item", i)
			mustCreate(t, c, id, start)
			var patch ops
			test.build(&patch)
			response, err := c.PatchItem(ctx, p1, id, patch, nil)
			wantStatus(t, err, test.status)
			if test.status != 0 {
				wantItem(t, c, id, start)
				return
			}
			if read := wantItem(t, c, id, test.want); read.ETag != response.ETag {
				t.Errorf("the patch returned ETag %s and the item has %s", response.ETag, read.ETag)
			}
			if raw := string(wantItem(t, c, id, test.want).Value); !strings.Contains(raw, "9007199254740992") {
				t.Errorf("a patch changed a number that it did not name: %s", raw)
			}
		})
	}
}

func TestConcurrentIncrementsAreAllCounted(t *testing.T) {
	t.Parallel()
	c := newContainer(t, newClient(t))
	mustCreate(t, c, "counter", `"n":0`)
	var patch azcosmos.PatchOperations
	patch.AppendIncrement("/n", 1)
	failures := make(chan error)
	for range 8 {
		go func() {
			var failed error
			for range 10 {
				if _, err := c.PatchItem(context.Background(), p1, "counter", patch, nil); err != nil {
					failed = err
				}
			}
			failures <- failed
		}()
	}
	for range 8 {
		wantStatus(t, <-failures, 0)
	}
	wantItem(t, c, "counter", `"n":80`)
}

func TestRequestChargeFollowsTheSize(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newContainer(t, newClient(t))
	small := mustCreate(t, c, "small", "")
	large := mustCreate(t, c, "large", `"text":"`+strings.Repeat("x", 100<<10)+`"`)
	readSmall, err := c.ReadItem(ctx, p1, "small", nil)
	wantStatus(t, err, 0)
	readLarge, err := c.ReadItem(ctx, p1, "large", nil)
	wantStatus(t, err, 0)
	if readSmall.RequestCharge != 1 || readLarge.RequestCharge < 9 || readLarge.RequestCharge > 11 {
		t.Errorf("reads are charged %v and %v, want 1 and about 10", readSmall.RequestCharge, readLarge.RequestCharge)
	}
	if small.RequestCharge < 4 || small.RequestCharge > 8 || large.RequestCharge < 7*small.RequestCharge {
		t.Errorf("creates are charged %v and %v, want about 5 and 50", small.RequestCharge, large.RequestCharge)
	}
}

// withHeader adds a header that azcosmos has no option for.
type withHeader struct{ name, value string }

func (h withHeader) Do(req *policy.Request) (*http.Response, error) {
	req.Raw().Header.Set(h.name, h.value)
	return req.Next()
}

func TestWrongCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	endpoint := newClient(t).Endpoint()
	other := clientFor(t, endpoint, base64.StdEncoding.EncodeToString([]byte("another key")))
	_, err := other.CreateDatabase(context.Background(), azcosmos.DatabaseProperties{ID: "x"}, nil)
	if err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("error is %v, want 401", err)
	}
	client := http.Client{Timeout: 5 * time.Second}
	response := testenv.Must(client.Post(endpoint+"/dbs", "application/json", bytes.NewReader([]byte(`{"id":"x"}`))))(t)
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a request without credentials answered %d: %s", response.StatusCode, body)
	}
}
