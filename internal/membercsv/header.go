package membercsv

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode"

	"github.com/matoolkit/matoolkit/internal/csvtext"
)

// detect finds the delimiter of the text at an offset. ok is false where there is a problem.
func (p *parser) detect(begin int64) (ok bool, err error) {
	if p.options.Delimiter != "" {
		if p.delimiter, ok = csvtext.DelimiterOf(p.options.Delimiter); !ok {
			p.add(Problem{Code: CodeDelimiter}, "unknown delimiter %q: use %s", short(p.options.Delimiter), strings.Join(csvtext.DelimiterNames(), ", "))
		}
		return ok, nil
	}
	header := func() io.Reader { return io.NewSectionReader(p.file, begin, min(maxText, p.file.Size()-begin)) }
	p.delimiter, err = csvtext.Detect(header, csvtext.Expected(columns(p.rb)))
	var ambiguous *csvtext.AmbiguousError
	if errors.As(err, &ambiguous) {
		p.add(Problem{Line: 1, Code: CodeDelimiter}, "%v", err)
		return false, nil
	}
	return err == nil, err
}

// header matches the first line with the columns of the runbook. It compares names exactly, as templates
// do; the problem of a missing column mentions a name that differs only in case or spaces. It reports
// whether the rows can be read.
func (p *parser) header(r *csv.Reader, names []string) bool {
	wanted := columns(p.rb)
	formats := map[string]string{}
	for _, m := range p.rb.DataSource.MultiValued {
		formats[m.Name] = m.Format
	}

	if len(names) > MaxColumns {
		p.add(Problem{Line: 1, Code: CodeTooManyColumns}, "the header names %d columns; at most %d are allowed: remove those that the runbook does not use", len(names), MaxColumns)
		return false
	}

	used := map[string]bool{}
	for _, w := range wanted {
		used[w] = true
	}
	seen := map[string]int{} // name → its place, from 1
	near := map[string]string{}
	for i, name := range names {
		name = strings.Clone(name)
		line, col := r.FieldPos(i)
		at := Problem{Line: line, Column: col, Field: name}
		if first, ok := seen[name]; ok && name != "" {
			at.Code = CodeDuplicateColumn
			p.add(at, "the header names %q twice, as column %d and as column %d", short(name), first, i+1)
		}
		seen[name] = i + 1
		switch {
		case used[name]:
			p.columns = append(p.columns, column{name: name, format: formats[name]})
		case strings.ContainsFunc(name, unicode.IsControl):
			at.Field, at.Code = "", CodeCharacter
			p.add(at, "column %d of the header contains a control character", i+1)
			p.columns = append(p.columns, column{})
		case p.options.SomeColumns && name != "":
			p.columns = append(p.columns, column{name: name, format: formats[name]})
		default:
			near[fold(name)] = name
			p.columns = append(p.columns, column{name: name, format: formats[name], unused: true})
			if name != "" {
				p.warn("the runbook does not use column %q; it is kept for later versions", short(name))
			}
		}
	}
	p.reportMissing(wanted, seen, near)
	return true
}

// reportMissing reports the columns that the runbook uses and the header does not have. near has
// the unused names of the header by their folded form.
func (p *parser) reportMissing(wanted []string, seen map[string]int, near map[string]string) {
	for _, w := range wanted {
		if seen[w] > 0 || p.options.SomeColumns && w != p.rb.DataSource.PrimaryKey {
			continue
		}
		at := Problem{Line: 1, Field: w, Code: CodeMissingColumn}
		what := "the runbook uses it"
		if w == p.rb.DataSource.PrimaryKey {
			what = "it is the key of the members"
		}
		if n, ok := near[fold(w)]; ok {
			p.add(at, "column %s is missing (%s); the header has %q, and names are case-sensitive", w, what, short(n))
		} else if p.rb.Optional(w) {
			p.warn("column %q is missing: no member has a value in it, which the runbook allows", short(w))
		} else {
			p.add(at, "column %s is missing (%s)", w, what)
		}
	}
}

func fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
