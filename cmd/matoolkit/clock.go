package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	schedulertimer "github.com/matoolkit/matoolkit/functions/scheduler-timer"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/local/clock"
	"github.com/matoolkit/matoolkit/local/functionshost"
	"github.com/matoolkit/matoolkit/local/system"
)

func clockCommand() *cobra.Command {
	var move clock.Request
	c := &cobra.Command{
		Use:   "clock",
		Short: "Show or move the clock of the local system",
		Long: `Shows the clock of the running local system, or moves it forward, so that you can watch a
migration whose phases are days apart within minutes.

The clock only moves forward. A system that starts again with the same --data-dir keeps the
moved time. The move waits for the work of the handler to end, and the command returns when
the next handler uses the new time. Then
  - the timer of the scheduler fires once if it was due meanwhile;
  - messages that were scheduled for a time that has come are delivered;
  - messages in queues are older by the move: after more than seven days they become dead
    letters. Wait for an idle system first.
Authentication, the tenant, the worker and message locks keep the real time.

The command finds the system by --api-url or MATOOLKIT_API_URL, else at the default port. The
system must be on this machine.`,
		Example: `  matoolkit local clock                               show the time
  matoolkit local clock --advance 5d                  five days later; also 90s, 30m, 4h
  matoolkit local clock --to 2026-03-06T09:00:00Z     move to this time
  matoolkit local tick                                then run the scheduler`,
		Args: command.Needs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			host, err := findHost(cmd)
			if err != nil {
				return err
			}
			method, body := http.MethodGet, any(nil)
			if cmd.Flags().Changed("advance") || cmd.Flags().Changed("to") {
				if _, err := move.Parse(); err != nil {
					return exit.Usage(fmt.Errorf("--%w", err))
				}
				method, body = http.MethodPost, move
			}
			var r clock.Reading
			if err := host.ask(cmd.Context(), method, "clock", body, &r); err != nil {
				return err
			}
			ahead := time.Duration(r.OffsetSeconds) * time.Second
			return result(cmd, r, r.Now.Format(time.RFC3339), fmt.Sprintf("%s, %s", r.Now.Format("2006-01-02 15:04:05Z"), aheadOf(ahead)))
		},
	}
	c.Flags().StringVar(&move.Advance, "advance", "", "move the clock forward by this duration, such as 90s, 30m, 4h or 5d")
	c.Flags().StringVar(&move.To, "to", "", "move the clock forward to this time, such as 2026-03-06T09:00:00Z")
	c.MarkFlagsMutuallyExclusive("advance", "to")
	return c
}

func tickCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tick",
		Short: "Run the scheduler of the local system now",
		Long: `Runs the scheduler of the running local system at once, instead of at its next full five
minutes: it queries the data sources and starts the phases that are due. A tick in progress
ends first. The command returns when the tick has ended; work that it started can continue.

The command finds the system as matoolkit local clock does.`,
		Example: `  matoolkit local tick
  matoolkit local clock --advance 1d && matoolkit local tick`,
		Args: command.Needs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			host, err := findHost(cmd)
			if err != nil {
				return err
			}
			var r functionshost.Run
			if err := host.ask(cmd.Context(), http.MethodPost, "functions/"+schedulertimer.Name, struct{}{}, &r); err != nil {
				return err
			}
			return result(cmd, r, r.Function, fmt.Sprintf("%s ran, in %d ms", r.Function, r.TookMs))
		},
	}
}

// result prints the text, or v as --output and --quiet require.
func result(cmd *cobra.Command, v any, quiet, words string) error {
	if !command.Plain(cmd) {
		return command.Print(cmd, v, command.Table{Head: []string{"result"}, Rows: [][]any{{quiet}}})
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), words)
	return err
}

// aheadOf describes an offset of the clock.
func aheadOf(offset time.Duration) string {
	const day = 24 * time.Hour
	days, rest := offset/day, offset%day
	switch {
	case offset == 0:
		return "the real time"
	case days == 0:
		return rest.String() + " ahead of the real time"
	case rest == 0:
		return fmt.Sprintf("%dd ahead of the real time", days)
	}
	return fmt.Sprintf("%dd %s ahead of the real time", days, rest)
}

// hostClient uses the local routes of a Functions host, which Azure does not have.
type hostClient struct{ base string }

// findHost returns the local system, whose address is that of the admin API. It refuses an
// address of another machine.
func findHost(cmd *cobra.Command) (hostClient, error) {
	address := cmd.Flag("api-url").Value.String()
	if address == "" {
		address = os.Getenv("MATOOLKIT_API_URL")
	}
	if address == "" {
		address = "http://" + system.DefaultAddresses().Host
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || !loopback.Is(u.Hostname()) {
		return hostClient{}, exit.Usage(fmt.Errorf("%q is not a local system: give its http:// address on this machine in --api-url or MATOOLKIT_API_URL", address))
	}
	return hostClient{base: "http://" + u.Host}, nil
}

// ask sends a request and parses the answer into v.
func (h hostClient) ask(ctx context.Context, method, path string, body, v any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, h.base+"/_local/"+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	var text []byte
	if err == nil {
		defer response.Body.Close()
		text, err = io.ReadAll(io.LimitReader(response.Body, 1<<20))
	}
	if err != nil {
		return &apiclient.Error{Code: apiclient.CodeUnreachable, Detail: "no answer from " + h.base + "; is \"matoolkit local up\" running?", Cause: err}
	}
	if response.StatusCode != http.StatusOK {
		return refusal(response, text)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s is not a local system: %w", h.base, err)
	}
	return nil
}

func refusal(r *http.Response, text []byte) error {
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil || said.Error == "" {
		return fmt.Errorf("%s is not a local system: it answers %s", r.Request.URL.Host, r.Status)
	}
	if r.StatusCode == http.StatusBadGateway { // the request was carried out and failed
		return errors.New(said.Error)
	}
	return &apiclient.Error{Status: r.StatusCode, Detail: said.Error}
}
