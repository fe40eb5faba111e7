package render

import (
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// A table that is wider than the terminal hides minor columns, wraps texts and shortens other
// values in the middle, so that the columns that matter stay readable.

// proseColumns contain texts, which are wrapped.
var proseColumns = []string{"note", "error", "reason", "message", "description", "value", "target", "deactivated", "what", "detail"}

// minorColumns are hidden in this order.
var minorColumns = []string{
	"by", "variable", "since", "kept", "published", "created", "rerun init", "overdue", "began", "took", "completed", "done", "added",
	"removed", "kind", "function", "type", "replays", "retries", "store", "tenant", "topic", "description", "due", "last run",
	"waiting", "cancelled", "refresh", "offset", "version", "start",
}

// The widths, in characters, to which columns are shortened before other columns are hidden:
// of texts, of other values, and of both at least.
const (
	proseWidth = 40
	wordWidth  = 24
	leastWidth = 12
	gap        = 2 // between two columns
	mostLines  = 4 // of a wrapped text
)

// fit makes the table at most as wide as the terminal. It returns the columns that it hides, and
// whether the table fits.
func (s *Sheet) fit(width int) (hidden []string, fits bool) {
	if len(s.c.Columns) == 0 {
		for _, name := range slices.Concat(s.minor, minorColumns) {
			if s.width(proseWidth, wordWidth) <= width {
				break
			}
			if i := slices.Index(s.head, name); i > 0 {
				s.remove(i)
				hidden = append(hidden, name)
			}
		}
		// On a narrower terminal any column but the first is hidden as a whole: readers do not
		// notice a column that is cut off at the edge.
		for s.width(leastWidth, leastWidth) > width && len(s.head) > 1 {
			i := s.last()
			hidden = append(hidden, s.head[i])
			s.remove(i)
		}
	}
	for _, step := range []struct {
		prose bool
		least int
	}{{true, proseWidth}, {false, 20}, {true, 24}, {false, leastWidth}, {true, leastWidth}} {
		s.shorten(width, step.prose, step.least)
	}
	return hidden, s.width(math.MaxInt, math.MaxInt) <= width
}

// shorten makes columns narrower until the table fits, but not narrower than least. It wraps
// texts and shortens other values in the middle. The first column stays: other commands take
// its values.
func (s *Sheet) shorten(width int, ofProse bool, least int) {
	for i := 1; i < len(s.head); i++ {
		excess, has := s.width(math.MaxInt, math.MaxInt)-width, s.columnWidth(i)
		if excess <= 0 || has <= least || prose(s.head[i]) != ofProse {
			continue
		}
		to := max(least, has-excess)
		for r, row := range s.rows {
			whole := s.c.Cell(s.raw[r][i])
			if ofProse {
				row[i] = strings.Join(wrap(snip(whole, mostLines*to-to/2), to), "\n")
			} else {
				row[i] = snip(whole, to)
			}
		}
	}
}

// last returns the column on the right that is hidden next. Status and texts stay longest.
func (s *Sheet) last() int {
	for i := len(s.head) - 1; i > 0; i-- {
		if s.head[i] != "status" && !prose(s.head[i]) {
			return i
		}
	}
	return len(s.head) - 1
}

func prose(column string) bool { return slices.Contains(proseColumns, column) }

// width returns the width of the table if texts, and other values but those of the first
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
		for line := range strings.SplitSeq(row[i], "\n") {
			widest = max(widest, text.StringWidthWithoutEscSequences(line))
		}
	}
	return widest
}

// snip shortens a text in the middle to a width on the terminal, on which some characters take
// two columns.
func snip(s string, width int) string {
	if text.StringWidthWithoutEscSequences(s) <= width {
		return s
	}
	s = strings.ToValidUTF8(s, "?")
	head, _ := split(s, width/2)
	reversed := []rune(s)
	slices.Reverse(reversed)
	tail, _ := split(string(reversed), width-width/2-1)
	end := []rune(tail)
	slices.Reverse(end)
	return head + "…" + string(end)
}

// split returns the beginning of a text that fits a width, and the rest.
func split(s string, width int) (head, rest string) {
	used := 0
	for i, r := range s {
		if used += text.StringWidthWithoutEscSequences(string(r)); used > width {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// wrap breaks a text into lines of a width, between words where it can.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && text.StringWidthWithoutEscSequences(line+" "+word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for text.StringWidthWithoutEscSequences(word) > width {
			head, rest := split(word, width)
			if head == "" {
				break
			}
			lines, word = append(lines, head), rest
		}
		line = word
	}
	return append(lines, line)
}
