package template

import (
	"fmt"
	"strings"
	"testing"
)

// An unknown variable costs one search for similar names for all its uses, and many
// unknown variables cost no more than some.
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

// Parse reads each byte of a text once: with one pass for each variable or filter, these would take
// hours.
func TestLongTextsAreParsedInOnePass(t *testing.T) {
	t.Parallel()
	for piece, segments := range map[string]int{
		"{{a | lower}}": 1, "{{a?}}": 1, "{{a}}|": 2, "{{a | default('}}') | upper}}'": 2, `{{a | replace("\\", "x")}}`: 1,
	} {
		const pieces = 200_000
		if got, err := Parse(strings.Repeat(piece, pieces)); err != nil || len(got) != pieces*segments {
			t.Errorf("%s: %d segments, %v", piece, len(got), err)
		}
	}
	for _, open := range []string{"{{a", "{{a|", "{{a | lower|", "{{a | default('"} {
		if _, err := Parse(strings.Repeat(open, 200_000)); err == nil {
			t.Errorf("%s is a template", open)
		}
	}
	if _, err := Parse("{{a" + strings.Repeat("| lower", 200_000) + "}}"); err != nil {
		t.Error(err)
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
