// Package simulate plays a migration through before it happens: a runbook, a list of
// members and what the workers are to answer go through the real use cases (package
// app, with engine and schedule below it), over a store in memory, by a clock that jumps from one event to the next. Weeks take seconds; it opens
// no port and asks no questions.
//
// It simulates the store, the broker, the scheduler's timer, the worker and the
// administrator. They fail only as the answers say, and every worker runs all its jobs
// at once. The result is the same each time.
package simulate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	memoryartifacts "github.com/matoolkit/matoolkit/internal/artifact/memory"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// Config is the input of a simulation.
type Config struct {
	Runbook []byte // its YAML
	Members string // the path of the CSV file
	Rows    *Rows  // of a data source that is queried, in the place of the file; nil: none
	// Approve approves each phase at once that waits at a gate, beside what Answers say.
	Approve bool
	// Start is when the automation is turned on of a runbook that has a data source to
	// be queried, and the cut-over of any other.
	Start   time.Time
	Answers *Answers // nil: all jobs succeed, nothing is approved
	// Functions are those that workers have. A job of another function, or with parameters that
	// its function does not take, fails. Nil: workers accept all calls.
	Functions []signature.Function
	// Performer carries the jobs out that no rule of the answers fits. Nil: these succeed after a second.
	Performer Performer
	Only      []string  // keys of the rows that are taken; none: all are
	Until     time.Time // when the simulation is broken off; zero: after a year
	// Step lists the jobs of these members one by one; All those of all members.
	Step []string
	All  bool

	everyTick bool // none is left out; for the test that none is missed
}

// Performer carries jobs out by the clock of a simulation, instead of the answers. One goroutine calls it, with
// times that never go back.
type Performer interface {
	// Take takes a job at a time. It is false for a job that the answers are to answer.
	Take(now time.Time, j message.Job) bool
	// Next is when the next of the jobs under way goes on; false where there is none.
	Next() (time.Time, bool)
	// Advance has the jobs go on until a time, and returns the results of those that have ended.
	Advance(ctx context.Context, now time.Time) ([]message.Result, error)
}

// longest is how long a simulation without an Until goes on at most.
const longest = 366 * 24 * time.Hour

// ada is the administrator, and approver the person who approves what she requested.
var (
	ada      = audit.Caller{Name: "administrator"}
	approver = audit.Caller{Name: "approver"}
)

// simulation is one that is under way. One goroutine drives it.
type simulation struct {
	config  Config
	runbook *runbook.Runbook
	clock   time.Time // changes only while no use case runs
	app     *app.App
	store   *memory.Store
	broker  *broker
	worker  *worker
	admin   *administrator
	source  *source
	begin   time.Time
	until   time.Time

	nextTick time.Time
	restless bool // what it looks at has changed since, or by it
	unseen   bool // messages came since
	batches  []*watched
	ended    map[gate]time.Time // when phases ended first: late members open them again
	known    map[string]bool    // keys of members, once all is over
	events   []Event
	failed   []Failure
	// heldAdditions is the revision of the additions that were held at the last tick.
	heldAdditions string

	warnings []string
	failing  int // reasons why every call of a step fails, called or not
}

// Wrong is an input that cannot be simulated: with all that is wrong with it, each with its
// line and column first, and what that comes to.
type Wrong struct {
	Members bool // it is in the list of members, and not in the runbook
	Found   []string
	Comes   string
}

func (e *Wrong) Error() string { return strings.Join(e.Found, "\n") + "\n" + e.Comes }

