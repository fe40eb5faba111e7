package lint

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// WorkerCase finds the steps of a runbook, read from text, that name a worker by an id
// that differs only in case from that of a known worker: in Azure the two have the same subscription.
func WorkerCase(text []byte, rb *runbook.Runbook, known Catalogs) runbook.Diagnostics {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return nil
	}
	var found runbook.Diagnostics
	ids := slices.Concat(known.Announced, known.Seen)
	rb.EachStep(func(s runbook.Step, at []any) {
		i := slices.IndexFunc(ids, func(id string) bool { return strings.EqualFold(id, s.WorkerID) })
		if i < 0 || ids[i] == s.WorkerID {
			return
		}
		path := append(slices.Clone(at), "worker_id")
		d := runbook.Diagnostic{
			Severity: runbook.SeverityError, Code: runbook.CodeWorkerCase, Path: runbook.PathText(path),
			Message: fmt.Sprintf("the worker is %q; ids are case-sensitive", ids[i]),
		}
		if key := keyOf(find(root.Content[0], at), "worker_id"); key != nil {
			d.Line, d.Column = key.Line, key.Column
		}
		found = append(found, d)
	})
	return found
}
