package store

import (
	"errors"
	"fmt"
)

// The limits of one Apply.
const (
	MaxOperations = 100
	MaxBytes      = 2 << 20
)

// MaxChanges is how many changes one Patch has.
const MaxChanges = 10

// Writes are the operations of one Apply, in their order.
type Writes []Write

// Op is the kind of a Write.
type Op int

// The kinds.
const (
	OpCreate Op = iota + 1
	OpReplace
	OpUpsert
	OpReplaceUnlessNewer
	OpPatch
	OpDelete
	OpGet
)

// Write is one operation of an Apply. Create, Replace, Upsert, ReplaceUnlessNewer, Patch, Delete
// and Get make one.
type Write struct {
	Op       Op
	Key      Key
	Doc      any      // of OpCreate, OpReplace, OpUpsert and OpReplaceUnlessNewer
	Version  Version  // the version that must be stored; an empty ETag is any version
	Changes  []Change // of OpPatch
	Field    string   // of OpReplaceUnlessNewer: the field of the document that has its revision
	Revision int      // of OpReplaceUnlessNewer
}

// Change is one change of a Patch.
type Change struct {
	Path string // a JSON pointer into the document
	By   int    // added to a number, if Set is nil; a missing number is 0
	Set  any    // the value of a field
}

// Increment adds to a number.
func Increment(path string, by int) Change { return Change{Path: path, By: by} }

// Set gives a field a value.
func Set(path string, value any) Change { return Change{Path: path, Set: value} }

// Create writes a new document. It fails with ErrExists if there is one.
func Create(k Key, doc any) Write { return Write{Op: OpCreate, Key: k, Doc: doc} }

// Replace writes the next version of a document. It fails with ErrChanged if the document is no
// longer at the given version, with ErrNotFound if there is none, and with ErrLater if it has
// fields that would be lost.
func Replace(k Key, doc any, v Version) Write {
	return Write{Op: OpReplace, Key: k, Doc: doc, Version: v}
}

// Upsert writes a document whether there is one or not.
func Upsert(k Key, doc any) Write { return Write{Op: OpUpsert, Key: k, Doc: doc} }

// ReplaceUnlessNewer writes the next version of a document that many processes derive from another
// one, whose revision it has in a field: in any order they write, the newest stays. It fails with
// ErrNewer if the stored document has a higher revision, and with ErrNotFound if there is none. A
// stored document without the field is older.
func ReplaceUnlessNewer(k Key, doc any, field string, revision int) Write {
	return Write{Op: OpReplaceUnlessNewer, Key: k, Doc: doc, Field: field, Revision: revision}
}

// Patch changes at most ten fields of a document: one that is still at the given ETag, or of
// any version if the ETag is empty. It fails as Replace does, but never with ErrLater: all other
// fields stay.
func Patch(k Key, etag string, changes ...Change) Write {
	return Write{Op: OpPatch, Key: k, Version: Version{ETag: etag}, Changes: changes}
}

// Delete deletes a document that is still at the given ETag. It fails as Patch does.
func Delete(k Key, etag string) Write {
	return Write{Op: OpDelete, Key: k, Version: Version{ETag: etag}}
}

// Get reads a document within the same transaction, after the writes before it. It cannot be
// the only operation.
func Get(k Key) Write { return Write{Op: OpGet, Key: k} }

// Check refuses writes that no store takes. Drivers call it before they carry out any of them.
func (w Writes) Check() error {
	switch {
	case len(w) == 0:
		return errors.New("store: nothing to write")
	case len(w) > MaxOperations:
		return fmt.Errorf("%w: %d operations; at most %d are allowed", ErrTooLarge, len(w), MaxOperations)
	case len(w) == 1 && w[0].Op == OpGet:
		return errors.New("store: a Get alone writes nothing; use Read")
	}
	for _, one := range w {
		if one.Key.PK != w[0].Key.PK {
			return fmt.Errorf("store: %s and %s are of different partitions", w[0].Key, one.Key)
		}
		if err := one.check(); err != nil {
			return err
		}
	}
	return nil
}

// check refuses an operation that lacks what its kind needs.
func (w Write) check() error {
	switch {
	case w.Version.ETag == "" && (w.Op == OpReplace || w.Op == OpDelete):
		return fmt.Errorf("store: %s would be replaced or deleted without an ETag", w.Key)
	case w.Op == OpReplace && w.Version.Unknown != "":
		return fmt.Errorf("%s: %w: %s", w.Key, ErrLater, w.Version.Unknown)
	case w.Op == OpReplaceUnlessNewer && w.Field == "":
		return fmt.Errorf("store: %s would be replaced without the field of its revision", w.Key)
	case w.Op == OpPatch && (len(w.Changes) == 0 || len(w.Changes) > MaxChanges):
		return fmt.Errorf("store: the patch of %s has %d changes; 1 to %d are allowed", w.Key, len(w.Changes), MaxChanges)
	}
	return nil
}

// Applied holds the results of an Apply, one for each operation.
type Applied []Result

// Outcome is the result of an Apply.
type Outcome struct {
	Applied Applied
	Err     error
}

// Result is the result of one operation of an Apply.
type Result struct {
	ETag     string   // of the version that it wrote
	Document Document // of OpGet: what it read
}

// Version returns the version that operation i wrote.
func (a Applied) Version(i int) Version { return Version{ETag: a[i].ETag} }

// Got decodes what the Get at place i of an Apply read.
func Got[T any](a Applied, i int) (Item[T], error) {
	if a[i].Document.Doc == nil {
		return Item[T]{}, fmt.Errorf("store: operation %d read no document", i)
	}
	return Decode[T](a[i].Document)
}
