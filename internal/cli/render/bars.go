package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/matoolkit/matoolkit/internal/api"
)

// The escape sequences that the display uses besides colors.
const (
	eraseBelow = "\x1b[J"
	cursorUp   = "\x1b[%dA"
)

// bars shows progress on a terminal: a line for the batch and a bar for each phase. Each Show
// draws them again in place.
//
// Another program can write lines to the same terminal between two frames. The display
// therefore leaves the cursor on an empty line above the bars: such a line stays there as a
// whole, and the next frame is drawn below it.
type bars struct {
	w       io.Writer
	width   int
	colored bool
	now     Progress
	lines   int // of the frame on the terminal, the empty line included
	// The widths of the columns. They only grow, so that the columns keep their places.
	labels, statuses, counts int
}

// NewBars makes a Renderer that draws bars on a terminal of the given width; 0 stands
// for 80 columns.
func NewBars(w io.Writer, width int, colored bool) Renderer {
	if width <= 0 {
		width = 80
	}
	b := &bars{w: w, width: width, colored: colored, statuses: len(api.PhaseDispatched)}
	if width >= 80 { // there is room for the longest status, which phases often end with
		b.statuses = len(CompletedWithFailures)
	}
	return b
}

// Show draws a frame.
func (b *bars) Show(p Progress) {
	b.now = p
	b.draw(true)
}

// Close draws the last frame again and leaves the cursor below it.
func (b *bars) Close() {
	if b.lines > 0 {
		b.draw(false)
	}
}

// draw draws a frame. With more, other frames follow: the cursor returns to the empty line
// above the bars.
func (b *bars) draw(more bool) {
	frame := b.frame()
	var out strings.Builder
	out.WriteString("\r" + eraseBelow)
	if more {
		out.WriteString("\n")
	}
	for _, line := range frame {
		out.WriteString(line + "\n")
	}
	if more {
		b.lines = len(frame) + 1
		fmt.Fprintf(&out, cursorUp, b.lines)
	}
	_, _ = io.WriteString(b.w, out.String()) // a terminal that is gone ends the program elsewhere
}

// The columns of a bar: at least on a narrow terminal, at least on others, and at most. Beside
// it are usually the counts of members and the duration.
const (
	shortestBar, usualBar, longestBar = 4, 8, 24
	usualDetails                      = len("1000 succeeded, 10 failed, 10m0s")
)

// frame returns the lines of the display, none of them wider than the terminal.
func (b *bars) frame() []string {
	p := b.now
	for _, phase := range p.Phases {
		b.labels = max(b.labels, text.StringWidth(label(phase, p.Phases)))
		b.statuses = max(b.statuses, text.StringWidth(PhaseStatus(phase)))
		b.counts = max(b.counts, 2*len(fmt.Sprint(phase.Members))+1)
	}
	// Spaces: one after the label, one after the bar, two before the status, two after it.
	columns := b.labels + b.counts + b.statuses + 6
	bar := min(longestBar, max(usualBar, b.width-1-columns-usualDetails))
	if bar+columns > b.width { // the words are cut then
		bar = shortestBar
	}
	lines := []string{b.head()}
	for _, phase := range p.Phases {
		count := ""
		if phase.Members > 0 {
			count = fmt.Sprintf("%d/%d", ended(phase), phase.Members)
		}
		name := label(phase, p.Phases)
		left := name + strings.Repeat(" ", b.labels-text.StringWidth(name)+1)
		right := fmt.Sprintf(" %*s  ", b.counts, count)
		words := PhaseStatus(phase)
		words += strings.Repeat(" ", b.statuses-text.StringWidth(words))
		if more := details(phase, p.At); more != "" {
			words += "  " + more
		}
		room := b.width - 1
		left = cut(left, max(room-bar-text.StringWidth(right)-leastWidth, leastWidth))
		words = strings.TrimRight(cut(words, room-text.StringWidth(left)-bar-text.StringWidth(right)), " ")
		lines = append(lines, left+b.bar(phase, bar)+right+b.paint(PhaseStatus(phase), words))
	}
	return lines
}

// details describes a phase beside its bar. The count of the bar is that of succeeded members
// if no member failed.
func details(p api.Phase, now time.Time) string {
	all := describeCounts(p, now)
	if p.Failed+p.Cancelled > 0 {
		return all
	}
	return strings.TrimPrefix(strings.TrimPrefix(all, fmt.Sprintf("%d succeeded", p.Succeeded)), ", ")
}

// cut shortens a line to a width.
func cut(s string, width int) string { return text.Snip(s, max(width, 1), "…") }

// bar draws the bar of a phase: succeeded members in full, then failed and cancelled ones in
// other shades, so that a phase with failures is not a full bar.
func (b *bars) bar(p api.Phase, width int) string {
	if p.Members <= 0 {
		return strings.Repeat("░", width)
	}
	share := func(n int) int { return min(width, width*n/p.Members) }
	succeeded := share(p.Succeeded)
	failed := share(p.Succeeded+p.Failed) - succeeded
	if p.Failed > 0 && failed == 0 { // one failure shows as well
		failed = 1
		succeeded = min(succeeded, width-failed)
	}
	cancelled := max(share(ended(p))-succeeded-failed, 0)
	rest := width - succeeded - failed - cancelled
	return b.color(text.FgGreen, strings.Repeat("█", succeeded)) + b.color(text.FgRed, strings.Repeat("▓", failed)) +
		b.color(text.Faint, strings.Repeat("▒", cancelled)) + strings.Repeat("░", rest)
}

// head returns the line of the batch.
func (b *bars) head() string {
	p := b.now
	if p.Batch.ID == 0 {
		return cut("connecting", b.width-1)
	}
	status := BatchStatus(p.Batch) + starts(p)
	line := fmt.Sprintf("Batch %d  %s  %s", p.Batch.ID, Printable(p.Batch.RunbookName), status)
	hint := hint(p)
	// The next command must not be cut off at the edge.
	if text.StringWidth(line)+text.StringWidth(hint)+len("  ()") >= b.width {
		hint = strings.TrimPrefix(hint, idleHint)
	}
	switch {
	case p.Lost != nil:
		line += "  (the API is not reachable; retrying)"
	case p.Batch.Error != "":
		line += "  " + Printable(p.Batch.Error)
	case len(p.Batch.WaitsFor) > 0:
		line += "  " + Printable(waitNote(p.Batch.WaitsFor[0]))
	case hint != "":
		line += "  (" + Printable(hint) + ")"
	case p.Batch.Paused != nil:
		line += "  by " + Printable(Because(p.Batch.Paused.By, p.Batch.Paused.Why))
	}
	if held := p.Batch.Held; held != nil && held.Confirmed == nil && !p.Batch.Terminal() {
		line += fmt.Sprintf("  (matoolkit batch removals %d)", p.Batch.ID)
	}
	return strings.Replace(cut(line, b.width-1), status, b.paint(p.Batch.Status, status), 1)
}

// paint colors words by a status.
func (b *bars) paint(status, words string) string {
	color := text.FgYellow
	switch status {
	case api.PhaseCompleted:
		color = text.FgGreen
	case api.PhaseFailed:
		color = text.FgRed
	case api.PhasePending, api.PhaseSkipped, api.PhaseSuperseded, api.PhaseCancelled, api.BatchDetected:
		color = text.Faint
	}
	return b.color(color, words)
}

func (b *bars) color(color text.Color, words string) string {
	if !b.colored || words == "" {
		return words
	}
	return color.EscapeSeq() + words + text.Reset.EscapeSeq()
}
