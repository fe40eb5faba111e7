// Package rehearse runs a whole migration on copies of the real tenants: the engine of the handler, by the clock of a
// simulation, and the functions of the worker, against local tenants. It reads and changes no real tenant. It sends the query
// of a data source that the caller gives it, and calls the custom functions that run in a rehearsal, which can do anything.
//
// It knows neither the command line nor where the copies come from.
package rehearse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/simulate"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Config is the input of a rehearsal.
type Config struct {
	Runbook []byte // its YAML
	Members string // the path of the CSV file
	// Sources queries the data source of the runbook in the place of the file, unless it is of the type graph: then a copy of
	// the tenant is asked. FromSource has either done.
	FromSource bool
	Sources    *datasource.Reader
	Start      time.Time
	Answers    *simulate.Answers // approvals, and who joins or leaves; its rules answer jobs in the place of the functions
	Tenants    []Tenant          // one or two
	Workers    map[string]string // worker id in lower case → name of its tenant, where that does not follow from the id
	Custom     []catalog.Function
	Assumed    Assumptions
	Sample     int // of members whose removal from the batch is rehearsed, too; 0: none
	// NotModelled are further entries of the table of what local tenants do not model, such as those of comparisons.
	NotModelled []tenant.Unmodelled
	// Progress gets a line for each part of a rehearsal. It can be nil.
	Progress func(text string)
}

// rehearsal is one call of Run.
type rehearsal struct {
	Config
	rb    *runbook.Runbook
	paced []byte         // its YAML, with longer intervals between polls
	rows  *simulate.Rows // of the data source, once it was read; nil: members come from a file
	ran   map[string]int // calls of custom functions that run, by name
}

// outward are functions that tell people something, and why a rehearsal does not.
var outward = map[string]string{
	strings.ToLower(catalog.SendAdminAlert.Name):     "sends a mail: its text is checked when the runbook is published",
	strings.ToLower(catalog.SendMemberMail.Name):     "sends a mail: its text is checked when the runbook is published",
	strings.ToLower(catalog.SendWebhookMessage.Name): "posts to a webhook",
}

// Run rehearses. Errors are of the input, as those of [simulate.Run], or of the context; what fails in the rehearsal is in
// the report.
func Run(ctx context.Context, c Config) (*Report, error) {
	rb, found := runbook.Parse(c.Runbook)
	if found.HasErrors() {
		e := &simulate.Wrong{Comes: "the runbook has errors"}
		for _, d := range found {
			e.Found = append(e.Found, d.String())
		}
		return nil, e
	}
	paced, slowed, err := spacePolls(c.Runbook, seconds(c.Assumed.PollSeconds))
	if err != nil {
		return nil, err
	}
	r := &rehearsal{Config: c, rb: rb, paced: paced, ran: map[string]int{}}
	played, err := r.play(ctx, nil)
	if err != nil {
		return nil, err
	}
	report := played.report(r)
	if c.Answers != nil && len(c.Answers.Rules) > 0 {
		report.Notes = append(report.Notes, "jobs that fit an answer in the file of answers were not carried out")
	}
	if slowed > 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%s wait %s between polls here, longer than the runbook says: an end is found later by up to as much", count(slowed, "step"), simulate.Span(seconds(c.Assumed.PollSeconds))))
	}
	if r.rows != nil {
		report.Notes = append(report.Notes, r.sourceNote())
	}
	if c.Sample > 0 {
		if report.Removal, err = r.removal(ctx, played); err != nil {
			return nil, err
		}
	}
	if len(r.ran) > 0 {
		report.Notes = append(report.Notes, r.programsNote())
	}
	return report, nil
}

// played is a rehearsal that has ended.
type played struct {
	timeline  *simulate.Timeline
	performer *performer
	before    map[string]state // of tenants by name
	after     map[string]state
	changed   map[string][]tenant.ObjectChange
}

// play runs the migration once, on fresh copies.
func (r *rehearsal) play(ctx context.Context, leaving []simulate.Coming) (*played, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r.tell("load the tenants")
	ends, err := open(ctx, r.Tenants, r.Assumed, r.running())
	if err != nil {
		return nil, err
	}
	p := &performer{assumed: r.Assumed, ends: ends, untouched: maps.Clone(outward), skipped: map[string]int{}, errors: map[string]string{}}
	if p.assigned, err = assign(r.rb.Workers(), r.Workers, ends); err != nil {
		return nil, err
	}
	if r.FromSource && r.rows == nil {
		if r.rows, err = r.readSource(ctx, ends); err != nil {
			return nil, err
		}
	}
	answers := simulate.Answers{}
	if r.Answers != nil {
		answers = *r.Answers
	}
	var only []string
	for _, l := range leaving {
		only = append(only, l.Member)
	}
	if len(leaving) > 0 {
		answers.Members = leaving
	}
	for _, f := range r.Custom {
		switch f.Rehearse {
		case catalog.RehearseRun:
			continue
		case catalog.RehearseFail:
			answers.Rules = append(answers.Rules, simulate.Rule{Function: f.Name, Fail: "its manifest says that it fails in a rehearsal"})
		}
		p.untouched[strings.ToLower(f.Name)] = whyNot(f.Rehearse)
	}
	result := &played{performer: p, before: states(ends), changed: map[string][]tenant.ObjectChange{}}
	for _, e := range ends {
		e.server.Watch()
	}
	r.tell("run the migration")
	result.timeline, err = simulate.Run(ctx, simulate.Config{
		Runbook: r.paced, Members: r.Members, Rows: r.rows, Start: r.Start, Answers: &answers, Approve: r.Answers == nil,
		Functions: catalog.Signatures(slices.Concat(catalog.Standard(), r.Custom)), Performer: p, Only: only,
	})
	if err != nil {
		return nil, err
	}
	result.after = states(ends)
	for name, e := range ends {
		result.changed[name] = e.server.Changed()
	}
	return result, nil
}

// running are the custom functions that run. Their calls are counted.
func (r *rehearsal) running() []catalog.Function {
	var all []catalog.Function
	for _, f := range r.Custom {
		if f.Rehearse == catalog.RehearseRun {
			all = append(all, f.With(func(ctx context.Context, p catalog.Params) (any, error) {
				r.ran[f.Name]++
				return f.Run(ctx, p)
			}))
		}
	}
	return all
}

// programsNote says in a report which programs were started.
func (r *rehearsal) programsNote() string {
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(r.ran)) {
		calls = append(calls, fmt.Sprintf("%s (%s)", name, count(r.ran[name], "call")))
	}
	return "programs of custom functions were started on this machine, and what they did is real: " + strings.Join(calls, ", ")
}

// whyNot tells why a custom function was not carried out.
func whyNot(r catalog.Rehearsal) string {
	if r == "" {
		return "a custom function whose manifest does not say what becomes of it in a rehearsal: its steps succeed"
	}
	return "a custom function: its manifest has each call " + string(r)
}

func (r *rehearsal) tell(format string, args ...any) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf(format, args...))
	}
}
