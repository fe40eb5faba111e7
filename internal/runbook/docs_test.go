package runbook_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const formatDoc = "../../docs/runbook-format.md"

// Each field that the parser knows is explained, in code font and by its name.
func TestReferenceHasEveryField(t *testing.T) {
	t.Parallel()
	doc := read(t, formatDoc)
	known := 0
	for _, file := range []string{"decode.go", "phase.go", "retry.go", "datasource.go", "quiet.go"} {
		for _, call := range regexp.MustCompile(`\.object\(.*?((?:, "[a-z_]+")+)\)\n`).FindAllStringSubmatch(read(t, file), -1) {
			for name := range strings.FieldsFuncSeq(call[1], func(r rune) bool { return strings.ContainsRune(`", `, r) }) {
				known++
				if !strings.Contains(doc, "`"+name+"`") {
					t.Errorf("%s is not explained", name)
				}
			}
		}
	}
	if known < 35 {
		t.Errorf("the parser knows %d fields; are they found?", known)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
