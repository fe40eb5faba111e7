package message

import (
	"fmt"
)

// Unprocessable is a message that no repetition can make sense of. It is kept for
// an administrator and then settled.
type Unprocessable struct{ Reason string }

func (u *Unprocessable) Error() string { return u.Reason }

// Reject returns an Unprocessable with a reason.
func Reject(format string, args ...any) error {
	return &Unprocessable{Reason: fmt.Sprintf(format, args...)}
}

// ErrorText returns the message of a job's error, or its type, or that there is none.
func ErrorText(e *JobError) string {
	switch {
	case e == nil || e.Message == "" && e.Type == "":
		return "the worker gave no reason"
	case e.Type == "":
		return e.Message
	case e.Message == "":
		return e.Type
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Type)
}
