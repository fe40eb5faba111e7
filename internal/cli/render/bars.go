package render

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/matoolkit/matoolkit/internal/api"
)

// bars shows progress on a terminal: a line for the batch and a bar for each phase,
// redrawn in place.
type bars struct {
	container *mpb.Progress
	all       []*mpb.Bar
	byPhase   map[int]*mpb.Bar
	width     int
	colored   bool

	mu     sync.Mutex // the container draws from a goroutine of its own
	now    Progress
	phases map[int]api.Phase
}

// NewBars makes a Renderer that draws bars on a terminal of the given width; 0 stands
// for 80 columns.
func NewBars(w io.Writer, width int, colored bool) Renderer {
	if width <= 0 {
		width = 80
	}
	b := &bars{
		container: mpb.New(mpb.WithOutput(w), mpb.WithWidth(width), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Millisecond)),
		byPhase:   map[int]*mpb.Bar{}, phases: map[int]api.Phase{},
		width: width, colored: colored,
	}
	b.all = append(b.all, b.container.New(0, mpb.NopStyle(), mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return b.head() }))))
	return b
}

// Show redraws the bars.
func (b *bars) Show(p Progress) {
	b.mu.Lock()
	b.now = p
	for _, phase := range p.Phases {
		b.phases[phase.ID] = phase
	}
	b.mu.Unlock()
	for _, phase := range p.Phases {
		bar, ok := b.byPhase[phase.ID]
		if !ok {
			bar = b.add(phase.ID)
		}
		bar.SetTotal(int64(max(phase.Members, 1)), false)
		bar.SetCurrent(int64(ended(phase)))
	}
}

// add adds the bar of a phase. Its total is not known to the container from the
// start, so that it is only ever complete when Close says so.
func (b *bars) add(phase int) *mpb.Bar {
	bar := b.container.MustAdd(0, mpb.BarFillerFunc(b.fill),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return b.label(phase) }, decor.WCSyncSpaceR)),
		// Colours are added when the width is known: they would be counted into it.
		mpb.AppendDecorators(decor.Meta(
			decor.Any(func(s decor.Statistics) string { return " " + b.tail(phase, s.AvailableWidth-shortestBar-3) }),
			func(words string) string { return b.paint(b.status(phase), words) })))
	b.byPhase[phase] = bar
	b.all = append(b.all, bar)
	return bar
}

// Close leaves the bars as they were drawn last.
func (b *bars) Close() {
	for _, bar := range b.all {
		bar.Abort(false)
	}
	b.container.Wait()
}

// A bar is this long, in columns, so that what is said beside it has room: all of them are
// as long as each other, or they could not be compared.
const shortestBar, longestBar = 4, 30

// fill draws the bar of a phase.
func (b *bars) fill(w io.Writer, s decor.Statistics) error {
	width := min(b.barWidth(), s.AvailableWidth)
	done := 0
	if s.Total > 0 {
		done = int(int64(width) * s.Current / s.Total)
	}
	_, err := io.WriteString(w, strings.Repeat("█", done)+strings.Repeat("░", width-done))
	return err
}

// barWidth is what the longest label and the longest words beside a bar leave.
func (b *bars) barWidth() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	labels, tails := 0, 0
	for _, phase := range b.phases {
		labels = max(labels, text.StringWidth(label(phase, b.now.Phases)))
		tails = max(tails, text.StringWidth(describePhase(phase, b.now.At)))
	}
	const spaces = 4 // one after the label, one around the bar on each side, one before the words
	return min(longestBar, max(10, b.width/5), max(shortestBar, b.width-labels-tails-spaces))
}

func (b *bars) label(id int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return label(b.phases[id], b.now.Phases)
}

func (b *bars) head() string {
	b.mu.Lock()
	p := b.now
	b.mu.Unlock()
	if p.Batch.ID == 0 {
		return "looking"
	}
	line := fmt.Sprintf("Batch %d  %s  %s", p.Batch.ID, p.Batch.RunbookName, b.paint(p.Batch.Status, BatchStatus(p.Batch)+starts(p)))
	hint := hint(p)
	// What is to be given next is what must not be cut off at the edge.
	if text.StringWidth(line)+text.StringWidth(hint)+len("  ()") > b.width {
		hint = strings.TrimPrefix(hint, idleHint)
	}
	switch {
	case p.Lost != nil:
		line += "  (the API cannot be reached, watching on)"
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
	return line
}

// tail is how a phase stands, in so many columns at most.
func (b *bars) tail(id, room int) string {
	b.mu.Lock()
	at := b.now.At
	phase := b.phases[id]
	b.mu.Unlock()
	return text.Snip(describePhase(phase, at), max(room, 1), "…")
}

func (b *bars) status(id int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.phases[id].Status
}

// paint colours words by a status.
func (b *bars) paint(status, words string) string {
	if !b.colored {
		return words
	}
	color := text.FgYellow
	switch status {
	case api.PhaseCompleted:
		color = text.FgGreen
	case api.PhaseFailed:
		color = text.FgRed
	case api.PhasePending, api.PhaseSkipped, api.PhaseSuperseded, api.PhaseCancelled, api.BatchDetected:
		color = text.Faint
	}
	return color.EscapeSeq() + words + text.Reset.EscapeSeq()
}
