// Package clients has the cases that the client programs of its directories run, and the
// outcomes of the last recorded run.
package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Case is an entry of cases.json.
type Case struct {
	Service string            `json:"service"`
	Name    string            `json:"name"`
	About   string            `json:"about"`
	Refused string            `json:"refused"` // text of the error with which the server refuses
	Without map[string]string `json:"without"` // reasons of the clients that cannot run the case
}

// ID is the name of the case with its service.
func (c Case) ID() string { return c.Service + "/" + c.Name }

// Outcome is the outcome of a case, as a program prints it.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "PASS"
	Failed  Outcome = "FAIL"
	Refused Outcome = "REFUSED"
)

// Valid reports whether the outcome is one of the above.
func (o Outcome) Valid() bool { return o == Passed || o == Failed || o == Refused }

// Results is results.json.
type Results struct {
	Packages map[string]map[string]string  `json:"packages"` // versions by client and package
	Cases    map[string]map[string]Outcome `json:"cases"`    // by case and client
}

// ReadCases reads cases.json in the directory of this package.
func ReadCases(dir string) (cases []Case, err error) {
	name := filepath.Join(dir, "cases.json")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&cases); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	seen := map[string]bool{}
	for i, c := range cases {
		switch {
		case c.Service == "" || c.Name == "" || c.About == "":
			return nil, fmt.Errorf("%s: case %d (%s): service, name and about are required", name, i+1, c.ID())
		case seen[c.ID()]:
			return nil, fmt.Errorf("%s: %s occurs twice", name, c.ID())
		}
		seen[c.ID()] = true
	}
	return cases, nil
}

// ReadResults reads results.json in the directory of this package. A missing file is an
// empty record.
func ReadResults(dir string) (r Results, err error) {
	r = Results{Packages: map[string]map[string]string{}, Cases: map[string]map[string]Outcome{}}
	name := filepath.Join(dir, "results.json")
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// Write replaces results.json. It removes the outcomes of unknown cases.
func (r Results) Write(dir string, cases []Case) error {
	known := map[string]map[string]Outcome{}
	for _, c := range cases {
		if outcomes := r.Cases[c.ID()]; outcomes != nil {
			known[c.ID()] = outcomes
		}
	}
	r.Cases = known
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "results.json"), append(text, '\n'), 0o644)
}
