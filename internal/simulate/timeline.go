package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Kind is the type of an event.
type Kind string

// The kinds of event.
const (
	KindAutomation   Kind = "automation"    // it is turned on
	KindBatchMade    Kind = "batch_made"    //
	KindPhaseStarted Kind = "phase_started" // a phase, or init
	KindPhaseEnded   Kind = "phase_ended"   //
	KindOnComplete   Kind = "on_complete"   // the steps after a phase's members begin
	KindGate         Kind = "gate"          // a phase waits for approval or success
	KindApproved     Kind = "approved"      //
	KindQuiet        Kind = "quiet"         // a phase waits for the end of quiet hours
	KindWaits        Kind = "waits"         // an advance waits for an earlier phase
	KindFailed       Kind = "member_failed"
	KindJoined       Kind = "member_joined" // later than the batch was made
	KindRemoved      Kind = "member_removed"
	KindRolledBack   Kind = "rolled_back"
	KindRemovalsHeld Kind = "removals_held"

	KindAdditionsHeld Kind = "additions_held"

	KindPhaseStopped Kind = "phase_stopped" // its stop_when pauses the batch
	KindRefused      Kind = "refused"       // what the administrator asks for
	KindJob          Kind = "job"           // of a member who is told of one by one
	KindBatchEnded   Kind = "batch_ended"
	KindBrokenOff    Kind = "broken_off"
)

// rank is the order of what happens at one moment: what a phase's end follows from comes
// before it, and the jobs that its beginning brings about behind that.
func (k Kind) rank() int {
	switch k {
	case KindFailed, KindRolledBack, KindRemoved, KindJoined:
		return 0
	case KindJob:
		return 2
	}
	return 1
}

// Event is one thing that happens. Times are UTC.
type Event struct {
	At      time.Time `json:"at"`
	Offset  string    `json:"offset,omitempty"` // from the batch's start, such as T-5d
	Batch   int       `json:"batchId,omitempty"`
	Phase   string    `json:"phase,omitempty"`
	Kind    Kind      `json:"kind"`
	Members []string  `json:"memberKeys,omitempty"` // who it happens to, where it is not to all
	Text    string    `json:"text"`
}

// Timeline is the result of a simulation.
type Timeline struct {
	Runbook  string    `json:"runbook"`
	Begin    time.Time `json:"begin"`
	End      time.Time `json:"end"`
	Failing  int       `json:"failingCalls"` // findings in the runbook that make every call of a step fail
	Complete bool      `json:"complete"`     // all batches completed, no member failed, and no step always fails

	Events    []Event    `json:"events"`
	Batches   []Batch    `json:"batches"`
	Functions []Function `json:"functions"`
	Failures  []Failure  `json:"failures"` // of steps and checks, without those that a retry repaired
	Warnings  []string   `json:"warnings"`
	Remaining []string   `json:"remaining"` // what had not begun or ended at the end
}

// Failure is a step of a member, or of the batch, that failed in the end.
type Failure struct {
	At       time.Time `json:"at"`
	Batch    int       `json:"batchId"`
	Phase    string    `json:"phase"`
	Rollback string    `json:"rollback,omitempty"` // the sequence that the step is part of
	Step     string    `json:"step"`
	Function string    `json:"functionName"`
	Member   string    `json:"memberKey,omitempty"` // empty: the step is of the batch
	Warning  bool      `json:"warning,omitempty"`   // a check that is not required: the member goes on
	Error    string    `json:"error"`
	JobID    string    `json:"-"`
}

// Batch is how a batch ended.
type Batch struct {
	ID        int       `json:"id"`
	Start     time.Time `json:"batchStartTime"`
	Status    string    `json:"status"`
	Members   int       `json:"memberCount"`
	Succeeded int       `json:"succeeded"` // of the members: neither failed nor removed, and the batch has ended
	Keys      []string  `json:"-"`         // of all members
	Failed    []string  `json:"failedKeys"`
	Removed   []string  `json:"removedKeys"`
	Open      int       `json:"open"` // who had not ended
	Phases    []Phase   `json:"phases"`
}

