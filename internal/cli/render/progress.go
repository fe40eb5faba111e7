package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Renderer shows the progress of a batch. Show is called with each read of the batch, Close once
// after the last. It is not safe for concurrent use.
type Renderer interface {
	Show(Progress)
	Close()
}

type silent struct{}

func (silent) Show(Progress) {}
func (silent) Close()        {}

// lines shows progress without a terminal: a line for each change of a status, and at most one
// every few seconds for changes of counts.
type lines struct {
	w       io.Writer
	hints   bool
	shown   map[int]api.Phase // by phase execution
	at      map[int]time.Time
	batch   string
	paused  bool
	lost    bool
	held    string
	hinted  string
	waits   map[string]string // by worker: why the batch waits for it
	limited time.Duration
}

// NewLines makes a Renderer that writes lines. With hints it writes what an idle batch waits
// for: an advance, or the due time of its next phase.
func NewLines(w io.Writer, hints bool) Renderer {
	return &lines{w: w, hints: hints, shown: map[int]api.Phase{}, at: map[int]time.Time{}, limited: 2 * time.Second}
}

// Show prints the changes since the last read.
func (l *lines) Show(p Progress) {
	l.showConnection(p)
	if l.lost {
		return
	}
	l.showPhases(p)
	l.showStatus(p)
	l.showPause(p)
	l.showHold(p)
	l.showWaits(p)
	if hint := hint(p); l.hints && hint != "" && hint != l.hinted {
		l.hinted = hint
		l.print(p, "%s", hint)
	}
}

func (l *lines) showConnection(p Progress) {
	lost := p.Lost != nil
	if lost == l.lost {
		return
	}
	if l.lost = lost; lost {
		l.print(p, "the API is not reachable; retrying: %s", p.Lost)
	} else {
		l.print(p, "the API is reachable again")
	}
}

func (l *lines) showPhases(p Progress) {
	for _, phase := range p.Phases {
		before, seen := l.shown[phase.ID]
		status := !seen && phase.Status != api.PhasePending || seen && before.Status != phase.Status
		reason := before.Reason != phase.Reason && phase.Reason != ""
		counts := ended(before) != ended(phase) && p.At.Sub(l.at[phase.ID]) >= l.limited
		if !seen {
			l.shown[phase.ID] = phase
		}
		if status || reason || seen && counts {
			l.print(p, "%s %s", label(phase, p.Phases), describePhase(phase, p.At))
			l.shown[phase.ID], l.at[phase.ID] = phase, p.At
		}
	}
}

func (l *lines) showStatus(p Progress) {
	if p.Batch.Status != l.batch {
		l.batch = p.Batch.Status
		l.print(p, "batch %d is %s", p.Batch.ID, Because(outcomeOf(p.Batch)+starts(p), p.Batch.Error))
	}
}

// outcomeOf is the status of a batch, with whether members of a completed one failed.
func outcomeOf(v api.Batch) string {
	if v.Terminal() {
		return BatchStatus(v)
	}
	return v.Status
}

func (l *lines) showPause(p Progress) {
	paused := p.Batch.Paused != nil
	if paused == l.paused {
		return
	}
	if l.paused = paused; paused {
		l.print(p, "batch %d is paused by %s", p.Batch.ID, Because(p.Batch.Paused.By, p.Batch.Paused.Why))
	} else if !p.Batch.Terminal() {
		l.print(p, "batch %d is resumed", p.Batch.ID)
	}
}

// showHold shows the held removals of the batch.
func (l *lines) showHold(p Progress) {
	held := Held(p)
	if held == l.held {
		return
	}
	if l.held = held; held != "" {
		l.print(p, "%s", held)
	} else if !p.Batch.Terminal() {
		l.print(p, "batch %d no longer has held removals", p.Batch.ID)
	}
}

// Close does nothing.
func (l *lines) Close() {}

// showWaits prints each worker that the batch waits for, once per reason, because the number of
// jobs changes all the time.
func (l *lines) showWaits(p Progress) {
	waits := map[string]string{}
	for _, w := range p.Batch.WaitsFor {
		waits[w.WorkerID] = w.Reason
		if l.waits[w.WorkerID] != w.Reason {
			l.print(p, "batch %d %s", p.Batch.ID, waitNote(w))
		}
	}
	l.waits = waits
}

func (l *lines) print(p Progress, format string, args ...any) {
	fmt.Fprintf(l.w, "%s  %s\n", p.At.UTC().Format("15:04:05Z"), Printable(fmt.Sprintf(format, args...)))
}

// idleHint is the start of every hint.
const idleHint = "no phase is running; "

