package lint

import (
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Join adds to the findings of a runbook's text those of its calls, sorted by position. It leaves out
// a finding of a call that follows from an error of the text: at the same place, within it or around
// it.
func Join(text, calls runbook.Diagnostics) runbook.Diagnostics {
	errors := text.Errors()
	all := slices.Clone(text)
	for _, d := range calls {
		if !slices.ContainsFunc(errors, func(e runbook.Diagnostic) bool { return within(d.Path, e.Path) || within(e.Path, d.Path) }) {
			all = append(all, d)
		}
	}
	all.Sort()
	return all
}

// within tells whether a path is another one, or goes on from it.
func within(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && other != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