// Run simulates. Errors are of the input: a [Wrong] where places in the runbook or the list
// of members are wrong; or of the context. The answers of a simulation that does not end
// well are in the timeline, not an error.
func Run(ctx context.Context, c Config) (*Timeline, error) {
	rb, found := runbook.Parse(c.Runbook)
	if found.HasErrors() {
		e := &Wrong{Comes: "the runbook has errors"}
		for _, d := range found {
			e.Found = append(e.Found, d.String())
		}
		return nil, e
	}
	if rb.IsRequested() {
		return nil, &Wrong{Found: []string{"the runbook has trigger: request, whose items come with a request to the API"}, Comes: "runbooks that requests start cannot be simulated"}
	}
	r := &simulation{config: c, runbook: rb, begin: c.Start.UTC(), ended: map[gate]time.Time{}, known: map[string]bool{}}
	r.config.Answers = c.answers(rb)
	if !rb.DataSource.Queried() {
		for _, p := range rb.Phases {
			if due := p.Offset.DueAt(c.Start).UTC(); due.Before(r.begin) {
				r.begin = due
			}
		}
	}
	if r.until = c.Until.UTC(); c.Until.IsZero() {
		r.until = r.begin.Add(longest)
	}
	if !r.until.After(r.begin) {
		return nil, fmt.Errorf("the simulation starts at %s: give an end after that, not %s", r.begin.Format(time.RFC3339), r.until.Format(time.RFC3339))
	}
	r.clock = r.begin
	if err := r.open(); err != nil {
		return nil, err
	}
	calls := lint.Check(c.Runbook, rb, lint.Catalogs{Standard: c.Functions})
	for _, d := range slices.Concat(found, calls) {
		r.warn("runbook %s", d)
		if d.AlwaysFails {
			r.failing++
		}
	}
	if err := r.prepare(ctx); err != nil {
		return nil, refusal(err)
	}
	if err := r.play(ctx); err != nil {
		return nil, refusal(err)
	}
	return r.timeline(ctx)
}

// answers are those of the simulation of a runbook.
func (c Config) answers(rb *runbook.Runbook) *Answers {
	answers := Answers{}
	if c.Answers != nil {
		answers = *c.Answers
	}
	if c.Approve {
		for _, p := range rb.Phases {
			if p.Approval || p.RequireSuccess > 0 {
				answers.Approvals = append(slices.Clone(answers.Approvals), Approval{Phase: p.Name})
			}
		}
	}
	return &answers
}

// open puts the parts together.
func (r *simulation) open() (err error) {
	now := func() time.Time { return r.clock }
	r.store = memory.New(memory.Config{})
	if r.broker, err = newBroker(now); err != nil {
		return err
	}
	if r.worker, err = newWorker(r); err != nil {
		return err
	}
	r.admin = newAdministrator(r)
	r.source = &source{takes: r.takes, now: now, leave: r.config.Answers.Members, key: r.runbook.DataSource.PrimaryKey, needs: r.runbook.Columns(), start: r.config.Start}
	open := map[string]datasource.Open{}
	for _, kind := range []string{runbook.SourceCSV, runbook.SourceSQL, runbook.SourcePostgres, runbook.SourceDatabricks, runbook.SourceDataverse, runbook.SourceGraph} {
		open[kind] = r.source.open
	}
	key := make([]byte, secret.KeySize)
	_, _ = rand.Read(key) // never fails
	r.app = app.New(app.Config{
		Store: r.store, Bus: r.broker, Now: now, Log: slog.New(slog.DiscardHandler),
		WorkerStartup: time.Nanosecond, // the worker is always there: a job without an answer is lost
		Sources:       &datasource.Reader{Sources: open, Settings: []string{r.runbook.DataSource.Connection, r.runbook.DataSource.WarehouseID}, Getenv: func(string) string { return "the list of members" }},
		Secrets:       secret.New(secret.Fixed(key)),
		Artifacts:     new(memoryartifacts.Store),
	})
	return nil
}

