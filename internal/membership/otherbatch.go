package membership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// InOtherBatch is a person whom another batch has, with that batch and the reason. Passing says that it ends
// by itself, soon.
type InOtherBatch struct {
	Key, Reason string
	Passing     bool
}

// maxTaken is how many people a refusal names.
const maxTaken = 100

// RefuseInOtherBatch gives the error (CodeConflict) for people who are in other batches, of so
// many in all; nil for none. action is the participle of the operation that is refused: added or
// retried. lines has the line of each person in a file. With allowable, the error names the
// option that allows people in other batches.
func RefuseInOtherBatch(taken []InOtherBatch, of int, action string, lines map[string]int, allowable bool) error {
	if len(taken) == 0 {
		return nil
	}
	taken = slices.Clone(taken)
	slices.SortFunc(taken, func(p, q InOtherBatch) int {
		return cmp.Or(cmp.Compare(lines[p.Key], lines[q.Key]), cmp.Compare(p.Key, q.Key))
	})
	allow := ""
	if allowable {
		allow = ", or add them anyway with allowInOtherBatches (--allow-in-other-batches)"
	}
	e := problem.New(api.CodeConflict, "%d of %s cannot be %s: %s. Remove them there, or leave them out%s", len(taken), humanize.Count(of, "person"), action, firstTaken(taken), allow)
	for _, t := range taken[:min(len(taken), maxTaken)] {
		e.Problems = append(e.Problems, api.InputProblem{Line: lines[t.Key], Code: "in_other_batch", Message: t.text()})
	}
	if more := len(taken) - maxTaken; more > 0 {
		e.Problems = append(e.Problems, api.InputProblem{Code: "in_other_batch", Message: fmt.Sprintf("%d more people are in other batches", more)})
	}
	return e
}

func (t InOtherBatch) text() string { return fmt.Sprintf("%s is in %s", t.Key, t.Reason) }

// firstTaken names the first people, and counts the others.
func firstTaken(taken []InOtherBatch) string {
	var names []string
	for _, t := range taken[:min(len(taken), 3)] {
		names = append(names, t.text())
	}
	text := strings.Join(names, "; ")
	if more := len(taken) - len(names); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
