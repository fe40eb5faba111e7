package exchange

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/calls"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Cmdlets are the cmdlets that Invoke-ExchangeCommand may run.
type Cmdlets struct {
	Setting string   // its name, for errors
	Allowed []string // with any parameters, beside those of other functions
	None    bool     // no cmdlets at all
}

var cmdletName = regexp.MustCompile(`^[A-Z][A-Za-z]*-[A-Z][A-Za-z0-9]*$`)

// CheckCmdlet refuses a text that does not name a cmdlet.
func CheckCmdlet(name string) error {
	if !cmdletName.MatchString(name) {
		return fmt.Errorf("%q is not the name of a cmdlet, such as Set-Mailbox", name)
	}
	return nil
}

// permit refuses a command that the worker is not allowed to run.
func (x Cmdlets) permit(command command) error {
	switch {
	case x.None:
		return refused(command.cmdlet + ": the worker runs no cmdlets of runbooks, by its setting " + x.Setting)
	case slices.Contains(x.Allowed, command.cmdlet):
		return nil
	}
	if only := calls.Only(command.cmdlet, nil); only != nil {
		return refused(fmt.Sprintf("%s: only %s runs this cmdlet; to allow it with any parameters, add it to the worker's setting %s", command.cmdlet, strings.Join(only, " or "), x.Setting))
	}
	if err := calls.CheckCmdlet(command.cmdlet, command.parameters); err != nil {
		return refused(fmt.Sprintf("%s: other functions do not run this command (%v); to allow the cmdlet, add it to the worker's setting %s", command.cmdlet, err, x.Setting))
	}
	return nil
}

func refused(text string) error {
	return &catalog.Failure{Type: catalog.FailureNotConfigured, Message: text}
}

// command is a cmdlet with its parameters.
type command struct {
	cmdlet     string
	parameters map[string]any
}

func (c *Client) readCommand(cmdlet string, parameters map[string]any) (command, error) {
	read := command{cmdlet, map[string]any{}}
	if err := CheckCmdlet(cmdlet); err != nil {
		return read, &catalog.Failure{Type: catalog.FailureParameters, Message: err.Error()}
	}
	for name, value := range parameters {
		read.parameters[name] = hashtable(value)
	}
	return read, c.cmdlets.permit(read)
}

// hashtable gives an object the type that Exchange Online expects of a hashtable.
func hashtable(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	table := map[string]any{"@odata.type": "#Exchange.GenericHashTable"}
	for name, inner := range object {
		table[name] = inner
	}
	return table
}

// repeatable tells whether a cmdlet can run again without another effect than once.
func (c command) repeatable() bool {
	verb, _, _ := strings.Cut(c.cmdlet, "-")
	return verb == "Get" || verb == "Set" || verb == "Test"
}

// check is the command that shows whether another has run; its cmdlet is empty for none.
type check struct {
	command
	expected map[string]any // nil: there is no such object
}

func (c *Client) readCheck(p catalog.Params) (check, error) {
	refuse := func(text string) (check, error) {
		return check{}, &catalog.Failure{Type: catalog.FailureParameters, Message: text}
	}
	cmdlet := p.String("CheckCmdlet")
	switch {
	case cmdlet == "" && (p.Has("CheckExpected") || p.Has("CheckParameters")):
		return refuse("CheckParameters and CheckExpected need CheckCmdlet")
	case cmdlet == "":
		return check{}, nil
	case !strings.HasPrefix(cmdlet, "Get-"):
		return refuse("CheckCmdlet is no Get- cmdlet")
	case strings.HasPrefix(p.String("Cmdlet"), "Get-"):
		return refuse("CheckCmdlet is given, but a Get- cmdlet writes nothing")
	}
	read, err := c.readCommand(cmdlet, p.Object("CheckParameters"))
	return check{read, p.Object("CheckExpected")}, err
}

func (c *Client) invokeCommand(ctx context.Context, p catalog.Params) (any, error) {
	do, err := c.readCommand(p.String("Cmdlet"), p.Object("Parameters"))
	if err != nil {
		return nil, err
	}
	done, err := c.readCheck(p)
	if err != nil {
		return nil, err
	}
	switch {
	case done.cmdlet != "":
		return c.runUnless(ctx, do, done)
	case !do.repeatable():
		return c.runOnce(ctx, do)
	}
	answer, _, err := c.run(ctx, do, session.Judge)
	return answer, err
}

