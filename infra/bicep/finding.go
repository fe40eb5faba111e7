package bicep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file. Lines and columns count from 1; a column is a
// character, not a byte.
type Position struct{ Line, Column int }

func (p Position) before(other Position) bool {
	return cmp.Or(cmp.Compare(p.Line, other.Line), cmp.Compare(p.Column, other.Column)) < 0
}

// Finding is one thing that is wrong.
type Finding struct {
	// File is the path as it was given to Parse, or below the directory given to Check.
	File string
	Position
	// Code names the rule, for example "unknown-property".
	Code string
	// Message is one sentence for whoever writes the file.
	Message string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Code, f.Message)
}

// sorted puts findings in the order of files and lines, and drops those said twice.
func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(findings)
}

// nearest completes a message with the known name that is most like a wrong one, or
// with all of them where they are few and none is near.
func nearest(name string, known []string) string {
	known = slices.Clone(known)
	slices.Sort(known)
	best, distance := "", len(name)/3+1
	for _, candidate := range known {
		d := edits(name, candidate)
		if len(name) > 3 && strings.HasPrefix(candidate, name) {
			d = 1
		}
		if d < distance {
			best, distance = candidate, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("; did you mean %s?", best)
	case len(known) > 0 && len(known) <= 8:
		return "; there are " + list(known)
	}
	return ""
}

// list writes names as a person would.
func list(names []string) string {
	switch len(names) {
	case 0:
		return "none"
	case 1:
		return names[0]
	}
	text := names[0]
	for _, name := range names[1 : len(names)-1] {
		text += ", " + name
	}
	return text + " and " + names[len(names)-1]
}

// edits is the Levenshtein distance of two names, without regard to case.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if lower(a[i]) == lower(b[j]) {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
