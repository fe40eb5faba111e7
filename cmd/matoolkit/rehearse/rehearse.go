// Package rehearse runs a whole migration on copies of the real tenants: the engine of the handler, by the clock of a
// simulation, and the functions of the worker, against local tenants. Nothing leaves the machine.
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

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/simulate"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Config is the input of a rehearsal.
type Config struct {
	Runbook []byte // its YAML
	Members string // the path of the CSV file
	Start   time.Time
	Answers *simulate.Answers // approvals, and who joins or leaves; its rules answer jobs in the place of the functions
	Tenants []Tenant          // one or two
	Workers map[string]string // worker id in lower case → name of its tenant, where that does not follow from the id
	Custom  []catalog.Function
	Assumed Assumptions
	Sample  int // of members whose removal from the batch is rehearsed, too; 0: none
	// Progress gets a line for each part of a rehearsal. It can be nil.
	Progress func(text string)
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
	text, slowed, err := spacePolls(c.Runbook, seconds(c.Assumed.PollSeconds))
	if err != nil {
		return nil, err
	}
	c.Runbook = text
	played, err := c.play(ctx, rb, nil)
	if err != nil {
		return nil, err
	}
	report := played.report(c, rb)
	if c.Answers != nil && len(c.Answers.Rules) > 0 {
		report.Notes = append(report.Notes, "jobs that fit an answer in the file of answers were not carried out")
	}
	if slowed > 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%s wait %s between polls here, longer than the runbook says: an end is found later by up to as much", count(slowed, "step"), simulate.Span(seconds(c.Assumed.PollSeconds))))
	}
	if c.Sample > 0 {
		if report.Removal, err = c.removal(ctx, rb, played); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// played is a rehearsal that has ended.
type played struct {
	timeline  *simulate.Timeline
	performer *performer
	before    map[string]state // of tenants by name
	after     map[string]state
}

// play runs the migration once, on fresh copies.
func (c Config) play(ctx context.Context, rb *runbook.Runbook, leaving []simulate.Coming) (*played, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.tell("load the tenants")
	ends, err := open(ctx, c.Tenants, c.Assumed, c.run())
	if err != nil {
		return nil, err
	}
	p := &performer{assumed: c.Assumed, ends: ends, untouched: maps.Clone(outward), skipped: map[string]int{}, errors: map[string]string{}}
	if p.assigned, err = assign(rb.Workers(), c.Workers, ends); err != nil {
		return nil, err
	}
	answers := simulate.Answers{}
	if c.Answers != nil {
		answers = *c.Answers
	}
	var only []string
	for _, l := range leaving {
		only = append(only, l.Member)
	}
	if len(leaving) > 0 {
		answers.Members = leaving
	}
	for _, f := range c.Custom {
		switch f.Rehearse {
		case catalog.RehearseRun:
			continue
		case catalog.RehearseFail:
			answers.Rules = append(answers.Rules, simulate.Rule{Function: f.Name, Fail: "its manifest says that it fails in a rehearsal"})
		}
		p.untouched[strings.ToLower(f.Name)] = whyNot(f.Rehearse)
	}
	result := &played{performer: p, before: states(ends)}
	c.tell("run the migration")
	result.timeline, err = simulate.Run(ctx, simulate.Config{
		Runbook: c.Runbook, Members: c.Members, Start: c.Start, Answers: &answers, Approve: c.Answers == nil,
		Functions: catalog.Signatures(slices.Concat(catalog.Standard(), c.Custom)), Performer: p, Only: only,
	})
	if err != nil {
		return nil, err
	}
	result.after = states(ends)
	return result, nil
}

// run are the custom functions that run.
func (c Config) run() []catalog.Function {
	return slices.DeleteFunc(slices.Clone(c.Custom), func(f catalog.Function) bool { return f.Rehearse != catalog.RehearseRun })
}

// whyNot tells why a custom function was not carried out.
func whyNot(r catalog.Rehearsal) string {
	if r == "" {
		return "a custom function whose manifest does not say what becomes of it in a rehearsal: its steps succeed"
	}
	return "a custom function: its manifest has each call " + string(r)
}

func (c Config) tell(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}
