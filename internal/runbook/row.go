package runbook

import "encoding/json"

// The limits of a member's data, from a file or a data source. A row has to fit, with the parameters
// that are resolved from it, into one message to a worker.
const (
	MaxKey = 255     // characters of the primary key
	MaxRow = 128_000 // bytes of the used columns, or of all columns of a file
)

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
