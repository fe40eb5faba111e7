package bicep

import "fmt"

// Position is a place in a file. Lines and columns count from 1; a column is a
// character, not a byte.
type Position struct{ Line, Column int }

// Finding is one syntax error.
type Finding struct {
	// File is the path as it was given to Parse.
	File string
	Position
	Message string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
}
