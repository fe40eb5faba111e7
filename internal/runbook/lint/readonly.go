package lint

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// The codes of checks whose function is not known to only read.
const (
	codeNotReadOnly = "not-read-only" // the function of a check is not declared to only read
	codeMayWrite    = "may-write"     // the function of a check is not known, and may change something
)

// ReadOnly compares the checks of a runbook, read from text, with the functions that are known. A
// function that is not declared to only read is an error; one that is not known is a warning.
func ReadOnly(text []byte, rb *runbook.Runbook, known Catalogs) runbook.Diagnostics {
	var root yaml.Node
	if len(known.Standard) == 0 && known.Announced == nil || yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return nil
	}
	var found runbook.Diagnostics
	for i, s := range rb.Checks {
		if s.WorkerID == "" || s.Function == "" {
			continue
		}
		functions, _ := known.of(s.WorkerID)
		at := slices.IndexFunc(functions, func(f signature.Function) bool { return strings.EqualFold(f.Name, s.Function) })
		d := runbook.Diagnostic{Path: runbook.PathText([]any{"checks", i, "function"})}
		switch {
		case at < 0:
			d.Severity, d.Code = runbook.SeverityWarning, codeMayWrite
			d.Message = fmt.Sprintf("nothing is known about %q of the worker %s: a check must call a function that only reads", s.Function, s.WorkerID)
		case functions[at].ReadOnly:
			continue
		default:
			d.Severity, d.Code = runbook.SeverityError, codeNotReadOnly
			d.Message = fmt.Sprintf("calls %s, which is not declared to only read: a check must change nothing", functions[at].Name)
		}
		if key := keyOf(find(root.Content[0], []any{"checks", i}), "function"); key != nil {
			d.Line, d.Column = key.Line, key.Column
		}
		found = append(found, d)
	}
	return found
}