// prepare publishes the runbook, and has its batches made, as the administrator does.
func (r *simulation) prepare(ctx context.Context) error {
	if _, err := r.app.PublishRunbook(ctx, ada, "", r.config.Runbook, api.PublishOptions{}); err != nil {
		return err
	}
	r.nextTick, r.restless = r.clock.Truncate(model.TickInterval), true
	if r.nextTick.Before(r.clock) {
		r.nextTick = r.nextTick.Add(model.TickInterval)
	}
	if r.runbook.DataSource.Queried() {
		if err := r.readSource(ctx); err != nil {
			return err
		}
		r.tell(Event{Kind: KindAutomation, Text: fmt.Sprintf("automation is enabled; the data source has %s", count(len(r.source.rows), "row"))})
		_, err := r.app.SetAutomation(ctx, ada, r.runbook.Name, true)
		return err
	}
	return r.admin.create(ctx)
}

// readSource takes in what the query returns.
func (r *simulation) readSource(ctx context.Context) error {
	if r.config.Rows != nil {
		r.source.columns = r.config.Rows.Columns
		for _, values := range r.config.Rows.Values {
			r.source.take(values)
		}
		return r.source.known()
	}
	if err := r.source.read(ctx, r.config.Members); err != nil {
		return fmt.Errorf("%s: %w", r.config.Members, err)
	}
	return nil
}

// play goes on until nothing more can happen, or time is up.
func (r *simulation) play(ctx context.Context) error {
	for {
		if err := r.runDue(ctx); err != nil {
			return err
		}
		next, ok, err := r.next(ctx)
		if !ok || err != nil {
			return err
		}
		if next.After(r.until) {
			r.clock = r.until
			r.tell(Event{Kind: KindBrokenOff, Text: "the simulation stops at the given end"})
			if r.config.Until.IsZero() {
				r.events[len(r.events)-1].Text = "the simulation stops after one year"
			}
			return nil
		}
		if change := r.source.next(); !change.IsZero() && !change.After(next) {
			r.restless = true // the next tick sees it
		}
		r.clock = next
	}
}

// runDue has everything happen that is due now: messages, what the administrator has in
// mind, the scheduler's tick, and what follows from them.
func (r *simulation) runDue(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.worker.advance(ctx); err != nil {
			return err
		}
		m, err := r.broker.take(ctx)
		if err != nil {
			return err
		}
		if m != nil {
			r.unseen = true
			if err := r.deliver(ctx, m); err != nil {
				return err
			}
			continue
		}
		if err := r.look(ctx); err != nil {
			return err
		}
		acted, err := r.admin.act(ctx)
		switch {
		case err != nil:
			return err
		case acted:
			r.restless = true
		case r.clock.Before(r.nextTick):
			return nil
		default:
			if err := r.tick(ctx); err != nil {
				return err
			}
		}
	}
}

func (r *simulation) deliver(ctx context.Context, m *held) error {
	switch m.topic {
	case message.TopicWorkerJobs:
		return r.worker.take(ctx, m)
	case message.TopicWorkerResults:
		return r.app.HandleResult(ctx, m.delivery())
	case message.TopicWorkerControl: // the worker has begun its jobs by then: there is none to revoke
		return nil
	}
	return r.app.HandleEvent(ctx, m.delivery())
}

// tick has the scheduler look.
func (r *simulation) tick(ctx context.Context) error {
	sent := r.broker.memory.Accepted()
	if err := r.app.Tick(ctx); err != nil {
		return err
	}
	if err := r.additions(ctx); err != nil {
		return err
	}
	if err := r.find(ctx); err != nil {
		return err
	}
	r.restless, r.unseen = r.broker.memory.Accepted() > sent, false
	r.nextTick = r.clock.Truncate(model.TickInterval).Add(model.TickInterval)
	return r.look(ctx)
}

// additions reports additions that are held. It confirms those of the first batches, as
// an administrator does after the preview.
func (r *simulation) additions(ctx context.Context) error {
	if !r.runbook.DataSource.Queried() {
		return nil
	}
	view, err := r.app.Automation(ctx, ada, r.runbook.Name)
	if err != nil {
		return err
	}
	if view.Additions == nil {
		r.heldAdditions = ""
		return nil
	}
	held := view.Additions
	if held.Revision == r.heldAdditions {
		return nil
	}
	r.heldAdditions = held.Revision
	if held.Of > 0 {
		r.tell(Event{Kind: KindAdditionsHeld, Text: held.Reason})
		return nil
	}
	r.tell(Event{Kind: KindAdditionsHeld, Text: fmt.Sprintf("the administrator confirms the addition of %d people", held.People)})
	if _, err := r.app.ConfirmAdditions(ctx, ada, r.runbook.Name, held.Revision, ""); err != nil {
		return err
	}
	return r.app.Tick(ctx)
}

