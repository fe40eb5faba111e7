package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/matoolkit/matoolkit/internal/csvtext"
)

// table is a report as CSV: RFC 4180 in UTF-8 with a byte order mark, without which Excel
// reads another encoding. A row is a member. Times are RFC 3339 in UTC; missing values are
// empty.
type table struct {
	csv    *csv.Writer
	batch  Batch
	phases []Phase
	row    []string
}

func newCSV(w io.Writer, b Batch) (Writer, error) {
	if _, err := w.Write(csvtext.BOM); err != nil {
		return nil, err
	}
	t := &table{csv: csv.NewWriter(w), batch: b, phases: b.Phases}
	t.csv.UseCRLF = true
	t.add("batch", "batch name", "member", "key")
	if b.Display {
		t.add("display")
	}
	t.add("outcome", "phase", "failed phase", "failed step", "error", "added at", "failed at", "removed at", "removed by")
	if b.Checks != nil {
		t.add("checks", "check errors")
		for _, check := range b.Checks.Names {
			t.add("checks / " + check)
		}
	}
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
	for _, column := range b.Columns {
		t.add("data / " + column)
	}
	t.add("other data", "read at")
	return &rows{table: t, id: strconv.Itoa(b.ID)}, t.end()
}

// rows writes the rows below the header.
type rows struct {
	*table
	id string // of the batch
}

func (t *rows) Member(m Member) error {
	if err := m.check(t.phases); err != nil {
		return err
	}
	t.add(t.id, t.batch.Name, strconv.Itoa(m.ID), m.Key)
	if t.batch.Display {
		t.add(m.Display)
	}
	t.add(m.Outcome(t.batch), m.Phase, m.FailedIn, m.FailedStep, m.Error,
		stamp(m.AddedAt), stampIf(m.FailedAt), stampIf(m.RemovedAt), m.RemovedBy)
	if checks := t.batch.Checks; checks != nil {
		t.add(m.checked(), m.checkErrors())
		for _, name := range checks.Names {
			t.add(m.checkStatus(name))
		}
	}
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
	if err := t.data(m.Data); err != nil {
		return err
	}
	t.add(stamp(m.ReadAt))
	return t.end()
}

// data adds the row of a member. Rows can have columns that the first ones lack, and for which there is no
// column here: they share one, as JSON.
func (t *rows) data(row map[string]json.RawMessage) error {
	other := maps.Clone(row)
	for _, name := range t.batch.Columns {
		text, err := plain(row[name])
		if err != nil {
			return err
		}
		t.add(text)
		delete(other, name)
	}
	if len(other) == 0 {
		t.add("")
		return nil
	}
	text, err := json.Marshal(other)
	t.add(string(text))
	return err
}

// plain gives a value as a spreadsheet shows it: text without quotes, null as nothing, and the rest as JSON.
func plain(value json.RawMessage) (string, error) {
	var text *string
	switch {
	case len(value) == 0:
		return "", nil
	case json.Unmarshal(value, &text) != nil: // a number, a truth value, a list or an object
		var out bytes.Buffer
		err := json.Compact(&out, value)
		return out.String(), err
	case text == nil:
		return "", nil
	}
	return *text, nil
}

// Close writes the buffered rows. CSV has no place for the end of the report: each row has the
// time at which it was read.
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

// Harmless returns a cell that no spreadsheet reads as a formula: it puts an apostrophe before
// a character that starts a formula, at the start of the cell and after each character that a
// program could read as a separator. Control characters and invalid UTF-8 become U+FFFD. Other
// text does not change.
//
// The characters are those of OWASP's page on CSV injection:
// https://owasp.org/www-community/attacks/CSV_Injection
func Harmless(cell string) string {
	if !strings.ContainsFunc(cell, suspect) {
		return cell
	}
	var out, lead strings.Builder // lead buffers the start of a cell
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

// noText reports whether r is a control character or stands for invalid UTF-8.
func noText(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f || r == unicode.ReplacementChar
}

// begins reports whether a formula can start with r. Some programs accept the wide forms.
func begins(r rune) bool { return strings.ContainsRune("=+-@＝＋－＠", r) }

// dropped reports whether a program may skip r at the start of a cell.
func dropped(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || r == '"' || r == unicode.ReplacementChar
}
