// Package diff compares two versions of a runbook.
//
// It is pure. It must not know the storage of versions, or the batches of the older one.
package diff

import (
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// Kind tells what became of a part of a runbook.
type Kind string

// The kinds of changes.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
	Moved   Kind = "moved" // within its list, of phases or of steps
)

// Change is one difference between two runbooks.
//
// Path is where it is, such as phases[move].steps[copy].params.Mail: list items are
// identified by name. From and To are the values in the two runbooks, parameters as
// JSON; empty if a runbook has none. For a whole phase, step or rollback they
// describe it in a few words; for a moved one they name the item before it, which
// it comes after now.
type Change struct {
	Kind Kind   `json:"kind"`
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Changes are the differences between two runbooks, in the order of the format and,
// within a list, of the newer one. They are empty where both do the same, however they
// are written.
type Changes []Change

var changeSigns = map[Kind]string{Added: "+", Removed: "-", Changed: "~", Moved: ">"}

// String returns the change on one line. It clips long values to their difference.
func (c Change) String() string {
	from, to := differing(oneLine(c.From), oneLine(c.To))
	line := changeSigns[c.Kind] + " " + c.Path
	switch {
	case c.Kind == Moved:
		return fmt.Sprintf("%s: %s, was %s", line, to, from)
	case from == to && from != "":
		return line + ": white space only"
	case from != "" && to != "":
		return fmt.Sprintf("%s: %s → %s", line, from, to)
	case from+to == "":
		return line
	}
	return line + ": " + from + to
}

// String is all changes, a line each.
func (c Changes) String() string {
	var b strings.Builder
	for _, c := range c {
		b.WriteString(c.String() + "\n")
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// maxShown is how many characters of a value a line has.
const maxShown = 60

// differing clips two values. What both begin with is left out where the difference
// would not be seen otherwise.
func differing(from, to string) (string, string) {
	f, t := []rune(from), []rune(to)
	if len(f) <= maxShown && len(t) <= maxShown {
		return from, to
	}
	same := 0
	for same < len(f) && same < len(t) && f[same] == t[same] {
		same++
	}
	const lead = maxShown / 4
	if same = max(same-lead, 0); same < lead {
		return humanize.Clip(from, maxShown), humanize.Clip(to, maxShown)
	}
	return "…" + humanize.Clip(string(f[same:]), maxShown), "…" + humanize.Clip(string(t[same:]), maxShown)
}
