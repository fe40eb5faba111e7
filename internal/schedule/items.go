package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// maxFields is how many different fields the items of a batch can have. Each item is looked at for each
// of them.
const maxFields = 500

// CodeMissingField: an item lacks a field that the runbook uses.
const CodeMissingField = "missing-field"

// ItemsError says why the items of a batch are refused.
type ItemsError struct {
	Reason   string    // what follows "the request" or "the list", such as "has no items"; empty with Problems
	Problems []Problem // of single items, at most MaxProblems; their rows are the places in the list, from 1
	Total    int       // of all problems
}

// Error implements error.
func (e *ItemsError) Error() string {
	if e.Total == 0 {
		return "the list " + e.Reason
	}
	return e.Describe("items")
}

// Describe says what is wrong with a list that has a name: of single items the first few.
func (e *ItemsError) Describe(name string) string {
	const few = 3
	if e.Total == 0 {
		return fmt.Sprintf("the list %s %s", name, e.Reason)
	}
	texts := make([]string, 0, few)
	for _, p := range e.Problems[:min(few, len(e.Problems))] {
		texts = append(texts, p.Place(name)+": "+p.Message)
	}
	return fmt.Sprintf("the list %s has %s: %s", name, humanize.Count(e.Total, "problem"), numberedOf(texts, e.Total))
}

// numberedOf lists the first texts of so many.
func numberedOf(texts []string, total int) string {
	list := strings.Join(texts, "; ")
	if more := total - len(texts); more > 0 {
		list += fmt.Sprintf("; and %d more", more)
	}
	return list
}

// Place is where the value at fault is in a list of items.
func (p Problem) Place(list string) string {
	place := fmt.Sprintf("%s[%d]", list, p.Row-1)
	if p.Column != "" {
		place += "." + p.Column
	}
	return place
}

// ReadList reads a list of items from JSON and checks them. Errors: an *ItemsError.
func ReadList(rb *runbook.Runbook, list json.RawMessage) ([]Row, error) {
	var texts []json.RawMessage
	if err := json.Unmarshal(list, &texts); err != nil || texts == nil {
		return nil, &ItemsError{Reason: "is not a list"}
	}
	items := make([]map[string]json.RawMessage, len(texts))
	var bad problems
	for i, text := range texts {
		if err := json.Unmarshal(text, &items[i]); err != nil || items[i] == nil {
			bad.add(Problem{Row: i + 1, Code: CodeBadRow, Message: fmt.Sprintf("item %d is not an object", i+1)})
		}
	}
	if bad.total > 0 {
		return nil, &ItemsError{Problems: bad.first, Total: bad.total}
	}
	return ReadItems(rb, items, nil)
}

// ReadItems checks the items of a batch and gives their rows in the order of the keys: the order in which
// they came does not matter. hashKey keys the hashes where columns are secret; nil: none are. Errors: an
// *ItemsError with every bad item.
func ReadItems(rb *runbook.Runbook, given []map[string]json.RawMessage, hashKey []byte) ([]Row, error) {
	switch n := len(given); {
	case n == 0:
		return nil, &ItemsError{Reason: "has no items"}
	case n > rb.Request.MaxItems:
		return nil, &ItemsError{Reason: fmt.Sprintf("has %d items; the runbook allows %d", n, rb.Request.MaxItems)}
	}
	if bad := lackingFields(rb, given); bad.total > 0 {
		return nil, &ItemsError{Problems: bad.first, Total: bad.total}
	}
	fields := fieldsOf(given)
	if len(fields) > maxFields {
		return nil, &ItemsError{Reason: fmt.Sprintf("has items with %d different fields; at most %d are allowed", len(fields), maxFields)}
	}
	used := rb.Columns()
	result, err := NewResult(rb, fields)
	if err != nil {
		return nil, &ItemsError{Reason: fmt.Sprintf("has other items: %v", err)}
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
		return nil, &ItemsError{Problems: found, Total: total}
	}
	return slices.SortedFunc(result.Rows(), func(a, b Row) int { return cmp.Compare(a.Key, b.Key) }), nil
}

// lackingFields finds the items without a field that the runbook uses and that may not be absent.
func lackingFields(rb *runbook.Runbook, given []map[string]json.RawMessage) (bad problems) {
	needed := slices.DeleteFunc(rb.Columns(), rb.Optional)
	for i, item := range given {
		for _, name := range needed {
			if _, has := item[name]; !has {
				bad.add(Problem{Row: i + 1, Column: name, Code: CodeMissingField, Message: fmt.Sprintf("item %d has no field %q, which the runbook uses", i+1, clip(name))})
			}
		}
	}
	return bad
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
