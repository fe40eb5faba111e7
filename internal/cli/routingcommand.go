package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func routingCommand(c *console) *cobra.Command {
	return command.Shows(&cobra.Command{
		Use: "routing <runbook>", Short: "Show how a pipeline moves over from another orchestrator", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Shows whether shadow mode is on, which share of the owners is moved over, and when the share returns
to 0 by itself, with the requests that count for that.

A share that has returned stays at 0 until an administrator sets it again.`,
		Example: `  matoolkit pipeline routing context-bundle
  matoolkit pipeline routing context-bundle --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			r, err := s.Client.Routing(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.printRouting(r)
		},
	})
}

// setRouting changes the routing of a pipeline and prints it.
func (c *console) setRouting(ctx context.Context, name, reason string, request api.RoutingRequest) error {
	if reason != "" {
		request.Reason = &reason
	}
	s, err := c.Session()
	if err != nil {
		return err
	}
	r, err := s.Client.SetRouting(ctx, name, request)
	if err != nil {
		return err
	}
	return c.printRouting(r)
}

func (c *console) printRouting(r api.Routing) error {
	t := c.Table("runbook", "shadow", "share", "requests", "failed", "limit", "min requests", "window", "overdue after", "compared output", "changed", "by")
	requests, failed := any(""), any("")
	if r.Recent != nil {
		requests, failed = r.Recent.Requests, r.Recent.Failed
	}
	var changed *time.Time
	by := ""
	if r.Changed != nil {
		changed, by = &r.Changed.At, r.Changed.By
	}
	shadow := "off"
	if r.Shadow {
		shadow = "on"
	}
	t.Row(r.Pipeline, shadow, percent(r.Percent), requests, failed, percent(r.Return.MaxErrorPercent), r.Return.MinRequests, render.Took(time.Duration(r.Return.WindowMinutes)*time.Minute),
		render.Took(time.Duration(r.Return.OverdueSeconds)*time.Second), r.FingerprintOutput, changed, by)
	if err := c.Print(r, t); err != nil || !c.Human() {
		return err
	}
	if b := r.Returned; b != nil {
		c.Notice("The share returned from %d %% to 0 at %s: %s. Find the cause, then set it again.", b.Percent, render.Stamp(b.At), b.Reason)
		c.NoticeNext("matoolkit batch list --runbook " + render.ShellWord(r.Pipeline) + " --status failed")
	}
	return nil
}

func percent(n int) string { return strconv.Itoa(n) + " %" }

func shadowCommand(c *console) *cobra.Command {
	var output, reason string
	shadow := &cobra.Command{
		Use: "shadow <runbook> on|off", Short: "Compare a pipeline with the orchestrator that it replaces", Args: command.OfRunbook(command.Needs("the runbook", "on or off")),
		Long: `With shadow mode on, the old orchestrator starts each request here, too, as a shadow: the batch runs, its
detached steps do not, and no one gets its result. The old orchestrator then reports its own result
with matoolkit pipeline compare or the API. matoolkit pipeline comparisons shows both.

--output-name names the output of the on_complete steps that has the fingerprint of the result;
it is Fingerprint at first. Turning shadow mode on begins new counts. Off refuses further shadows at once.

The command requires the app role Admin.`,
		Example: `  matoolkit pipeline shadow context-bundle on
  matoolkit pipeline shadow context-bundle on --output-name BundleHash
  matoolkit pipeline shadow context-bundle off --reason "two weeks without a difference"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] != "on" && args[1] != "off" {
				return exit.Usagef("%q is neither on nor off", args[1])
			}
			request := api.RoutingRequest{Shadow: new(args[1] == "on")}
			if cmd.Flags().Changed("output-name") {
				request.FingerprintOutput = &output
			}
			return c.setRouting(cmd.Context(), args[0], reason, request)
		},
	}
	shadow.Flags().StringVar(&output, "output-name", "", "the output that has the fingerprint of a result")
	command.ReasonFlag(shadow, &reason)
	return command.Shows(shadow)
}

func shareCommand(c *console) *cobra.Command {
	var reason string
	share := &cobra.Command{
		Use: "share <runbook> <percent>", Short: "Move a share of the owners over to a pipeline", Args: command.OfRunbook(command.Needs("the runbook", "the percent")),
		Long: `Moves a share of the owners over, 0 to 100 percent. A hash of the owner decides who: an owner stays on one side
until the share changes, and a larger share never takes an owner back. Callers follow with their
next question for the route.

0 is the rollback: all owners go back to the old orchestrator. Requests that run here go on.
Setting the share also takes note of an automatic return; see matoolkit pipeline limit.

The command requires the app role Admin.`,
		Example: `  matoolkit pipeline share context-bundle 10
  matoolkit pipeline share context-bundle 0 --reason "bundles lack files"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return exit.Usagef("%q is not a percent: use a number from 0 to 100", args[1])
			}
			return c.setRouting(cmd.Context(), args[0], reason, api.RoutingRequest{Percent: &n})
		},
	}
	command.ReasonFlag(share, &reason)
	return command.Shows(share)
}

