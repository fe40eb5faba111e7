package cosmos_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/local/cosmos"
)

// A query that selects little of a large partition scans it once; from then
// on it looks at what it finds only, gives the same rows, and sees writes.
func TestSelectiveQueriesStopScanningThePartition(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	server := start(t, cosmos.Config{DataDir: dir})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	var want []string
	for first := 0; first < 3000; first += 100 {
		batch := c.NewTransactionalBatch(p1)
		for i := first; i < first+100; i++ {
			id := fmt.Sprintf("i%04d", i)
			batch.CreateItem(doc(id, fmt.Sprintf(`"type":"run","doc":{"page":%d,"name":"é%d"}`, i%100, i%100)), nil)
			if i%100 == 7 {
				want = append(want, `"`+id+`"`)
			}
		}
		response, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
		if wantStatus(t, err, 0); !response.Success {
			t.Fatal(batchStatuses(response))
		}
	}
	for _, text := range []string{
		"SELECT VALUE c.id FROM c WHERE c.type = 'run' AND c.doc.page = 7",
		"SELECT VALUE c.id FROM c WHERE c.doc.page = 7.0 AND c.type = 'run' ORDER BY c.id",
		"SELECT VALUE c.id FROM c WHERE c.doc.name = 'é7' ORDER BY c.doc.page",
		"SELECT VALUE c.id FROM c WHERE c.type = 'run' AND ARRAY_CONTAINS([7, 1007, 'x', 7], c.doc.page)",
		"SELECT VALUE c.id FROM c WHERE c.doc.name IN ('é7', 'e7') AND c.type = 'run' ORDER BY c.id",
		"SELECT VALUE c.id FROM c WHERE c.doc.name IN ('é7', 'e7') AND ARRAY_CONTAINS([7], c.doc.page)",
		"SELECT VALUE c.id FROM c WHERE c.type = 'run' AND c.doc.page = 7 AND (c.doc.name = 'é7' OR c.doc.name = 'x')",
	} {
		for round := range 3 {
			got := queryAll(t, c, p1, text, &azcosmos.QueryOptions{PageSizeHint: 20})
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("%s, round %d: got %v, want %v", text, round, got, want)
			}
		}
		before := server.Stats().Scanned
		_, err := c.NewQueryItemsPager(text, p1, nil).NextPage(ctx)
		if wantStatus(t, err, 0); server.Stats().Scanned-before > 100 {
			t.Errorf("%s looks at %d documents: it still scans the partition", text, server.Stats().Scanned-before)
		}
	}
	var move azcosmos.PatchOperations
	move.AppendSet("/doc/page", 8)
	_, err := c.PatchItem(ctx, p1, "i0007", move, nil)
	wantStatus(t, err, 0)
	_, err = c.DeleteItem(ctx, p1, "i0107", nil)
	wantStatus(t, err, 0)
	if got := queryAll(t, c, p1, "SELECT VALUE c.id FROM c WHERE c.type = 'run' AND c.doc.page = 7", nil); !slices.Equal(got, want[2:]) {
		t.Errorf("after a patch and a delete got %v", got)
	}
}

