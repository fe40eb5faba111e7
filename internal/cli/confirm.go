package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// confirm asks on the terminal, and goes on only after a yes. Ctrl-C is heard while
// it waits, which a read alone does not see.
func (c *console) confirm(ctx context.Context, question string, args ...any) error {
	if !c.env.Terminal {
		return usagef("cannot ask for confirmation without a terminal; give --yes")
	}
	fmt.Fprintf(c.env.Stderr, question+" [y/N] ", args...)
	answered := make(chan string, 1)
	go func() { // it ends with the program at the latest
		answer, _ := bufio.NewReader(c.env.Stdin).ReadString('\n') // no answer is no
		answered <- answer
	}()
	var answer string
	select {
	case <-ctx.Done():
		fmt.Fprintln(c.env.Stderr)
		return ctx.Err()
	case answer = <-answered:
	}
	if !strings.HasSuffix(answer, "\n") {
		fmt.Fprintln(c.env.Stderr)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	return &exit{status: ExitFailed, text: "nothing was changed"}
}
