package model

import (
	"errors"
	"fmt"
)

// ErrNoBatch: the batch does not exist.
var ErrNoBatch = errors.New("engine: the batch does not exist")

// ErrNotYet asks to decide again later, when what is under way is done.
var ErrNotYet = errors.New("engine: what is under way for the member, or its page, is to be done first")

// ErrOutdated asks to load the state anew and to decide again: two of its documents do not
// fit together.
var ErrOutdated = errors.New("engine: the state was loaded while it changed")

// Refusal is an event that the state does not allow, with the reason for the caller.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

// Refusef makes a Refusal from a format.
func Refusef(format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}
