// Package report writes the outcome of the members of a batch for readers without access to
// the system: as CSV for a spreadsheet, and as one self-contained HTML page.
//
// It receives one member at a time and keeps none in memory. It does not know where they come
// from.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Format is the format of a report.
type Format string

// The formats.
const (
	CSV  Format = "csv"
	HTML Format = "html"
)

// Formats are all formats.
var Formats = []Format{CSV, HTML}

// Media returns the media type.
func (f Format) Media() string {
	if f == HTML {
		return "text/html; charset=utf-8"
	}
	return "text/csv; charset=utf-8"
}

// FailedFirst reports whether failed members come before the others. A spreadsheet can sort,
// and programs that read CSV rely on the order of the members.
func (f Format) FailedFirst() bool { return f == HTML }

// Batch is the header of a report: the batch as it was at AsOf.
type Batch struct {
	ID        int
	Name      string
	Owner     string
	Display   bool // members have something that is shown beside the key
	Runbook   string
	Version   int
	Status    string
	Notes     []string // a sentence each
	CreatedBy string
	Start     *time.Time // the cut-over
	Completed *time.Time
	Members   int // without removed members
	Failed    int // of them, in phases that have ended
	Removed   int
	Checks    *Checks  // nil: the batch has none
	Columns   []string // of the members' rows that have columns in CSV
	Phases    []Phase
	AsOf      time.Time
}

// Checks are the checks of the members. They have columns.
type Checks struct {
	Names                           []string // in order
	Passed, Failed, Running, NotRun int      // members
}

// Phase is one execution of a phase. Phases with steps have columns.
type Phase struct {
	Name    string
	Status  string
	Note    string // why it waits, was skipped or failed
	Due     *time.Time
	Ended   *time.Time
	Steps   []string // of each member, in order; none if members take no part
	Undoes  bool     // a step of it that fails is rolled back
	Members int      // that take part, and of them:

	Succeeded, Failed, Cancelled, Running, Waiting int
}

// Member is one row.
type Member struct {
	ID         int
	Key        string
	Display    string // what is shown beside the key
	Status     string
	Phase      string // the phase the member is in
	FailedIn   string
	FailedStep string
	Error      string
	AddedAt    time.Time
	FailedAt   *time.Time
	RemovedAt  *time.Time
	RemovedBy  string
	Checks     []Check
	Runs       []Run
	Data       map[string]json.RawMessage // the row; CSV only
	ReadAt     time.Time
}

// Outcome returns the outcome of a member: done, failed at a phase and step, removed, or how far
// the member is.
func (m *Member) Outcome(b Batch) string {
	switch m.Status {
	case "done":
		return "done"
	case "failed":
		at := m.FailedIn
		if m.FailedStep != "" {
			at += "/" + m.FailedStep
		}
		if at == "" {
			return "failed"
		}
		return "failed at " + at
	case "removed":
		return "removed"
	}
	switch {
	case b.Status == "completed":
		return "done"
	case b.Status == "failed" || b.Status == "cancelled":
		return "not finished"
	case m.Phase != "":
		return "in " + m.Phase
	case len(m.Runs) > 0:
		return "in progress"
	}
	return "not started"
}

// Check is the last result of a check of a member. One that is not among the checks of the batch is
// of an earlier version.
type Check struct {
	Name   string
	Status string // passed, failed, running, skipped or not_run
	Error  string
}

// Run is the execution of a phase for a member.
type Run struct {
	Phase  int // its index in Batch.Phases
	Status string
	Ended  *time.Time
	Steps  []string // the status of each step of the phase
	Undone []Undone
}

// Undone is a step of a rollback.
type Undone struct{ Sequence, Step, Status string }

// Writer writes one report. It is not safe for concurrent use.
type Writer interface {
	// Member writes the next row.
	Member(Member) error
	// Close writes the end of the report; all members were read by the time end. It closes
	// nothing else. A report without it is incomplete.
	Close(end time.Time) error
}

// New starts a report on w. It can buffer its output until Close.
func New(f Format, w io.Writer, b Batch) (Writer, error) {
	switch f {
	case CSV:
		return newCSV(w, b)
	case HTML:
		return newHTML(w, b)
	}
	return nil, fmt.Errorf("report: unknown format %q", f)
}

// title returns the name of a phase in the columns. Repeated executions of a phase are
// numbered, the second with 2.
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

// check compares the runs of a member with the columns, so that no status appears under
// another step.
func (m *Member) check(phases []Phase) error {
	for i, r := range m.Runs {
		if r.Phase < 0 || r.Phase >= len(phases) || len(r.Steps) != len(phases[r.Phase].Steps) ||
			slices.ContainsFunc(m.Runs[:i], func(o Run) bool { return o.Phase == r.Phase }) {
			return fmt.Errorf("report: member %d has a run of phase %d with %d steps, which do not match the columns", m.ID, r.Phase, len(r.Steps))
		}
	}
	return nil
}

// in returns the run of a phase, or nil.
func (m *Member) in(phase int) *Run {
	for i := range m.Runs {
		if m.Runs[i].Phase == phase {
			return &m.Runs[i]
		}
	}
	return nil
}

// undone describes the rollback of a run.
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
