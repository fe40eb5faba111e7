package template

import (
	"encoding/json"
	"testing"
)

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
