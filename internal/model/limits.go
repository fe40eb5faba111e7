package model

import (
	"encoding/json"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// Limits in bytes of JSON: on the parameters or the result of one step, on those
// of all steps of a run together with its variables, on the outputs of a run, on all outputs that a
// member carries, and on the text of an error. They keep a job within a message,
// and a run's end, which is written together with its member, within 2 MB.
const (
	MaxPayload    = 128 << 10
	MaxRunPayload = 768 << 10
	MaxOutputs    = 128 << 10
	MaxWorkerData = 256 << 10
	MaxReason     = 4 << 10
)

// PayloadSize is how many bytes named values have.
func PayloadSize(values map[string]json.RawMessage) int {
	n := 0
	for name, value := range values {
		n += len(name) + len(value)
	}
	return n
}

// ClipReason shortens a reason that could not be stored at its length.
func ClipReason(reason string) string { return humanize.ClipBytes(reason, MaxReason) }
