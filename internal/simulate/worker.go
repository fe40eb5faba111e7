package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// usual is how long a job takes where no answer says.
const usual = time.Second

// worker answers all jobs, as the answers say. It has room for any number at once.
type worker struct {
	r       *simulation
	calls   []call
	members map[[2]int]*model.Member // by batch and number, as they were when first seen
	tries   map[place]*tries
	used    map[int]bool            // rules that a job fitted
	silent  map[store.Key]time.Time // runs with a job that is not answered in time, and when its time is up
	// offered are the functions that jobs can call. Nil: all calls are accepted.
	offered *catalog.Catalog
	fitting map[string]catalog.Type // the type of value that an output is passed on as
	// performed are the calls of jobs that the performer has, by job id: where they are in calls.
	performed map[string]int
}

// place is one step of one member.
type place struct {
	batch int
	step  int64
}

// tries counts the answers to one step.
type tries struct {
	failed int
	polled int
	since  time.Time // the first answer that it is not complete
}

// call is one job and its answer.
type call struct {
	at       time.Time
	batch    int
	phase    int // its execution
	member   string
	step     string
	function string
	kind     string // "", "retry" or "poll"
	answer   string
}

func newWorker(r *simulation) (*worker, error) {
	k := &worker{r: r, members: map[[2]int]*model.Member{}, tries: map[place]*tries{}, used: map[int]bool{}, silent: map[store.Key]time.Time{}, performed: map[string]int{}}
	return k, k.offer(r.config.Functions)
}

// take receives a job and sends its result.
func (k *worker) take(ctx context.Context, m *held) error {
	var j message.Job
	if err := json.Unmarshal(m.Body, &j); err != nil {
		return err
	}
	phase, number, index, err := model.ParseStepID(j.CorrelationData.StepExecutionID)
	if err != nil {
		return err
	}
	b, err := k.r.batch(ctx, j.BatchID, phase)
	if err != nil {
		return err
	}
	member, err := k.member(ctx, j.BatchID, number)
	if err != nil {
		return err
	}
	step, err := k.step(ctx, b, phase, number, index)
	if err != nil {
		return err
	}
	c := call{at: k.r.clock, batch: b.ID, phase: phase, member: member.Key, step: step.Name, function: j.FunctionName}
	switch {
	case strings.Contains(j.JobID, "-poll-"):
		c.kind = "poll"
	case strings.Contains(j.JobID, "-retry-"):
		c.kind = "retry"
	}
	rule, fits := k.rule(j, phaseName(b, phase), step.Name, member)
	if p := k.r.config.Performer; p != nil && !fits && p.Take(k.r.clock, j) {
		k.performed[j.JobID] = len(k.calls)
		k.calls = append(k.calls, c)
		return nil
	}
	at := place{j.BatchID, j.CorrelationData.StepExecutionID}
	if k.tries[at] == nil {
		k.tries[at] = &tries{}
	}
	result := message.Result{JobID: j.JobID, Status: message.StatusSuccess, CorrelationData: j.CorrelationData}
	takes := usual
	if rule.Takes > 0 {
		takes = rule.Takes
	}
	answered := k.refuse(ctx, j, &result) || k.answer(rule, k.tries[at], step, member, &result)
	c.answer = wording(&result, answered, takes)
	k.calls = append(k.calls, c)
	if j.ExpiresAt != nil && (!answered || k.r.clock.Add(takes).After(*j.ExpiresAt)) {
		k.silent[store.RunKey(j.BatchID, phase, number)] = *j.ExpiresAt
	}
	if !answered {
		return nil
	}
	result.Timestamp, result.DurationMs = k.r.clock.Add(takes), takes.Milliseconds()
	body, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return k.r.broker.Send(ctx, message.TopicWorkerResults, bus.Message{ID: result.ID(), Body: body, At: result.Timestamp})
}

// advance sends the results of the jobs that the performer has ended by now.
func (k *worker) advance(ctx context.Context) error {
	if k.r.config.Performer == nil {
		return nil
	}
	results, err := k.r.config.Performer.Advance(ctx, k.r.clock)
	if err != nil {
		return err
	}
	for _, r := range results {
		if i, known := k.performed[r.JobID]; known {
			k.calls[i].answer = wording(&r, true, k.r.clock.Sub(k.calls[i].at))
		}
		body, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if err := k.r.broker.Send(ctx, message.TopicWorkerResults, bus.Message{ID: r.ID(), Body: body}); err != nil {
			return err
		}
	}
	return nil
}

// next is when the performer's jobs go on; zero where it has none.
func (k *worker) next() time.Time {
	if k.r.config.Performer == nil {
		return time.Time{}
	}
	at, _ := k.r.config.Performer.Next()
	return at
}

