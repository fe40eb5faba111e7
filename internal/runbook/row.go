package runbook

import "encoding/json"

// MaxKeptRow is how many bytes of a member's row are kept, names and values together. The columns that
// the runbook uses are kept beyond it; the others for as long as there is room, for later versions.
const MaxKeptRow = 32 << 10

// KeepRow adds to the columns that a runbook uses the others of a row, in their order, as far as they
// fit. It leaves out a column whose name is empty or taken. It may change used.
func KeepRow(used map[string]json.RawMessage, others []RowColumn) map[string]json.RawMessage {
	size := 0
	for name, value := range used {
		size += len(name) + len(value)
	}
	for _, c := range others {
		if _, taken := used[c.Name]; taken || c.Name == "" || size+len(c.Name)+len(c.Value) > MaxKeptRow {
			continue
		}
		size += len(c.Name) + len(c.Value)
		used[c.Name] = c.Value
	}
	return used
}

// RowColumn is a column of a row with its value.
type RowColumn struct {
	Name  string
	Value json.RawMessage
}