// ahead is for how long before a phase begins no tick is left out: the scheduler announces
// it for its moment when that is near.
const ahead = 2 * model.TickInterval

// calm is the longest time without a tick.
const calm = 24 * time.Hour

// next is when something happens next; not ok where nothing will.
//
// A tick that finds what the one before found does nothing that can be seen, and where
// no message is lost it does nothing for messages. So while no phase or batch changes, no
// phase is about to begin and the list stays as it is, ticks are left out, but for one a
// day, and one at the end, when nothing else would happen any more.
func (r *simulation) next(ctx context.Context) (time.Time, bool, error) {
	var first time.Time
	sooner := func(t time.Time) {
		if t.After(r.clock) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if at, ok := r.broker.memory.Next(); ok {
		sooner(at)
	}
	sooner(r.admin.next())
	sooner(r.source.next())
	sooner(r.worker.next())
	near := first
	overdue, err := r.worker.overdue(ctx)
	if err != nil {
		return first, false, err
	}
	if !overdue.IsZero() { // only the scheduler finds out
		if sooner(overdue); near.IsZero() || overdue.Before(near) {
			near = overdue
		}
	}
	for _, b := range r.batches {
		for _, p := range b.pending() {
			for _, at := range []time.Time{*p.DueAt, engine.StartsAt(&b.doc, &p, r.clock)} {
				if !at.After(r.clock) { // it is held by something else than the clock
					continue
				}
				sooner(at)
				if soon := at.Add(-ahead); near.IsZero() || soon.Before(near) {
					near = soon
				}
			}
		}
	}
	if first.IsZero() {
		if !r.restless && !r.unseen {
			return first, false, nil
		}
		near = r.clock
	}
	if !r.restless && !r.config.everyTick && near.After(r.nextTick) {
		r.nextTick = earlier(near, r.clock.Add(calm)).Truncate(model.TickInterval)
		if !r.nextTick.After(r.clock) {
			r.nextTick = r.nextTick.Add(model.TickInterval)
		}
	}
	sooner(r.nextTick)
	return first, true, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// refusal words an error of a use case for people. The list of members is all that use
// cases are given that has places: the runbook was looked at before.
func refusal(err error) error {
	e := problem.Explain(err)
	if e.Code == api.CodeInternal {
		return err
	}
	if len(e.Problems) == 0 {
		return errors.New(e.Error())
	}
	w := &Wrong{Members: true, Comes: e.Message}
	for _, p := range e.Problems {
		place := ""
		for _, at := range []int{p.Line, p.Column} {
			if at > 0 {
				place += fmt.Sprintf("%d:", at)
			}
		}
		w.Found = append(w.Found, strings.TrimSpace(fmt.Sprintf("%s error: %s [%s]", place, p.Message, p.Code)))
	}
	return w
}

func (r *simulation) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// members reads the file of an uploaded list.
func (r *simulation) members() ([]byte, error) { return os.ReadFile(r.config.Members) }

// takes tells whether the row with a key takes part.
func (r *simulation) takes(key string) bool {
	return len(r.config.Only) == 0 || slices.Contains(r.config.Only, key)
}

// list are all members of a batch, in the order in which they came.
func (r *simulation) list(ctx context.Context, batch int) ([]store.Item[model.Member], error) {
	return store.Collect(func(page store.Paging) (store.Page[model.Member], error) {
		return r.store.Members(ctx, batch, store.MemberFilter{}, page)
	})
}
