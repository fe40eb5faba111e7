package runbook

import (
	"fmt"
	"strings"
	"testing"
)

// runbookOf is a runbook with a step whose parameter has a value, in double quotes.
func runbookOf(value string) []byte {
	return fmt.Appendf(nil, `name: many
data_source: {type: csv, primary_key: Key}
phases:
  - name: one
    offset: T-0
    steps:
      - {name: s, worker_id: w, function: f, params: {Text: "%s"}}
`, value)
}

// Parse reads a text once to find the positions of its templates. One pass for each
// template took 6.5 s for 250 KB.
func TestPositionsOfTemplatesAreFoundInOnePass(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"{{a}}", "é{{a}} ", "{{_a}}"} {
		p := &parser{}
		value := strings.Repeat(piece, 20_000)
		d := p.runbook(p.load(runbookOf(value)))
		p.lint(d)
		if p.located > len(value) {
			t.Errorf("%q: %d bytes were read to find positions in %d bytes", piece, p.located, len(value))
		}
		uses := d.phases[0].steps[0].uses
		if len(uses) != 20_000 {
			t.Fatalf("%q: %d templates", piece, len(uses))
		}
		width, first := len([]rune(piece)), uses[0].pos.column
		for i, u := range uses {
			if u.pos.line != 7 || u.pos.column != first+i*width {
				t.Fatalf("%q: template %d is at %v", piece, i, u.pos)
			}
		}
	}
}

// An unknown variable costs one search for similar names, however often it is used, and
// many unknown variables cost no more than some.
//
//nolint:paralleltest // AllocsPerRun counts the allocations of the whole process.
func TestUnknownVariablesCostAFewSearches(t *testing.T) {
	vars := Variables{}
	for i := range 500 {
		vars[fmt.Sprintf("Column%d", i)] = "x"
	}
	var different strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&different, "{{kolumn%d}}", i)
	}
	for name, text := range map[string]string{"one": strings.Repeat("{{kolumn7}}", 3000), "different": different.String()} {
		allocations := testing.AllocsPerRun(1, func() {
			if _, err := ResolveString(text, vars); err == nil {
				t.Error("the text was resolved")
			}
		})
		// A search allocates some 10,000 times, and the rest some 10 times for each variable.
		if allocations > 600_000 {
			t.Errorf("%s: %.0f allocations for 3,000 unknown variables", name, allocations)
		}
	}
}

func BenchmarkParseTemplates(b *testing.B) {
	for _, kb := range []int{16, 64, 256} {
		src := runbookOf(strings.Repeat("{{a}}", kb<<10/5))
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if rb, found := Parse(src); rb == nil {
					b.Fatal(found)
				}
			}
		})
	}
}

func BenchmarkResolveUnknownVariables(b *testing.B) {
	vars := Variables{}
	for i := range 500 {
		vars[fmt.Sprintf("Column%d", i)] = "x"
	}
	for _, kb := range []int{16, 256} {
		text := strings.Repeat("{{a}}", kb<<10/5)
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := ResolveString(text, vars); err == nil {
					b.Fatal("the text was resolved")
				}
			}
		})
	}
}
