package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/engine"
)

// bars shows progress on a terminal: a line for the batch and a bar for each phase,
// redrawn in place.
type bars struct {
	container *mpb.Progress
	all       []*mpb.Bar
	byPhase   map[int]*mpb.Bar
	barWidth  int
	colored   bool

	mu     sync.Mutex // the container draws from a goroutine of its own
	now    Progress
	phases map[int]app.PhaseView
}

// NewBars makes a Renderer that draws bars on a terminal of the given width; 0 stands
// for 80 columns.
func NewBars(w io.Writer, width int, colored bool) Renderer {
	if width <= 0 {
		width = 80
	}
	b := &bars{
		container: mpb.New(mpb.WithOutput(w), mpb.WithWidth(width), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Millisecond)),
		byPhase:   map[int]*mpb.Bar{}, phases: map[int]app.PhaseView{},
		barWidth: min(30, max(10, width/5)), colored: colored,
	}
	b.all = append(b.all, b.container.New(0, mpb.NopStyle(), mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return b.head() }))))
	return b
}

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
		bar.SetCurrent(int64(settled(phase)))
	}
}

// add adds the bar of a phase. Its total is not known to the container from the
// start, so that it is only ever complete when Close says so.
func (b *bars) add(phase int) *mpb.Bar {
	style := mpb.BarStyle().Lbound("").Rbound("").Filler("█").Tip("█").Padding("░")
	bar := b.container.New(0, style, mpb.BarWidth(b.barWidth),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return b.label(phase) }, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + b.tail(phase) })))
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
	line := fmt.Sprintf("Batch %d  %s  %s", p.Batch.ID, p.Batch.RunbookName, b.paint(p.Batch.Status, batchStatus(p.Batch)+starts(p)))
	switch hint := hint(p); {
	case p.Lost != nil:
		line += "  (the API cannot be reached, watching on)"
	case p.Batch.Error != "":
		line += "  " + printable(p.Batch.Error)
	case hint != "":
		line += "  (" + printable(hint) + ")"
	case p.Batch.Paused != nil:
		line += "  by " + printable(because(p.Batch.Paused.By, p.Batch.Paused.Why))
	}
	if held := p.Batch.Held; held != nil && held.Confirmed == nil && !terminal(p.Batch) {
		line += fmt.Sprintf("  (matoolkit batch removals %d)", p.Batch.ID)
	}
	return line
}

func (b *bars) tail(id int) string {
	b.mu.Lock()
	at := b.now.At
	phase := b.phases[id]
	b.mu.Unlock()
	return b.paint(phase.Status, describePhase(phase, at))
}

// paint colours words by a status.
func (b *bars) paint(status, words string) string {
	if !b.colored {
		return words
	}
	color := text.FgYellow
	switch status {
	case string(engine.PhaseCompleted):
		color = text.FgGreen
	case string(engine.PhaseFailed):
		color = text.FgRed
	case string(engine.PhasePending), string(engine.PhaseSkipped), string(engine.PhaseSuperseded), string(engine.PhaseCancelled), string(engine.BatchDetected):
		color = text.Faint
	}
	return color.EscapeSeq() + words + text.Reset.EscapeSeq()
}
