package bicep_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// Whatever a file holds, it is read without a panic, what is found stands in the file,
// and the rest of the check goes on with what could be read.
func FuzzParse(f *testing.F) {
	cases, err := filepath.Glob("testdata/wrong/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range append(cases, "testdata/right.txt") {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if file := archive(string(text))["main.bicep"]; file != nil {
			f.Add(string(file.Data))
		}
	}
	f.Add(strings.Repeat("var a = (", 300))
	f.Add("var a = " + strings.Repeat("-", 1000))
	f.Add("var a = '" + strings.Repeat("${'", 300))
	f.Add("\ufeffvar a = b" + strings.Repeat(".c", 300))
	f.Add("var a = " + strings.Repeat("map(", 50) + "[1]" + strings.Repeat(", x => x)", 50))
	known := types(f)
	f.Fuzz(func(t *testing.T, source string) {
		file, findings := bicep.Parse("main.bicep", source)
		if file == nil {
			t.Fatal("no file")
		}
		lines := strings.Split(source, "\n")
		for _, finding := range findings {
			if finding.Line < 1 || finding.Line > len(lines) || finding.Column < 1 || finding.Column > len([]rune(lines[finding.Line-1]))+1 {
				t.Fatalf("%s is not in the file", finding)
			}
		}
		report, err := bicep.Check(fstest.MapFS{"main.bicep": {Data: []byte(source)}}, ".", known)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Findings) < len(findings) {
			t.Fatalf("%d findings of the parser, but %d of all", len(findings), len(report.Findings))
		}
	})
}
