package render

import (
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/diff"
)

// GoOver says how many batches take up a version.
func GoOver(batches int) string {
	if batches == 1 {
		return "1 batch goes over"
	}
	return fmt.Sprintf("%d batches go over", batches)
}

// shownBatches is of how many batches people are told what becomes of them.
const shownBatches = 20

// ChangesText tells what a version changes.
func ChangesText(v api.VersionChanges) string {
	var b strings.Builder
	switch {
	case v.Against == 0: // all of it is new
	case v.Problem != "":
		fmt.Fprintf(&b, "It cannot be compared with version %d: %s\n", v.Against, Printable(v.Problem))
	case len(v.Runbook) == 0:
		fmt.Fprintf(&b, "It does the same as version %d, though it is written differently.\n", v.Against)
	default:
		fmt.Fprintf(&b, "Changes from version %d:\n", v.Against)
		for _, c := range v.Runbook {
			b.WriteString("  " + Printable(changeOf(c).String()) + "\n")
		}
	}
	if v.BatchCount == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "Batches that have not ended: %d\n", v.BatchCount)
	shown := v.Batches[:min(len(v.Batches), shownBatches)]
	for _, f := range shown {
		b.WriteString("  " + Printable(foreseenText(f)) + "\n")
	}
	if more := v.BatchCount - len(shown); more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}

func changeOf(c api.Change) diff.Change {
	return diff.Change{Kind: diff.Kind(c.Kind), Path: c.Path, From: c.From, To: c.To}
}

// DiagnosticsOf are the diagnostics of an answer.
func DiagnosticsOf(all []api.Diagnostic) []runbook.Diagnostic {
	var out []runbook.Diagnostic
	for _, d := range all {
		out = append(out, runbook.Diagnostic{Severity: runbook.Severity(d.Severity), Code: d.Code, Message: d.Message, Path: d.Path, Line: d.Line, Column: d.Column})
	}
	return out
}

// foreseenText tells what becomes of a batch.
func foreseenText(f api.BatchForecast) string {
	if f.Problem != "" {
		return fmt.Sprintf("batch %d: it could not be looked at: %s", f.BatchID, f.Problem)
	}
	var parts []string
	add := func(what string, phases []string) {
		if len(phases) > 0 {
			parts = append(parts, what+": "+strings.Join(phases, ", "))
		}
	}
	switch {
	case f.Stays != "":
		parts = append(parts, "stays as it is: "+f.Stays)
	case f.InitAgain:
		parts = append(parts, "its init steps run again")
	case f.Init:
		parts = append(parts, "its init steps run")
	}
	add("run again", f.Again)
	add("to come", f.Pending)
	add("skipped", f.Skipped)
	add("superseded", f.Superseded)
	add("goes on under way", f.UnderWay)
	if f.Ends {
		parts = append(parts, "nothing is left to do: it ends")
	}
	return fmt.Sprintf("batch %d (%s, version %d): %s", f.BatchID, f.Status, f.From, strings.Join(parts, "; "))
}
