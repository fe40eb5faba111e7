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
	c := NewChanging(doc)
	if err := c.Apply(changes); err != nil {
		return nil, err
	}
	return c.Document()
}

// Changing is a document that is patched several times. It is read once, if it is an object.
type Changing struct {
	doc    json.RawMessage            // of what is no object, or was not yet read
	object map[string]json.RawMessage // nil: see doc
}

// NewChanging returns a document to patch.
func NewChanging(doc json.RawMessage) *Changing { return &Changing{doc: doc} }

// Apply carries out the changes of one Patch. It fails as ApplyChanges does; the document is then of no
// use.
func (d *Changing) Apply(changes []Change) error {
	for _, c := range changes {
		if err := d.apply(strings.Split(strings.TrimPrefix(c.Path, "/"), "/"), c); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrRefused, c.Path, err)
		}
	}
	return nil
}

func (d *Changing) apply(path []string, c Change) (err error) {
	if d.object == nil {
		d.object = readObject(d.doc)
	}
	if d.object == nil {
		d.doc, err = changeAt(d.doc, path, c)
		return err
	}
	return changeIn(d.object, path, c)
}

// Document returns the document as it is now.
func (d *Changing) Document() (json.RawMessage, error) {
	if d.object == nil {
		return d.doc, nil
	}
	return Encode(d.object)
}

// readObject returns the members of an object, nil of any other value.
func readObject(value json.RawMessage) (object map[string]json.RawMessage) {
	if json.Unmarshal(value, &object) != nil {
		return nil
	}
	return object
}

// changeIn changes the value at a path of an object.
func changeIn(object map[string]json.RawMessage, path []string, c Change) error {
	inner, ok := object[path[0]]
	if !ok && len(path) > 1 {
		return fmt.Errorf("there is no %s", path[0])
	}
	next, err := changeAt(inner, path[1:], c)
	if err == nil {
		object[path[0]] = next
	}
	return err
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
	if object := readObject(value); object != nil {
		if err := changeIn(object, path, c); err != nil {
			return nil, err
		}
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
