package cosmos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// maxPatch is how many operations the service takes in one patch.
const maxPatch = 10

// patch is a partial update: its operations happen all or not at all, and
// only when the condition holds.
type patch struct {
	condition  *query.Condition
	operations []patchOperation
}

type patchOperation struct {
	op    string
	path  []string
	from  []string
	value document.Value
}

// parsePatch checks a patch for a container.
func parsePatch(c *container, body []byte) (*patch, error) {
	type operation struct {
		Op    string          `json:"op"`
		Path  *string         `json:"path"`
		From  *string         `json:"from"`
		Value json.RawMessage `json:"value"`
	}
	var wire struct {
		Condition  *string     `json:"condition"`
		Operations []operation `json:"operations"`
	}
	if !utf8.Valid(body) {
		return nil, errors.New("the patch is not valid UTF-8")
	}
	var into any = &wire
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
		into = &wire.Operations // a patch without a condition is also sent as a bare list
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, fmt.Errorf("the patch is not valid: %w", err)
	}
	if n := len(wire.Operations); n == 0 || n > maxPatch {
		return nil, fmt.Errorf("a patch has 1 to %d operations, not %d", maxPatch, n)
	}
	p := &patch{}
	if wire.Condition != nil {
		condition, err := query.ParseCondition(*wire.Condition)
		if err != nil {
			return nil, fmt.Errorf("the patch condition: %w", err)
		}
		p.condition = condition
	}
	for i, o := range wire.Operations {
		refuse := func(err error) error { return fmt.Errorf("patch operation %d (%s): %w", i, o.Op, err) }
		if o.Path == nil {
			return nil, refuse(errors.New("path is missing"))
		}
		parsed := patchOperation{op: o.Op}
		var err error
		if parsed.path, err = c.patchPath(*o.Path); err != nil {
			return nil, refuse(err)
		}
		switch o.Op {
		case "add", "set", "replace", "incr":
			if o.Value == nil {
				return nil, refuse(errors.New("value is missing"))
			}
			if parsed.value, err = document.Parse(o.Value); err != nil {
				return nil, refuse(err)
			}
			if o.Op == "incr" && parsed.value.Kind != document.Number {
				return nil, refuse(errors.New("value is not a number"))
			}
		case "remove":
		case "move":
			if o.From == nil {
				return nil, refuse(errors.New("from is missing"))
			}
			if parsed.from, err = c.patchPath(*o.From); err != nil {
				return nil, refuse(err)
			}
			if len(parsed.path) > len(parsed.from) && equalSteps(parsed.path[:len(parsed.from)], parsed.from) {
				return nil, refuse(errors.New("path is inside from"))
			}
		default:
			return nil, refuse(errors.New("unknown operation: use add, set, replace, remove, incr or move"))
		}
		p.operations = append(p.operations, parsed)
	}
	return p, nil
}

// patchPath splits a JSON pointer and refuses what cannot be patched: the id,
// the partition key and the system properties.
func (c *container) patchPath(pointer string) ([]string, error) {
	if len(pointer) < 2 || pointer[0] != '/' {
		return nil, fmt.Errorf("the path %q is not /name or /name/name", pointer)
	}
	steps := strings.Split(pointer[1:], "/")
	for i, step := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	if steps[0] == "id" || systemProperty(steps[0]) {
		return nil, fmt.Errorf("the path %s cannot be patched", pointer)
	}
	for _, key := range c.paths {
		n := min(len(key), len(steps))
		if equalSteps(key[:n], steps[:n]) {
			return nil, fmt.Errorf("the path %s is part of the partition key and cannot be patched", pointer)
		}
	}
	return steps, nil
}

