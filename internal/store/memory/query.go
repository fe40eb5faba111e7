package memory

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/store"
)

// query returns the documents of a type in a partition that a condition holds for, by id. An
// empty partition stands for all. The condition must not change the documents.
func query[T any](ctx context.Context, s *Store, name, pk, kind string, holds func(d *document, doc *T) bool) (found []*document, err error) {
	s.counts.queries.Add(1)
	err = s.do(ctx, Operation{Kind: KindQuery, Name: name, Partition: pk}, func() error {
		s.state.mu.RLock()
		defer s.state.mu.RUnlock()
		found = nil // it may be repeated
		partitions := []string{pk}
		if pk == "" {
			partitions = partitions[:0]
			for name := range s.state.partitions {
				partitions = append(partitions, name)
			}
			slices.Sort(partitions)
		}
		for _, name := range partitions {
			for _, d := range s.state.partition(name).types[kind] {
				doc, err := decoded[T](d)
				if err != nil {
					return err
				}
				if holds(d, doc) {
					found = append(found, d)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("querying %s: %w", pk, err)
	}
	return found, nil
}

// decoded returns the decoded document; callers must not change it.
func decoded[T any](d *document) (*T, error) {
	if doc, ok := d.decoded.Load().(*T); ok {
		return doc, nil
	}
	doc := new(T)
	if err := json.Unmarshal(d.body, doc); err != nil {
		return nil, fmt.Errorf("store: %s cannot be read: %w", d.key, err)
	}
	d.decoded.CompareAndSwap(nil, doc)
	return doc, nil
}

// items decodes documents for a caller.
func items[T any](found []*document) ([]store.Item[T], error) {
	var all []store.Item[T]
	for _, d := range found {
		item, err := store.Decode[T](store.Document{Key: d.key, Doc: d.body, ETag: d.etag}) // which copies what it keeps
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// all returns the documents that a condition holds for, by id.
func all[T any](ctx context.Context, s *Store, name, pk, kind string, holds func(d *document, doc *T) bool) ([]store.Item[T], error) {
	found, err := query(ctx, s, name, pk, kind, holds)
	if err != nil {
		return nil, err
	}
	return items[T](found)
}

// project returns values made of the documents that a condition holds for, by id.
func project[T, V any](ctx context.Context, s *Store, name, pk, kind string, holds func(d *document, doc *T) bool, value func(*T) V) ([]V, error) {
	found, err := query(ctx, s, name, pk, kind, holds)
	if err != nil {
		return nil, err
	}
	var values []V
	for _, d := range found {
		doc := new(T) // a value may refer to it
		if err := json.Unmarshal(d.body, doc); err != nil {
			return nil, fmt.Errorf("store: %s cannot be read: %w", d.key, err)
		}
		values = append(values, value(doc))
	}
	return values, nil
}

// always is the condition that holds for all documents.
func always[T any](*document, *T) bool { return true }

// order is how a list can be sorted: the order without a Sort, and the fields.
type order struct {
	usual  store.Sort
	fields []store.Field
}

// list returns one page of the documents that a condition holds for. The filter tells the list
// from others, for its continuations.
func list[T any](ctx context.Context, s *Store, name, pk, kind string, filter any, o order, page store.Paging, holds func(d *document, doc *T) bool) (store.Page[T], error) {
	sort := page.Sort
	if sort.By == "" {
		sort = o.usual
	}
	if !slices.Contains(o.fields, sort.By) {
		return store.Page[T]{}, fmt.Errorf("store: the list cannot be sorted by %q", sort.By)
	}
	query64 := fnv.New64a()
	_, _ = fmt.Fprintf(query64, "%s|%s|%+v|%+v", name, pk, filter, sort) // a hash takes everything
	sum := query64.Sum64()
	from, err := parsePosition(page.Continuation, sum)
	if err != nil {
		return store.Page[T]{}, fmt.Errorf("querying %s: %w", pk, err)
	}
	found, err := query(ctx, s, name, pk, kind, holds)
	if err != nil {
		return store.Page[T]{}, err
	}
	places := make([]position, len(found))
	for i, d := range found {
		places[i] = position{Query: sum, Value: sortValue(d, sort.By), Partition: d.key.PK, ID: d.key.ID, document: d}
	}
	slices.SortFunc(places, func(a, b position) int { return a.compare(b, sort.Descending) })
	if from != nil {
		places = slices.DeleteFunc(places, func(p position) bool { return p.compare(*from, sort.Descending) <= 0 })
	}
	limit := page.Limit
	if limit <= 0 {
		limit = 100
	}
	var result store.Page[T]
	some := places[:min(limit, len(places))]
	if len(places) > len(some) {
		result.Continuation = some[len(some)-1].text()
	}
	documents := make([]*document, len(some))
	for i, p := range some {
		documents[i] = p.document
	}
	result.Items, err = items[T](documents)
	return result, err
}

// position is the place of a document in a list, and as text its continuation.
type position struct {
	Query     uint64          `json:"q"` // the list
	Value     json.RawMessage `json:"v,omitempty"`
	Partition string          `json:"p"`
	ID        string          `json:"i"`

	document *document
}

func (p position) compare(q position, descending bool) int {
	c := compareJSON(p.Value, q.Value)
	if c == 0 {
		c = strings.Compare(p.Partition+"\x00"+p.ID, q.Partition+"\x00"+q.ID)
	}
	if descending {
		return -c
	}
	return c
}

func (p position) text() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts, and JSON that was decoded before
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parsePosition parses a continuation of the list with the given sum. An empty one is nil.
func parsePosition(continuation string, sum uint64) (*position, error) {
	if continuation == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(continuation)
	if err != nil {
		return nil, store.ErrContinuation
	}
	p := &position{}
	if json.Unmarshal(text, p) != nil || p.Query != sum {
		return nil, store.ErrContinuation
	}
	return p, nil
}

// sortValue returns the value of a field as JSON, nil if the document does not have it or the
// list is sorted by id.
func sortValue(d *document, by store.Field) json.RawMessage {
	if by == store.FieldID {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(d.body, &fields) != nil {
		return nil
	}
	return fields[string(by)]
}

// compareJSON compares values as the service does: by type, then by value.
func compareJSON(a, b json.RawMessage) int {
	var x, y any
	_ = json.Unmarshal(a, &x) // what is absent stays nil
	_ = json.Unmarshal(b, &y)
	if r, q := rank(a, x), rank(b, y); r != q {
		return r - q
	}
	switch x := x.(type) {
	case string:
		return strings.Compare(x, y.(string))
	case float64:
		switch y := y.(float64); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	case bool:
		if x != y.(bool) {
			if x {
				return 1
			}
			return -1
		}
	}
	return 0
}

// rank is the place of a value's type in the order.
func rank(text json.RawMessage, v any) int {
	switch v.(type) {
	case bool:
		return 2
	case float64:
		return 3
	case string:
		return 4
	case nil:
		if text == nil {
			return 0
		}
		return 1
	}
	return 5
}
