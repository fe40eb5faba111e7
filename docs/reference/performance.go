package reference

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// performance has the measurements of the recorded runs, in the order of their files.
type performance struct {
	Targets []target
	Tables  []measured
	Notes   []string
}

// target is a goal beside its measurement.
type target struct {
	Name     string       `json:"name"`
	Limit    string       `json:"limit"`
	Measured *json.Number `json:"measured"` // nil: it was not measured in this run
	River    *json.Number `json:"river"`
	Met      bool         `json:"met"`
}

// measured is a table of a run.
type measured struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

// readPerformance reads local/bench/results, which make bench-record writes.
func readPerformance(root string) (any, error) {
	files, err := filepath.Glob(filepath.Join(root, "local", "bench", "results", "*.json"))
	if err != nil {
		return nil, err
	}
	var p performance
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var run struct {
			Tables  []measured `json:"tables"`
			Targets []target   `json:"targets"`
			Notes   []string   `json:"notes"`
		}
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		if err := decoder.Decode(&run); err != nil {
			return nil, fmt.Errorf("local/bench/results/%s: %w", filepath.Base(file), err)
		}
		p.Tables, p.Notes = append(p.Tables, run.Tables...), append(p.Notes, run.Notes...)
		for _, t := range run.Targets {
			if t.Measured != nil {
				p.Targets = append(p.Targets, t)
			}
		}
	}
	return p, nil
}

// Verdict says in a word whether a target is met.
func (t target) Verdict() string {
	if t.Met {
		return "yes"
	}
	return "no"
}
