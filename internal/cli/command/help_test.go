package command_test

import (
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/matoolkit/matoolkit/internal/cli/command"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	const long = `Starts the next phase of a batch that you
created by hand.

  --phase  starts the named phase, or init, and no other phase
           of the batch
  --yes    starts the next phase
  - a point that is longer than the line is wide
  plain item`
	want := map[int]string{
		40: `Starts the next phase of a batch that
you created by hand.

  --phase  starts the named phase, or
           init, and no other phase of
           the batch
  --yes    starts the next phase
  - a point that is longer than the line
    is wide
  plain item`,
		100: `Starts the next phase of a batch that you created by hand.

  --phase  starts the named phase, or init, and no other phase of the batch
  --yes    starts the next phase
  - a point that is longer than the line is wide
  plain item`,
	}
	for width, wrapped := range want {
		if got := command.Wrap(long, width); got != wrapped {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, wrapped)
		}
	}
	for width := 20; width < 120; width++ {
		got := command.Wrap(long, width)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(long), " ") {
			t.Fatalf("%d columns: the words changed:\n%s", width, got)
		}
		for line := range strings.Lines(got) {
			if n := text.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns: a line of %d: %s", width, n, line)
			}
		}
	}
}
