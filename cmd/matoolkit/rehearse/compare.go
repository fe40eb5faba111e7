package rehearse

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/simulate"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// A phase takes as long as predicted if it differs by less than Tolerance of the prediction, or by less than leastDifference.
const (
	Tolerance       = 0.15
	leastDifference = time.Minute
)

// Digest identifies the text of a runbook.
func Digest(text []byte) string {
	sum := sha256.Sum256(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ReadReport reads the report of a rehearsal as JSON.
func ReadReport(text []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("not the report of a rehearsal as JSON: %w", err)
	}
	switch {
	case r.Format != Format && r.Format != 0:
		return nil, fmt.Errorf("the report has format %d, and this version reads format %d: use the version that wrote it, or rehearse again", r.Format, Format)
	case r.Format == 0 || r.Runbook == "" || r.Digest == "" || r.Timeline == nil || len(r.Batches) == 0:
		return nil, errors.New("not the report of a rehearsal as JSON: give the file that --json wrote")
	}
	return &r, nil
}

// Reality is a batch, as the API shows it.
type Reality struct {
	Batch   api.Batch    // with its phases
	Members []api.Member // all of them
	Steps   []api.Step   // that failed
	Checks  []api.Check  // that failed
	Text    []byte       // of the runbook
}

// Comparison is how a batch differs from its rehearsal. It compares the members who are in both, from the beginning of the
// batch to its end.
type Comparison struct {
	Format  int    `json:"format"`
	Runbook string `json:"runbook"`
	Version int    `json:"runbookVersion"`
	Batch   int    `json:"batchId"`
	Status  string `json:"status"` // of the batch

	PredictedStart time.Time  `json:"predictedStart"`        // T-0 of the rehearsal
	ActualStart    *time.Time `json:"actualStart,omitempty"` // T-0 of the batch; nil: it has none, and times are compared as they are

	Members       int      `json:"memberCount"`   // who are compared
	OnlyRehearsed []string `json:"onlyRehearsed"` // members of the rehearsal alone
	OnlyInBatch   []string `json:"onlyInBatch"`
	LeftOut       []string `json:"leftOut"` // members of both who were in the batch for a part of it: removed, or moved to or from another one

	Phases []PhaseComparison `json:"phases"`
	Errors []ErrorComparison `json:"errors"`

	AsPredicted bool                `json:"asPredicted"` // all phases of the rehearsal have ended, and nothing differs
	Differences []tenant.Unmodelled `json:"differences"` // as entries of the table of what is not modelled
}

// PhaseComparison is a phase as predicted and as it was. Differences are positive where the batch was later or slower.
type PhaseComparison struct {
	Phase             string     `json:"phase"`
	Predicted         *PhaseTime `json:"predicted,omitempty"` // nil: it was not in the rehearsal
	Actual            *PhaseTime `json:"actual,omitempty"`    // nil: it is not in the batch
	StartDifference   *float64   `json:"startDifferenceSeconds,omitempty"`
	SecondsDifference *float64   `json:"secondsDifference,omitempty"` // of the durations
	Differs           bool       `json:"differs"`                     // its duration is not as predicted
}

// PhaseTime is when a phase was, and how it ended.
type PhaseTime struct {
	Status    string     `json:"status"`
	StartedAt *time.Time `json:"startedAt,omitempty"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	Seconds   float64    `json:"seconds"`
	Succeeded int        `json:"succeeded"`
	Failed    int        `json:"failed"`
}

func (p *PhaseTime) ended() bool { return p != nil && p.StartedAt != nil && p.EndedAt != nil }

// ErrorComparison is an error group as predicted and as it was.
type ErrorComparison struct {
	Phase    string `json:"phase"`
	Step     string `json:"step"`
	Rollback string `json:"rollback,omitempty"`
	Function string `json:"functionName"`
	Warning  bool   `json:"warning,omitempty"` // of a check that is not required
	Error    string `json:"error"`             // with … where those of members differ
	// ActualError is the error of the batch where the same members failed at the step with another text.
	ActualError   string   `json:"actualError,omitempty"`
	Predicted     int      `json:"predicted"` // members
	Actual        int      `json:"actual"`
	OnlyPredicted []string `json:"onlyPredicted"` // keys; an empty one is the batch
	OnlyActual    []string `json:"onlyActual"`
	Open          bool     `json:"open,omitempty"` // the phase has not ended in the batch: members may not have come to the step

	predicted, actual []string
}

func (e ErrorComparison) differs() bool {
	return !e.Open && len(e.OnlyPredicted)+len(e.OnlyActual) > 0
}

// Compare compares a rehearsal with the batch that followed. Errors are of a report that does not fit the batch.
func Compare(r *Report, real Reality) (*Comparison, error) {
	rb, found := runbook.Parse(real.Text)
	if found.HasErrors() {
		return nil, fmt.Errorf("version %d of %s: %s", real.Batch.RunbookVersion, r.Runbook, found[0])
	}
	predicted, err := rehearsedBatch(r, real)
	if err != nil {
		return nil, err
	}
	b := real.Batch
	c := &Comparison{
		Format: Format, Runbook: r.Runbook, Version: b.RunbookVersion, Batch: b.ID, Status: b.Status,
		PredictedStart: predicted.Start.UTC(), ActualStart: utc(b.BatchStartTime), OnlyRehearsed: []string{}, OnlyInBatch: []string{}, LeftOut: []string{},
	}
	both := map[string]bool{"": true} // the key of the batch itself
	rehearsed, partial := keySet(predicted.Members), map[string]bool{}
	for _, m := range real.Members {
		switch {
		case !rehearsed[m.Key]:
			c.OnlyInBatch = append(c.OnlyInBatch, m.Key)
		case partOnly(m):
			partial[m.Key] = true
		default: // also someone who was removed and added again
			both[m.Key] = true
		}
	}
	c.Members = len(both) - 1
	for _, key := range predicted.Members {
		switch {
		case both[key]:
		case partial[key]:
			c.LeftOut = append(c.LeftOut, key)
		default:
			c.OnlyRehearsed = append(c.OnlyRehearsed, key)
		}
	}
	c.phases(r, predicted.ID, real)
	c.errors(r, predicted.ID, real, both)
	c.AsPredicted = !slices.ContainsFunc(c.Phases, func(p PhaseComparison) bool { return p.Differs || p.Predicted.ended() != p.Actual.ended() }) &&
		!slices.ContainsFunc(c.Errors, ErrorComparison.differs)
	c.differences(rb)
	return c, nil
}

// partOnly reports whether a member was in the batch for a part of it only: who was removed or moved did not come to all
// phases, and who came with finished phases does not repeat them.
func partOnly(m api.Member) bool {
	return m.RemovedAt != nil || m.MovedTo != nil || m.MovedToID != 0 || len(m.Carried) > 0
}

// rehearsedBatch finds the batch of a rehearsal that has the most members of a real one.
func rehearsedBatch(r *Report, real Reality) (Batch, error) {
	var best Batch
	most := 0
	for _, b := range r.Batches {
		rehearsed, n := keySet(b.Members), 0
		for _, m := range real.Members {
			if rehearsed[m.Key] {
				n++
			}
		}
		if n > most {
			best, most = b, n
		}
	}
	if most == 0 {
		return best, fmt.Errorf("no member of batch %d was rehearsed: the report is of other people", real.Batch.ID)
	}
	return best, nil
}

// phases compares when the phases were, in the order of the rehearsal.
func (c *Comparison) phases(r *Report, batch int, real Reality) {
	shift := time.Duration(0) // from the calendar of the rehearsal to that of the batch
	if c.ActualStart != nil {
		shift = c.ActualStart.Sub(c.PredictedStart)
	}
	actual := map[string]*PhaseTime{}
	var names []string
	for _, p := range real.Batch.Phases {
		if p.Kind == api.KindRemoval {
			continue
		}
		one := &PhaseTime{Status: p.Status, StartedAt: utc(p.DispatchedAt), EndedAt: utc(p.CompletedAt), Succeeded: p.Succeeded, Failed: p.Failed}
		if p.Status == api.PhaseCancelled {
			one.EndedAt = nil // its members did not all come to their end
		}
		if one.ended() {
			one.Seconds = one.EndedAt.Sub(*one.StartedAt).Seconds()
		}
		if before := actual[p.Name]; before == nil {
			names = append(names, p.Name)
		} else if before.StartedAt != nil && one.StartedAt == nil {
			continue // a later version has not begun what an earlier one did
		}
		actual[p.Name] = one
	}
	for _, p := range r.Phases {
		if p.Batch != batch {
			continue
		}
		one := PhaseComparison{
			Phase: p.Name, Actual: actual[p.Name],
			Predicted: &PhaseTime{Status: p.Status, StartedAt: p.StartedAt, EndedAt: p.EndedAt, Seconds: p.Seconds, Succeeded: p.Succeeded, Failed: p.Failed},
		}
		delete(actual, p.Name)
		if one.Actual != nil && one.Actual.StartedAt != nil && p.StartedAt != nil {
			one.StartDifference = new(one.Actual.StartedAt.Sub(p.StartedAt.Add(shift)).Seconds())
		}
		if one.Actual.ended() && one.Predicted.ended() {
			d := one.Actual.Seconds - p.Seconds
			one.SecondsDifference = &d
			one.Differs = math.Abs(d) >= max(Tolerance*p.Seconds, leastDifference.Seconds())
		}
		c.Phases = append(c.Phases, one)
	}
	for _, name := range names {
		if p := actual[name]; p != nil {
			c.Phases = append(c.Phases, PhaseComparison{Phase: name, Actual: p})
		}
	}
}

// errors compares the error groups, with the largest first.
func (c *Comparison) errors(r *Report, batch int, real Reality, both map[string]bool) {
	found := map[errorKey]*ErrorComparison{}
	add := func(f simulate.Failure, to func(e *ErrorComparison) *[]string) {
		if !both[f.Member] {
			return
		}
		key := keyOf(f)
		e := found[key]
		if e == nil {
			e = &ErrorComparison{
				Phase: f.Phase, Step: f.Step, Rollback: f.Rollback, Function: f.Function, Warning: f.Warning, Error: key.text,
				Open: c.open(f.Phase, real.Batch),
			}
			found[key] = e
		}
		list := to(e)
		*list = append(*list, f.Member)
	}
	for _, f := range r.Timeline.Failures {
		if f.Batch == batch {
			add(f, func(e *ErrorComparison) *[]string { return &e.predicted })
		}
	}
	for _, f := range real.failures() {
		add(f, func(e *ErrorComparison) *[]string { return &e.actual })
	}
	all := make([]ErrorComparison, 0, len(found))
	for _, e := range found {
		e.predicted, e.actual = sorted(e.predicted), sorted(e.actual)
		all = append(all, *e)
	}
	sortErrors(all)
	c.Errors = []ErrorComparison{}
	for _, e := range sameFailures(all) {
		e.Predicted, e.Actual = len(e.predicted), len(e.actual)
		e.OnlyPredicted, e.OnlyActual = without(e.predicted, e.actual), without(e.actual, e.predicted)
		c.Errors = append(c.Errors, e)
	}
	sortErrors(c.Errors)
}

// sameFailures joins a group that was only predicted with one that only was, where the same members failed at the same step:
// the services word their errors as they like.
func sameFailures(all []ErrorComparison) []ErrorComparison {
	var joined []ErrorComparison
	for _, e := range all {
		i := slices.IndexFunc(joined, func(o ErrorComparison) bool {
			same := o.Phase == e.Phase && o.Step == e.Step && o.Rollback == e.Rollback
			return same && (len(o.actual) == 0 && slices.Equal(o.predicted, e.actual) && len(e.predicted) == 0 ||
				len(o.predicted) == 0 && slices.Equal(o.actual, e.predicted) && len(e.actual) == 0)
		})
		switch {
		case i < 0:
			joined = append(joined, e)
		case len(e.actual) > 0:
			joined[i].actual, joined[i].ActualError = e.actual, e.Error
		default:
			joined[i].predicted, joined[i].ActualError, joined[i].Error = e.predicted, joined[i].Error, e.Error
		}
	}
	return joined
}

func sortErrors(all []ErrorComparison) {
	most := func(e ErrorComparison) int { return max(len(e.predicted), len(e.actual)) }
	slices.SortFunc(all, func(a, b ErrorComparison) int {
		return cmp.Or(cmp.Compare(most(b), most(a)), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rollback, b.Rollback), cmp.Compare(a.Error, b.Error))
	})
}

// open tells whether the errors of a phase can still change.
func (c *Comparison) open(phase string, b api.Batch) bool {
	if phase == runbook.ChecksName {
		return b.Checks == nil || !b.Checks.Done
	}
	i := slices.IndexFunc(c.Phases, func(p PhaseComparison) bool { return p.Phase == phase })
	if i < 0 { // such as removals: as long as the batch runs
		return !b.Terminal()
	}
	return !c.Phases[i].Actual.ended()
}

// failures are the failed steps and checks of a batch, in the form of a rehearsal, without those of members who were in it for a
// part only.
func (real Reality) failures() []simulate.Failure {
	partial := map[int]bool{} // by id: someone who was removed and added again has two
	for _, m := range real.Members {
		partial[m.ID] = partOnly(m)
	}
	var all []simulate.Failure
	for _, s := range real.Steps {
		if s.Kind != api.KindCheck && !partial[s.MemberID] {
			all = append(all, simulate.Failure{Phase: cmp.Or(s.Phase, s.Kind), Rollback: s.Rollback, Step: s.Name, Function: s.Function, Member: s.MemberKey, Error: s.Error})
		}
	}
	for _, k := range real.Checks {
		if partial[k.MemberID] {
			continue
		}
		all = append(all, simulate.Failure{Phase: runbook.ChecksName, Step: k.Name, Function: k.Function, Member: k.MemberKey, Warning: !k.Required, Error: k.Error})
	}
	return all
}

// differences puts what differs into entries of the table of what is not modelled. They have no keys of members, and do not
// change when the comparison is made again.
func (c *Comparison) differences(rb *runbook.Runbook) {
	var all []tenant.Unmodelled
	add := func(functions []string, what string, format string, args ...any) {
		if len(functions) > 0 {
			all = append(all, tenant.Unmodelled{Functions: functions, Behaviour: fmt.Sprintf(format, args...), Observed: []tenant.Observation{{Batch: c.Batch, What: what}}})
		}
	}
	for _, e := range c.Errors {
		place := fmt.Sprintf("Step %s of %s (%s)", e.Step, c.Runbook, cmp.Or(e.Rollback, e.Phase))
		if e.Open {
			continue
		}
		switch failed, passed := len(e.OnlyActual), len(e.OnlyPredicted); {
		case failed > 0 && passed > 0:
			add([]string{e.Function}, fmt.Sprintf("%s in the batch only, %d on the copies only", count(failed, "member"), passed), "%s failed for other members than on the copies: %s", place, e.Error)
		case failed > 0:
			add([]string{e.Function}, count(failed, "member"), "%s failed, although it succeeded on the copies: %s", place, e.Error)
		case passed > 0:
			add([]string{e.Function}, count(passed, "member"), "%s did not fail, although it failed on the copies: %s", place, e.Error)
		}
	}
	for _, p := range c.Phases {
		if !p.Differs {
			continue
		}
		longer := "longer"
		if *p.SecondsDifference < 0 {
			longer = "less time"
		}
		add(functionsOf(rb, p.Phase), fmt.Sprintf("%s, predicted %s", spanText(p.Actual.Seconds), spanText(p.Predicted.Seconds)),
			"Phase %s of %s took %s than predicted.", p.Phase, c.Runbook, longer)
	}
	c.Differences = MergeNotModelled([]tenant.Unmodelled{}, all)
}

// functionsOf are the functions that the steps of a phase call.
func functionsOf(rb *runbook.Runbook, phase string) []string {
	var all []string
	take := func(steps []runbook.Step) {
		for _, s := range steps {
			all = append(all, s.Function)
		}
	}
	if p, found := rb.Phase(phase); found {
		take(p.Steps)
		take(p.OnComplete)
	} else if phase == api.KindInit {
		take(rb.Init)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// MergeNotModelled adds entries to a table. An entry that is there gets the batches in which it was observed; a batch has one
// observation of it.
func MergeNotModelled(table, more []tenant.Unmodelled) []tenant.Unmodelled {
	table = slices.Clone(table)
	for _, entry := range more {
		i := slices.IndexFunc(table, func(o tenant.Unmodelled) bool {
			return o.Behaviour == entry.Behaviour && slices.Equal(o.Functions, entry.Functions)
		})
		if i < 0 {
			table = append(table, entry)
			continue
		}
		observed := slices.Clone(table[i].Observed)
		for _, o := range entry.Observed {
			if at := slices.IndexFunc(observed, func(old tenant.Observation) bool { return old.Batch == o.Batch }); at >= 0 {
				observed[at] = o
			} else {
				observed = append(observed, o)
			}
		}
		slices.SortStableFunc(observed, func(a, b tenant.Observation) int { return cmp.Compare(a.Batch, b.Batch) })
		table[i].Observed = observed
	}
	return table
}

// JSON writes the comparison as JSON.
func (c *Comparison) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

func keySet(keys []string) map[string]bool {
	set := make(map[string]bool, len(keys))
	for _, key := range keys {
		set[key] = true
	}
	return set
}

// sorted sorts keys, and leaves repeated ones out.
func sorted(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}

// without are the elements of a that are not in b, which is sorted; never nil.
func without(a, b []string) []string {
	out := []string{}
	for _, x := range a {
		if _, found := slices.BinarySearch(b, x); !found {
			out = append(out, x)
		}
	}
	return out
}

func spanText(s float64) string { return simulate.Span(seconds(s)) }

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}
