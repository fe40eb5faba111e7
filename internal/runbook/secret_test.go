package runbook

import (
	"encoding/json"
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

func TestSecretsStayReferencesUntilTheyAreFilledIn(t *testing.T) {
	t.Parallel()
	params := map[string]any{
		"Whole": "{{Password}}", "Text": "{{Name}}: {{Password}}!", "Plain": "{{Name}}",
		"Deep": []any{map[string]any{"Pin": "{{Pin}}", "Line": "{{Pin}}"}},
	}
	vars := Variables{"Name": "Ada", "Password": Secret("Password"), "Pin": Secret("Pin")}
	resolved, err := ResolveParams(params, vars)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(resolved)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Deep":[{"Line":{"$secret":"Pin"},"Pin":{"$secret":"Pin"}}],"Plain":"Ada",` +
		`"Text":{"$secret":["Ada",": ",{"$secret":"Password"},"!"]},"Whole":{"$secret":"Password"}}`
	if string(stored) != want || !HasSecrets(stored) || HasSecrets([]byte(`{"A":"Password"}`)) {
		t.Errorf("resolved to %s\nwant %s", stored, want)
	}
	values := map[string]string{"Password": `"s3\"cret"`, "Pin": "123456789012345678901234567890"}
	filled, err := FillSecrets(stored, func(name string) (json.RawMessage, error) { return json.RawMessage(values[name]), nil })
	if want := `{"Deep":[{"Line":123456789012345678901234567890,"Pin":123456789012345678901234567890}],"Plain":"Ada","Text":"Ada: s3\"cret!","Whole":"s3\"cret"}`; err != nil || string(filled) != want {
		t.Errorf("filled in: %s, %v\nwant %s", filled, err, want)
	}
	values["Password"] = `["canary"]`
	_, err = FillSecrets(stored, func(name string) (json.RawMessage, error) { return json.RawMessage(values[name]), nil })
	if err == nil || err.Error() != "the secret {{Password}} is a list, which has no text" {
		t.Errorf("a list amid text: %v", err)
	}
	if s, err := ResolveString("New-{{Password}}", vars); err == nil {
		t.Errorf("the name of a function: %s", s)
	}
	if _, err := ResolveParams(map[string]any{"A": "{{Password}} {{Nobody}}"}, vars); err == nil {
		t.Error("an unknown variable beside a secret is accepted")
	}
}