// A query that lists the ids of its documents reads those documents and no others, with
// other conditions, in any order, and page by page.
func TestQueriesByIDReadTheListedDocumentsOnly(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := start(t, cosmos.Config{})
	c := newContainer(t, clientFor(t, server.URL(), server.Key()))
	for first := 0; first < 1200; first += 100 {
		batch := c.NewTransactionalBatch(p1)
		for i := first; i < first+100; i++ {
			batch.CreateItem(doc(fmt.Sprintf("i%04d", i), fmt.Sprintf(`"type":"run","n":%d,"other":"i0007"`, 5000-i)), nil)
		}
		response, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
		if wantStatus(t, err, 0); !response.Success {
			t.Fatal(batchStatuses(response))
		}
	}
	_, err := c.CreateItem(ctx, p2, []byte(`{"id":"i0007","pk":"p2","type":"run","n":0}`), nil)
	wantStatus(t, err, 0)
	ids := []any{"i1100", "i0007", "absent", "i0500", "i0007", 7, nil, "i0900"}
	o := azcosmos.QueryOptions{PageSizeHint: 2, QueryParameters: []azcosmos.QueryParameter{{Name: "@ids", Value: ids}, {Name: "@id", Value: "i0500"}, {Name: "@none", Value: []string{}}}}
	for text, want := range map[string]string{
		"ARRAY_CONTAINS(@ids, c.id)":                                          `["i0007" "i0500" "i0900" "i1100"]`,
		"ARRAY_CONTAINS(@ids, c.id) ORDER BY c.id DESC":                       `["i1100" "i0900" "i0500" "i0007"]`,
		"ARRAY_CONTAINS(@ids, c.id) ORDER BY c.n":                             `["i1100" "i0900" "i0500" "i0007"]`,
		"c.type = 'run' AND ARRAY_CONTAINS(@ids, c.id)":                       `["i0007" "i0500" "i0900" "i1100"]`,
		"ARRAY_CONTAINS(@ids, c.id) AND c.n > 4500":                           `["i0007"]`,
		"ARRAY_CONTAINS(@ids, c.id) OFFSET 1 LIMIT 2":                         `["i0500" "i0900"]`,
		"ARRAY_CONTAINS(@ids, c.id) AND ARRAY_CONTAINS([@id, 'i0900'], c.id)": `["i0500" "i0900"]`,
		"ARRAY_CONTAINS(@none, c.id)":                                         `[]`,
		"ARRAY_CONTAINS(@id, c.id)":                                           `[]`, // no list
		"c.id IN ('i1100', @id, 'absent', 3)":                                 `["i0500" "i1100"]`,
		"c.id IN ('i1100', @id) AND c.id = @id":                               `["i0500"]`,
		"c.id = @id":                                                          `["i0500"]`,
		"c.id = 5":                                                            `[]`,
	} {
		before := server.Stats()
		got := queryAll(t, c, p1, "SELECT VALUE c.id FROM c WHERE "+text, &o)
		after := server.Stats()
		if fmt.Sprint(got) != want {
			t.Errorf("%s gives %v, want %s", text, got, want)
		}
		if read, pages := after.Scanned-before.Scanned, after.Queries-before.Queries; read > 5*pages {
			t.Errorf("%s reads %d documents for %d pages", text, read, pages)
		}
	}
	for text, want := range map[string]int{
		"NOT ARRAY_CONTAINS(@ids, c.id)":               1196,
		"c.id NOT IN ('i1100', @id)":                   1198,
		"ARRAY_CONTAINS(@ids, c.id) OR c.n = 5000":     5,
		"ARRAY_CONTAINS(@ids, c.other) AND c.n < 3811": 10,
		"ARRAY_CONTAINS([c.other, 'i0900'], c.id)":     2, // the list is another one for each document
		"c.id IN (c.other, 'i0900')":                   2,
	} {
		if got := queryAll(t, c, p1, "SELECT VALUE c.id FROM c WHERE "+text, &azcosmos.QueryOptions{PageSizeHint: 500, QueryParameters: o.QueryParameters}); len(got) != want {
			t.Errorf("%s gives %d documents, want %d", text, len(got), want)
		}
	}
}

