package directory

import (
	"slices"
	"time"
)

// agenda tells which objects have something due, without looking at those that did not change and whose time has not come.
type agenda struct {
	dirty map[string]bool      // whose time is not known
	at    map[string]time.Time // of the others that have one
	first time.Time            // no time in at is sooner
}

func newAgenda() agenda { return agenda{dirty: map[string]bool{}, at: map[string]time.Time{}} }

func (a *agenda) changed(id string) { a.dirty[id] = true }

// Due are the objects whose time has come, sorted. next is when something is due with an object as it is now; it has no time
// where nothing is.
func (a *agenda) Due(now time.Time, next func(id string) (at time.Time, has bool)) []string {
	for id := range a.dirty {
		at, has := next(id)
		if !has {
			delete(a.at, id)
			continue
		}
		if len(a.at) == 0 || at.Before(a.first) {
			a.first = at
		}
		a.at[id] = at
	}
	clear(a.dirty)
	if len(a.at) == 0 || now.Before(a.first) {
		return nil
	}
	var due []string
	first := true
	for id, at := range a.at {
		if !now.Before(at) {
			due = append(due, id)
		}
		if first || at.Before(a.first) {
			a.first, first = at, false
		}
	}
	slices.Sort(due)
	return due
}
