// Package batches has the commands for batches, members and steps: their arguments, their
// output and their exit status.
package batches

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/membercsv"
)

// runner is the console that all commands share, with the commands for batches as methods.
type runner struct{ *command.Console }

// Commands returns the groups of commands for batches, members and steps.
func Commands(shared *command.Console) []*cobra.Command {
	c := &runner{shared}
	batch := command.Group("batch", "Create, run and follow batches",
		createBatchCommand(c), listBatchesCommand(c), getBatchCommand(c), setBatchCommand(c), advanceCommand(c), watchCommand(c),
		membersCommand(c), phasesCommand(c), stepsCommand(c), errorsCommand(c), actionsCommand(c), checksCommand(c), checkCommand(c), command.BatchAuditCommand(shared), reportCommand(c),
		pauseCommand(c), resumeCommand(c), cancelCommand(c), rescheduleCommand(c), approveCommand(c),
		retryCommand(c), skipStepCommand(c), markDoneCommand(c), addMembersCommand(c), updateMembersCommand(c), removeMemberCommand(c), taskCommand(c),
		removalsCommand(c), confirmRemovalsCommand(c), moveMembersCommand(c), discardRemovalsCommand(c))
	batch.Example = `  matoolkit batch create moves members.csv
  matoolkit batch advance 42 --wait
  matoolkit batch get 42`
	member := command.Group("member", "Show, correct and move members of a batch", listedAs(membersCommand(c), "members", "member"), getMemberCommand(c), setMemberCommand(c), clearOverrideCommand(c), moveMemberCommand(c))
	member.Example = `  matoolkit member list 42 --status failed
  matoolkit member get 42 ada@contoso.com`
	step := command.Group("step", "Show steps of a batch with their results and errors", listedAs(stepsCommand(c), "steps", "step"), getStepCommand(c))
	step.Example = `  matoolkit step list 42 --status failed
  matoolkit step get 42 20000007001`
	return []*cobra.Command{batch, member, step, findCommand(c)}
}

// listedAs returns a list of a batch as the command "list" of another group.
func listedAs(list *cobra.Command, name, group string) *cobra.Command {
	list.Use = "list <id>"
	list.Example = strings.ReplaceAll(list.Example, "matoolkit batch "+name, "matoolkit "+group+" list")
	return list
}

