package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// destructive are the commands that take away what does not come back, or that concern many
// members at once, each with its arguments.
var destructive = map[string]string{
	"batch cancel":           "7",
	"batch remove-member":    "7 3",
	"member move":            "7 3 --to 8 --reason x",
	"batch reschedule":       "7 --start 2026-03-09",
	"batch confirm-removals": "7",
	"batch move-members":     "7",
	"runbook delete":         "moves 2",
	"messages discard":       "m-1",
	"batch retry":            "7",
	"batch skip-step":        "7 --reason x",
	"batch mark-done":        "7 --reason x",
}

// Without a terminal to ask on, and without --yes, nothing that takes something away is
// begun: the status is that of wrong usage. Every command with --yes is such a one, but for
// publish, which asks only where batches are concerned, advance, which takes the name
// of the phase instead, and update-members, which shows its changes first.
func TestDestructiveCommandsAsk(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(api.Close)
	p := newPerson(t)
	p.env["MATOOLKIT_API_URL"] = api.URL

	found := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			walk(child)
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "matoolkit ")
		args, takes := destructive[path]
		asks := cmd.Flags().Lookup("yes") != nil
		if asks != takes && path != "runbook publish" && path != "batch advance" && path != "batch update-members" {
			t.Errorf("%s: it has --yes: %v; it is known as one that takes something away: %v", path, asks, takes)
		}
		if !takes {
			return
		}
		found++
		if !strings.Contains(cmd.Long, "The command asks for confirmation. Without a terminal, give --yes.") {
			t.Errorf("the help of %s does not say that it asks", path)
		}
		for _, more := range []string{"", " --output json", " --quiet"} {
			_, err, status := p.as(0, strings.Fields(path+" "+args+more)...)
			if status != exit.WrongUsage || !strings.Contains(err, "give --yes") {
				t.Errorf("%s%s without a terminal: status %d, %q", path, more, status, err)
			}
		}
		if n := asked.Swap(0); n != 0 {
			t.Errorf("%s: %d requests were sent before it was refused", path, n)
		}
	}
	walk(cli.NewRoot(command.Environment{}))
	if found != len(destructive) {
		t.Errorf("%d of the %d commands were found", found, len(destructive))
	}
}
