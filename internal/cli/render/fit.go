package render

import (
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// A table that is wider than the terminal is made to fit, so that its rows are not cut
// where what matters most may be: columns go without which the rest still says what
// somebody has to do, and long words and sentences are shortened.

// proseColumns hold sentences, of which the beginning tells much.
var proseColumns = []string{"note", "error", "reason", "message", "description", "value", "target", "deactivated", "what"}

// minorColumns give way in this order: who and when before what.
var minorColumns = []string{
	"by", "variable", "since", "kept", "published", "created", "rerun init", "overdue", "version", "began", "took", "completed", "done", "added",
	"removed", "kind", "function", "type", "replays", "retries", "store", "tenant", "topic", "description", "due", "start", "last run",
	"waiting", "cancelled", "refresh", "offset",
}

// A sentence keeps so much, in characters, that it mostly says why, before columns give way
// for it, and every other word so much that it can be told from others. Nothing is made
// shorter than the least.
const (
	proseKept = 40
	wordKept  = 24
	leastKept = 12
	gap       = 2 // between two columns
)

// fit makes the table as wide as the terminal at most, tells of the columns that it
// leaves out, and returns whether it could.
func (s *Sheet) fit(width int) bool {
	var left []string
	for _, name := range slices.Concat(s.minor, minorColumns) {
		if s.width(proseKept, wordKept) <= width {
			break
		}
		if i := slices.Index(s.head, name); i > 0 {
			s.remove(i)
			left = append(left, name)
		}
	}
	// On a terminal that is narrower still any column goes but the first, as a whole: one
	// that is cut off at the edge is missed by nobody.
	for s.width(leastKept, leastKept) > width && len(s.head) > 1 {
		i := s.last()
		left = append(left, s.head[i])
		s.remove(i)
	}
	if len(left) > 0 {
		s.c.Notice("Left out for want of room: %s. Everything: --output json.", strings.Join(left, ", "))
	}
	for _, step := range []struct {
		prose bool
		least int
	}{{true, proseKept}, {true, 24}, {false, 20}, {true, leastKept}, {false, leastKept}} {
		s.shorten(width, step.prose, step.least)
	}
	return s.width(math.MaxInt, math.MaxInt) <= width
}

// shorten takes from columns, of prose or of other words, by what the table is too wide,
// but leaves them least. The first column stays: it is what other commands are given.
func (s *Sheet) shorten(width int, ofProse bool, least int) {
	for i := 1; i < len(s.head); i++ {
		excess, has := s.width(math.MaxInt, math.MaxInt)-width, s.columnWidth(i)
		if excess <= 0 || has <= least || prose(s.head[i]) != ofProse {
			continue
		}
		to := max(least, has-excess)
		for _, row := range s.rows {
			row[i] = snip(row[i], to)
		}
	}
}

// last is the column on the right that gives way next. How it went and why stay longest.
func (s *Sheet) last() int {
	for i := len(s.head) - 1; i > 0; i-- {
		if s.head[i] != "status" && !prose(s.head[i]) {
			return i
		}
	}
	return len(s.head) - 1
}

func prose(column string) bool { return slices.Contains(proseColumns, column) }

// width is how wide the table is where sentences, and other words but those of the first
// column, have at most so many characters.
func (s *Sheet) width(ofProse, ofWords int) int {
	total := gap * (len(s.head) - 1)
	for i, name := range s.head {
		most := ofWords
		switch {
		case i == 0:
			most = math.MaxInt
		case prose(name):
			most = ofProse
		}
		total += min(s.columnWidth(i), max(most, text.StringWidthWithoutEscSequences(name)))
	}
	return total
}

func (s *Sheet) columnWidth(i int) int {
	widest := text.StringWidthWithoutEscSequences(s.head[i])
	for _, row := range s.rows {
		widest = max(widest, text.StringWidthWithoutEscSequences(row[i]))
	}
	return widest
}

// remove takes out a column.
func (s *Sheet) remove(i int) {
	s.head = slices.Delete(s.head, i, i+1)
	for r := range s.rows {
		s.rows[r] = slices.Delete(s.rows[r], i, i+1)
	}
}

// snip cuts a word to a width on the terminal, on which some characters take two columns.
func snip(word string, width int) string {
	if text.StringWidthWithoutEscSequences(word) <= width {
		return word
	}
	word = strings.ToValidUTF8(word, "?")
	end, used := 0, 1 // the mark that something is missing takes one
	for i, r := range word {
		if used += text.StringWidthWithoutEscSequences(string(r)); used > width {
			break
		}
		end = i + len(string(r))
	}
	return word[:end] + "…"
}