// Phase is how a phase of a batch went; init is one, too.
type Phase struct {
	Name   string     `json:"phase"`
	Offset string     `json:"offset,omitempty"` // empty: init
	Status string     `json:"status"`
	Reason string     `json:"reason,omitempty"`
	DueAt  *time.Time `json:"dueAt,omitempty"` // nil: init
	// QuietUntil is when the quiet hours end in which the phase is due; nil if it is not due in
	// any, or if they do not apply to the batch.
	QuietUntil *time.Time `json:"quietUntil,omitempty"`
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	EndedAt    *time.Time `json:"endedAt,omitempty"`
	Seconds    int64      `json:"tookSeconds,omitempty"` // until it ended first: late members open it again
	Late       int64      `json:"lateSeconds,omitempty"`
	Succeeded  int        `json:"succeeded"`
	Failed     int        `json:"failed"`
	Cancelled  int        `json:"cancelled"`
	Jobs       int        `json:"jobs"`
	Retries    int        `json:"retries"`
	Polls      int        `json:"polls"`
}

// Function is how often a function is called. Retries and polls are among the jobs.
type Function struct {
	Name        string    `json:"functionName"`
	Jobs        int       `json:"jobs"`
	Retries     int       `json:"retries"`
	Polls       int       `json:"polls"`
	BusiestHour int       `json:"busiestHourJobs"`
	BusiestAt   time.Time `json:"busiestHourAt"` // on the full hour
}

// StatusText is the status of a batch or phase, with whether members of a completed one failed.
func StatusText(status string, failed int) string {
	if status == string(model.BatchCompleted) && failed > 0 {
		return status + " with failures"
	}
	return status
}

// tell adds an event of now.
func (r *simulation) tell(e Event) { r.tellAt(r.clock, e) }

func (r *simulation) tellAt(at time.Time, e Event) {
	e.At = at.UTC()
	start := r.config.Start
	if w := r.watched(e.Batch); w != nil {
		start = r.startOf(&w.doc)
	}
	if e.Batch != 0 {
		e.Offset = offset(e.At.Sub(start))
	}
	r.events = append(r.events, e)
	r.restless = true
}

// timeline sums up.
func (r *simulation) timeline(ctx context.Context) (*Timeline, error) {
	t := &Timeline{Runbook: r.runbook.Name, Begin: r.begin, End: r.clock, Complete: len(r.batches) > 0 && r.failing == 0, Failing: r.failing, Remaining: []string{}}
	for _, w := range r.batches {
		if err := ctx.Err(); err != nil { // the store in memory does not look
			return nil, err
		}
		b, err := r.sum(ctx, w)
		if err != nil {
			return nil, err
		}
		t.Batches = append(t.Batches, b)
		t.Complete = t.Complete && b.Status == string(model.BatchCompleted) && len(b.Failed) == 0
		if !w.doc.Status.Terminal() {
			t.Remaining = append(t.Remaining, r.remaining(&w.doc)...)
		}
	}
	if err := r.problems(ctx, t); err != nil {
		return nil, err
	}
	r.jobs()
	slices.SortStableFunc(r.events, func(a, b Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Batch, b.Batch), cmp.Compare(a.Kind.rank(), b.Kind.rank()))
	})
	slices.SortStableFunc(r.failed, func(a, b Failure) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Batch, b.Batch), cmp.Compare(a.Member, b.Member))
	})
	t.Events, t.Functions, t.Failures = r.events, r.worker.functions(), append([]Failure{}, r.failed...)
	r.unused()
	t.Warnings = append([]string{}, r.warnings...)
	return t, nil
}

func (r *simulation) sum(ctx context.Context, w *watched) (Batch, error) {
	b := Batch{ID: w.doc.ID, Start: r.startOf(&w.doc), Status: string(w.doc.Status), Members: w.doc.Members, Failed: []string{}, Removed: []string{}, Phases: []Phase{}}
	members, err := r.list(ctx, w.doc.ID)
	if err != nil {
		return b, err
	}
	var failures group
	for _, item := range members {
		m := item.Doc
		r.known[m.Key] = true
		b.Keys = append(b.Keys, m.Key)
		if m.AddedAt.After(w.doc.DetectedAt) {
			r.tellAt(m.AddedAt, Event{Batch: b.ID, Kind: KindJoined, Members: []string{m.Key}, Text: m.Key + " joins the batch"})
		}
		switch {
		case m.Status == model.MemberFailed && m.FailedAt != nil:
			b.Failed = append(b.Failed, m.Key)
			failures.add(*m.FailedAt, m.FailedIn, strings.TrimPrefix(m.Error, "phase "+m.FailedIn+": "), m.Key)
		case m.Status == model.MemberRemoved && m.RemovedAt != nil:
			b.Removed = append(b.Removed, m.Key)
			text := m.Key + " is removed"
			if m.Error != "" {
				text += ": " + m.Error
			}
			r.tellAt(*m.RemovedAt, Event{Batch: b.ID, Kind: KindRemoved, Members: []string{m.Key}, Text: text})
		case w.doc.Status.Terminal():
			b.Succeeded++
		default:
			b.Open++
		}
	}
	for _, f := range failures {
		r.tellAt(f.at, Event{Batch: b.ID, Phase: f.phase, Kind: KindFailed, Members: f.keys, Text: verb(f.keys, "fails", "fail") + ": " + f.text})
	}
	if err := r.runs(ctx, b.ID); err != nil {
		return b, err
	}
	for _, p := range w.doc.Phases {
		if p.Kind != model.KindRemoval {
			b.Phases = append(b.Phases, r.phase(&w.doc, p))
		}
	}
	return b, nil
}

