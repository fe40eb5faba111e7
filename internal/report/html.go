package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"time"
)

//go:embed page.tmpl
var pageText string

//go:embed page.css
var pageStyle string

// words are the short forms of statuses in narrow columns.
var words = map[string]string{"succeeded": "ok", "at_worker": "at the worker", "waiting_for_retry": "waiting for retry", "poll_timeout": "poll timeout", "skipped_by_condition": "skipped by condition", "rolling_back": "rolling back", "not_run": "not run"}

func word(status string) string {
	if w, ok := words[status]; ok {
		return w
	}
	return status
}

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"stamp": shown,
	// The policy of the page allows this style and nothing else: no script, no image and no
	// address to load from or send to.
	"style":  func() template.CSS { return template.CSS(pageStyle) }, //nolint:gosec // a constant of ours
	"policy": func() string { return policy },
}).Parse(pageText))

var policy = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}()

// shown formats a time; a missing time is empty.
func shown(t any) string {
	const layout = "2006-01-02 15:04:05Z"
	switch t := t.(type) {
	case time.Time:
		return t.UTC().Format(layout)
	case *time.Time:
		if t != nil {
			return t.UTC().Format(layout)
		}
	}
	return ""
}

// page is a report as HTML. It writes rows as they come, so that the page is never in memory.
type page struct {
	w    io.Writer
	buf  bytes.Buffer
	b    Batch
	cols []column
	seen int
}

// column is the column of a phase in the table of members.
type column struct {
	Title string
	At    int // in Batch.Phases
}

// line is the row of a member.
type line struct {
	Member
	Outcome string
	Checked *cell // nil: the batch has no checks
	Cells   []cell
}

// cell is the run of a member in a phase: its status, the step at which it is or failed, and
// its rollback. Of checks it has the errors of those that failed.
type cell struct{ Status, Word, Step, Undone string }

// used reports whether members took part in a phase. The columns of other phases are empty.
func (p Phase) used() bool {
	return len(p.Steps) > 0 && p.Members+p.Succeeded+p.Failed+p.Cancelled+p.Running > 0 &&
		(p.Succeeded+p.Failed+p.Cancelled+p.Running > 0 || p.Status != "pending" && p.Status != "skipped")
}

// show reports which columns the table of phases has: those that are not empty.
type show struct{ Due, Ended, Failed, Cancelled, Running, Waiting, Note bool }

func newHTML(w io.Writer, b Batch) (Writer, error) {
	p := &page{w: w, b: b}
	var s show
	for i, phase := range b.Phases {
		if phase.used() {
			p.cols = append(p.cols, column{title(b.Phases, i), i})
		}
		s.Due, s.Ended, s.Note = s.Due || phase.Due != nil, s.Ended || phase.Ended != nil, s.Note || phase.Note != ""
		s.Failed, s.Cancelled = s.Failed || phase.Failed > 0, s.Cancelled || phase.Cancelled > 0
		s.Running, s.Waiting = s.Running || phase.Running > 0, s.Waiting || phase.Waiting > 0
	}
	return p, p.write("head", struct {
		Batch
		Columns []column
		Show    show
	}{b, p.cols, s})
}

func (p *page) Member(m Member) error {
	if err := m.check(p.b.Phases); err != nil {
		return err
	}
	p.seen++
	l := line{Member: m, Outcome: m.Outcome(p.b)}
	if p.b.Checks != nil {
		status := m.checked()
		l.Checked = &cell{Status: status, Word: word(status), Step: m.checkErrors()}
	}
	for _, c := range p.cols {
		l.Cells = append(l.Cells, cellOf(m.in(c.At), p.b.Phases[c.At]))
	}
	return p.write("row", l)
}

// cellOf returns the cell of a run; nil is a member without a run.
func cellOf(r *Run, p Phase) cell {
	if r == nil {
		return cell{}
	}
	c := cell{Status: r.Status, Word: word(r.Status), Undone: r.undone()}
	for i, status := range r.Steps {
		switch status {
		case "", "succeeded", "skipped", "skipped_by_condition", "cancelled", "pending":
			continue
		}
		c.Step = p.Steps[i]
		if status != "failed" {
			c.Step += ", " + word(status)
		}
		break
	}
	return c
}

func (p *page) Close(end time.Time) error {
	return p.write("foot", struct {
		Rows       int
		Begun, End time.Time
	}{p.seen, p.b.AsOf, end})
}

func (p *page) write(part string, data any) error {
	p.buf.Reset()
	if err := pages.ExecuteTemplate(&p.buf, part, data); err != nil {
		return err
	}
	_, err := p.w.Write(p.buf.Bytes())
	return err
}
