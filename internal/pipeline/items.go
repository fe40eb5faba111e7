package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// items are those of one request, in the order of their keys: the order in which they came does not matter.
type items struct {
	people []membership.Newcomer
	digest string // of the keys and of the columns that the runbook uses
}

// maxFields is how many different fields the items of a request can have. Each item is looked at for each
// of them.
const maxFields = 500

// readItems checks the items of a request. hashKey keys the digest where columns are secret; nil: none
// are. Errors: CodeInvalid with every bad item.
func readItems(rb *runbook.Runbook, given []map[string]json.RawMessage, hashKey []byte) (items, error) {
	switch n := len(given); {
	case n == 0:
		return items{}, problem.New(api.CodeInvalid, "the request has no items")
	case n > rb.Request.MaxItems:
		return items{}, problem.New(api.CodeInvalid, "the request has %d items; the runbook allows %d", n, rb.Request.MaxItems)
	}
	if bad := lackingFields(rb, given); len(bad) > 0 {
		return items{}, refuse(bad, len(bad))
	}
	fields := fieldsOf(given)
	if len(fields) > maxFields {
		return items{}, problem.New(api.CodeInvalid, "the items have %d different fields; at most %d are allowed", len(fields), maxFields)
	}
	used := rb.Columns()
	result, err := schedule.NewResult(rb, fields)
	if err != nil {
		return items{}, problem.New(api.CodeInvalid, "the items: %v", err)
	}
	result.HashWith(hashKey)
	for _, item := range given {
		values := make([]json.RawMessage, len(fields))
		for i, name := range fields {
			if values[i] = item[name]; values[i] == nil && slices.Contains(used, name) { // of the others nothing is kept
				values[i] = json.RawMessage("null")
			}
		}
		result.Add(values)
	}
	if found, total := result.Problems(); total > 0 {
		bad := make([]api.InputProblem, len(found))
		for i, p := range found {
			bad[i] = api.InputProblem{Field: field(p.Row-1, p.Column), Code: p.Code, Message: p.Message}
		}
		return items{}, refuse(bad, total)
	}
	return inOrder(slices.Collect(result.Rows())), nil
}

// lackingFields finds the items without a field that the runbook uses and that may not be absent.
func lackingFields(rb *runbook.Runbook, given []map[string]json.RawMessage) (bad []api.InputProblem) {
	needed := slices.DeleteFunc(rb.Columns(), rb.Optional)
	for i, item := range given {
		for _, name := range needed {
			if _, has := item[name]; !has && len(bad) < schedule.MaxProblems {
				bad = append(bad, api.InputProblem{Field: field(i, name), Code: "missing-field", Message: fmt.Sprintf("item %d has no field %q, which the runbook uses", i+1, humanize.Clip(name, 60))})
			}
		}
	}
	return bad
}

// field is the place of a field of an item in the request.
func field(item int, name string) string {
	if name == "" {
		return fmt.Sprintf("items[%d]", item)
	}
	return fmt.Sprintf("items[%d].%s", item, name)
}

func refuse(bad []api.InputProblem, total int) error {
	return &problem.Error{Code: api.CodeInvalid, Message: fmt.Sprintf("the items have %s; no batch was started", humanize.Count(total, "problem")), Problems: bad}
}

// fieldsOf names the fields of all items, in order.
func fieldsOf(given []map[string]json.RawMessage) []string {
	names := map[string]bool{}
	for _, item := range given {
		for name := range item {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func inOrder(rows []schedule.Row) items {
	slices.SortFunc(rows, func(a, b schedule.Row) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	out := items{people: make([]membership.Newcomer, len(rows))}
	parts := make([]string, 0, 2*len(rows))
	for i, row := range rows {
		out.people[i] = membership.Newcomer{Key: row.Key, Hash: row.Hash, Data: func() (map[string]json.RawMessage, error) { return row.Data, nil }}
		parts = append(parts, row.Key, row.Hash)
	}
	out.digest = idempotency.Digest(parts...)
	return out
}
