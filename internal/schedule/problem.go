package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// MaxProblems is how many problems are kept. The others are counted.
const MaxProblems = 1_000

// Problem is one thing wrong with a row of a result, or with all rows of one batch
// time. Nothing of a person's data is in it but their key and the value at fault, of
// which the first 60 characters.
type Problem struct {
	Row     int    // in the result, from 1; 0 when it is about no single row
	Key     string // of the row, as far as it can be read
	Column  string // the runbook's name for it; empty for the row as a whole
	Code    string
	Message string
}

// problems are the problems that were found: the first MaxProblems, and the number of all.
type problems struct {
	first []Problem
	total int
}

func (p *problems) add(one Problem) {
	if p.total++; len(p.first) < MaxProblems {
		p.first = append(p.first, one)
	}
}

// The codes of problems. A row with one of the first eight is not used; if its key is
// known, the member of that key is left as they are.
const (
	CodeBadRow       = "bad-row"
	CodeRowTooLong   = "row-too-long"
	CodeEmptyKey     = "empty-key"
	CodeBadKey       = "bad-key"
	CodeDuplicateKey = "duplicate-key"
	CodeMissingTime  = "missing-time"
	CodeBadTime      = "bad-time"
	CodeBadList      = "bad-list"
	// CodeKeyCase: the key differs only in case from that of a member, of a person whom
	// an administrator removed from that batch, or of another row, so whether this is the
	// same person is unknown. The row is not used, and that member stays.
	CodeKeyCase = "key-case"
	// CodeLongPast: a batch is not made, since all of its phases were due long ago.
	CodeLongPast = "long-past"
	// CodeNoDestination: a member has another time, for which there is no batch and none
	// is made. They stay where they are.
	CodeNoDestination = "no-destination"
	// CodeFailedElsewhere: a member who failed in one batch has the time of another.
	CodeFailedElsewhere = "failed-elsewhere"
	// CodeTwoBatches: a person is a member of two batches that have not ended.
	CodeTwoBatches = "two-batches"
	// CodeOtherBatch: a person is not added, since they are in a batch of another runbook
	// or in one that an administrator is creating.
	CodeOtherBatch = "other-batch"
)

// sortedProblems puts problems about no single row first, then those of rows in their
// order.
func sortedProblems(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Row, b.Row) })
	return problems
}

// clip shortens what a message quotes.
func clip(s string) string { return humanize.Clip(s, 60) }

// count is a number of things in words.
func count(n int, what string) string { return humanize.Count(n, what) }

// numbers lists row numbers of which only the first are known.
func numbers(first []int, total int) string {
	var s []string
	for _, n := range first {
		s = append(s, fmt.Sprint(n))
	}
	list := strings.Join(s, ", ")
	if more := total - len(first); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
