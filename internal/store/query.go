package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Param is a query parameter, written @name in the text.
type Param struct {
	Name  string
	Value any
}

// Query asks for one page of the items of one partition. Limit is the most items
// to give; continuation is what the page before returned, empty for the first.
// The text selects whole items: SELECT * FROM c WHERE …
//
// Errors: ErrContinuation where the service refuses the query with the continuation
// that it is given, ErrUnavailable.
func Query[T any](ctx context.Context, s *Store, pk, text string, params []Param, limit int, continuation string) (items []Item[T], next string, err error) {
	return query[T](ctx, s, partition(pk), pk, text, params, limit, continuation)
}

// QueryEverywhere asks as Query does for one page of the items of all partitions, which
// come in no order: the service refuses ORDER BY, and whatever else it would have to
// merge. A page can be shorter than the limit.
func QueryEverywhere[T any](ctx context.Context, s *Store, text string, params []Param, limit int, continuation string) (items []Item[T], next string, err error) {
	return query[T](ctx, s, azcosmos.NewPartitionKey(), "all partitions", text, params, limit, continuation)
}

// tokenLimit is how long a continuation may be, in KB: it travels in an address.
const tokenLimit = 2

func query[T any](ctx context.Context, s *Store, pk azcosmos.PartitionKey, where, text string, params []Param, limit int, continuation string) (items []Item[T], next string, err error) {
	options := &azcosmos.QueryOptions{PageSizeHint: int32(limit), ResponseContinuationTokenLimitInKB: tokenLimit}
	if continuation != "" {
		if strings.ContainsFunc(continuation, unicode.IsControl) { // it travels in a header
			return nil, "", fmt.Errorf("querying %s: %w", where, ErrContinuation)
		}
		options.ContinuationToken = &continuation
	}
	for _, p := range params {
		options.QueryParameters = append(options.QueryParameters, azcosmos.QueryParameter{Name: p.Name, Value: p.Value})
	}
	pager := s.container.NewQueryItemsPager(text, pk, options)
	for pager.More() {
		s.counts.queries.Add(1)
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, "", fmt.Errorf("querying %s: %w", where, refused(err, continuation))
		}
		for _, body := range page.Items {
			item, err := decode[T](body, "")
			if err != nil {
				return nil, "", err
			}
			items = append(items, item)
		}
		next = ""
		if page.ContinuationToken != nil {
			next = *page.ContinuationToken
		}
		// Pages may be empty and carry a continuation all the same.
		if len(items) > 0 || next == "" {
			return items, next, nil
		}
	}
	return items, next, nil
}

// refused classifies what became of a query. One that is well-formed can be bad only
// for its continuation.
func refused(err error, continuation string) error {
	var response *azcore.ResponseError
	if continuation != "" && errors.As(err, &response) && response.StatusCode == http.StatusBadRequest {
		return fmt.Errorf("%w (HTTP %d)", ErrContinuation, response.StatusCode)
	}
	return classify(err)
}

// All asks for every item that the query selects. It is for sets that are small
// by nature: a page's members, a phase's shards.
func All[T any](ctx context.Context, s *Store, pk, text string, params ...Param) ([]Item[T], error) {
	var all []Item[T]
	continuation := ""
	for {
		items, next, err := Query[T](ctx, s, pk, text, params, 1000, continuation)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if next == "" {
			return all, nil
		}
		continuation = next
	}
}

// Select asks for everything that a query selects as values of T: a projection, for
// where whole items would be too much to carry. The text names the fields by T's JSON:
// SELECT c.doc.key AS key FROM c WHERE …
func Select[T any](ctx context.Context, s *Store, pk, text string, params ...Param) ([]T, error) {
	options := &azcosmos.QueryOptions{PageSizeHint: 5000}
	for _, p := range params {
		options.QueryParameters = append(options.QueryParameters, azcosmos.QueryParameter{Name: p.Name, Value: p.Value})
	}
	var all []T
	pager := s.container.NewQueryItemsPager(text, partition(pk), options)
	for pager.More() {
		s.counts.queries.Add(1)
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("querying %s: %w", pk, classify(err))
		}
		for _, body := range page.Items {
			var v T
			if err := json.Unmarshal(body, &v); err != nil {
				return nil, fmt.Errorf("store: what a query selected cannot be read: %w", err)
			}
			all = append(all, v)
		}
	}
	return all, nil
}
