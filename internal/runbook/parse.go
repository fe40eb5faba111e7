package runbook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Limits of one runbook.
const (
	MaxBytes  = 1 << 20
	MaxPhases = 200
	MaxSteps  = 500 // in one list

	maxVisited     = 400_000 // values and text, each alias counted as what it stands for
	maxDepth       = 32      // of one parameter
	maxKey         = 200     // bytes of a key
	maxColumns     = 500     // multi-valued ones
	maxWorkers     = 100     // different ones: each is asked for when a runbook is checked
	maxDiagnostics = 200
)

// Parse reads one runbook and checks everything that its text alone can tell. It
// reports all findings at once, sorted by position. The runbook is nil when one
// of them is an error.
func Parse(src []byte) (*Runbook, Diagnostics) {
	rb, found := Read(src)
	if found.HasErrors() {
		return nil, found
	}
	return rb, found
}

// Read is Parse for those who look further in spite of errors: its runbook has what could be
// read, with zero values in the places of the rest, and must not be run. Elements of lists keep
// their indexes. The runbook is nil when the text is not YAML, and when reading stopped at a limit:
// what was not read would seem to be missing.
func Read(src []byte) (*Runbook, Diagnostics) {
	p := &parser{}
	var d *draft
	if root := p.load(src); root != nil {
		p.marks(root, "")
		d = p.runbook(root)
		p.validate(d)
	}
	p.finish(src)
	if d == nil || p.stopped {
		return nil, p.found
	}
	return d.runbook(), p.found
}

// parser collects diagnostics on its way through the YAML nodes.
type parser struct {
	found     Diagnostics
	visited   int
	located   int // bytes of text read to find the positions of templates
	vars      map[string]*constant
	requested bool                   // requests start the batches: phases have no offset
	listed    bool                   // a function lists their items
	stopped   bool                   // no more is looked at, nor reported
	workers   map[string]draftWorker // by the id in lower case
}

// draftWorker is the id of a worker at its first mention.
type draftWorker struct {
	id   string
	line int
}

func (p *parser) report(sev Severity, n position, path, code, format string, args ...any) {
	if p.stopped {
		return
	}
	p.found = append(p.found, Diagnostic{Severity: sev, Code: code, Message: fmt.Sprintf(format, args...), Path: path, Line: n.line, Column: n.column})
	if len(p.found) >= maxDiagnostics {
		p.stop(n, path, CodeTooMany, "there are more than %d findings; the others are left out", maxDiagnostics)
	}
}

func (p *parser) errorf(n position, path, code, format string, args ...any) {
	p.report(SeverityError, n, path, code, format, args...)
}

func (p *parser) warnf(n position, path, code, format string, args ...any) {
	p.report(SeverityWarning, n, path, code, format, args...)
}

// stop reports a last error.
func (p *parser) stop(n position, path, code, format string, args ...any) {
	if !p.stopped {
		p.found = append(p.found, Diagnostic{Severity: SeverityError, Code: code, Message: fmt.Sprintf(format, args...), Path: path, Line: n.line, Column: n.column})
	}
	p.stopped = true
}

// position is a place in the text, from 1, in characters.
type position struct{ line, column int }

func at(n *yaml.Node) position { return position{n.Line, n.Column} }

// load gives the one document's root, or nil after reporting why there is none.
func (p *parser) load(src []byte) *yaml.Node {
	start := position{1, 1}
	if len(src) > MaxBytes {
		p.errorf(start, "", CodeTooLarge, "the runbook has %d bytes; at most %d are allowed", len(src), MaxBytes)
		return nil
	}
	if bad, ok := invalidUTF8(src); ok {
		p.errorf(bad, "", CodeBadEncoding, "the runbook is not UTF-8 from here on")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var doc, second yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		p.errorf(start, "", CodeEmpty, "the runbook is empty")
		return nil
	case err != nil:
		p.syntax(src, err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.syntax(src, err)
		return nil
	default:
		p.errorf(at(&second), "", CodeMultipleDocs, "a second document begins here; a file holds one runbook")
		return nil
	}
	if len(doc.Content) != 1 || doc.Content[0].ShortTag() == "!!null" {
		p.errorf(start, "", CodeEmpty, "the runbook is empty")
		return nil
	}
	return doc.Content[0]
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// openTemplate finds a template that begins a value and has no quotes before it.
var openTemplate = regexp.MustCompile(`^\s*(- +)*([^"'#{\[]*: +|- +)\{\{`)

const unquotedTemplate = `{{ begins a YAML mapping here; put a template in quotes: "{{name}}"`

// syntax turns an error of the YAML library into a diagnostic.
func (p *parser) syntax(src []byte, err error) {
	message, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = err.Error()[len(m[0]):]
	}
	// The library names the line that it was on, which may be one after the fault.
	lines := bytes.Split(src, []byte("\n"))
	for _, candidate := range []int{line, line + 1, line - 1} {
		if candidate < 1 || candidate > len(lines) {
			continue
		}
		text := lines[candidate-1]
		indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if tab := bytes.IndexByte(indent, '\t'); tab >= 0 {
			p.errorf(position{candidate, tab + 1}, "", CodeTab, "a tab indents this line; YAML takes spaces only")
			return
		}
	}
	for _, candidate := range []int{line, line + 1} {
		if candidate < 1 || candidate > len(lines) {
			continue
		}
		if m := openTemplate.FindIndex(lines[candidate-1]); m != nil {
			column := utf8.RuneCount(lines[candidate-1][:m[1]-2]) + 1
			p.errorf(position{candidate, column}, "", CodeUnquoted, "%s", unquotedTemplate)
			return
		}
	}
	text := strings.Split(string(src), "\n")
	for _, candidate := range []int{line, line + 1, line - 1} {
		if candidate >= 1 && candidate <= len(text) {
			if column, ok := curly(text[candidate-1]); ok {
				p.errorf(position{candidate, column}, "", CodeCurlyQuotes, "a curly quote begins a value; write \" instead")
				return
			}
		}
	}
	if wrong, why := wrongIndent(text, len(text)); wrong > 0 {
		p.errorf(position{wrong, 1}, "", CodeIndent, "%s", why)
		return
	}
	p.errorf(position{line, 1}, "", CodeSyntax, "not valid YAML: %s", message)
}

func invalidUTF8(src []byte) (position, bool) {
	where := position{1, 1}
	for len(src) > 0 {
		r, size := utf8.DecodeRune(src)
		switch {
		case r == utf8.RuneError && size == 1:
			return where, true
		case r == '\n':
			where = position{where.line + 1, 1}
		default:
			where.column++
		}
		src = src[size:]
	}
	return position{}, false
}

// finish sorts the findings, drops repeats (an alias is read once for each use)
// and holds every position inside the text.
func (p *parser) finish(src []byte) {
	lines := strings.Split(string(src), "\n")
	for i := range p.found {
		d := &p.found[i]
		d.Line = min(max(d.Line, 1), len(lines))
		d.Column = min(max(d.Column, 1), utf8.RuneCountInString(lines[d.Line-1])+1)
	}
	p.found.Sort()
	p.found = slices.Compact(p.found)
}
