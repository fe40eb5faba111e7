package model

import (
	"errors"
	"fmt"
)

// ErrNoBatch: the batch does not exist.
var ErrNoBatch = errors.New("model: the batch does not exist")

// ErrNotYet asks to decide again later, when earlier work for the same member or page is finished.
var ErrNotYet = errors.New("model: work for the member, or for its page, is not finished")

// ErrOutdated asks to load the state anew and to decide again: two of its documents do not
// fit together.
var ErrOutdated = errors.New("model: the state changed while it was loaded")

// NotFound is the error of a batch, or of a member of a batch, that does not exist.
type NotFound struct {
	Batch  int
	Member int // 0: the batch itself
}

func (e *NotFound) Error() string {
	if e.Member == 0 {
		return fmt.Sprintf("there is no batch %d", e.Batch)
	}
	return fmt.Sprintf("batch %d has no member %d", e.Batch, e.Member)
}

// Refusal is an event that the state does not allow, with the reason for the caller.
type Refusal struct {
	Reason     string
	ThisCaller bool // it allows the event of another person
}

func (r *Refusal) Error() string { return r.Reason }

// Refusef makes a Refusal from a format.
func Refusef(format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}

// RefuseCallerf makes a Refusal of what another person may do.
func RefuseCallerf(format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...), ThisCaller: true}
}