// runOnce runs a command that nothing can tell of afterwards: at most once for a job.
func (c *Client) runOnce(ctx context.Context, do command) (any, error) {
	if catalog.JobOf(ctx).Redelivered {
		return nil, &catalog.Failure{
			Type:    catalog.FailureConflict,
			Message: do.cmdlet + ": the worker was interrupted and may have run this cmdlet, which it repeats only with CheckCmdlet: look whether it ran, and retry or skip the step",
		}
	}
	answer, uncertain, err := c.run(ctx, do, judgeOnce)
	var failure *catalog.Failure
	if uncertain && errors.As(err, &failure) {
		failure.Message += "; the cmdlet may have run: with CheckCmdlet the worker looks itself"
	}
	return answer, err
}

// runUnless runs a command unless the check shows its result, waits until it does, and answers what it shows.
// Where the command may have run before, it waits first.
func (c *Client) runUnless(ctx context.Context, do command, done check) (any, error) {
	return catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return c.shows(ctx, done, wait) }, func() (bool, error) {
		_, uncertain, err := c.run(ctx, do, judgeOnce)
		return uncertain, err
	}, do.cmdlet+": it ran, but the check does not show its result")
}

// shows runs a check.
func (c *Client) shows(ctx context.Context, done check, wait catalog.Waiting) (s catalog.Shown, err error) {
	_, err = c.Policy().Do(ctx, session.Judge, func(ctx context.Context) error {
		var objects []map[string]any
		err := c.InvokeJudged(ctx, done.cmdlet, done.parameters, &objects, judgeCheck)
		var failure *catalog.Failure
		switch {
		case errors.As(err, &failure) && failure.NotFound, err == nil && len(objects) == 0:
			s = catalog.Shown{Answer: true, Met: done.expected == nil, Reason: "there is no such object"}
		case err != nil:
			return err
		case done.expected == nil:
			s = catalog.Shown{Reason: "there still is such an object"}
		case len(objects) > 1:
			s = catalog.Shown{Reason: "there are several such objects"}
		default:
			s.Reason = catalog.Differences(done.expected, objects[0])
			s.Answer, s.Met = output(objects), s.Reason == ""
		}
		if !s.Met && wait.Result || s.Met && done.expected == nil && wait.Absence {
			return &session.StaleError{What: s.Reason}
		}
		return nil
	})
	var stale *session.StaleError
	if wait != (catalog.Waiting{}) && errors.As(err, &stale) {
		return s, nil
	}
	return s, err
}

// run runs a command and returns its output. If it fails, uncertain tells whether the command may have run.
func (c *Client) run(ctx context.Context, do command, by func(error) throttle.Verdict) (answer any, uncertain bool, err error) {
	var objects []map[string]any
	err = c.InvokeJudged(ctx, do.cmdlet, do.parameters, &objects, func(err error) throttle.Verdict {
		uncertain = mayHaveRun(err)
		return by(err)
	})
	if err != nil {
		return nil, uncertain, err
	}
	return output(objects), false, nil
}

// output returns the properties of the one object that a command printed, or a list of several.
func output(objects []map[string]any) any {
	switch len(objects) {
	case 0:
		return true
	case 1:
		return catalog.Answered(objects[0])
	}
	return map[string]any{"value": objects}
}

// mayHaveRun tells whether a command that failed may have been carried out. A time-out is throttling only to
// functions that can repeat themselves.
func mayHaveRun(err error) bool {
	var partial *session.PartialError
	if errors.As(err, &partial) {
		return true
	}
	var refused *session.Refusal
	if errors.As(err, &refused) && (refused.Status == http.StatusRequestTimeout || refused.Status == http.StatusGatewayTimeout) {
		return true
	}
	return session.Judge(err).Outcome == throttle.Transient
}

// judgeOnce repeats only what Exchange Online has not carried out.
func judgeOnce(err error) throttle.Verdict {
	if mayHaveRun(err) {
		return throttle.Verdict{}
	}
	return session.Judge(err)
}

// judgeCheck takes an object that does not exist as an answer.
func judgeCheck(err error) throttle.Verdict {
	var refused *session.Refusal
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return throttle.Verdict{}
	}
	return session.Judge(err)
}