func createBatchCommand(c *runner) *cobra.Command {
	var u uploading
	var d details
	create := &cobra.Command{
		Use: "create <runbook> <file>", Short: "Create a batch from a CSV file of members", Args: command.OfRunbook(command.Needs("the runbook", "the file")),
		Long: `Creates a batch. Nothing runs until you advance it, except the checks of the runbook, which
only read.

The file has a header with the column names and one row per member. Get an empty file with
matoolkit template download. The fields are separated by commas, semicolons, tabs or bars;
give --delimiter if the header does not show by which.

Values must fit the functions that take them: a value that is the whole of a parameter must
have its type, such as a GUID or an address, and cannot be empty if the parameter is
required. If a row is invalid, the command lists all invalid rows, by line and column, and
creates nothing. --dry-run only checks. The file name - stands for standard input.

Give the batch a name by which commands find it, too. Without --owner you are the owner.

A person can be in only one batch that has not ended, among the runbooks that call the same
workers. The command refuses people who are in another batch and names that batch.`,
		Example: `  matoolkit batch create moves members.csv --dry-run
  matoolkit batch create moves members.csv --name "Wave 3"
  id=$(matoolkit batch create moves members.csv --quiet)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := u.options()
			if err != nil {
				return err
			}
			options = append(options, api.WithDetails(d.given(cmd)))
			csv, err := c.ReadFile(args[1], membercsv.MaxBytes)
			if err != nil {
				return err
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			ctx, sent := c.Sending(cmd.Context(), len(csv))
			if u.dry {
				check, err := s.Client.CheckBatch(ctx, args[0], csv, options...)
				sent()
				if err != nil {
					return c.Located(args[1], err)
				}
				return c.checked(cmd, args[1], check)
			}
			view, err := s.Client.CreateBatch(ctx, args[0], csv, options...)
			sent()
			if err != nil {
				return c.Located(args[1], err)
			}
			c.printWarnings(args[1], view.Warnings, nil)
			next := fmt.Sprintf("matoolkit batch advance %d", view.ID)
			if view.Checks != nil {
				next = fmt.Sprintf("matoolkit batch checks %d", view.ID)
			}
			return c.Done(view, c.BatchTable(view), next,
				"Created batch %d with %s.", view.ID, render.Count(view.MemberCount, "member"))
		},
	}
	u.flags(create)
	d.flags(create)
	return create
}

func listBatchesCommand(c *runner) *cobra.Command {
	var p command.Paging
	var o api.ListOptions
	list := &cobra.Command{
		Use: "list", Short: "List batches, the newest first", Args: command.Needs(),
		Example: `  matoolkit batch list
  matoolkit batch list --status active,failed --runbook moves
  matoolkit batch list --owner ada@contoso.com
  matoolkit batch list --sort -batchStartTime`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.CheckRunbookName(o.Runbook); err != nil {
				return err
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			page, err := command.Collect(cmd.Context(), p, o, s.Client.Batches)
			if err != nil {
				return err
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, c.BatchTable(page.Items...))
		},
	}
	list.Flags().StringSliceVar(&o.Statuses, "status", nil, "only batches with one of these statuses: "+render.OneOf(api.BatchStatuses))
	list.Flags().StringVar(&o.Runbook, "runbook", "", "only batches of this runbook")
	list.Flags().StringVar(&o.Owner, "owner", "", "only batches of this owner, in any case")
	list.Flags().StringVar(&o.Name, "name", "", "only batches with this name, in any case")
	command.Searched(list, &o, "batches whose runbook name starts with this, case-sensitive")
	command.Sorted(list, &o, api.BatchSorts)
	p.Flags(list)
	return list
}

func getBatchCommand(c *runner) *cobra.Command {
	return command.Shows(&cobra.Command{
		Use: "get <id>", Short: "Show a batch and its phases", Args: command.Needs("the id"),
		Example: "  matoolkit batch get 42",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			batch, err := s.Client.Batch(cmd.Context(), id)
			if err != nil {
				return err
			}
			if !c.Plain() || len(c.Columns) > 0 {
				return c.Print(batch, c.BatchTable(batch))
			}
			phases, err := s.Client.Phases(cmd.Context(), id)
			if err != nil {
				return err
			}
			if err := c.BatchTable(batch).Print(); err != nil {
				return err
			}
			if note := render.ScheduleNote(batch, phases.Items, c.Env.Now()); note != "" {
				fmt.Fprintf(c.Env.Stdout, "\n%s\n", c.Cell(note))
			}
			for _, note := range render.Notes(batch) {
				fmt.Fprintf(c.Env.Stdout, "\n%s\n", c.Cell(note))
			}
			fmt.Fprintln(c.Env.Stdout)
			return c.PhaseTable(phases.Items).Print()
		},
	})
}

func membersCommand(c *runner) *cobra.Command {
	var p command.Paging
	var o api.ListOptions
	members := &cobra.Command{
		Use: "members <id>", Short: "List the members of a batch", Args: command.Needs("the id"),
		Example: `  matoolkit batch members 42
  matoolkit batch members 42 --status failed --all
  matoolkit batch members 42 --search ada@ --sort memberKey`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			page, err := command.Collect(cmd.Context(), p, o, command.PerBatch(id, s.Client.Members))
			if err != nil {
				return err
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, c.MemberTable(page.Items...))
		},
	}
	members.Flags().StringSliceVar(&o.Statuses, "status", nil, "only members with one of these statuses: "+render.OneOf(api.MemberStatuses))
	command.Searched(members, &o, "members whose key starts with this, case-sensitive")
	command.Sorted(members, &o, api.MemberSorts)
	p.Flags(members)
	return members
}

func phasesCommand(c *runner) *cobra.Command {
	return command.Lists(&cobra.Command{
		Use: "phases <id>", Short: "List the phases of a batch with the progress of its members", Args: command.Needs("the id"),
		Example: "  matoolkit batch phases 42",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			page, err := s.Client.Phases(cmd.Context(), id)
			if err != nil {
				return err
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, c.PhaseTable(page.Items))
		},
	})
}

func stepsCommand(c *runner) *cobra.Command {
	var p command.Paging
	var o api.ListOptions
	steps := &cobra.Command{
		Use: "steps <id>", Short: "List the steps of the members of a batch", Args: command.Needs("the id"),
		Long: `Lists steps by phase and member. The kind of a step is phase, init, on_complete, removal,
check, or rollback with the name of the rollback sequence. With --output json each step includes
its parameters and its result.

A step whose job was sent is queued. It is at_worker from the first heartbeat that lists
the job; heartbeats come every 30 seconds. Between two polls a step is polling.

--limit counts the steps of one member in one phase as one item.`,
		Example: `  matoolkit batch steps 42 --status failed,poll_timeout
  matoolkit batch steps 42 --member ada@contoso.com --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("member") && strings.TrimSpace(o.MemberRef) == "" {
				return exit.Usagef("--member is empty; omit it to list the steps of all members")
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if c.Structured() {
				o.Include = api.StepFields
			}
			page, err := command.Collect(cmd.Context(), p, o, command.PerBatch(id, s.Client.Steps))
			if err != nil {
				return err
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, c.StepTable(page.Items...))
		},
	}
	steps.Flags().StringSliceVar(&o.Statuses, "status", nil, "only steps with one of these statuses: "+render.OneOf(api.StepStatuses))
	steps.Flags().StringVar(&o.Phase, "phase", "", "only steps of this phase")
	steps.Flags().StringVar(&o.MemberRef, "member", "", "only steps of the member with this key or number")
	command.Searched(steps, &o, "steps of members whose key starts with this, case-sensitive")
	command.Sorted(steps, &o, api.StepSorts)
	p.Flags(steps)
	return steps
}
