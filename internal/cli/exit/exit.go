// Package exit defines the exit statuses of the command line and the errors that carry them.
package exit

import "fmt"

// The exit statuses, as the help of the root command has them.
const (
	OK          = 0
	Failed      = 1
	WrongUsage  = 2
	NotSignedIn = 3
	NotFound    = 4
	Refused     = 5
	Unavailable = 6
	Interrupted = 130 // Ctrl-C, as shells have it
)

// Error is an error with the exit status of the program. An error without a text is not
// printed: the command has printed the failure itself.
type Error struct {
	Status int
	Text   string
	Hint   string
	Found  []string // printed before the text, one a line
}

func (e *Error) Error() string { return e.Text }

// Usage returns an error with the status of wrong usage.
func Usage(err error) error { return &Error{Status: WrongUsage, Text: err.Error()} }

// Usagef formats an error with the status of wrong usage.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }
