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

// words are what the page calls a status in a column that has to be narrow; others are
// shown as they are.
var words = map[string]string{"succeeded": "ok", "at_worker": "at the worker", "waiting_for_retry": "waiting for retry", "poll_timeout": "poll timeout", "rolling_back": "rolling back"}

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"stamp": shown,
	"word": func(status string) string {
		if w, ok := words[status]; ok {
			return w
		}
		return status
	},
	// The page allows itself this style and nothing else: no script, no picture, no
	// address to load from or to send to.
	"style":  func() template.CSS { return template.CSS(pageStyle) }, //nolint:gosec // a constant of ours
	"policy": func() string { return policy },
}).Parse(pageText))

var policy = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}()

// shown words a time for people; nothing where there is none.
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

// page is a report as HTML. What is known of the rows is written as they come, so that
// the page is never in memory.
type page struct {
	w    io.Writer
	buf  bytes.Buffer
	b    Batch
	cols []column
	seen int
}

// column is what a phase has in the table.
type column struct {
	Title string
	At    int // in Batch.Phases
	Phase Phase
}

// Span is how many columns of the table they are.
func (c column) Span() int {
	if c.Phase.Undoes {
		return len(c.Phase.Steps) + 1
	}
	return len(c.Phase.Steps)
}

// line is a member as a row shows them.
type line struct {
	Member
	Cells []cell
}

// cell is one of a row; Undone is of a rollback, which has words of its own.
type cell struct{ Status, Undone string }

func newHTML(w io.Writer, b Batch) (Writer, error) {
	p := &page{w: w, b: b}
	for i, phase := range b.Phases {
		if len(phase.Steps) > 0 {
			p.cols = append(p.cols, column{title(b.Phases, i), i, phase})
		}
	}
	return p, p.write("head", struct {
		Batch
		Columns []column
	}{b, p.cols})
}

func (p *page) Member(m Member) error {
	if err := m.check(p.b.Phases); err != nil {
		return err
	}
	p.seen++
	l := line{Member: m}
	for _, c := range p.cols {
		r := m.in(c.At)
		if r == nil {
			r = &Run{Steps: make([]string, len(c.Phase.Steps))}
		}
		for _, s := range r.Steps {
			l.Cells = append(l.Cells, cell{Status: s})
		}
		if c.Phase.Undoes {
			l.Cells = append(l.Cells, cell{Undone: r.undone()})
		}
	}
	return p.write("row", l)
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
