package bicep_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

var update = flag.Bool("update", false, "write what was found into testdata/wrong as what is expected")

// archive is the files of a case: each after a line "-- name --".
func archive(text string) fstest.MapFS {
	files := fstest.MapFS{}
	for part := range strings.SplitSeq("\n"+text, "\n-- ") {
		if name, content, is := strings.Cut(part, " --\n"); is {
			files[name] = &fstest.MapFile{Data: []byte(strings.TrimSuffix(content, "\n") + "\n")}
		}
	}
	return files
}

func types(t testing.TB) *bicep.Types {
	t.Helper()
	known, err := bicep.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// check gives the findings in files, one a line.
func check(t testing.TB, files fstest.MapFS) string {
	t.Helper()
	report, err := bicep.Check(files, ".", types(t))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, finding := range report.Findings {
		text.WriteString(finding.String() + "\n")
	}
	return text.String()
}

// Each file in testdata/wrong holds what is wrong in one way, and the findings.
func TestWhatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/wrong/*.txt")
	if err != nil || len(cases) < 100 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			before, expected, is := strings.Cut(string(text), "-- findings --\n")
			if !is {
				t.Fatal("no findings are expected")
			}
			found := check(t, archive(before))
			if found == "" {
				t.Error("nothing was found")
			}
			if *update {
				if err := os.WriteFile(name, []byte(before+"-- findings --\n"+found), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if found != expected {
				t.Errorf("found\n%sexpected\n%s", found, expected)
			}
		})
	}
}

// Every rule has a case: what nobody saw fail may not work.
func TestEveryRuleHasACase(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	cases, _ := filepath.Glob("testdata/wrong/*.txt")
	for _, name := range cases {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, findings, _ := strings.Cut(string(text), "-- findings --\n")
		for line := range strings.Lines(findings) {
			if parts := strings.SplitN(line, ": ", 3); len(parts) == 3 {
				seen[parts[1]] = true
			}
		}
	}
	sources, _ := filepath.Glob("*.go")
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range regexp.MustCompile(`\.find\([^"\n]*"([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			if !seen[rule[1]] {
				t.Errorf("%s: rule %s has no case in testdata/wrong", source, rule[1])
			}
		}
	}
}

// What stands in testdata/right.txt uses the whole language in one deployment, and the
// files of testdata/right-alone.txt each use one thing that looks as if it were wrong.
func TestWhatIsRightIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"testdata/right.txt", "testdata/right-alone.txt"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := check(t, archive(string(text))); found != "" {
			t.Errorf("%s:\n%s", name, found)
		}
	}
}

// Line ends of Windows, tabs and the mark that some editors put at the beginning are
// nothing wrong.
func TestEditorsOfOtherSystems(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/right.txt")
	if err != nil {
		t.Fatal(err)
	}
	files := archive(string(text))
	for name, file := range files {
		if filepath.Ext(name) == ".bicep" {
			file.Data = []byte("\ufeff" + strings.NewReplacer("\n", "\r\n", "  ", "\t").Replace(string(file.Data)))
		}
	}
	if found := check(t, files); found != "" {
		t.Error(found)
	}
}