// hint returns what an idle batch waits for.
func hint(p Progress) string {
	switch {
	case p.Batch.Terminal() || !Idle(p):
		return ""
	case p.Batch.Paused != nil:
		return fmt.Sprintf(idleHint+"to resume: matoolkit batch resume %d", p.Batch.ID)
	case p.Batch.Filling:
		return idleHint + "its members are being written"
	}
	for _, phase := range p.Phases {
		switch {
		case phase.Status != api.PhasePending:
			continue
		case Gated(phase) && (p.Batch.IsManual || phase.Reason != ""):
			return fmt.Sprintf(idleHint+"next is %s, which needs approval: matoolkit batch approve %d %s", phase.Name, p.Batch.ID, ShellWord(phase.Name))
		case p.Batch.IsManual:
			return fmt.Sprintf(idleHint+"next is %s: matoolkit batch advance %d", phase.Name, p.Batch.ID)
		case phase.Reason != "":
			return fmt.Sprintf(idleHint+"next is %s, which waits: %s", phase.Name, phase.Reason)
		case phase.DueAt != nil && phase.DueAt.After(p.At):
			return fmt.Sprintf(idleHint+"next is %s, due on %s", phase.Name, Stamp(*phase.DueAt))
		}
		return ""
	}
	return ""
}

// starts returns the start of a batch with a schedule.
func starts(p Progress) string {
	if !scheduled(p.Batch) || p.Batch.Terminal() || !p.Batch.BatchStartTime.After(p.At) {
		return ""
	}
	return ", starts on " + Stamp(*p.Batch.BatchStartTime)
}

// Held describes the held removals of a batch.
func Held(p Progress) string {
	if p.Batch.Held == nil || p.Batch.Terminal() {
		return ""
	}
	return holdNote(*p.Batch.Held)
}

// ShellWord quotes a name for a shell if it needs quotes.
func ShellWord(name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("-_./", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

// label returns the name of a phase, with its version if there are several.
func label(p api.Phase, all []api.Phase) string {
	if severalVersions(all) {
		return fmt.Sprintf("%s (version %d)", Printable(p.Name), p.RunbookVersion)
	}
	return Printable(p.Name)
}

func severalVersions(all []api.Phase) bool {
	return slices.ContainsFunc(all, func(p api.Phase) bool { return p.RunbookVersion != all[0].RunbookVersion })
}

func ended(p api.Phase) int { return p.Succeeded + p.Failed + p.Cancelled }

// describePhase describes the progress of a phase in a line.
func describePhase(p api.Phase, now time.Time) string {
	parts := []string{PhaseStatus(p)}
	// A pending phase has only waiting members.
	if p.Members > 0 && (p.Status != api.PhasePending || ended(p)+p.Running > 0) {
		parts = append(parts, fmt.Sprintf("%d/%d", ended(p), p.Members))
	}
	if details := describeCounts(p, now); details != "" {
		parts = append(parts, details)
	}
	return strings.Join(parts, ", ")
}

// describeCounts describes the members of a phase, its duration and its note.
func describeCounts(p api.Phase, now time.Time) string {
	var parts []string
	if p.Members > 0 && (p.Status != api.PhasePending || ended(p)+p.Running > 0) {
		parts = append(parts, fmt.Sprintf("%d succeeded", p.Succeeded))
	}
	for _, count := range []struct {
		n    int
		what string
	}{{p.Failed, "failed"}, {p.Cancelled, "cancelled"}, {p.Running, "running"}, {p.Waiting, "waiting"}} {
		if count.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	elapsed, left := times(p, now)
	if elapsed > 0 {
		parts = append(parts, round(elapsed))
	}
	if left > 0 {
		parts = append(parts, "about "+round(left)+" left")
	}
	if p.Status == api.PhasePending && p.DueAt != nil && p.DueAt.After(now) {
		parts = append(parts, "due on "+Stamp(*p.DueAt))
	}
	if note := phaseNote(p); note != "" {
		parts = append(parts, Printable(note))
	}
	return strings.Join(parts, ", ")
}

// times returns how long a phase has run, and an estimate for its remaining members; 0 if
// unknown.
func times(p api.Phase, now time.Time) (elapsed, left time.Duration) {
	if p.DispatchedAt == nil {
		return 0, 0
	}
	if p.CompletedAt != nil {
		return max(p.CompletedAt.Sub(*p.DispatchedAt), 0), 0
	}
	if p.Terminal() {
		return 0, 0
	}
	elapsed = max(now.Sub(*p.DispatchedAt), 0)
	if done := ended(p); done > 0 && done < p.Members {
		left = time.Duration(float64(elapsed) / float64(done) * float64(p.Members-done))
	}
	return elapsed, left
}

// Took is how long something took. CSV has the seconds.
func Took(d time.Duration) Shown { return Shown{Value: d.Seconds(), Text: round(d)} }

func round(d time.Duration) string {
	if d < time.Second {
		return "<1s"
	}
	return d.Round(time.Second).String()
}