func equalSteps(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// apply computes the patched document.
func (p *patch) apply(it item) ([]byte, outcome) {
	if p.condition != nil && !p.condition.Holds(it.append(nil)) {
		return nil, failure(http.StatusPreconditionFailed, "the condition of the patch is false")
	}
	doc, err := document.Parse(it.body)
	if err != nil {
		return nil, failure(http.StatusBadRequest, err.Error())
	}
	for i, o := range p.operations {
		if err := o.apply(&doc); err != nil {
			return nil, failure(http.StatusBadRequest, fmt.Sprintf("patch operation %d (%s /%s): %v", i, o.op, strings.Join(o.path, "/"), err))
		}
	}
	body := document.Doubles(doc.Append(make([]byte, 0, len(it.body)+256)))
	if err := document.CheckLimits(body); err != nil {
		return nil, failure(http.StatusBadRequest, err.Error())
	}
	if len(body) > maxItem {
		return nil, failure(http.StatusRequestEntityTooLarge, "the patched item is larger than 2 MB")
	}
	return body, outcome{status: http.StatusOK}
}

func (o patchOperation) apply(doc *document.Value) error {
	value := o.value
	if o.op == "move" {
		parent, last, err := descend(doc, o.from)
		if err != nil {
			return err
		}
		target := find(parent, last)
		if target == nil {
			return errors.New("from does not exist")
		}
		value = *target
		remove(parent, last)
	}
	parent, last, err := descend(doc, o.path)
	if err != nil {
		return err
	}
	target := find(parent, last)
	switch o.op {
	case "add", "move":
		if parent.Kind == document.Array {
			return insert(parent, last, value)
		}
		parent.Set(last, value)
	case "set":
		switch {
		case parent.Kind == document.Object:
			parent.Set(last, value)
		case target == nil:
			return fmt.Errorf("the array has no element %s", last)
		default:
			*target = value
		}
	case "incr":
		if target == nil {
			if parent.Kind == document.Array {
				return fmt.Errorf("the array has no element %s", last)
			}
			parent.Set(last, value)
			return nil
		}
		sum, err := add(*target, value)
		if err != nil {
			return err
		}
		*target = sum
	case "replace":
		if target == nil {
			return errors.New("the path does not exist")
		}
		*target = value
	case "remove":
		if target == nil {
			return errors.New("the path does not exist")
		}
		remove(parent, last)
	}
	return nil
}

// descend walks to the object or array that holds the last step of a path.
func descend(doc *document.Value, path []string) (*document.Value, string, error) {
	at := doc
	for i, step := range path[:len(path)-1] {
		if at = find(at, step); at == nil {
			return nil, "", fmt.Errorf("/%s does not exist", strings.Join(path[:i+1], "/"))
		}
	}
	if at.Kind != document.Object && at.Kind != document.Array {
		return nil, "", fmt.Errorf("/%s is neither an object nor an array", strings.Join(path[:len(path)-1], "/"))
	}
	return at, path[len(path)-1], nil
}

func find(parent *document.Value, step string) *document.Value {
	switch parent.Kind {
	case document.Object:
		for i := range parent.Members {
			if parent.Members[i].Name == step {
				return &parent.Members[i].Value
			}
		}
	case document.Array:
		if i, ok := index(step); ok && i < len(parent.Elements) {
			return &parent.Elements[i]
		}
	}
	return nil
}

// index reads an array index: digits without a leading zero.
func index(step string) (int, bool) {
	i, err := strconv.Atoi(step)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == step
}

func insert(array *document.Value, step string, value document.Value) error {
	i, ok := index(step)
	if step == "-" {
		i, ok = len(array.Elements), true
	}
	if !ok || i > len(array.Elements) {
		return fmt.Errorf("invalid index %q of an array of %d", step, len(array.Elements))
	}
	array.Elements = append(array.Elements, document.Value{})
	copy(array.Elements[i+1:], array.Elements[i:])
	array.Elements[i] = value
	return nil
}

func remove(parent *document.Value, step string) {
	if i, ok := index(step); parent.Kind == document.Array && ok {
		parent.Elements = append(parent.Elements[:i], parent.Elements[i+1:]...)
		return
	}
	for i := range parent.Members {
		if parent.Members[i].Name == step {
			parent.Members = append(parent.Members[:i], parent.Members[i+1:]...)
			return
		}
	}
}

// add sums two numbers, in integers as long as both are and the sum fits.
func add(a, b document.Value) (document.Value, error) {
	if a.Kind != document.Number {
		return a, fmt.Errorf("the value there is a %s, not a number", a.Kind)
	}
	x, errX := strconv.ParseInt(a.Text, 10, 64)
	y, errY := strconv.ParseInt(b.Text, 10, 64)
	if sum := x + y; errX == nil && errY == nil && (sum > x) == (y > 0) {
		return document.IntValue(sum), nil
	}
	sum := a.Num + b.Num
	if math.IsInf(sum, 0) {
		return a, errors.New("the sum is outside the range of a double")
	}
	return document.FloatValue(sum), nil
}
