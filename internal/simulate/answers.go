package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Answers define the workers' answers and the administrators' actions in a simulation. The zero value
// has all jobs succeed after a second and nothing approved. docs/write-a-runbook.md describes
// the file that they are read from.
type Answers struct {
	Rules     []Rule
	Approvals []Approval
	Members   []Coming
}

// Rule is how jobs are answered. The first rule that a job fits counts; an empty field
// fits all.
type Rule struct {
	Line     int // in the file
	Function string
	Step     string
	Phase    string
	Members  []string          // keys
	Where    map[string]string // column → value

	Takes      time.Duration   // until the answer
	Result     json.RawMessage // nil: one that has the fields which output_params takes
	Fail       string          // fails so; empty: succeeds
	Times      int             // only so many times for each step of a member; 0: always
	Throttled  bool            // it fails since the tenant asked to wait
	RetryAfter time.Duration   // for how long
	Polls      int             // answers that it is not complete yet
	PollFor    time.Duration   // answers so for so long
	Never      bool            // does not answer at all
}

// Approval is when a phase is approved: at a moment, or so long after it was first held.
type Approval struct {
	Line  int
	Phase string
	Batch int // 0: every one
	At    *Moment
	After time.Duration
}

// Coming is when a member comes onto the list, or goes off it.
type Coming struct {
	Line   int
	Member string
	Joins  *Moment
	Leaves *Moment
}

// Moment is a time, or an offset from a start.
type Moment struct {
	time   time.Time
	offset *runbook.Offset
}

// Before is a moment so long before the start.
func Before(d time.Duration) *Moment {
	o := runbook.Offset(d / time.Minute) // counts backwards
	return &Moment{offset: &o}
}

// of is the moment for a start.
func (m *Moment) of(start time.Time) time.Time {
	if m.offset != nil {
		return m.offset.DueAt(start).UTC()
	}
	return m.time.UTC()
}

// ParseTime reads a time: RFC 3339, or 2026-12-01 18:00 in loc. One that clocks there
// skip is refused.
func ParseTime(text string, loc *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02"} {
		t, err := time.ParseInLocation(layout, text, loc)
		if err != nil {
			continue
		}
		if t.Format(layout) != text {
			return t, fmt.Errorf("%q does not exist in %s: the clocks are set forward past it", text, loc)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("invalid time %q: use 2026-12-01 18:00 or 2026-12-01T18:00:00+01:00", text)
}

// maxAnswers bounds the file, in bytes.
const maxAnswers = 4 << 20

// ParseAnswers reads the YAML of a file of answers. Times without a zone are in loc.
// It reports all errors at once, one a line, with line and column first, and refuses
// unknown fields.
func ParseAnswers(src []byte, loc *time.Location) (*Answers, error) {
	if len(src) > maxAnswers {
		return nil, fmt.Errorf("the answers have %d bytes; the limit is %d", len(src), maxAnswers)
	}
	d := yaml.NewDecoder(bytes.NewReader(src))
	var document, more yaml.Node
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF):
		return &Answers{}, nil
	case err != nil:
		// "yaml: line 3: did not find …": the library was on that line, and tells no column.
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		if after, there := strings.CutPrefix(text, "line "); there {
			line, what, _ := strings.Cut(after, ": ")
			return nil, fmt.Errorf("%s: not valid YAML: %s", line, what)
		}
		return nil, fmt.Errorf("not valid YAML: %s", text)
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one YAML document")
	}
	p := &answersParser{loc: loc}
	a := p.answers(document.Content[0])
	return a, errors.Join(p.problems...)
}

type answersParser struct {
	loc      *time.Location
	problems []error
}

func (p *answersParser) errorf(n *yaml.Node, format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf("%d:%d: %s", n.Line, n.Column, fmt.Sprintf(format, args...)))
}

// object goes through the fields of a mapping. What has no reader is refused.
func (p *answersParser) object(n *yaml.Node, what string, fields map[string]func(*yaml.Node), names ...string) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" && what == "the file" {
		return
	}
	if n.Kind != yaml.MappingNode {
		p.errorf(n, "%s must be a mapping of %s", what, strings.Join(names, ", "))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := fields[key.Value]
		switch {
		case read == nil:
			p.errorf(key, "%s has no field %q: use %s", what, key.Value, strings.Join(names, ", "))
		case seen[key.Value]:
			p.errorf(key, "%q is given twice", key.Value)
		default:
			read(value)
		}
		seen[key.Value] = true
	}
}

// each goes through a list.
func (p *answersParser) each(what string, read func(*yaml.Node)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.SequenceNode {
			p.errorf(n, "%s must be a list", what)
			return
		}
		for _, item := range n.Content {
			read(item)
		}
	}
}

func (p *answersParser) answers(n *yaml.Node) *Answers {
	a := &Answers{}
	p.object(n, "the file", map[string]func(*yaml.Node){
		"answers":   p.each("answers", func(n *yaml.Node) { a.Rules = append(a.Rules, p.rule(n)) }),
		"approvals": p.each("approvals", func(n *yaml.Node) { a.Approvals = append(a.Approvals, p.approval(n)) }),
		"members":   p.each("members", func(n *yaml.Node) { a.Members = append(a.Members, p.coming(n)) }),
	}, "answers", "approvals", "members")
	return a
}

