package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func messagesCommand(c *console) *cobra.Command {
	g := command.Group("messages", "Show, replay and discard unprocessable messages",
		listMessagesCommand(c), getMessageCommand(c), replayCommand(c), discardCommand(c), command.MessagesAuditCommand(c.Console))
	g.Long = `The system keeps a message that it cannot process, with its body, the reason and the time,
and continues with the other messages. Look at the reason and remove the cause. Then send the
message again with replay, or mark it as resolved with discard.

Some reasons:
  the body is not the JSON …      the sender has an error: send it anew, discard this one
  there is no batch 42            it came from another system or too early: replay it later
  all 5 attempts failed …         its handling failed: remove the cause, replay it
  dead-lettered: …                Service Bus or a worker gave up: see matoolkit messages get

The system also reads the dead-letter queues of Service Bus. It resends a message that was
never processed, for example because no handler ran; see matoolkit messages list --status
replayed. The others are open.`
	g.Example = `  matoolkit messages list
  matoolkit messages replay --all --reason "handler 1.4.2 is deployed"`
	return g
}

func listMessagesCommand(c *console) *cobra.Command {
	var p command.Paging
	var o api.ListOptions
	list := &cobra.Command{
		Use: "list", Short: "List unprocessable messages, the newest first", Args: command.Needs(),
		Long: `Lists unprocessable messages. A message is open until you replay or discard it. A replayed
message that fails again is open again, and its count shows how often that happened.`,
		Example: `  matoolkit messages list
  matoolkit messages list --topic worker-results --all
  matoolkit messages list --status replayed`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			page, err := command.Collect(cmd.Context(), p, o, s.Client.UnprocessableMessages)
			if err != nil {
				return err
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, c.MessageTable(page.Items...))
		},
	}
	list.Flags().StringSliceVar(&o.Statuses, "status", nil, "only messages with one of these statuses: open, replayed or discarded (default open)")
	list.Flags().StringVar(&o.Topic, "topic", "", "only messages of this topic: orchestrator-events, worker-results or worker-jobs")
	command.Sorted(list, &o, api.UnprocessableSorts)
	p.Flags(list)
	return list
}

