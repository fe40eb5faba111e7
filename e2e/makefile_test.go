package e2e_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	phonyTargets  = regexp.MustCompile(`(?m)^\.PHONY: (.*)$`)
	listedTargets = regexp.MustCompile(`(?m)^  make (\S+) +\S`)
)

// TestHelpOfMake has "make help" list the targets, and finds each that is none of a file, under a
// heading.
func TestHelpOfMake(t *testing.T) {
	t.Parallel()
	help := exec.Command("make", "--no-print-directory", "help")
	help.Dir = root
	out, err := help.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var phony, listed []string
	for _, line := range phonyTargets.FindAllStringSubmatch(makefile(t), -1) {
		phony = append(phony, strings.Fields(line[1])...)
	}
	for _, line := range listedTargets.FindAllStringSubmatch(string(out), -1) {
		listed = append(listed, line[1])
	}
	for _, target := range phony {
		if !slices.Contains(listed, target) {
			t.Errorf("make help does not tell of %s", target)
		}
	}
	for _, target := range listed {
		if !slices.Contains(phony, target) {
			t.Errorf("%s is listed, and not .PHONY: a file of that name would keep it from running", target)
		}
	}
	for _, heading := range []string{"\nBuild\n", "\nCheck\n"} {
		if !strings.Contains("\n"+string(out), heading) {
			t.Errorf("there is no heading %q in\n%s", heading, out)
		}
	}
	if len(phony) < 10 {
		t.Errorf("only %d targets were looked for", len(phony))
	}
}
