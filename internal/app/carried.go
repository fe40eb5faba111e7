package app

import (
	"encoding/json"
	"fmt"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// codeNotCarriedOut is the diagnostic of what the format has and the engine does
// not do: whoever publishes it is told, rather than finding out in a migration.
const codeNotCarriedOut = "not-carried-out"

// notCarriedOut warns of the parts of a runbook that have no effect.
func notCarriedOut(text []byte, rb *runbook.Runbook) runbook.Diagnostics {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return nil // it has been parsed: it is YAML
	}
	document := root.Content[0]
	var out runbook.Diagnostics
	warn := func(message, field string, path ...any) {
		d := runbook.Diagnostic{Severity: runbook.SeverityWarning, Code: codeNotCarriedOut, Message: message}
		parent := find(document, path)
		d.Path = pathText(append(path, field))
		if key := keyOf(parent, field); key != nil {
			d.Line, d.Column = key.Line, key.Column
		}
		out = append(out, d)
	}
	if rb.DataSource.Query != "" {
		warn("is not run: a batch is made of the members in an uploaded CSV, and nobody joins or leaves it by themselves", "query", "data_source")
	}
	if rb.DataSource.BatchTimeColumn != "" {
		warn("makes no batches: a batch is made of an uploaded CSV and advanced by hand", "batch_time_column", "data_source")
	}
	if rb.DataSource.BatchTime != "" {
		warn("makes no batches: a batch is made of an uploaded CSV and advanced by hand", "batch_time", "data_source")
	}
	return out
}

// find follows keys and places down a YAML tree; nil where there is no such place.
func find(n *yaml.Node, path []any) *yaml.Node {
	for _, step := range path {
		if n != nil && n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		switch step := step.(type) {
		case string:
			key := keyOf(n, step)
			if key == nil {
				return nil
			}
			for i := range n.Content {
				if n.Content[i] == key {
					n = n.Content[i+1]
					break
				}
			}
		case int:
			if n == nil || n.Kind != yaml.SequenceNode || step >= len(n.Content) {
				return nil
			}
			n = n.Content[step]
		}
	}
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func keyOf(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i]
		}
	}
	return nil
}

func pathText(path []any) string {
	text := ""
	for _, step := range path {
		switch step := step.(type) {
		case int:
			text += fmt.Sprintf("[%d]", step)
		case string:
			if text != "" {
				text += "."
			}
			text += step
		}
	}
	return text
}

// maxPage is how many bytes the runs of one page of members may take before any
// of their parameters: they are made in one write, which takes 2 MB.
const maxPage = 1_500_000

// tooLong names the phases whose runs would not fit into the write that makes them.
func tooLong(rb *runbook.Runbook) []Problem {
	var out []Problem
	for i, p := range rb.Phases {
		run, err := engine.NewRun(&engine.Batch{Runbook: rb.Name}, engine.Phase{Kind: engine.KindPhase, Name: p.Name}, &engine.Member{}, rb, time.Time{})
		if err != nil {
			continue // the phase is the runbook's own: it is found
		}
		encoded, err := json.Marshal(run)
		if err == nil && len(encoded)*engine.PageSize <= maxPage {
			continue
		}
		out = append(out, Problem{
			Field: pathText([]any{"phases", i, "steps"}), Code: runbook.CodeTooLarge,
			Message: fmt.Sprintf("are too many or too long to be stored: %d bytes for each member, of at most %d; divide the phase", len(encoded), maxPage/engine.PageSize),
		})
	}
	return out
}