func limitCommand(c *console) *cobra.Command {
	var reason string
	var errorPercent, least int
	var window, overdue time.Duration
	limit := &cobra.Command{
		Use: "limit <runbook>", Short: "Set when the share of a pipeline returns to 0 by itself", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Sets the limits of the automatic return. The share returns to 0 when more than --max-errors percent of the requests
failed: those of --window since the share left 0, of the newest 200, if there are at least
--min-requests. A request has failed if its batch has no result, or has not ended after --overdue.
Shadows and cancelled batches do not count.

What is not given stays. --max-errors 100 turns the return off. The command requires the app role
Admin.`,
		Example: `  matoolkit pipeline limit context-bundle --max-errors 2 --min-requests 50
  matoolkit pipeline limit context-bundle --window 30m --overdue 2m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var r api.RoutingRequest
			given := cmd.Flags().Changed
			if given("max-errors") {
				r.MaxErrorPercent = &errorPercent
			}
			if given("min-requests") {
				r.MinRequests = &least
			}
			if given("window") {
				r.WindowMinutes = new(int(window / time.Minute))
			}
			if given("overdue") {
				r.OverdueSeconds = new(int(overdue / time.Second))
			}
			if r == (api.RoutingRequest{}) {
				return exit.Usagef("nothing is to be set: give --max-errors, --min-requests, --window or --overdue")
			}
			return c.setRouting(cmd.Context(), args[0], reason, r)
		},
	}
	limit.Flags().IntVar(&errorPercent, "max-errors", 0, "percent of requests that may fail")
	limit.Flags().IntVar(&least, "min-requests", 0, "how many requests decide at least")
	limit.Flags().DurationVar(&window, "window", 0, "time whose requests count, in minutes or hours")
	limit.Flags().DurationVar(&overdue, "overdue", 0, "time after which a request has failed")
	command.ReasonFlag(limit, &reason)
	return command.Shows(limit)
}

func routeCommand(c *console) *cobra.Command {
	var owner string
	route := &cobra.Command{
		Use: "route <runbook>", Short: "Show which orchestrator serves an owner", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Shows which orchestrator serves the requests of an owner: new is this one. Each owner has a bucket from 0 to 99,
from a hash of the runbook and the owner in lower case. The new orchestrator serves those below the
share. With old, shadow says whether the caller starts a shadow, too.

A caller that gets no answer asks the old orchestrator.`,
		Example: `  matoolkit pipeline route context-bundle --owner octo
  matoolkit pipeline route context-bundle --owner octo --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if owner == "" {
				return exit.Usagef("--owner is missing: name who the result is for")
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			r, err := s.Client.Route(cmd.Context(), args[0], owner)
			if err != nil {
				return err
			}
			t := c.Table("owner", "orchestrator", "shadow", "bucket", "share")
			t.Row(r.Owner, r.Orchestrator, r.Shadow, r.Bucket, percent(r.Percent))
			return c.Print(r, t)
		},
	}
	route.Flags().StringVar(&owner, "owner", "", "who the result is for")
	return command.Shows(route)
}

func compareCommand(c *console) *cobra.Command {
	var fingerprint, failure string
	var took time.Duration
	compare := &cobra.Command{
		Use: "compare <runbook> <id>", Short: "Report how the old orchestrator served the request of a shadow", Args: command.OfRunbook(command.Needs("the runbook", "the number of the batch")),
		Long: `Reports the result of the old orchestrator for a batch that was started with --shadow: the fingerprint of the
result or the error, and how long it took. The shadow is compared at once, or within five minutes of
its end. A report that is repeated changes nothing.`,
		Example: `  matoolkit pipeline compare context-bundle 42 --fingerprint 9f86d081 --took 95s
  matoolkit pipeline compare context-bundle 42 --error "GitHub: 502" --took 30s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := requestedBatch(args[1])
			if err != nil {
				return err
			}
			if (fingerprint == "") == (failure == "") {
				return exit.Usagef("give --fingerprint or --error")
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			r, err := s.Client.ReportComparison(cmd.Context(), args[0], id, api.ComparisonRequest{Fingerprint: fingerprint, Error: failure, Milliseconds: took.Milliseconds()})
			if err != nil {
				return err
			}
			return c.Print(r, c.comparisonTable(r))
		},
	}
	compare.Flags().StringVar(&fingerprint, "fingerprint", "", "the fingerprint of the old orchestrator's result")
	compare.Flags().StringVar(&failure, "error", "", "why the old orchestrator failed")
	compare.Flags().DurationVar(&took, "took", 0, "how long the old orchestrator took")
	return command.Lists(compare)
}

func (c *console) comparisonTable(all ...api.Comparison) *render.Sheet {
	t := c.Table("batch", "owner", "outcome", "reason", "old fingerprint", "new fingerprint", "old took", "new took", "old error", "reported")
	for _, v := range all {
		t.Row(v.ID, v.Owner, v.Outcome, v.Reason, v.Old.Fingerprint, v.New.Fingerprint, render.Took(milliseconds(v.Old.Milliseconds)), render.Took(milliseconds(v.New.Milliseconds)), v.Old.Error, v.ReportedAt)
	}
	return t
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func comparisonsCommand(c *console) *cobra.Command {
	return command.Lists(&cobra.Command{
		Use: "comparisons <runbook>", Short: "Compare shadows with the old orchestrator", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Counts the comparisons since shadow mode was turned on last, and lists the newest 50 shadows that differ, or that
failed where the old orchestrator did not. The times are those of requests that succeeded on both sides.`,
		Example: `  matoolkit pipeline comparisons context-bundle
  matoolkit pipeline comparisons context-bundle --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			v, err := s.Client.Comparisons(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if c.Human() {
				c.Notice("%s", comparisonWords(v))
			}
			return c.Print(v, c.comparisonTable(v.Differing...))
		},
	})
}

func comparisonWords(v api.Comparisons) string {
	text := fmt.Sprintf("Same: %d. Different: %d. Failed only here: %d, only at the old orchestrator: %d, at both: %d. Not ended: %d.", v.Same, v.Different, v.NewFailed, v.OldFailed, v.BothFailed, v.Pending)
	if v.Old.Requests > 0 {
		text += fmt.Sprintf(" Average time: %s here, %s at the old orchestrator.", render.Took(milliseconds(v.New.AverageMilliseconds)).Text, render.Took(milliseconds(v.Old.AverageMilliseconds)).Text)
	}
	return text
}
