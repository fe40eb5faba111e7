package render

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// Confirm asks on the terminal and returns an error unless the answer is yes. Ctrl-C ends the
// wait.
func (c *Printer) Confirm(ctx context.Context, question string, args ...any) error {
	if !c.Terminal {
		return exit.Usagef("cannot ask for confirmation without a terminal; give --yes")
	}
	fmt.Fprintf(c.Stderr, question+" [y/N] ", args...)
	answered := make(chan string, 1)
	go func() { // it ends with the program at the latest
		answer, _ := bufio.NewReader(c.Stdin).ReadString('\n') // no answer is no
		answered <- answer
	}()
	var answer string
	select {
	case <-ctx.Done():
		fmt.Fprintln(c.Stderr)
		return ctx.Err()
	case answer = <-answered:
	}
	if !strings.HasSuffix(answer, "\n") {
		fmt.Fprintln(c.Stderr)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	return &exit.Error{Status: exit.Failed, Text: "nothing was changed"}
}