// overdue is when the scheduler is to look next for jobs that were not answered in time;
// zero where there are none.
func (k *worker) overdue(ctx context.Context) (time.Time, error) {
	var first time.Time
	for key, at := range k.silent {
		if !at.After(k.r.clock) {
			run, err := store.Read[model.Run](ctx, k.r.store, key)
			if err != nil {
				return first, err
			}
			if run.Doc.DeadlineAt == nil { // it was seen to
				delete(k.silent, key)
				continue
			}
			if at = *run.Doc.DeadlineAt; !at.After(k.r.clock) {
				at = k.r.clock.Truncate(model.TickInterval).Add(model.TickInterval)
			} else {
				k.silent[key] = at
			}
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first, nil
}

// answer fills in the result that a rule has for a job; false where none ever comes.
func (k *worker) answer(rule Rule, t *tries, step runbook.Step, m *model.Member, r *message.Result) bool {
	fails := (rule.Never || rule.Fail != "") && (rule.Times == 0 || t.failed < rule.Times)
	if fails {
		t.failed++
		t.polled, t.since = 0, time.Time{}
		r.Status = message.StatusFailure
		r.Error = &message.JobError{Message: rule.Fail, Type: "Simulated", IsThrottled: rule.Throttled, Attempts: 1, RetryAfterSeconds: int(rule.RetryAfter / time.Second)}
		return !rule.Never
	}
	if t.since.IsZero() {
		t.since = k.r.clock
	}
	if t.polled < rule.Polls || k.r.clock.Sub(t.since) < rule.PollFor {
		t.polled++
		r.Result = json.RawMessage(`{"complete":false}`)
		return true
	}
	if r.Result = rule.Result; r.Result == nil {
		r.Result = k.placeholder(step, m)
	}
	return true
}

// rule returns the rule for a job; false with the zero Rule where none fits.
func (k *worker) rule(j message.Job, phase, step string, m *model.Member) (Rule, bool) {
	for i, r := range k.r.config.Answers.Rules {
		if r.Function != "" && r.Function != j.FunctionName || r.Step != "" && r.Step != step || r.Phase != "" && r.Phase != phase {
			continue
		}
		if len(r.Members) > 0 && !slices.Contains(r.Members, m.Key) || !holds(r.Where, m) {
			continue
		}
		k.used[i] = true
		return r, true
	}
	return Rule{}, false
}

// holds tells whether a member's columns have the values, as text or as JSON.
func holds(where map[string]string, m *model.Member) bool {
	for column, want := range where {
		var text string
		raw := m.Data[column]
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		if raw == nil || text != want {
			return false
		}
	}
	return true
}

// member loads the member of a job; a member without a key for a job of the batch.
func (k *worker) member(ctx context.Context, batch, number int) (*model.Member, error) {
	if number == 0 {
		return &model.Member{}, nil
	}
	id := [2]int{batch, number}
	if k.members[id] == nil {
		m, err := store.Read[model.Member](ctx, k.r.store, store.MemberKey(batch, number))
		if err != nil {
			return nil, err
		}
		k.members[id] = &m.Doc
	}
	return k.members[id], nil
}

// step is the runbook's step that a job is of.
func (k *worker) step(ctx context.Context, b *model.Batch, phase, member, index int) (runbook.Step, error) {
	if phase == model.CheckPhase {
		return k.r.runbook.Checks[index], nil
	}
	p := b.Phases[phase-1]
	if steps := k.steps(p.Kind, p.Name); member > 0 && index < len(steps) { // those of a rollback are behind them
		return steps[index], nil
	}
	run, err := store.Read[model.Run](ctx, k.r.store, store.RunKey(b.ID, phase, member))
	if err != nil {
		return runbook.Step{}, err
	}
	return run.Doc.Definition(k.r.runbook, index)
}

// phaseName is the name of a phase execution, or of the checks.
func phaseName(b *model.Batch, phase int) string {
	if p, ok := b.Phase(phase); ok {
		return p.Name
	}
	return runbook.ChecksName
}

func (k *worker) steps(kind model.PhaseKind, phase string) []runbook.Step {
	p, _ := k.r.runbook.Phase(phase)
	switch kind {
	case model.KindInit:
		return k.r.runbook.Init
	case model.KindRemoval:
		return k.r.runbook.OnMemberRemoved
	case model.KindOnComplete:
		return p.Attached()
	}
	return p.Steps
}

func wording(r *message.Result, answered bool, takes time.Duration) string {
	switch {
	case !answered:
		return "gets no answer"
	case r.Error != nil:
		return fmt.Sprintf("fails after %s: %s", Span(takes), r.Error.Message)
	case string(r.Result) == `{"complete":false}`:
		return "is not complete yet"
	}
	return fmt.Sprintf("succeeds after %s", Span(takes))
}

// tally counts the jobs of a phase of a batch.
func (k *worker) tally(batch, phase int) (jobs, retries, polls int) {
	for _, c := range k.calls {
		if c.batch != batch || c.phase != phase {
			continue
		}
		jobs++
		switch c.kind {
		case "retry":
			retries++
		case "poll":
			polls++
		}
	}
	return jobs, retries, polls
}

// functions sums up the jobs by function.
func (k *worker) functions() []Function {
	all := map[string]*Function{}
	hours := map[string]map[time.Time]int{}
	for _, c := range k.calls {
		f := all[c.function]
		if f == nil {
			f = &Function{Name: c.function}
			all[c.function], hours[c.function] = f, map[time.Time]int{}
		}
		f.Jobs++
		switch c.kind {
		case "retry":
			f.Retries++
		case "poll":
			f.Polls++
		}
		hour := c.at.Truncate(time.Hour)
		if hours[c.function][hour]++; hours[c.function][hour] > f.BusiestHour {
			f.BusiestHour, f.BusiestAt = hours[c.function][hour], hour
		}
	}
	var out []Function
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out
}
