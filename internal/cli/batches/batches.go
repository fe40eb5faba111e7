// Package batches holds the commands on batches: what they take, what they print and how they
// exit.
package batches

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/membercsv"
)

// runner has what all commands share, and how those on batches run.
type runner struct{ *command.Console }

// Command is the group of the commands on batches.
func Command(shared *command.Console) *cobra.Command {
	c := &runner{shared}
	return command.Group("batch", "Create batches, run them and see where they stand",
		createBatchCommand(c), listBatchesCommand(c), getBatchCommand(c), advanceCommand(c), watchCommand(c),
		membersCommand(c), phasesCommand(c), stepsCommand(c), command.BatchAuditCommand(shared), reportCommand(c),
		pauseCommand(c), resumeCommand(c), cancelCommand(c), approveCommand(c),
		retryCommand(c), skipStepCommand(c), markDoneCommand(c), addMembersCommand(c), removeMemberCommand(c),
		removalsCommand(c), confirmRemovalsCommand(c), discardRemovalsCommand(c))
}

func createBatchCommand(c *runner) *cobra.Command {
	var shared inOtherBatches
	create := &cobra.Command{
		Use: "create <runbook> <file>", Short: "Create a batch of the members in a CSV file", Args: command.OfRunbook(command.Needs("the runbook", "the file")),
		Long: `Create a batch of the members in a CSV file. Nothing runs until the batch is
advanced.

The file has one member a row and a header that names the columns; an empty one
comes from matoolkit template download. Either every row is good and the batch is
created, or every bad row is named and it is not. A file named - is standard input.

Nobody is in two batches that have not ended, of all runbooks that call one of the same
workers: people who are in another batch are refused, and named with that batch.`,
		Example: `  matoolkit batch create moves members.csv
  id=$(matoolkit batch create moves members.csv --quiet)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			csv, err := c.ReadFile(args[1], membercsv.MaxBytes)
			if err != nil {
				return err
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			ctx, sent := c.Sending(cmd.Context(), len(csv))
			view, err := s.Client.CreateBatch(ctx, args[0], csv, shared.options()...)
			sent()
			if err != nil {
				return c.Located(args[1], err)
			}
			if c.Format == render.FormatTable {
				for _, w := range view.Warnings {
					c.Notice("%s: warning: %s", render.FileName(args[1]), w)
				}
			}
			return c.Print(view, c.BatchTable(view))
		},
	}
	shared.flag(create)
	return create
}

func listBatchesCommand(c *runner) *cobra.Command {
	var p command.Paging
	var o api.ListOptions
	list := &cobra.Command{
		Use: "list", Short: "List batches, the newest first", Args: command.Needs(),
		Example: `  matoolkit batch list
  matoolkit batch list --status failed --runbook moves
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
	list.Flags().StringVar(&o.Status, "status", "", "only batches that are "+render.OneOf(api.BatchStatuses))
	list.Flags().StringVar(&o.Runbook, "runbook", "", "only batches of this runbook")
	command.Searched(list, &o, "batches whose runbook's name")
	command.Sorted(list, &o, api.BatchSorts)
	p.Flags(list)
	return list
}

func getBatchCommand(c *runner) *cobra.Command {
	return &cobra.Command{
		Use: "get <id>", Short: "Show a batch and its phases", Args: command.Needs("the id"),
		Example: "  matoolkit batch get 42",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := command.BatchID(args[0])
			if err != nil {
				return err
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			batch, err := s.Client.Batch(cmd.Context(), id)
			if err != nil {
				return err
			}
			if c.Structured() || c.Quiet {
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
	}
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
			id, err := command.BatchID(args[0])
			if err != nil {
				return err
			}
			s, err := c.Session()
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
	members.Flags().StringVar(&o.Status, "status", "", "only members that are "+render.OneOf(api.MemberStatuses))
	command.Searched(members, &o, "members whose key")
	command.Sorted(members, &o, api.MemberSorts)
	p.Flags(members)
	return members
}

func phasesCommand(c *runner) *cobra.Command {
	return command.Lists(&cobra.Command{
		Use: "phases <id>", Short: "List the phases of a batch with how its members stand", Args: command.Needs("the id"),
		Example: "  matoolkit batch phases 42",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := command.BatchID(args[0])
			if err != nil {
				return err
			}
			s, err := c.Session()
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
		Use: "steps <id>", Short: "List the steps of a batch's members", Args: command.Needs("the id"),
		Long: `List the steps of a batch's members, by phase and member. The kind tells of what a
step is part: of a phase, of init, of what is run on_complete of a phase or on the
removal of a member, or of a rollback, which is named. With --output json each step
has its parameters and its result.

A job that was sent is queued, or at_worker from the first heartbeat that lists it: these
come every 30 seconds. Between two polls a step is polling.

What a member has to do in a phase is listed together, and --limit counts it as one.`,
		Example: `  matoolkit batch steps 42 --status failed
  matoolkit batch steps 42 --member 7 --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := command.BatchID(args[0])
			if err != nil {
				return err
			}
			if o.Member < 0 {
				return exit.Usagef("--member is %d; members are numbered from 1", o.Member)
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			page, err := command.Collect(cmd.Context(), p, o, command.PerBatch(id, s.Client.Steps))
			if err != nil {
				return err
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, c.StepTable(page.Items...))
		},
	}
	steps.Flags().StringVar(&o.Status, "status", "", "only steps that are "+render.OneOf(api.StepStatuses))
	steps.Flags().StringVar(&o.Phase, "phase", "", "only steps of this phase")
	steps.Flags().IntVar(&o.Member, "member", 0, "only steps of the member with this number")
	command.Searched(steps, &o, "steps of members whose key")
	command.Sorted(steps, &o, api.StepSorts)
	p.Flags(steps)
	return steps
}
