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
		p.validate(d)
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
