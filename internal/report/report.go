// Package report writes how the members of a batch fared, step by step, for people who
// are not at the command line: as CSV for a spreadsheet, and as one HTML page that needs
// nothing but itself.
//
// It is given what there is to tell, one member at a time, and keeps none of them. It
// knows neither where they come from nor who reads the report.
package report

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Format is a form that a report can have.
type Format string

// The formats.
const (
	CSV  Format = "csv"
	HTML Format = "html"
)

// Formats are all of them.
var Formats = []Format{CSV, HTML}

// Media is the media type.
func (f Format) Media() string {
	if f == HTML {
		return "text/html; charset=utf-8"
	}
	return "text/csv; charset=utf-8"
}

// FailedFirst tells whether the members who failed are to come before the others. A
// spreadsheet sorts by itself; what reads CSV can rely on the order of the members.
func (f Format) FailedFirst() bool { return f == HTML }

// Batch is what a report begins with: the batch as it was at AsOf.
type Batch struct {
	ID        int
	Runbook   string
	Version   int
	Status    string
	Notes     []string // what else there is to know of it, a sentence each
	CreatedBy string
	Start     *time.Time // the cut-over
	Completed *time.Time
	Members   int // who are in it
	Removed   int // who have been
	Phases    []Phase
	AsOf      time.Time
}

// Phase is one execution of the batch. Those with steps have columns.
type Phase struct {
	Name    string
	Status  string
	Note    string // why it waits, was skipped or failed
	Due     *time.Time
	Ended   *time.Time
	Steps   []string // of each member, in order; none where members do not take part in it
	Undoes  bool     // a step of it that fails is rolled back
	Members int      // who take or took part, and of them:

	Succeeded, Failed, Cancelled, Running, Waiting int
}

// Member is one row.
type Member struct {
	ID         int
	Key        string
	Status     string
	Phase      string // the phase the member is in
	FailedIn   string
	FailedStep string
	Error      string
	AddedAt    time.Time
	FailedAt   *time.Time
	RemovedAt  *time.Time
	RemovedBy  string
	Runs       []Run
	ReadAt     time.Time
}

// Run is a member's passage through a phase.
type Run struct {
	Phase  int // its place in Batch.Phases
	Status string
	Ended  *time.Time
	Steps  []string // the statuses, as many as the phase has steps
	Undone []Undone
}

// Undone is a step of a rollback.
type Undone struct{ Sequence, Step, Status string }

// Writer writes one report. It is not safe for concurrent use.
type Writer interface {
	// Member writes the next row.
	Member(Member) error
	// Close writes what comes last; the members had all been read at end. It closes
	// nothing else. A report that is not closed is not whole.
	Close(end time.Time) error
}

// New begins a report on w. What it writes may be held back until Close.
func New(f Format, w io.Writer, b Batch) (Writer, error) {
	switch f {
	case CSV:
		return newCSV(w, b)
	case HTML:
		return newHTML(w, b)
	}
	return nil, fmt.Errorf("report: no format %q", f)
}

// title names a phase in the columns. An execution of a name that there was before
// is numbered, the second with 2.
func title(phases []Phase, at int) string {
	n := 1
	for _, p := range phases[:at] {
		if len(p.Steps) > 0 && p.Name == phases[at].Name {
			n++
		}
	}
	if n > 1 {
		return fmt.Sprintf("%s (%d)", phases[at].Name, n)
	}
	return phases[at].Name
}

// check holds a member against the columns, so that no status is told under the name
// of another step.
func (m *Member) check(phases []Phase) error {
	for i, r := range m.Runs {
		if r.Phase < 0 || r.Phase >= len(phases) || len(r.Steps) != len(phases[r.Phase].Steps) ||
			slices.ContainsFunc(m.Runs[:i], func(o Run) bool { return o.Phase == r.Phase }) {
			return fmt.Errorf("report: member %d has a run in place %d with %d steps, for which there are no columns", m.ID, r.Phase, len(r.Steps))
		}
	}
	return nil
}

// in gives the member's run in a phase, or none.
func (m *Member) in(phase int) *Run {
	for i := range m.Runs {
		if m.Runs[i].Phase == phase {
			return &m.Runs[i]
		}
	}
	return nil
}

// undone words the rollback of a run.
func (r *Run) undone() string {
	text, sequence := "", ""
	for _, u := range r.Undone {
		switch {
		case u.Sequence != sequence && text != "":
			text += "; " + u.Sequence + ": "
		case u.Sequence != sequence:
			text = u.Sequence + ": "
		default:
			text += ", "
		}
		text += u.Step + " " + u.Status
		sequence = u.Sequence
	}
	return text
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func stampIf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return stamp(*t)
}
