package rehearse

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/errorgroup"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/simulate"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Format is the version of the report as JSON.
const Format = 1

// Report is the result of a rehearsal. Times are UTC.
type Report struct {
	Format  int             `json:"format"`
	Runbook string          `json:"runbook"`
	Digest  string          `json:"runbookDigest"` // of its text, as [Digest] has it
	Start   time.Time       `json:"start"`         // T-0
	Tenants []TenantSummary `json:"tenants"`
	Assumed Assumptions     `json:"assumptions"`

	Members   int  `json:"memberCount"`
	Succeeded int  `json:"succeeded"`
	Failed    int  `json:"failed"`
	Complete  bool `json:"complete"` // all batches completed, and no member failed

	Batches  []Batch      `json:"batches"`
	Errors   []ErrorGroup `json:"errors"`   // of steps and required checks
	Warnings []ErrorGroup `json:"warnings"` // of other checks, and of deleted users
	Phases   []Phase      `json:"phases"`
	Licenses []License    `json:"licenses"`
	Calls    []Calls      `json:"calls"`
	Changes  []Change     `json:"changes"`
	Removal  *Removal     `json:"removal,omitempty"`

	NotRehearsed []NotRehearsed `json:"notRehearsed"`
	NotModelled  []NotModelled  `json:"notModelled"`
	Notes        []string       `json:"notes"` // of the runbook, and of what did not begin

	Timeline *simulate.Timeline `json:"timeline"`
}

// TenantSummary counts the objects of a tenant at the beginning.
type TenantSummary struct {
	Name       string `json:"name"`
	ID         string `json:"tenantId"`
	Users      int    `json:"users"`
	Groups     int    `json:"groups"`
	Recipients int    `json:"recipients"`
	// TakenAt is when the snapshot was taken; nil for a seed.
	TakenAt *time.Time `json:"takenAt,omitempty"`
}

// Batch is a batch of the rehearsal.
type Batch struct {
	ID      int       `json:"batchId"`
	Start   time.Time `json:"batchStartTime"`
	Members []string  `json:"memberKeys"`
}

// ErrorGroup are errors of one step that differ only in what they are about.
type ErrorGroup struct {
	Phase    string   `json:"phase"`
	Step     string   `json:"step"`
	Rollback string   `json:"rollback,omitempty"`
	Function string   `json:"functionName"`
	Type     string   `json:"type,omitempty"`
	Error    string   `json:"error"` // with … where they differ
	Members  []Failed `json:"members"`
}

// Failed is a member with an error.
type Failed struct {
	Key   string `json:"key"` // empty: the batch
	Error string `json:"error"`
}

