package e2e_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/local/demo"
)

// TestDemo runs what "make demo" runs.
func TestDemo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := demo.Run(t.Context(), demo.Config{
		Matoolkit: program("matoolkit"), Worker: program("worker"), App: dist, Example: example,
		Console: cli.Environment{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }},
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"Batch 1 has 25 members.", "batch 1 is completed",
		"23 users exist under their new names", "2 members failed for the reasons that the example says.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not say %q:\n%s", want, out.String())
		}
	}
}
