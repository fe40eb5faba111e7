package runbook

import (
	"fmt"
	"testing"
)

func TestLastUseOfASecret(t *testing.T) {
	t.Parallel()
	const head = "name: r\nsecret: [P]\ndata_source: {type: csv, primary_key: K}\n"
	step := func(name, rest string) string {
		return fmt.Sprintf("{name: %s, worker_id: w, function: F%s}", name, rest)
	}
	phase := func(name, offset, steps string) string {
		return fmt.Sprintf("  - {name: %s, offset: %s, steps: [%s]}\n", name, offset, steps)
	}
	uses, gives, other := step("use", `, params: {A: "x{{P}}"}`), step("give", `, output_params: {P: Token}`), step("other", "")
	undone := step("undone", ", on_failure: undo")
	for _, tt := range []struct{ name, text, want string }{
		{"one phase", "phases:\n" + phase("a", "T-1d", uses) + phase("b", "T-0", other), "a"},
		{"the later of two", "phases:\n" + phase("a", "T-1d", gives) + phase("b", "T-0", uses) + phase("c", "T+1d", other), "b"},
		{"given and never used", "phases:\n" + phase("a", "T-1d", gives), "a"},
		{"listed last and due first", "phases:\n" + phase("b", "T-0", uses) + phase("a", "T-1d", uses), ""},
		{"due at the same time", "phases:\n" + phase("a", "T-0", uses) + phase("b", "T-0", uses), "b"},
		{"in a rollback", "phases:\n" + phase("a", "T-1d", uses) + phase("b", "T-0", undone) + "rollbacks:\n  undo: [" + uses + "]\n", "b"},
		{"by the removal steps", "phases:\n" + phase("a", "T-1d", uses) + "on_member_removed: [" + uses + "]\n", ""},
		{"by nobody", "phases:\n" + phase("a", "T-1d", other), ""},
	} {
		rb, found := Parse([]byte(head + tt.text))
		if rb == nil {
			t.Fatalf("%s: %v", tt.name, found)
		}
		if !rb.IsSecret("P") || rb.IsSecret("K") {
			t.Errorf("%s: the secrets are %v", tt.name, rb.Secret)
		}
		if got := rb.LastUse("P"); got != tt.want {
			t.Errorf("%s: the last use is in %q, want %q", tt.name, got, tt.want)
		}
		spent := false
		for _, p := range rb.Phases {
			spent = spent || p.Name == tt.want
			if got := rb.Spent("P", p.Name); got != spent {
				t.Errorf("%s: spent after %s: %v", tt.name, p.Name, got)
			}
		}
	}
}