// Sorting and searching a large partition costs what it gives once an index has been
// learned, and gives the same rows as before, also where a list is read across the
// moment at which it is.
func TestSortedAndSearchedQueriesStopScanningThePartition(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	config := cosmos.Config{DataDir: t.TempDir()}
	server, err := cosmos.Start(ctx, config)
	wantStatus(t, err, 0)
	container := func(s *cosmos.Server) *azcosmos.ContainerClient {
		c, err := clientFor(t, s.URL(), s.Key()).NewContainer("d", "c")
		wantStatus(t, err, 0)
		return c
	}
	client := clientFor(t, server.URL(), server.Key())
	_, err = client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "d"}, nil)
	wantStatus(t, err, 0)
	database, err := client.NewDatabase("d")
	wantStatus(t, err, 0)
	_, err = database.CreateContainer(ctx, azcosmos.ContainerProperties{ID: "c", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}}, nil)
	wantStatus(t, err, 0)
	c := container(server)
	withPolicy(t, c, 0, included("/*", "/doc/k/?")) // the service leaves out those without k but for the second
	type row struct{ id, value string }
	var rows []row
	values := []string{`"k":"b"`, `"k":"a"`, `"k":"\u00e9"`, `"k":"aa"`, `"k":null`, ``, `"k":2`, `"k":10`, `"k":-1.5`, `"k":true`, `"k":false`, `"k":"ab"`, `"k":"Ab"`}
	for first := 0; first < 2600; first += 100 {
		batch := c.NewTransactionalBatch(p1)
		for i := first; i < first+100; i++ {
			r := row{id: fmt.Sprintf("i%04d", i), value: values[i%len(values)]}
			batch.CreateItem(doc(r.id, `"type":"m","s":`+fmt.Sprint(i%3)+`,"doc":{`+r.value+`}`), nil)
			rows = append(rows, r)
		}
		response, err := c.ExecuteTransactionalBatch(ctx, batch, nil)
		if wantStatus(t, err, 0); !response.Success {
			t.Fatal(batchStatuses(response))
		}
	}
	// As the service orders values: undefined, null, false, true, numbers, strings.
	ascending := []string{``, `"k":null`, `"k":false`, `"k":true`, `"k":-1.5`, `"k":2`, `"k":10`, `"k":"Ab"`, `"k":"a"`, `"k":"aa"`, `"k":"ab"`, `"k":"b"`, `"k":"\u00e9"`}
	want := func(order []string, keep func(i int) bool) []string {
		var ids []string
		for _, value := range order {
			for i, r := range rows {
				if r.value == value && (keep == nil || keep(i)) {
					ids = append(ids, `"`+r.id+`"`)
				}
			}
		}
		return ids
	}
	descending := slices.Clone(ascending)
	slices.Reverse(descending)
	byID := want(ascending, nil)
	slices.Sort(byID)
	backwards := slices.Clone(byID)
	slices.Reverse(backwards)
	beginning := want([]string{`"k":"a"`, `"k":"aa"`, `"k":"ab"`}, nil)
	slices.Sort(beginning)
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"SELECT VALUE c.id FROM c WHERE c.type = 'm' ORDER BY c.doc.k", want(ascending, nil)},
		{"SELECT VALUE c.id FROM c WHERE c.type = 'm' ORDER BY c.doc.k DESC", want(descending, nil)},
		{"SELECT VALUE c.id FROM c WHERE c.type = 'm' AND c.s = 1 ORDER BY c.doc.k DESC", want(descending, func(i int) bool { return i%3 == 1 })},
		{"SELECT VALUE c.id FROM c WHERE c.type = 'm' ORDER BY c.id DESC", backwards},
		{"SELECT VALUE c.id FROM c WHERE c.type = 'm' AND STARTSWITH(c.doc.k, 'a') ORDER BY c.id", beginning},
		{"SELECT VALUE c.id FROM c WHERE c.type = 'm' AND STARTSWITH(c.doc.k, 'a') ORDER BY c.doc.k", want([]string{`"k":"a"`, `"k":"aa"`, `"k":"ab"`}, nil)},
		{"SELECT VALUE c.id FROM c WHERE c.type = 'm' AND c.doc.k > 'a' ORDER BY c.doc.k", want([]string{`"k":"aa"`, `"k":"ab"`, `"k":"b"`, `"k":"\u00e9"`}, nil)},
		{"SELECT VALUE c.id FROM c WHERE c.type = 'm' AND c.doc.k >= 'ab' ORDER BY c.doc.k DESC", want([]string{`"k":"\u00e9"`, `"k":"b"`, `"k":"ab"`}, nil)},
		{"SELECT VALUE c.id FROM c WHERE c.type = 'm' AND c.doc.k BETWEEN -1.5 AND 2 ORDER BY c.doc.k", want([]string{`"k":-1.5`, `"k":2`}, nil)},
		{"SELECT VALUE c.id FROM c WHERE c.type = 'm' AND STARTSWITH(c.id, 'i12') ORDER BY c.id DESC", backwards[1300:1400]},
	} {
		for round := range 2 {
			got := queryAll(t, c, p1, tt.text, &azcosmos.QueryOptions{PageSizeHint: 30})
			if !slices.Equal(got, tt.want) {
				t.Fatalf("%s, round %d: got %d rows, want %d\n%v\n%v", tt.text, round, len(got), len(tt.want), got, tt.want)
			}
		}
		before := server.Stats().Scanned
		_, err := c.NewQueryItemsPager(tt.text, p1, &azcosmos.QueryOptions{PageSizeHint: 5}).NextPage(ctx)
		if wantStatus(t, err, 0); server.Stats().Scanned-before > 20 {
			t.Errorf("%s looks at %d documents: it still scans the partition", tt.text, server.Stats().Scanned-before)
		}
	}
	// The index survives a restart and follows writes.
	if response, err := c.UpsertItem(ctx, p1, doc("i0000", `"type":"m","doc":{"k":"\uffff"}`), nil); err != nil {
		t.Fatalf("%+v, %v", response, err)
	}
	wantStatus(t, server.Close(), 0)
	server = start(t, config)
	c = container(server)
	last := "SELECT TOP 1 VALUE c.id FROM c WHERE c.type = 'm' ORDER BY c.doc.k DESC"
	if got := queryAll(t, c, p1, last, nil); !slices.Equal(got, []string{`"i0000"`}) {
		t.Errorf("got %v", got)
	}
	server.ResetStats()
	_, err = c.NewQueryItemsPager("SELECT VALUE c.id FROM c WHERE c.type = 'm' ORDER BY c.doc.k", p1, &azcosmos.QueryOptions{PageSizeHint: 5}).NextPage(ctx)
	if wantStatus(t, err, 0); server.Stats().Scanned > 20 {
		t.Errorf("after a restart it looks at %d documents", server.Stats().Scanned)
	}
}
