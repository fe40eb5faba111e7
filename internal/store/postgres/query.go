package postgres

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/matoolkit/matoolkit/internal/store"
)

// statement is a query in the making: conditions that must all hold, and their parameters.
type statement struct {
	conditions []string
	params     []any
}

// of begins a query of the documents of a type in a partition; an empty partition stands for all.
func of(pk, kind string) *statement {
	q := &statement{}
	if pk != "" {
		q.where("pk = ?", pk)
	}
	if kind != "" {
		q.where("type = ?", kind)
	}
	return q
}

// where adds a condition; each question mark is the next of the values.
func (q *statement) where(condition string, values ...any) *statement {
	q.conditions = append(q.conditions, q.place(condition, values...))
	return q
}

// place numbers the question marks of a condition, and adds their values to the parameters.
func (q *statement) place(condition string, values ...any) string {
	for _, v := range values {
		if s, ok := v.(string); ok {
			v = text(s)
		}
		q.params = append(q.params, v)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(q.params)), 1)
	}
	return condition
}

// startsWith narrows to texts with a prefix, if there is one.
func (q *statement) startsWith(expression, prefix string) *statement {
	if prefix != "" {
		q.where("starts_with("+expression+", ?)", prefix)
	}
	return q
}

// is narrows to documents with a text in a field, unless the text is empty.
func (q *statement) is(field, value string) *statement {
	if value != "" {
		q.where("fields->>'"+field+"' = ?", value)
	}
	return q
}

// number narrows by a number in a field, unless the number is 0.
func (q *statement) number(field, operator string, n int) *statement {
	if n != 0 {
		q.where("fields->'"+field+"' "+operator+" to_jsonb(?::int)", n)
	}
	return q
}

// in narrows to documents with one of several texts in a field, unless there is none.
func in[S ~string](q *statement, field string, values []S) *statement {
	if len(values) > 0 {
		q.where("fields->>'"+field+"' = ANY(?)", texts(values))
	}
	return q
}

func texts[S ~string](values []S) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = text(string(v))
	}
	return all
}

// selected selects some columns, with an order or a limit after the conditions.
func (q *statement) selected(columns, after string) string {
	return "SELECT " + columns + " FROM documents WHERE " + strings.Join(q.conditions, " AND ") + after
}

// timeOf is the expression of a field that is a time, as text that sorts.
func timeOf(field string) string { return "(fields->>'" + field + "') COLLATE \"C\"" }

// stored formats a time as documents have it. As text, times compare to the second.
func stored(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// query runs a query and hands each row to scan.
func (s *Store) query(ctx context.Context, where, sql string, params []any, scan func(pgx.Rows) error) error {
	s.counts.queries.Add(1)
	if err := s.read(ctx, sql, params, scan); err != nil {
		return fmt.Errorf("querying %s: %w", cmp.Or(where, "all partitions"), err)
	}
	return nil
}

// read runs a query, once more if it met a connection that had ended. Errors of scan come back as they are.
func (s *Store) read(ctx context.Context, sql string, params []any, scan func(pgx.Rows) error) (err error) {
	if err := s.declare(ctx); err != nil {
		return err
	}
	return s.connected(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, sql, params...)
		if err != nil {
			return classify(err)
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return classify(rows.Err())
	})
}

// documentColumns are the columns that scanDocument scans; fieldColumns have the fields in place of the document.
const (
	documentColumns = "pk, id, type, version, doc"
	fieldColumns    = "pk, id, type, version, fields"
)

