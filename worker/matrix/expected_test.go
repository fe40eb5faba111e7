package matrix_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// check is one comparison in the answer of a Test- function.
type check = map[string]any

// Every answer of a Test- function says what was expected and what the tenant has, also when they agree, and the reason
// repeats it when they do not.
func TestAnswersHaveExpectedAndActual(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range rows() {
		if !strings.HasPrefix(r.function, "Test-") {
			continue
		}
		seen[r.function] = true
		w := start(t, r, nil)
		text, err := w.deliver(t.Context(), r, false)
		var answer struct {
			Complete bool
			Reason   string
			Data     map[string]any
		}
		if err == nil {
			err = json.Unmarshal([]byte(text), &answer)
		}
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if answer.Complete != (answer.Reason == "") || !answer.Complete && !strings.Contains(answer.Reason, "expected ") {
			t.Errorf("%s: complete is %v, and the reason %q", r.name, answer.Complete, answer.Reason)
		}
		comparisons := []check{answer.Data}
		if list, ok := answer.Data["Checks"].([]any); ok {
			comparisons = nil
			for _, item := range list {
				c, _ := item.(check)
				comparisons = append(comparisons, c)
			}
		}
		if len(comparisons) == 0 {
			t.Errorf("%s compares nothing: %s", r.name, text)
		}
		for _, c := range comparisons {
			if !compares(r.function, c) {
				t.Errorf("%s lacks an expected or an actual value: %v", r.name, c)
			}
		}
	}
	for _, f := range catalog.Standard() {
		if strings.HasPrefix(f.Name, "Test-") && !seen[f.Name] {
			t.Errorf("the matrix has no row of %s", f.Name)
		}
	}
}

// compares tells whether a comparison has an expected value, and beside it one that is no parameter of the function.
func compares(function string, c check) bool {
	at := slices.IndexFunc(catalog.Standard(), func(f catalog.Function) bool { return f.Name == function })
	given := []string{"Match", "Name"}
	for _, p := range catalog.Standard()[at].Params {
		given = append(given, p.Name)
	}
	expected, actual := false, false
	for name, value := range c {
		_, list := value.([]any) // a parameter may have the name of the objects that are listed
		switch {
		case strings.HasPrefix(name, "Expected"):
			expected = true
		case list, !slices.Contains(given, name):
			actual = true
		}
	}
	return expected && actual
}
