package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/matoolkit/matoolkit/internal/csvtext"
)

// table is a report as CSV: RFC 4180 in UTF-8 with a byte order mark, without which
// Excel takes it for another encoding. One row is a member. Times are RFC 3339 in UTC;
// what there is nothing to say of is empty.
type table struct {
	csv    *csv.Writer
	phases []Phase
	row    []string
}

func newCSV(w io.Writer, b Batch) (Writer, error) {
	if _, err := w.Write(csvtext.BOM); err != nil {
		return nil, err
	}
	t := &table{csv: csv.NewWriter(w), phases: b.Phases}
	t.csv.UseCRLF = true
	t.add("batch", "member", "key", "status", "phase", "failed phase", "failed step", "error", "added at", "failed at", "removed at", "removed by")
	for i, p := range b.Phases {
		if len(p.Steps) == 0 {
			continue
		}
		name := title(b.Phases, i)
		t.add(name, name+" ended at")
		for _, step := range p.Steps {
			t.add(name + " / " + step)
		}
		if p.Undoes {
			t.add(name + " rolled back")
		}
	}
	t.add("read at")
	batch := strconv.Itoa(b.ID)
	return &rows{table: t, batch: batch}, t.end()
}

// rows are what follows the header.
type rows struct {
	*table
	batch string
}

func (t *rows) Member(m Member) error {
	if err := m.check(t.phases); err != nil {
		return err
	}
	t.add(t.batch, strconv.Itoa(m.ID), m.Key, m.Status, m.Phase, m.FailedIn, m.FailedStep, m.Error,
		stamp(m.AddedAt), stampIf(m.FailedAt), stampIf(m.RemovedAt), m.RemovedBy)
	for i, p := range t.phases {
		if len(p.Steps) == 0 {
			continue
		}
		r := m.in(i)
		if r == nil {
			r = &Run{Steps: make([]string, len(p.Steps))}
		}
		t.add(r.Status, stampIf(r.Ended))
		t.add(r.Steps...)
		if p.Undoes {
			t.add(r.undone())
		}
	}
	t.add(stamp(m.ReadAt))
	return t.end()
}

// Close writes what is held back. CSV has no place for the end: each row tells when
// it was read.
func (t *table) Close(time.Time) error {
	t.csv.Flush()
	return t.csv.Error()
}

func (t *table) add(cells ...string) {
	for _, c := range cells {
		t.row = append(t.row, Harmless(c))
	}
}

func (t *table) end() error {
	err := t.csv.Write(t.row)
	t.row = t.row[:0]
	return err
}

// Harmless makes a cell that no spreadsheet takes for a formula: an apostrophe comes
// before a sign that would begin one. Besides the beginning of the cell that is done
// behind whatever a program set to another separator takes for the beginning of one.
// Text that could do no harm is left as it is; what is no text, as a control character,
// becomes U+FFFD.
//
// The signs are those of OWASP's page on CSV injection:
// https://owasp.org/www-community/attacks/CSV_Injection
func Harmless(cell string) string {
	if !strings.ContainsFunc(cell, suspect) {
		return cell
	}
	var out, lead strings.Builder // lead is what is held back at the beginning of a cell
	start := true
	for i, r := range cell {
		if noText(r) {
			r = unicode.ReplacementChar
		}
		switch {
		case strings.ContainsRune(";|\t\r\n", r):
			if i == 0 && r < ' ' {
				out.WriteByte('\'')
			}
			out.WriteString(lead.String())
			out.WriteRune(r)
			lead.Reset()
			start = true
			continue
		case start && dropped(r):
			lead.WriteRune(r)
			continue
		case start && begins(r):
			out.WriteByte('\'')
		}
		out.WriteString(lead.String())
		out.WriteRune(r)
		lead.Reset()
		start = false
	}
	return out.String() + lead.String()
}

func suspect(r rune) bool { return begins(r) || noText(r) || r < ' ' }

// noText tells of control characters, and of bytes that are not UTF-8.
func noText(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f || r == unicode.ReplacementChar
}

// begins tells whether a formula can begin with r; some programs take the wide forms
// for the plain ones.
func begins(r rune) bool { return strings.ContainsRune("=+-@＝＋－＠", r) }

// dropped tells whether a program may read past r to what is behind it.
func dropped(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || r == '"' || r == unicode.ReplacementChar
}