// scanDocument scans the columns of a document, and those behind them into more.
func scanDocument(rows pgx.Rows, more ...any) (d store.Document, err error) {
	var version int64
	if err := rows.Scan(append([]any{&d.PK, &d.ID, &d.Type, &version, (*[]byte)(&d.Doc)}, more...)...); err != nil {
		return d, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	d.ETag = etag(version)
	return d, nil
}

// items returns the documents of a query.
func items[T any](ctx context.Context, s *Store, pk string, q *statement, after string) ([]store.Item[T], error) {
	var all []store.Item[T]
	err := s.query(ctx, pk, q.selected(documentColumns, after), q.params, func(rows pgx.Rows) error {
		d, err := scanDocument(rows)
		if err != nil {
			return err
		}
		item, err := store.Decode[T](d)
		all = append(all, item)
		return err
	})
	return all, err
}

// project returns the values that an object is decoded to, of all rows of a query: its fields, or an expression.
func project[T any](ctx context.Context, s *Store, pk string, q *statement, expression string) ([]T, error) {
	var all []T
	err := s.query(ctx, pk, q.selected(expression, ""), q.params, func(rows pgx.Rows) error {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		var v T
		if err := json.Unmarshal(text, &v); err != nil {
			return fmt.Errorf("store: a query result cannot be read: %w", err)
		}
		all = append(all, v)
		return nil
	})
	return all, err
}

// count counts the documents of a query.
func (s *Store) count(ctx context.Context, pk string, q *statement) (n int, err error) {
	err = s.query(ctx, pk, q.selected("count(*)", ""), q.params, func(rows pgx.Rows) error { return rows.Scan(&n) })
	return n, err
}

// byKey returns those documents that have the keys of some values. All are of one partition and type.
func byKey[T, V any](ctx context.Context, s *Store, values []V, key func(V) store.Key, after string) ([]store.Item[T], error) {
	if len(values) == 0 {
		return nil, nil
	}
	first, ids := key(values[0]), make([]string, len(values))
	for i, v := range values {
		ids[i] = key(v).ID
	}
	return items[T](ctx, s, first.PK, of(first.PK, first.Type).where("id = ANY(?)", ids), after)
}

// order is how a list can be sorted: the order without a Sort, and the fields.
type order struct {
	usual  store.Sort
	fields []store.Field
}

// sortNumbers are the fields of lists that are numbers.
var sortNumbers = []store.Field{store.FieldMemberCount, store.FieldMemberID, store.FieldVersion}

// sortValue returns the expression that a list is sorted by, as text: one for which a missing value comes first. It
// is empty for the id.
func sortValue(by store.Field) string {
	switch {
	case by == store.FieldID:
		return ""
	case slices.Contains(sortNumbers, by):
		return "coalesce((fields->>'" + string(by) + "')::numeric, '-Infinity')"
	case by == store.FieldPlace: // each document has one, and its index has this expression
		return timeOf("place")
	}
	return "coalesce(fields->>'" + string(by) + "', '') COLLATE \"C\""
}

// position is the place of a document in a list, and as text the continuation behind it.
type position struct {
	Query     uint64 `json:"q"` // the list, with its filter and its order
	Value     string `json:"v,omitempty"`
	Partition string `json:"p"`
	ID        string `json:"i"`
}

// list returns one page of a query. Each page begins behind the last document of the one before.
func list[T any](ctx context.Context, s *Store, pk string, q *statement, o order, columns string, page store.Paging) (store.Page[T], error) {
	sort := page.Sort
	if sort.By == "" {
		sort = o.usual
	}
	if !slices.Contains(o.fields, sort.By) {
		return store.Page[T]{}, fmt.Errorf("store: the list cannot be sorted by %q", sort.By)
	}
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%q %v %+v", q.conditions, q.params, sort) // a hash takes everything
	at := position{Query: sum.Sum64()}
	value, kind, direction, behind := sortValue(sort.By), "text", " ASC", " > "
	if slices.Contains(sortNumbers, sort.By) {
		kind = "numeric"
	}
	if sort.Descending {
		direction, behind = " DESC", " < "
	}
	by := []string{"pk" + direction, "id" + direction}
	if value != "" {
		by = []string{value + direction, by[0], by[1]}
	}
	if page.Continuation != "" {
		from, err := parsePosition(page.Continuation, at.Query)
		switch {
		case err != nil:
			return store.Page[T]{}, fmt.Errorf("querying %s: %w", pk, err)
		case value == "":
			q.where("(pk, id)"+behind+"(?, ?)", from.Partition, from.ID)
		default:
			q.where("("+value+", pk, id)"+behind+"(?::text::"+kind+", ?, ?)", from.Value, from.Partition, from.ID)
		}
	}
	limit := page.Limit
	if limit <= 0 {
		limit = 100
	}
	after := " ORDER BY " + strings.Join(by, ", ") + q.place(" LIMIT ?", limit+1)
	columns += ", (" + cmp.Or(value, "''") + ")::text"
	var found store.Page[T]
	var values []string
	more := false
	err := s.query(ctx, pk, q.selected(columns, after), q.params, func(rows pgx.Rows) error {
		if more = len(found.Items) == limit; more {
			return nil
		}
		var sorted string
		d, err := scanDocument(rows, &sorted)
		if err != nil {
			return err
		}
		if strings.HasPrefix(columns, fieldColumns) {
			d.ETag = "" // a projection has no version
		}
		item, err := store.Decode[T](d)
		found.Items, values = append(found.Items, item), append(values, sorted)
		return err
	})
	if err != nil {
		return store.Page[T]{}, err
	}
	if more {
		last := found.Items[limit-1]
		at.Value, at.Partition, at.ID = values[limit-1], last.PK, last.ID
		if found.Continuation, err = at.continuation(); err != nil {
			return store.Page[T]{}, err
		}
	}
	return found, nil
}

func (p position) continuation() (string, error) {
	text, err := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// parsePosition parses a continuation of the list with the given sum.
func parsePosition(continuation string, sum uint64) (p position, err error) {
	text, err := base64.RawURLEncoding.DecodeString(continuation)
	if err != nil || json.Unmarshal(text, &p) != nil || p.Query != sum {
		return p, store.ErrContinuation
	}
	return p, nil
}
