package membership

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/storable"
)

// columnError says why a column cannot be corrected, or why a value is not one of the column.
type columnError struct{ code, message string }

func columnErrorf(code, format string, args ...any) *columnError {
	return &columnError{code, fmt.Sprintf(format, args...)}
}

// checkColumn refuses a column that a correction cannot change: of a member the key, an output of a
// step, one that says which batch the member is in, and one that the member does not have.
func checkColumn(b *model.Batch, rb *runbook.Runbook, m *model.Member, name string) *columnError {
	_, has := m.Data[name]
	switch step := rb.OutputStep(name); {
	case name == rb.DataSource.PrimaryKey:
		return columnErrorf("key-column", "column %s is the key of the members, which cannot be changed: remove the member and add the person with the right key", name)
	case !b.Manual && name == rb.DataSource.BatchTimeColumn:
		return columnErrorf("batch-time-column", "column %s has the batch time, which only the data source can change: a member with another time moves to another batch", name)
	case step != "":
		return columnErrorf("output", "%s is an output of step %s and no column: retry the step, or mark it as done with its result", name, step)
	case has || slices.Contains(rb.Columns(), name):
		return nil
	}
	known := map[string]bool{}
	for _, column := range append(slices.Collect(maps.Keys(m.Data)), rb.Columns()...) {
		known[column] = column != rb.DataSource.PrimaryKey
	}
	maps.DeleteFunc(known, func(_ string, is bool) bool { return !is })
	names := slices.Sorted(maps.Keys(known))
	for _, near := range names {
		if strings.EqualFold(near, strings.TrimSpace(name)) {
			return columnErrorf("unknown-column", "there is no column %q; the column is %s, and names are case-sensitive", humanize.Clip(name, 60), near)
		}
	}
	if len(names) == 0 {
		return columnErrorf("unknown-column", "there is no column %q: the members have no columns but the key", humanize.Clip(name, 60))
	}
	return columnErrorf("unknown-column", "there is no column %q; the columns are %s", humanize.Clip(name, 60), strings.Join(names, ", "))
}

// columnValue gives the value to store of what an administrator gives for a column, and refuses one
// with which a step would fail.
func columnValue(rb *runbook.Runbook, rules lint.ColumnRules, name string, was, given json.RawMessage) (json.RawMessage, *columnError) {
	value, e := typedValue(rb, name, was, given)
	if e != nil {
		return nil, e
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, columnErrorf("bad-value", "column %s: %v", name, err)
	}
	if fault := rules.Check(name, decoded); fault != "" {
		return nil, columnErrorf("bad-value", "%s", fault)
	}
	return value, nil
}

// typedValue gives a value as the column has them: a text becomes a list in a multi-valued column, and
// a number or a boolean where the member has one there.
func typedValue(rb *runbook.Runbook, name string, was, given json.RawMessage) (json.RawMessage, *columnError) {
	value, err := storable.JSON(given)
	if err != nil {
		return nil, columnErrorf("bad-value", "column %s: the value cannot be stored: %v", name, err)
	}
	var text string
	if json.Unmarshal(value, &text) != nil || value[0] != '"' {
		return listValue(rb, name, value)
	}
	if n := utf8.RuneCountInString(text); n > membercsv.MaxField {
		return nil, columnErrorf("field-too-long", "column %s: %d characters; at most %d are allowed", name, n, membercsv.MaxField)
	}
	if r, found := csvtext.Control(text); found {
		return nil, columnErrorf("character", "column %s: the control character %U is not allowed", name, r)
	}
	if format := rb.DataSource.Format(name); format != "" {
		list, err := runbook.ParseList(format, text)
		if err != nil {
			return nil, columnErrorf("bad-value", "column %s: %v", name, err)
		}
		return list, nil
	}
	kind := kindOf(was)
	if kind == kindText || kind == "" {
		return value, nil
	}
	raw := json.RawMessage(text)
	if !json.Valid(raw) || kindOf(raw) != kind {
		return nil, columnErrorf("bad-value", "column %s has %s; %q is none", name, kind, humanize.Clip(text, 60))
	}
	return raw, nil
}

// listValue checks a value that is no text: a multi-valued column takes a list only.
func listValue(rb *runbook.Runbook, name string, value json.RawMessage) (json.RawMessage, *columnError) {
	if rb.DataSource.Format(name) == "" {
		return value, nil
	}
	list, err := runbook.ParseList(runbook.FormatJSONArray, string(value))
	if err != nil {
		return nil, columnErrorf("bad-value", "column %s: %v", name, err)
	}
	return list, nil
}

const kindText = "a text"

// kindOf gives the kind of a JSON value; empty for null, for lists and objects, and for none.
func kindOf(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '"':
		return kindText
	case value[0] == 't', value[0] == 'f':
		return "true or false"
	case value[0] == '-', value[0] >= '0' && value[0] <= '9':
		return "a number"
	}
	return ""
}