func getMessageCommand(c *console) *cobra.Command {
	return command.Shows(&cobra.Command{
		Use: "get <message>", Short: "Show an unprocessable message with its body", Args: command.Needs("the message"),
		Long: `Shows a message with its properties and its body. A body that is not JSON is shown with its
bytes escaped; --output json has it in base64. It requires the app role Admin, because a
body can contain any data.`,
		Example: `  matoolkit messages get 0b1d5c0e3f6a4c0d9e2b7a8f1c3d5e7f
  matoolkit messages get 0b1d5c0e3f6a4c0d9e2b7a8f1c3d5e7f --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.UnprocessableMessage(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !c.Plain() || len(c.Columns) > 0 {
				return c.Print(view, c.MessageTable(view))
			}
			if err := c.MessageTable(view).Print(); err != nil {
				return err
			}
			return c.PrintMessage(view)
		},
	})
}

func replayCommand(c *console) *cobra.Command {
	var all bool
	var why string
	var o api.ListOptions
	replay := &cobra.Command{
		Use: "replay [<message> …]", Short: "Send unprocessable messages again",
		Long: `Sends messages to their topics again, unchanged. Remove the cause first. Replaying is safe:
a message whose work was done meanwhile changes nothing.

A message that fails again is open again within moments, with the new reason; check with
matoolkit messages list. With --all every open message is replayed once.`,
		Example: `  matoolkit messages replay 0b1d5c0e3f6a4c0d9e2b7a8f1c3d5e7f --reason "batch 42 exists now"
  matoolkit messages replay --all --topic worker-results --reason "handler 1.4.2 is deployed"`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return exit.Usagef("--all replays every open message; remove the argument %q", args[0])
			case !all && len(args) == 0:
				return exit.Usagef("the message is missing: %s, or give --all", command.UsageLine(cmd))
			case !all && o.Topic != "":
				return exit.Usagef("--topic needs --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			if all {
				if args, err = openMessages(cmd.Context(), s.Client, o); err != nil {
					return err
				}
			}
			return c.each(cmd.Context(), args, all, "replayed", func(ctx context.Context, id string) (api.UnprocessableMessage, error) {
				return s.Client.Replay(ctx, id, why)
			})
		},
	}
	replay.Flags().BoolVar(&all, "all", false, "replay every open message")
	replay.Flags().StringVar(&o.Topic, "topic", "", "with --all, only messages of this topic")
	replay.Flags().StringVar(&why, "reason", "", "the reason, for the audit record")
	return replay
}

// openMessages lists the ids of all open messages, the oldest first: the order in which they
// were sent.
func openMessages(ctx context.Context, client *apiclient.Client, o api.ListOptions) ([]string, error) {
	page, err := command.Collect(ctx, command.Paging{Limit: 1000, All: true}, o, client.UnprocessableMessages)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range slices.Backward(page.Items) {
		ids = append(ids, m.ID)
	}
	return ids, nil
}

func discardCommand(c *console) *cobra.Command {
	var yes bool
	var why string
	discard := &cobra.Command{
		Use: "discard <message> …", Short: "Mark unprocessable messages as resolved",
		Long: `Marks messages as resolved, so that they are no longer listed as open. Nothing is deleted:
matoolkit messages list --status discarded shows them, and you can replay them later.

The command asks for confirmation. Without a terminal, give --yes.`,
		Example: `  matoolkit messages discard 0b1d5c0e3f6a4c0d9e2b7a8f1c3d5e7f --reason "test message of the vendor"
  matoolkit messages list --quiet --all | xargs matoolkit messages discard --yes`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("the message is missing: %s", command.UsageLine(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			if !yes {
				if err := c.Confirm(cmd.Context(), "Discard %s?", render.Count(len(args), "message")); err != nil {
					return err
				}
			}
			return c.each(cmd.Context(), args, false, "discarded", func(ctx context.Context, id string) (api.UnprocessableMessage, error) {
				return s.Client.Discard(ctx, id, why)
			})
		},
	}
	discard.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	discard.Flags().StringVar(&why, "reason", "", "the reason, for the audit record")
	return discard
}

// each calls do for each message and prints the results. It continues after a refusal and ends
// with an outage or an expired sign-in. With progress it prints the number of messages done.
func (c *console) each(ctx context.Context, ids []string, progress bool, done string, do func(context.Context, string) (api.UnprocessableMessage, error)) error {
	views := []api.UnprocessableMessage{}
	var refused int
	var stopped error
	for i, id := range ids {
		view, err := do(ctx, id)
		if err == nil {
			views = append(views, view)
		} else if status, text, _ := describe(err); len(ids) > 1 && (status == exit.NotFound || status == exit.Refused) {
			refused++
			fmt.Fprintln(c.Env.Stderr, render.Printable(text))
		} else {
			stopped = err
			break
		}
		if progress && ((i+1)%100 == 0 || i+1 == len(ids)) {
			c.Notice("%d of %d", i+1, len(ids))
		}
	}
	switch {
	case len(ids) == 1 && stopped != nil:
		return stopped
	case len(ids) == 1:
		return c.Done(views[0], c.MessageTable(views...), "matoolkit messages list", "%s message %s.", render.Capital(done), views[0].ID)
	}
	if err := c.PrintPage(api.Page[api.UnprocessableMessage]{Items: views}, len(views), "", c.MessageTable(views...)); err != nil {
		return err
	}
	switch {
	case stopped != nil:
		c.Notice("%s %d of %s before this error:", render.Capital(done), len(views), render.Count(len(ids), "message"))
		return stopped
	case refused > 0:
		return &exit.Error{Status: exit.Failed, Text: fmt.Sprintf("%d of %s could not be %s", refused, render.Count(len(ids), "message"), done)}
	}
	c.Outcome("matoolkit messages list", "%s %s.", render.Capital(done), render.Count(len(views), "message"))
	return nil
}
