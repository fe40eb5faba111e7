package cosmos

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/store"
)

// statement is a query of one partition in the making: conditions that must all hold, and
// their parameters.
type statement struct {
	conditions []string
	params     []azcosmos.QueryParameter
}

// text is a finished query.
type text struct {
	sql    string
	params []azcosmos.QueryParameter
}

func newQuery(conditions ...string) *statement { return &statement{conditions: conditions} }

func (q *statement) and(condition string) { q.conditions = append(q.conditions, condition) }

func (q *statement) param(name string, value any) {
	q.params = append(q.params, azcosmos.QueryParameter{Name: name, Value: value})
}

func (q *statement) where(condition, name string, value any) {
	q.and(condition)
	q.param(name, value)
}

// startsWith narrows to texts with a prefix, if there is one.
func (q *statement) startsWith(path, prefix string) {
	if prefix != "" {
		q.where("STARTSWITH("+path+", @prefix)", "@prefix", prefix)
	}
}

// items selects whole items.
func (q *statement) items(order string) text {
	return text{"SELECT * FROM c WHERE " + strings.Join(q.conditions, " AND ") + order, q.params}
}

// fields selects a projection.
func (q *statement) fields(list string) text {
	return text{"SELECT " + list + " FROM c WHERE " + strings.Join(q.conditions, " AND "), q.params}
}

// sorted adds an order.
func (t text) sorted(order string) text { return text{t.sql + order, t.params} }

// orderBy returns the ORDER BY of a list that can be sorted by some fields.
func orderBy(sort, usual store.Sort, fields ...store.Field) (string, error) {
	if sort.By == "" {
		sort = usual
	}
	if !slices.Contains(fields, sort.By) {
		return "", fmt.Errorf("store: the list cannot be sorted by %q", sort.By)
	}
	path, direction := "c.doc."+string(sort.By), "ASC"
	if sort.By == store.FieldID {
		path = "c.id"
	}
	if sort.Descending {
		direction = "DESC"
	}
	return " ORDER BY " + path + " " + direction, nil
}

// tokenLimit is how long a continuation may be, in KB: it travels in an address.
const tokenLimit = 2

// list returns one page of a query within one partition.
func list[T any](ctx context.Context, s *Store, pk string, q text, page store.Paging) (store.Page[T], error) {
	return pageOf[T](ctx, s, partition(pk), pk, q, page)
}

// pageOf returns one page of a query. Pages of the service may be empty and carry a
// continuation all the same: those are skipped.
func pageOf[T any](ctx context.Context, s *Store, pk azcosmos.PartitionKey, where string, q text, page store.Paging) (store.Page[T], error) {
	options := &azcosmos.QueryOptions{PageSizeHint: int32(page.Limit), ResponseContinuationTokenLimitInKB: tokenLimit, QueryParameters: q.params}
	if page.Continuation != "" {
		if strings.ContainsFunc(page.Continuation, unicode.IsControl) { // it travels in a header
			return store.Page[T]{}, fmt.Errorf("querying %s: %w", where, store.ErrContinuation)
		}
		options.ContinuationToken = &page.Continuation
	}
	var found store.Page[T]
	pager := s.container.NewQueryItemsPager(q.sql, pk, options)
	for pager.More() {
		s.counts.queries.Add(1)
		answer, err := pager.NextPage(ctx)
		if err != nil {
			return store.Page[T]{}, fmt.Errorf("querying %s: %w", where, refused(err, page.Continuation))
		}
		for _, body := range answer.Items {
			d, err := document(body)
			if err != nil {
				return store.Page[T]{}, err
			}
			one, err := store.Decode[T](d)
			if err != nil {
				return store.Page[T]{}, err
			}
			found.Items = append(found.Items, one)
		}
		found.Continuation = ""
		if answer.ContinuationToken != nil {
			found.Continuation = *answer.ContinuationToken
		}
		if len(found.Items) > 0 || found.Continuation == "" {
			break
		}
	}
	return found, nil
}

// first returns the first item of a query within one partition, nil if there is none.
func first[T any](ctx context.Context, s *Store, pk string, q text) (*store.Item[T], error) {
	page, err := list[T](ctx, s, pk, q, store.Paging{Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return nil, err
	}
	return &page.Items[0], nil
}

// all returns all items of a query within one partition.
func all[T any](ctx context.Context, s *Store, pk string, q text) ([]store.Item[T], error) {
	var items []store.Item[T]
	for page := (store.Paging{Limit: 1000}); ; {
		found, err := list[T](ctx, s, pk, q, page)
		if err != nil {
			return nil, err
		}
		items = append(items, found.Items...)
		if page.Continuation = found.Continuation; page.Continuation == "" {
			return items, nil
		}
	}
}

// project returns all values of a projection within one partition. The fields are named as T's
// JSON names them.
func project[T any](ctx context.Context, s *Store, pk string, q text) ([]T, error) {
	var values []T
	pager := s.container.NewQueryItemsPager(q.sql, partition(pk), &azcosmos.QueryOptions{PageSizeHint: 5000, QueryParameters: q.params})
	for pager.More() {
		s.counts.queries.Add(1)
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("querying %s: %w", pk, classify(err))
		}
		for _, body := range page.Items {
			var v T
			if err := json.Unmarshal(body, &v); err != nil {
				return nil, fmt.Errorf("store: a query result cannot be read: %w", err)
			}
			values = append(values, v)
		}
	}
	return values, nil
}

// Dump returns the documents of one partition, or of all if none is named, by
// partition and id. It is for tests and diagnosis: its cost grows with all that is stored.
func (s *Store) Dump(ctx context.Context, pk string) ([]store.Document, error) {
	key, where := partition(pk), pk
	if pk == "" {
		key, where = azcosmos.NewPartitionKey(), "all partitions"
	}
	var documents []store.Document
	for page := (store.Paging{Limit: 1000}); ; {
		found, err := pageOf[json.RawMessage](ctx, s, key, where, text{sql: "SELECT * FROM c"}, page)
		if err != nil {
			return nil, err
		}
		for _, i := range found.Items {
			documents = append(documents, store.Document{Key: i.Key, Doc: i.Doc, ETag: i.ETag})
		}
		if page.Continuation = found.Continuation; page.Continuation == "" {
			slices.SortFunc(documents, func(a, b store.Document) int { return cmp.Or(cmp.Compare(a.PK, b.PK), cmp.Compare(a.ID, b.ID)) })
			return documents, nil
		}
	}
}
