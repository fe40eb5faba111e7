package schedule

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/storable"
)

// What a row may hold: as much as one of an uploaded file.
const (
	MaxKey = runbook.MaxKey // characters
	MaxRow = runbook.MaxRow // bytes of JSON, of the columns that the runbook uses
)

// Row is a row that can be used.
type Row struct {
	Number int       // in the result, from 1
	Key    string    // the text of the primary key; never empty
	Start  time.Time // of the batch that it belongs to, in UTC; zero when immediate
	// Data has a JSON value for each column that the runbook uses, by the runbook's
	// name for it. Multi-valued columns are arrays. It has the other columns, too, as far as
	// runbook.KeepRow keeps them.
	Data map[string]json.RawMessage
	// Hash tells whether what the runbook uses of Data has changed: 32 hexadecimal digits, over the names and
	// the values of the columns that the runbook uses.
	Hash string
}

// adding is a row that is being read into a result.
type adding struct {
	*Result
	row row
}

func (a *adding) fault(column, code, format string, args ...any) {
	a.row.bad = true
	message := fmt.Sprintf(format, args...)
	if column != "" {
		message = "column " + clip(column) + ": " + message
	}
	a.problems.add(Problem{Row: a.row.number, Key: a.row.key, Column: column, Code: code, Message: message})
}

// read reads the values of the row: the key first, so that all problems name it.
func (a *adding) read(values []json.RawMessage) {
	l := &a.layout
	if len(values) != l.width {
		a.fault("", CodeBadRow, "the row has %d values, and the result has %d columns", len(values), l.width)
		return
	}
	a.key(bytes.TrimSpace(values[l.key.at]))
	if l.time != nil {
		a.start(bytes.TrimSpace(values[l.time.at]))
	}
	a.buf.Reset()
	a.buf.Write(l.header)
	for i, c := range l.used {
		if i > 0 {
			a.buf.WriteByte('\n')
		}
		a.value(c, values[c.at])
	}
	data := a.buf.Bytes()[len(l.header):]
	if len(data) > MaxRow {
		a.fault("", CodeRowTooLong, "the row has %d bytes in the columns that the runbook uses; at most %d are allowed", len(data), MaxRow)
	}
	if a.row.bad {
		return
	}
	sum := sha256.Sum256(a.buf.Bytes())
	if a.hashKey != nil {
		mac := hmac.New(sha256.New, a.hashKey)
		_, _ = mac.Write(a.buf.Bytes()) // a hash takes everything
		mac.Sum(sum[:0])
	}
	copy(a.row.hash[:], sum[:])
	a.keepOthers(values)
	a.row.data = string(a.buf.Bytes()[len(l.header):])
}

// keepOthers appends the columns that the runbook does not use to the row's data, each as a line with
// its place in layout.others before the value. It leaves out values that cannot be stored, and those
// for which there is no room.
func (a *adding) keepOthers(values []json.RawMessage) {
	room := runbook.MaxKeptRow - (a.buf.Len() - len(a.layout.header))
	for i, c := range a.layout.others {
		value, err := storable.JSON(values[c.at])
		if err == nil && c.format != "" {
			array, fault := list(c.format, bytes.TrimSpace(value))
			if value = array; fault != "" {
				continue
			}
		}
		if err != nil || len(c.name)+len(value) > room {
			continue
		}
		before := a.buf.Len()
		fmt.Fprintf(&a.buf, "\n%d ", i)
		if json.Compact(&a.buf, value) != nil {
			a.buf.Truncate(before)
			continue
		}
		room -= len(c.name) + a.buf.Len() - before
	}
}

// wholeNumber is a number whose digits can be a key. Others have several spellings.
var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// key reads the key. A key with surrounding spaces is refused but recognised: it can
// only mean the member without them.
func (a *adding) key(value json.RawMessage) {
	column := a.layout.key.name
	var text string
	switch {
	case len(value) == 0 || value[0] == 'n':
	case wholeNumber.Match(value):
		text = string(value)
	case value[0] != '"':
		a.fault(column, CodeBadKey, "%s is neither text nor a whole number, so it cannot identify a member", clip(string(value)))
		return
	default:
		if err := json.Unmarshal(value, &text); err != nil {
			a.fault(column, CodeBadKey, "the value cannot be read: %v", err)
			return
		}
	}
	trimmed := strings.TrimSpace(text)
	switch n := utf8.RuneCountInString(trimmed); {
	case n == 0:
		a.fault(column, CodeEmptyKey, "the value is empty; it must identify the member")
	case n > MaxKey:
		a.fault(column, CodeBadKey, "the key has %d characters; at most %d are allowed", n, MaxKey)
	case strings.ContainsFunc(trimmed, unreadable):
		a.fault(column, CodeBadKey, "%q has a character that cannot be in a key", clip(trimmed))
	case trimmed != text:
		a.row.key = trimmed
		a.fault(column, CodeBadKey, "%q has spaces around it", clip(text))
	default:
		a.row.key = text
	}
}

// unreadable is a character that is not there to be seen, or stands for bytes that
// were no text.
func unreadable(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }

// start reads the batch time. Starts and their texts are kept once each, however many
// rows have them.
func (a *adding) start(value json.RawMessage) {
	column := a.layout.time.name
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	text, fault := startText(value)
	if fault != nil {
		a.fault(column, fault.code, "%s", fault.message)
		return
	}
	if at, ok := a.byText[text]; ok {
		a.row.start = at
		return
	}
	start, fault := parseStart(text, a.zone)
	if fault != nil {
		a.fault(column, fault.code, "%s", fault.message)
		return
	}
	at, ok := a.byStart[start]
	if !ok {
		at = len(a.starts)
		a.starts = append(a.starts, start)
		a.byStart[start] = at
	}
	a.byText[text] = at
	a.row.start = at
}

// value appends a value to the row's data, in compact JSON.
func (a *adding) value(c column, value json.RawMessage) {
	if c.format != "" {
		list, fault := list(c.format, bytes.TrimSpace(value))
		if fault != "" {
			a.fault(c.name, CodeBadList, "%s", fault)
			return
		}
		value = list
	} else {
		kept, err := storable.JSON(value)
		if err != nil {
			a.fault(c.name, CodeBadRow, "the value cannot be stored: %v", err)
			return
		}
		value = kept
	}
	if err := json.Compact(&a.buf, value); err != nil {
		a.fault(c.name, CodeBadRow, "the value is not JSON: %v", err)
	}
}

// list makes an array of the value of a multi-valued column. A source that has arrays
// gives one; others give its text.
func list(format string, value json.RawMessage) (array json.RawMessage, fault string) {
	text := string(value)
	switch {
	case text == "" || text == "null":
		return json.RawMessage("[]"), ""
	case text[0] == '[':
		format = runbook.FormatJSONArray
	case text[0] == '"':
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, fmt.Sprintf("the value cannot be read: %v", err)
		}
	default:
		return nil, fmt.Sprintf("%s is neither text nor an array, so it is not a list in the format %s", clip(text), format)
	}
	array, err := runbook.ParseList(format, text)
	if err != nil {
		return nil, err.Error()
	}
	return array, ""
}
