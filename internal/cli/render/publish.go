package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/diff"
)

// TakeUp says how many batches take up a version.
func TakeUp(batches int) string {
	if batches == 1 {
		return "1 batch takes up the new version"
	}
	return fmt.Sprintf("%d batches take up the new version", batches)
}

// shownBatches is the number of batches for which the effect of a version is shown.
const shownBatches = 20

// ChangesText describes the changes of a version.
func ChangesText(v api.VersionChanges) string {
	var b strings.Builder
	switch {
	case v.Against == 0: // all of it is new
	case v.Problem != "":
		fmt.Fprintf(&b, "The comparison with version %d failed: %s\n", v.Against, Printable(v.Problem))
	case len(v.Runbook) == 0:
		fmt.Fprintf(&b, "It behaves as version %d: only the text or the options differ.\n", v.Against)
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

// DiagnosticsOf converts the diagnostics of the API.
func DiagnosticsOf(all []api.Diagnostic) []runbook.Diagnostic {
	var out []runbook.Diagnostic
	for _, d := range all {
		out = append(out, runbook.Diagnostic{Severity: runbook.Severity(d.Severity), Code: d.Code, Message: d.Message, Path: d.Path, Line: d.Line, Column: d.Column, AlwaysFails: d.AlwaysFails})
	}
	return out
}

// AlwaysFailing returns the findings that no call of a step, or no query, can succeed with.
func AlwaysFailing(all []api.Diagnostic) []api.Diagnostic {
	var failing []api.Diagnostic
	for _, d := range all {
		if d.AlwaysFails {
			failing = append(failing, d)
		}
	}
	return failing
}

// FailingText sums up findings that no call of a step, or no query, can succeed with.
func FailingText(failing []api.Diagnostic) string {
	counts := map[string]int{}
	for _, d := range failing {
		counts[d.Code]++
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[code], code))
	}
	return fmt.Sprintf("Every call of a step would fail (%s)", strings.Join(parts, ", "))
}

// foreseenText describes the effect of a version on a batch.
func foreseenText(f api.BatchForecast) string {
	if f.Problem != "" {
		return fmt.Sprintf("batch %d: its effect is unknown: %s", f.BatchID, f.Problem)
	}
	var parts []string
	add := func(what string, phases []string) {
		if len(phases) > 0 {
			parts = append(parts, what+": "+strings.Join(phases, ", "))
		}
	}
	switch {
	case f.Stays != "":
		parts = append(parts, "unchanged: "+f.Stays)
	case f.InitAgain:
		parts = append(parts, "init steps run again")
	case f.Init:
		parts = append(parts, "init steps run")
	}
	add("run again", f.Again)
	add("pending", f.Pending)
	add("skipped", f.Skipped)
	add("superseded", f.Superseded)
	add("continues", f.UnderWay)
	if f.Ends {
		parts = append(parts, "no work remains: it ends")
	}
	switch columns := strings.Join(f.Lacks, ", "); {
	case len(f.Lacks) == 0:
	case f.Manual:
		parts = append(parts, "its members lack the columns "+columns)
	default:
		parts = append(parts, "changes after the next sync, which gives its members the columns "+columns)
	}
	return fmt.Sprintf("batch %d (%s, version %d): %s", f.BatchID, f.Status, f.From, strings.Join(parts, "; "))
}