func (p *answersParser) rule(n *yaml.Node) Rule {
	r := Rule{Line: n.Line}
	p.object(n, "an answer", map[string]func(*yaml.Node){
		"function": p.text(&r.Function), "step": p.text(&r.Step), "phase": p.text(&r.Phase),
		"member":      p.texts(&r.Members),
		"where":       p.where(&r.Where),
		"takes":       p.duration(&r.Takes),
		"result":      p.value(&r.Result),
		"fail":        p.text(&r.Fail),
		"times":       p.number(&r.Times),
		"throttled":   p.flag(&r.Throttled),
		"retry_after": p.duration(&r.RetryAfter),
		"polls":       p.number(&r.Polls),
		"poll_for":    p.duration(&r.PollFor),
		"never":       p.flag(&r.Never),
	}, "function", "step", "phase", "member", "where", "takes", "result", "fail", "times", "throttled", "retry_after", "polls", "poll_for", "never")
	switch fails := r.Fail != "" || r.Throttled; {
	case r.Never && (fails || r.Result != nil || r.Polls > 0 || r.PollFor > 0 || r.Takes > 0):
		p.errorf(n, "never cannot be combined with result, fail, throttled, polls, poll_for or takes")
	case r.Polls > 0 && r.PollFor > 0:
		p.errorf(n, "give polls or poll_for, not both")
	case r.Times > 0 && !fails && !r.Never:
		p.errorf(n, "times needs fail, throttled or never")
	case fails && r.Result != nil && r.Times == 0:
		p.errorf(n, "a job that always fails cannot have a result: give times, or remove one of them")
	case r.RetryAfter > 0 && !fails:
		p.errorf(n, "retry_after needs fail or throttled")
	}
	if r.Throttled && r.Fail == "" {
		r.Fail = "the tenant is throttling"
	}
	return r
}

func (p *answersParser) approval(n *yaml.Node) Approval {
	a := Approval{Line: n.Line}
	after := false
	p.object(n, "an approval", map[string]func(*yaml.Node){
		"phase": p.text(&a.Phase), "batch": p.number(&a.Batch), "at": p.moment(&a.At),
		"after": func(n *yaml.Node) { after = true; p.duration(&a.After)(n) },
	}, "phase", "batch", "at", "after")
	switch {
	case n.Kind != yaml.MappingNode:
	case a.Phase == "":
		p.errorf(n, "phase is missing")
	case after == (a.At != nil):
		p.errorf(n, "give either at (a time) or after (the delay from when the phase first waits)")
	}
	return a
}

func (p *answersParser) coming(n *yaml.Node) Coming {
	c := Coming{Line: n.Line}
	p.object(n, "a member", map[string]func(*yaml.Node){
		"member": p.text(&c.Member), "joins": p.moment(&c.Joins), "leaves": p.moment(&c.Leaves),
	}, "member", "joins", "leaves")
	if n.Kind == yaml.MappingNode && (c.Member == "" || c.Joins == nil && c.Leaves == nil) {
		p.errorf(n, "give member, and joins or leaves")
	}
	return c
}

func (p *answersParser) scalar(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		p.errorf(n, "expected %s", what)
		return "", false
	}
	return n.Value, true
}

func (p *answersParser) text(to *string) func(*yaml.Node) {
	return func(n *yaml.Node) { *to, _ = p.scalar(n, "text") }
}

// texts are one text, or a list of them.
func (p *answersParser) texts(to *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		all := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			if all = n.Content; len(all) == 0 {
				p.errorf(n, "the list is empty")
			}
		}
		for _, one := range all {
			if text, ok := p.scalar(one, "text"); ok {
				*to = append(*to, text)
			}
		}
	}
}

func (p *answersParser) where(to *map[string]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
			p.errorf(n, "where must be a mapping of columns to values")
			return
		}
		*to = map[string]string{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i+1].Kind != yaml.ScalarNode {
				p.errorf(n.Content[i+1], "the value of a column must be text")
			}
			(*to)[n.Content[i].Value] = n.Content[i+1].Value
		}
	}
}

func (p *answersParser) number(to *int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Decode(to) != nil || *to < 1 || *to > 1_000_000 {
			p.errorf(n, "%q is not a whole number from 1 to 1000000", n.Value)
		}
	}
}

func (p *answersParser) flag(to *bool) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Tag != "!!bool" || n.Decode(to) != nil {
			p.errorf(n, "%q is neither true nor false", n.Value)
		}
	}
}

func (p *answersParser) duration(to *time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		text, ok := p.scalar(n, "a duration such as 30s, 15m, 24h or 7d")
		if !ok {
			return
		}
		d, err := runbook.ParseDuration(text)
		if err != nil {
			p.errorf(n, "%v", err)
		}
		*to = d
	}
}

func (p *answersParser) moment(to **Moment) func(*yaml.Node) {
	return func(n *yaml.Node) {
		text, ok := p.scalar(n, "a time or an offset such as T-2h")
		if !ok {
			return
		}
		if strings.HasPrefix(text, "T") {
			o, err := runbook.ParseOffset(text)
			if err != nil {
				p.errorf(n, "%v", err)
			}
			*to = &Moment{offset: &o}
			return
		}
		t, err := ParseTime(text, p.loc)
		if err != nil {
			p.errorf(n, "%v", err)
		}
		*to = &Moment{time: t}
	}
}

func (p *answersParser) value(to *json.RawMessage) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var v any
		err := n.Decode(&v)
		if err == nil {
			*to, err = json.Marshal(v)
		}
		if err != nil {
			p.errorf(n, "invalid result: %v", err)
		}
	}
}
