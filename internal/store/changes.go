package store

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// ApplyChanges returns a document as a Patch with these changes leaves it. It fails with ErrRefused
// if a path does not exist in the document, or has no number where one is incremented.
func ApplyChanges(doc json.RawMessage, changes []Change) (json.RawMessage, error) {
	var err error
	for _, c := range changes {
		path := strings.Split(strings.TrimPrefix(c.Path, "/"), "/")
		if doc, err = changeAt(doc, path, c); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrRefused, c.Path, err)
		}
	}
	return doc, nil
}

// changeAt changes the value at a path of an object or an array. The last part of the path may be
// missing, no other.
func changeAt(value json.RawMessage, path []string, c Change) (json.RawMessage, error) {
	if len(path) == 0 {
		if c.Set != nil {
			return Encode(c.Set)
		}
		return increment(value, c.By)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil && object != nil {
		inner, ok := object[path[0]]
		if !ok && len(path) > 1 {
			return nil, fmt.Errorf("there is no %s", path[0])
		}
		next, err := changeAt(inner, path[1:], c)
		if err != nil {
			return nil, err
		}
		object[path[0]] = next
		return Encode(object)
	}
	var array []json.RawMessage
	if err := json.Unmarshal(value, &array); err != nil {
		return nil, fmt.Errorf("%s is in neither an object nor an array", path[0])
	}
	i, err := strconv.Atoi(path[0])
	if err != nil || i < 0 || i >= len(array) {
		return nil, fmt.Errorf("the array has no element %s", path[0])
	}
	if array[i], err = changeAt(array[i], path[1:], c); err != nil {
		return nil, err
	}
	return Encode(array)
}

func increment(value json.RawMessage, by int) (json.RawMessage, error) {
	if value == nil {
		return json.RawMessage(strconv.Itoa(by)), nil
	}
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return json.RawMessage(strconv.FormatInt(n+int64(by), 10)), nil
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return nil, fmt.Errorf("%s is not a number", value)
	}
	return json.Marshal(f + float64(by))
}
