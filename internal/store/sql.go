package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// statement is a query of one partition in the making: conditions that must all hold, and
// their parameters.
type statement struct {
	conditions []string
	params     []Param
}

// text is a finished query.
type text struct {
	sql    string
	params []Param
}

func newQuery(conditions ...string) *statement { return &statement{conditions: conditions} }

func (q *statement) and(condition string) { q.conditions = append(q.conditions, condition) }

func (q *statement) param(name string, value any) {
	q.params = append(q.params, Param{Name: name, Value: value})
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
func orderBy(sort, usual Sort, fields ...Field) (string, error) {
	if sort.By == "" {
		sort = usual
	}
	if !slices.Contains(fields, sort.By) {
		return "", fmt.Errorf("store: the list cannot be sorted by %q", sort.By)
	}
	path, direction := "c.doc."+string(sort.By), "ASC"
	if sort.By == FieldID {
		path = "c.id"
	}
	if sort.Descending {
		direction = "DESC"
	}
	return " ORDER BY " + path + " " + direction, nil
}

func list[T any](ctx context.Context, s *Store, pk string, q text, page Paging) (Page[T], error) {
	items, next, err := Query[T](ctx, s, pk, q.sql, q.params, page.Limit, page.Continuation)
	return Page[T]{Items: items, Continuation: next}, err
}

func first[T any](ctx context.Context, s *Store, pk string, q text) (*Item[T], error) {
	items, _, err := Query[T](ctx, s, pk, q.sql, q.params, 1, "")
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return &items[0], nil
}

func all[T any](ctx context.Context, s *Store, pk string, q text) ([]Item[T], error) {
	return All[T](ctx, s, pk, q.sql, q.params...)
}

func project[T any](ctx context.Context, s *Store, pk string, q text) ([]T, error) {
	return Select[T](ctx, s, pk, q.sql, q.params...)
}
