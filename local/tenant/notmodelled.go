package tenant

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Unmodelled is a behaviour of a real tenant that the local one does not have.
type Unmodelled struct {
	Functions []string `json:"functions"` // names of functions of the worker that can meet it, with * for any letters
	Behaviour string   `json:"behaviour"`
	// Observed are the batches in which a comparison found it; none: it is known from documentation.
	Observed []Observation `json:"observed,omitempty"`
}

// Observation is how a batch met a behaviour that is not modelled.
type Observation struct {
	Batch int    `json:"batchId"`
	What  string `json:"what"`
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

// unmodelledTable is the form of a table as JSON.
type unmodelledTable struct {
	Unmodelled []Unmodelled `json:"unmodelled"`
}

//go:embed notmodelled.json
var notModelled []byte

// NotModelled is the table of what local tenants do not model, as far as functions of the worker can meet it.
func NotModelled() []Unmodelled {
	table, err := ParseNotModelled(notModelled)
	if err != nil {
		panic(err) // a test reads it
	}
	return table
}

// ParseNotModelled reads a table in the form of notmodelled.json.
func ParseNotModelled(text []byte) ([]Unmodelled, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var table unmodelledTable
	if err := d.Decode(&table); err != nil {
		return nil, fmt.Errorf(`not a table of behaviours such as {"unmodelled": [{"functions": ["New-EntraUser"], "behaviour": "…"}]}: %w`, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	if table.Unmodelled == nil {
		return nil, errors.New(`the list "unmodelled" is missing`)
	}
	for i, entry := range table.Unmodelled {
		if len(entry.Functions) == 0 || strings.TrimSpace(entry.Behaviour) == "" {
			return nil, fmt.Errorf(`entry %d: give "functions" (["*"] for all) and "behaviour"`, i+1)
		}
		for _, pattern := range entry.Functions {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("entry %d: invalid name of functions %q: use letters, digits, - and *", i+1, pattern)
			}
		}
	}
	return table.Unmodelled, nil
}

// FormatNotModelled writes a table in the form that [ParseNotModelled] reads.
func FormatNotModelled(all []Unmodelled) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(unmodelledTable{all}); err != nil {
		panic(err) // it has only texts and numbers
	}
	return out.Bytes()
}
