package tenant

import (
	_ "embed"
	"encoding/json"
	"path"
	"strings"
)

// Unmodelled is a behaviour of a real tenant that the local one does not have.
type Unmodelled struct {
	Functions []string `json:"functions"` // names of functions of the worker that can meet it, with * for any letters
	Behaviour string   `json:"behaviour"`
}

// Touches tells whether a function can meet the behaviour. Names are compared without case.
func (u Unmodelled) Touches(function string) bool {
	for _, pattern := range u.Functions {
		if fits, _ := path.Match(strings.ToLower(pattern), strings.ToLower(function)); fits {
			return true
		}
	}
	return false
}

//go:embed notmodelled.json
var notModelled []byte

// NotModelled is the table of what local tenants do not model, as far as functions of the worker can meet it.
func NotModelled() []Unmodelled {
	var table struct {
		Unmodelled []Unmodelled `json:"unmodelled"`
	}
	if err := json.Unmarshal(notModelled, &table); err != nil {
		panic(err) // a test reads it
	}
	return table.Unmodelled
}