// failures adds the steps of a run that failed.
func (r *simulation) failures(u *model.Run) error {
	for i, s := range u.Steps {
		if !s.Status.Failed() || s.CompletedAt == nil {
			continue
		}
		step, err := u.Definition(r.runbook, i)
		if err != nil {
			return err
		}
		r.failed = append(r.failed, Failure{
			At: s.CompletedAt.UTC(), Batch: u.Batch, Phase: cmp.Or(u.PhaseName, string(u.Kind)), Rollback: s.Rollback, Step: step.Name, Function: cmp.Or(s.Function, step.Function),
			Member: u.Key, Warning: u.Kind == model.KindCheck && !s.Required, Error: s.Error, JobID: u.JobID(i),
		})
	}
	return nil
}

// runs tells of the runs of a batch that were rolled back, and of steps that failed.
func (r *simulation) runs(ctx context.Context, batch int) error {
	runs, err := store.Collect(func(page store.Paging) (store.Page[model.Run], error) {
		return r.store.Runs(ctx, batch, store.RunFilter{}, page)
	})
	if err != nil {
		return err
	}
	var all group
	for _, run := range runs {
		if u := run.Doc; u.RolledBack && u.EndedAt != nil {
			all.add(*u.EndedAt, u.PhaseName, "", cmp.Or(u.Key, "the batch"))
		}
		if err := r.failures(&run.Doc); err != nil {
			return err
		}
	}
	for _, f := range all {
		r.tellAt(f.at, Event{Batch: batch, Phase: f.phase, Kind: KindRolledBack, Members: f.keys, Text: verb(f.keys, "is rolled back", "are rolled back")})
	}
	return nil
}

func (r *simulation) phase(b *model.Batch, p model.Phase) Phase {
	out := Phase{
		Name: p.Name, Status: string(p.Status), Reason: p.Reason, StartedAt: p.DispatchedAt, EndedAt: p.CompletedAt,
		Succeeded: p.Succeeded, Failed: p.Failed, Cancelled: p.Cancelled,
	}
	out.Jobs, out.Retries, out.Polls = r.worker.tally(b.ID, p.ID)
	if p.Kind == model.KindPhase {
		due := r.dueOf(b, &p)
		out.Offset, out.DueAt = runbook.Offset(p.OffsetMinutes).String(), &due
		if end, quiet := b.Quiet.Until(due); quiet {
			end = end.UTC()
			out.QuietUntil = &end
		}
	}
	if p.DispatchedAt == nil {
		return out
	}
	if first, ok := r.ended[gate{b.ID, p.ID}]; ok {
		out.Seconds = int64(first.Sub(*p.DispatchedAt) / time.Second)
	}
	if out.DueAt != nil && p.DispatchedAt.Sub(*out.DueAt) >= lateBy {
		out.Late = int64(p.DispatchedAt.Sub(*out.DueAt) / time.Second)
		r.warn("batch %d: %s starts %s late", b.ID, p.Name, Span(p.DispatchedAt.Sub(*out.DueAt)))
	}
	for _, earlier := range b.Phases {
		if earlier.ID < p.ID && earlier.Kind == model.KindPhase && earlier.CompletedAt != nil && earlier.CompletedAt.After(*p.DispatchedAt) {
			r.warn("batch %d: %s starts while %s is in progress; members still in that phase reach %s later", b.ID, p.Name, earlier.Name, p.Name)
		}
	}
	return out
}

