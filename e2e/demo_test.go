package e2e_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDemo gives "make demo", which finds the programs built.
func TestDemo(t *testing.T) {
	t.Parallel()
	demo := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-o", "stage", "demo")
	demo.Dir = newRunner(t).home
	out, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"Batch 1 has 25 members.", "batch 1 is completed",
		"23 users exist under their new names", "2 members failed for the reasons that the example says.",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demo does not say %q:\n%s", want, out)
		}
	}
}
