package group

import (
	"errors"
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Refusal is the error of a transaction of which one operation failed, so that none was carried
// out.
type Refusal struct {
	Operation int
	Err       error
}

func (r *Refusal) Error() string { return fmt.Sprintf("operation %d: %v", r.Operation, r.Err) }

// Unwrap returns the error of the operation.
func (r *Refusal) Unwrap() error { return r.Err }

// Commit carries out Applies of one Set, as a rule in one transaction. Try carries out a transaction;
// it returns a Refusal if one operation failed. Commit calls done once for each Apply, as soon as the
// outcome of that one is known.
//
// An Apply that loses fails alone, and the others are tried again without it. If the service refuses
// a transaction as a whole, Commit divides it until the Apply that is to blame is alone. Any other
// error, such as an outcome that is not known, is the error of each Apply.
func Commit(applies []*Apply, try func(store.Writes) (store.Applied, error), done func(a *Apply, applied store.Applied, err error)) {
	work := [][]*Apply{applies}
	for len(work) > 0 {
		part := work[0]
		work = work[1:]
		if len(part) == 0 {
			continue
		}
		t := combine(part)
		applied, err := try(t.writes)
		if err == nil {
			t.finish(applied, done)
			continue
		}
		work = append(t.fail(err, done), work...)
	}
}

// finish reports the results of a transaction that was carried out.
func (t *transaction) finish(applied store.Applied, done func(*Apply, store.Applied, error)) {
	all, err := t.results(applied)
	for i, a := range t.applies {
		if err != nil {
			done(a, nil, err)
			continue
		}
		done(a, all[i], nil)
	}
}

// fail reports the errors of the Applies that failed with the transaction, and returns the parts in
// which the others are tried again.
func (t *transaction) fail(err error, done func(*Apply, store.Applied, error)) (again [][]*Apply) {
	var refusal *Refusal
	switch alone := len(t.applies) == 1; {
	case errors.As(err, &refusal) && alone:
		done(t.applies[0], nil, t.applies[0].refused(refusal.Operation, refusal.Err))
		return nil
	case refusal != nil && errors.Is(err, store.ErrUnavailable): // the fault of no Apply
		err = refusal.Err
	case refusal != nil:
		return t.without(refusal, done)
	case !alone && divisible(err):
		half := len(t.applies) / 2
		return [][]*Apply{t.applies[:half], t.applies[half:]}
	}
	for _, a := range t.applies {
		done(a, nil, a.Fail(err))
	}
	return nil
}

// without returns the parts that are tried again after an operation failed. If one Apply has the
// operation, and it lost a race, it fails, and the others stay together. If not, each that has the
// operation is tried alone, which tells its own error. All stay in their order.
func (t *transaction) without(refusal *Refusal, done func(*Apply, store.Applied, error)) (again [][]*Apply) {
	owners := t.ownersOf(refusal.Operation)
	if place := t.owners[refusal.Operation][0]; len(owners) == 1 && lost(refusal.Err) {
		a := t.applies[place.apply]
		done(a, nil, a.refused(place.operation, refusal.Err))
		return [][]*Apply{slices.Concat(t.applies[:place.apply], t.applies[place.apply+1:])}
	}
	next := 0
	for _, i := range owners { // which are in the order of the Applies
		again = append(again, t.applies[next:i], t.applies[i:i+1])
		next = i + 1
	}
	return append(again, t.applies[next:])
}

// lost reports whether an operation failed for what is stored, and not for what it writes.
func lost(err error) bool {
	return errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExists)
}

// divisible reports whether a part of the Applies may succeed where all together failed.
func divisible(err error) bool {
	return errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrFull)
}

// refused returns the error of an Apply of which one operation failed.
func (a *Apply) refused(operation int, err error) error {
	if len(a.Writes) == 1 {
		return a.Fail(err)
	}
	return fmt.Errorf("operation %d on %s: %w", operation, a.Writes[operation].Key, err)
}

// Fail returns the error of an Apply that failed as a whole.
func (a *Apply) Fail(err error) error {
	if len(a.Writes) == 1 {
		return fmt.Errorf("writing %s: %w", a.Writes[0].Key, err)
	}
	return fmt.Errorf("applying %d writes in %s: %w", len(a.Writes), a.Writes[0].Key.PK, err)
}
