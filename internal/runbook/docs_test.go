package runbook_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

const formatDoc = "../../docs/runbook-format.md"

// parts are the required fields, for blocks of the document that leave them out.
var parts = map[string]string{
	"name":        "name: n\n",
	"data_source": "data_source: {type: csv, primary_key: Mail}\n",
	"phases":      "phases:\n  - {name: p, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}\n",
}

// What the reference shows is a runbook without findings, warnings included.
func TestBlocksOfTheReferenceAreRunbooks(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, formatDoc), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		src := block[1]
		for field, part := range parts {
			if !regexp.MustCompile(`(?m)^` + field + `:`).MatchString(src) {
				src += part
			}
		}
		if _, found := runbook.Parse([]byte(src)); len(found) > 0 {
			t.Errorf("%s\n%v", block[1], found)
		}
	}
}

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