// remaining lists what a batch still waits for.
func (r *simulation) remaining(b *model.Batch) []string {
	var out []string
	refused := "" // what the administrator was told last
	if b.ID == r.admin.manual {
		refused = r.admin.refused
	}
	for _, p := range b.Phases {
		if p.Status.Terminal() || p.Kind == model.KindRemoval {
			continue
		}
		text := fmt.Sprintf("batch %d: %s is %s", b.ID, p.Name, p.Status)
		if p.Status == model.PhasePending && cmp.Or(p.Reason, refused) != "" {
			text += ": " + cmp.Or(p.Reason, refused)
			refused = ""
		}
		out = append(out, text)
	}
	return out
}

// problems adds the unprocessable messages and stuck steps to the timeline.
func (r *simulation) problems(ctx context.Context, t *Timeline) error {
	if r.runbook.DataSource.Queried() {
		a, err := r.app.Automation(ctx, ada, r.runbook.Name)
		if err != nil {
			return err
		}
		if a.LastError != "" {
			r.warn("the last data source sync failed: %s", a.LastError)
		}
		for _, p := range a.Problems {
			place := ""
			if p.Row > 0 {
				place = fmt.Sprintf("row %d (%s): ", p.Row, cmp.Or(p.Key, "no key"))
			}
			r.warn("%s%s", place, p.Message)
		}
		t.Complete = t.Complete && a.LastError == "" && a.ProblemCount == 0
		if len(r.batches) == 0 {
			r.warn("no batch was created")
		}
	}
	kept, err := r.app.UnprocessableMessages(ctx, api.ListOptions{})
	for _, m := range kept.Items {
		r.warn("unprocessable message: %s", m.Reason)
	}
	return err
}

// unused warns of answers that no job asked for, and of members who are none.
func (r *simulation) unused() {
	for _, key := range r.config.Step {
		if !r.known[key] {
			r.warn("no member of a batch has the key %q", key)
		}
	}
	for i, rule := range r.config.Answers.Rules {
		if !r.worker.used[i] && rule.Line > 0 { // one without a line is the caller's own
			r.warn("answers, line %d: no job matches this answer", rule.Line)
		}
	}
	for _, a := range r.config.Answers.Approvals {
		if _, ok := r.runbook.Phase(a.Phase); !ok {
			r.warn("answers, line %d: unknown phase %q", a.Line, a.Phase)
		}
	}
}

// jobs tells of the jobs of the members who are to be told of one by one.
func (r *simulation) jobs() {
	for _, c := range r.worker.calls {
		if !r.config.All && !slices.Contains(r.config.Step, c.member) {
			continue
		}
		who := []string{c.member}
		if c.member == "" {
			who = nil
		}
		again := ""
		if c.kind != "" {
			again = " (" + c.kind + ")"
		}
		phase := ""
		if w := r.watched(c.batch); w != nil {
			phase = phaseName(&w.doc, c.phase)
		}
		r.tellAt(c.at, Event{
			Batch: c.batch, Phase: phase, Kind: KindJob, Members: who,
			Text: fmt.Sprintf("%s: %s%s runs %s, which %s", cmp.Or(c.member, "the batch"), c.step, again, c.function, c.answer),
		})
	}
}

// failure is the same thing that happened to some members at the same time.
type failure struct {
	at          time.Time
	phase, text string
	keys        []string
}

type group []*failure

func (g *group) add(at time.Time, phase, text, key string) {
	for _, f := range *g {
		if f.at.Equal(at) && f.phase == phase && f.text == text {
			f.keys = append(f.keys, key)
			return
		}
	}
	*g = append(*g, &failure{at: at, phase: phase, text: text, keys: []string{key}})
}

// verb joins up to three names and the verb in the matching number.
func verb(keys []string, one, many string) string {
	const named = 3
	switch n := len(keys); {
	case n == 1:
		return keys[0] + " " + one
	case n <= named:
		return strings.Join(keys[:n-1], ", ") + " and " + keys[n-1] + " " + many
	default:
		return fmt.Sprintf("%s and %d others %s", strings.Join(keys[:named-1], ", "), n-named+1, many)
	}
}

func count(n int, noun string) string { return humanize.Count(n, noun) }

// offset writes a time from the start as runbooks do: T-5d, T-23h59m55s, T+10s.
func offset(d time.Duration) string {
	if d = d.Round(time.Second); d == 0 {
		return "T-0"
	}
	if d < 0 {
		return "T-" + Span(-d)
	}
	return "T+" + Span(d)
}

// Span writes a duration with days: 2d3h, 1m5s.
func Span(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	d = d.Round(time.Second)
	out := ""
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / unit.d; n > 0 {
			out += fmt.Sprintf("%d%s", n, unit.name)
			d %= unit.d
		}
	}
	return out
}
