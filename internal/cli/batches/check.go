package batches

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func checkCommand(c *runner) *cobra.Command {
	var member, why string
	var watch, dry bool
	check := &cobra.Command{
		Use: "check <id>", Short: "Make the checks of the members again", Args: command.Needs("the id"),
		Long: `Makes the checks of the runbook for all members, or with --member for one. The results
replace the earlier ones. Checks only read, so you can make them at any time until the
batch ends: a week before the cut-over, and after each correction of data.

A batch makes its checks when members are added. No phase waits for them, unless a check is
required: a member who fails it starts no phase, and has failed in checks. If the check
passes now, the member goes on.

The command returns at once. With --watch it waits for the results and prints the checks
that failed; the exit status is 1 if there are any.`,
		Example: `  matoolkit batch check 42 --watch
  matoolkit batch check 42 --member ada@contoso.com --watch`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("member") && strings.TrimSpace(member) == "" {
				return exit.Usagef("--member is empty; omit it to check all members")
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if dry {
				view, err := s.Client.PreviewCheck(cmd.Context(), id, member)
				if err != nil {
					return err
				}
				return c.DryRun(cmd, view, false)
			}
			view, err := s.Client.Check(cmd.Context(), id, member, why)
			if err != nil {
				return err
			}
			what := render.Count(view.Members, "member")
			if view.MemberID != 0 {
				what = view.MemberKey
			}
			if watch {
				c.Notice("Checking %s of batch %d: %s.", render.Printable(what), id, render.Printable(strings.Join(view.Checks, ", ")))
				return c.awaitChecks(cmd.Context(), s.Client, view)
			}
			t := c.Table("batch", "member", "members", "checks")
			t.Row(view.BatchID, view.MemberKey, view.Members, strings.Join(view.Checks, ", "))
			return c.Done(view, t, fmt.Sprintf("matoolkit batch checks %d", id), "Checking %s of batch %d.", render.Printable(what), id)
		},
	}
	check.Flags().StringVar(&member, "member", "", "only the member with this key or number")
	dryRunFlag(check, &dry)
	check.Flags().BoolVar(&watch, "watch", false, "wait for the results and print the checks that failed")
	command.ReasonFlag(check, &why)
	return check
}

// awaitChecks waits until the requested checks have ended, and prints those that failed; of one
// member, all.
func (c *runner) awaitChecks(ctx context.Context, client *apiclient.Client, view api.CheckResult) error {
	o := api.ListOptions{Statuses: []string{api.CheckFailed}}
	done := func() (bool, error) {
		batch, err := client.Batch(ctx, view.BatchID)
		return err == nil && (batch.Checks == nil || batch.Checks.Done), err
	}
	if view.MemberID != 0 {
		o = api.ListOptions{MemberRef: fmt.Sprintf("id:%d", view.MemberID)}
		done = func() (bool, error) {
			running := o
			running.Statuses = []string{api.CheckRunning}
			page, err := client.Checks(ctx, view.BatchID, running)
			return err == nil && len(page.Items) == 0 && page.Continuation == "", err
		}
	}
	const first, longest = 200 * time.Millisecond, 2 * time.Second
	for pause := first; ; pause = min(pause*3/2, longest) {
		ended, err := done()
		if err != nil && !outage(err) {
			return err
		}
		if ended {
			page, err := command.Collect(ctx, command.Paging{Limit: 1, All: true}, o, command.PerBatch(view.BatchID, client.Checks))
			if err != nil {
				return err
			}
			if len(page.Items) == 0 && c.Human() {
				c.Notice("No check failed.")
				return nil
			}
			return c.printChecks(view.BatchID, page)
		}
		if err := c.Env.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

func checksCommand(c *runner) *cobra.Command {
	var p command.Paging
	var o api.ListOptions
	checks := &cobra.Command{
		Use: "checks <id>", Short: "List the results of the checks of the members", Args: command.Needs("the id"),
		Long: `Lists the last result of each check of each member: passed, failed, running, skipped (by its
condition or by an administrator) or not_run (cancelled). A failed check shows what is
wrong, with the actual and the expected value.

The exit status is 1 if a listed check failed. --limit counts the checks of one member as
one item.`,
		Example: `  matoolkit batch checks 42 --status failed --all
  matoolkit batch checks 42 --member ada@contoso.com`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("member") && strings.TrimSpace(o.MemberRef) == "" {
				return exit.Usagef("--member is empty; omit it to list the checks of all members")
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			page, err := command.Collect(cmd.Context(), p, o, command.PerBatch(id, s.Client.Checks))
			if err != nil {
				return err
			}
			return c.printChecks(id, page)
		},
	}
	checks.Flags().StringSliceVar(&o.Statuses, "status", nil, "only checks with one of these statuses: "+render.OneOf(api.CheckStatuses))
	checks.Flags().StringVar(&o.MemberRef, "member", "", "only checks of the member with this key or number")
	command.Searched(checks, &o, "checks of members whose key starts with this, case-sensitive")
	p.Flags(checks)
	return checks
}

// printChecks prints checks. It fails if one of them failed.
func (c *runner) printChecks(id int, page api.Page[api.Check]) error {
	if err := c.PrintPage(page, len(page.Items), page.Continuation, c.CheckTable(page.Items...)); err != nil {
		return err
	}
	members := map[int]bool{}
	for _, v := range page.Items {
		if v.Status == api.CheckFailed {
			members[v.MemberID] = true
		}
	}
	if len(members) == 0 {
		return nil
	}
	return &exit.Error{
		Status: exit.Failed, Text: fmt.Sprintf("checks of %s failed", render.Count(len(members), "member")),
		Hint: fmt.Sprintf("Correct a member: matoolkit member set %d <member> NAME=VALUE\nThen check again: matoolkit batch check %[1]d --member <member> --watch", id),
	}
}
