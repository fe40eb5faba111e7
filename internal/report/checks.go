package report

import (
	"fmt"
	"slices"
	"strings"
)

// Summary counts the members by the results of their checks, in a sentence.
func (c *Checks) Summary() string {
	parts := []string{fmt.Sprintf("%d passed", c.Passed)}
	for _, part := range []struct {
		n    int
		what string
	}{{c.Failed, "failed"}, {c.Running, "running"}, {c.NotRun, "not run"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return "Checks of the members: " + strings.Join(parts, ", ") + "."
}

// checked returns the outcome of all checks of a member: failed if one failed, else running, not_run
// or passed; empty if none was made.
func (m *Member) checked() string {
	if len(m.Checks) == 0 {
		return ""
	}
	for _, status := range []string{"failed", "running", "not_run"} {
		if slices.ContainsFunc(m.Checks, func(c Check) bool { return c.Status == status }) {
			return status
		}
	}
	return "passed"
}

// checkStatus returns the status of the check of a name; empty if the member has no such check.
func (m *Member) checkStatus(name string) string {
	for _, c := range m.Checks {
		if c.Name == name {
			return c.Status
		}
	}
	return ""
}

// checkErrors names the failed checks of a member with their errors.
func (m *Member) checkErrors() string {
	var failed []string
	for _, c := range m.Checks {
		switch {
		case c.Status != "failed":
		case c.Error == "":
			failed = append(failed, c.Name)
		default:
			failed = append(failed, c.Name+": "+c.Error)
		}
	}
	return strings.Join(failed, "; ")
}