// Phase is a phase of a batch with its predicted duration, in seconds.
type Phase struct {
	Batch     int        `json:"batchId"`
	Name      string     `json:"phase"`
	Offset    string     `json:"offset,omitempty"`
	Status    string     `json:"status"`
	DueAt     *time.Time `json:"dueAt,omitempty"`
	StartedAt *time.Time `json:"startedAt,omitempty"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	Seconds   float64    `json:"seconds"`
	Succeeded int        `json:"succeeded"`
	Failed    int        `json:"failed"`
	Jobs      int        `json:"jobs"`
	Polls     int        `json:"polls"`
}

// License is a product of a tenant with how many people have it.
type License struct {
	Tenant     string `json:"tenant"`
	SKU        string `json:"skuPartNumber"`
	Bought     int    `json:"bought"`
	UsedBefore int    `json:"usedBefore"`
	UsedAfter  int    `json:"usedAfter"`
}

// Free is how many are left at the end.
func (l License) Free() int { return l.Bought - l.UsedAfter }

// Calls are the requests of one kind to a tenant.
type Calls struct {
	Tenant    string    `json:"tenant"`
	Kind      string    `json:"kind"`
	Total     int       `json:"total"`
	Busiest   int       `json:"busiestMinute"`
	BusiestAt time.Time `json:"busiestAt"`
	Limit     string    `json:"limit,omitempty"`
}

// NotRehearsed is a function that was not carried out.
type NotRehearsed struct {
	Function string `json:"functionName"`
	Calls    int    `json:"calls"`
	Why      string `json:"why"`
}

// NotModelled is a behaviour of the real tenant that the runbook can meet and the local one does not have.
type NotModelled struct {
	Functions []string `json:"functions"` // of the runbook; empty: all
	Behaviour string   `json:"behaviour"`
	// Observed are the batches in which a comparison found it.
	Observed []tenant.Observation `json:"observed,omitempty"`
}

// Text is the behaviour with the batches in which it was observed.
func (n NotModelled) Text() string {
	if len(n.Observed) == 0 {
		return n.Behaviour
	}
	var batches []string
	for _, o := range n.Observed {
		batches = append(batches, fmt.Sprintf("batch %d, %s", o.Batch, o.What))
	}
	return n.Behaviour + " (" + strings.Join(batches, "; ") + ")"
}

// report sums up a rehearsal.
func (p *played) report(c *rehearsal) *Report {
	t, rb := p.timeline, c.rb
	r := &Report{
		Format: Format, Runbook: rb.Name, Digest: Digest(c.Runbook), Start: c.Start.UTC(), Assumed: c.Assumed, Complete: t.Complete, Timeline: t,
		Tenants: []TenantSummary{}, Batches: []Batch{}, Phases: []Phase{}, Licenses: []License{}, Calls: []Calls{}, Changes: []Change{},
		Notes: append(append([]string{}, t.Warnings...), t.Remaining...), NotRehearsed: p.notRehearsed(), NotModelled: notModelled(rb, c.NotModelled),
	}
	var twin []ErrorGroup
	for _, given := range c.Tenants {
		name := given.Name
		before, after := p.before[name], p.after[name]
		summary := TenantSummary{Name: name, ID: given.ID}
		if given.Snapshot != nil {
			m := given.Snapshot.Manifest()
			summary.TakenAt = &m.TakenAt
			for _, left := range m.LeftOut {
				r.Notes = append(r.Notes, fmt.Sprintf("the snapshot of %s does not have %s: %s", name, left.What, left.Why))
			}
		}
		r.Notes = append(r.Notes, conflicts(name, p.performer.ends[name].server.Findings())...)
		summary.Users, summary.Groups, summary.Recipients = before.Users, before.Groups, before.Recipients
		r.Tenants = append(r.Tenants, summary)
		changed := changes(name, p.changed[name])
		r.Changes = append(r.Changes, changed...)
		twin = append(twin, twins(name, before, changed)...)
		for i, l := range before.licenses {
			l.Tenant, l.UsedAfter = name, after.licenses[i].UsedBefore
			r.Licenses = append(r.Licenses, l)
		}
		r.Calls = append(r.Calls, p.performer.ends[name].calls()...)
	}
	for _, b := range t.Batches {
		r.Batches = append(r.Batches, Batch{b.ID, b.Start.UTC(), append([]string{}, b.Keys...)})
		r.Members += b.Members
		r.Succeeded += b.Succeeded
		r.Failed += len(b.Failed)
		for _, ph := range b.Phases {
			r.Phases = append(r.Phases, phase(b.ID, ph))
		}
	}
	r.Errors, r.Warnings = p.groups(false), append(p.groups(true), twin...)
	return r
}

// noted is how many conflicts of a snapshot a report names.
const noted = 20

// conflicts tell which objects of a snapshot contradict each other.
func conflicts(name string, found []string) []string {
	var notes []string
	for _, text := range found[:min(len(found), noted)] {
		notes = append(notes, fmt.Sprintf("the snapshot of %s has a conflict: %s", name, text))
	}
	if more := len(found) - noted; more > 0 {
		notes = append(notes, fmt.Sprintf("the snapshot of %s has %s more", name, count(more, "conflict")))
	}
	return notes
}

func phase(batch int, p simulate.Phase) Phase {
	out := Phase{
		Batch: batch, Name: p.Name, Offset: p.Offset, Status: simulate.StatusText(p.Status, p.Failed), DueAt: p.DueAt, StartedAt: p.StartedAt, EndedAt: p.EndedAt,
		Succeeded: p.Succeeded, Failed: p.Failed, Jobs: p.Jobs, Polls: p.Polls,
	}
	if p.StartedAt != nil && p.EndedAt != nil {
		out.Seconds = p.EndedAt.Sub(*p.StartedAt).Seconds()
	}
	return out
}

// errorKey names an error group.
type errorKey struct{ phase, rollback, step, text string }

func keyOf(f simulate.Failure) errorKey {
	return errorKey{f.Phase, f.Rollback, f.Step, errorgroup.Of(f.Error, f.Member)}
}

// groups are the errors of steps and required checks, or those of the other checks.
func (p *played) groups(warnings bool) []ErrorGroup {
	found := map[errorKey]*ErrorGroup{}
	for _, f := range p.timeline.Failures {
		if f.Warning != warnings {
			continue
		}
		k := keyOf(f)
		g := found[k]
		if g == nil {
			g = &ErrorGroup{Phase: f.Phase, Step: f.Step, Rollback: f.Rollback, Function: f.Function, Type: p.performer.errors[f.JobID], Error: k.text}
			found[k] = g
		}
		g.Members = append(g.Members, Failed{f.Member, f.Error})
	}
	all := []ErrorGroup{}
	for _, g := range found {
		if len(g.Members) == 1 {
			g.Error = g.Members[0].Error
		}
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b ErrorGroup) int {
		return cmp.Or(cmp.Compare(len(b.Members), len(a.Members)), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Error, b.Error))
	})
	return all
}

// calls sums up the requests to a tenant by kind.
func (e *end) calls() []Calls {
	b := e.budget
	all := make([]Calls, len(kindNames))
	for i, name := range kindNames {
		all[i] = Calls{Tenant: e.name, Kind: name}
	}
	for m, n := range b.minutes {
		c := &all[m.kind]
		c.Total += n
		if n > c.Busiest || n == c.Busiest && m.at.Before(c.BusiestAt) {
			c.Busiest, c.BusiestAt = n, m.at.UTC()
		}
	}
	all[write].Limit, all[invitation].Limit = limitText(b.assumed.Writes), limitText(b.assumed.Invitations)
	return slices.DeleteFunc(all, func(c Calls) bool { return c.Total == 0 })
}

func limitText(r throttle.Rate) string {
	if r.Calls <= 0 {
		return ""
	}
	return count(r.Calls, "call") + " in " + simulate.Span(r.Per)
}

func (p *played) notRehearsed() []NotRehearsed {
	all := []NotRehearsed{}
	for _, name := range slices.Sorted(maps.Keys(p.performer.skipped)) {
		all = append(all, NotRehearsed{name, p.performer.skipped[name], p.performer.untouched[strings.ToLower(name)]})
	}
	return all
}

// notModelled are the entries of the table of local tenants, and then of further ones, that a runbook touches.
func notModelled(rb *runbook.Runbook, further []tenant.Unmodelled) []NotModelled {
	var used []string
	rb.EachStep(func(s runbook.Step, _ []any) { used = append(used, s.Function) })
	slices.Sort(used)
	used = slices.Compact(used)
	all := []NotModelled{}
	for _, entry := range append(tenant.NotModelled(), further...) {
		touched := slices.DeleteFunc(slices.Clone(used), func(f string) bool { return !entry.Touches(f) })
		switch {
		case slices.Contains(entry.Functions, "*"):
			all = append(all, NotModelled{[]string{}, entry.Behaviour, entry.Observed})
		case len(touched) > 0:
			all = append(all, NotModelled{touched, entry.Behaviour, entry.Observed})
		}
	}
	return all
}

// JSON writes the report as JSON.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
