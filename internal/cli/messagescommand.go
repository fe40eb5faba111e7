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
	g := command.Group("messages", "See, replay and discard messages that could not be processed",
		listMessagesCommand(c), getMessageCommand(c), replayCommand(c), discardCommand(c), command.MessagesAuditCommand(c.Console))
	g.Long = `See, replay and discard messages that could not be processed.

A message that the system can make nothing of is not dropped: it is kept with its
body, the reason and the time, and the others go on without it. Look at the reason,
put right what is wrong, and then either send it again as it came with replay, or
mark it as dealt with with discard.

Some reasons, and what they ask for:
  the body is not the JSON …      whoever sent it has an error: have it sent anew, discard
  there is no batch 42            it came from another system or too early: replay later
  none of 5 attempts succeeded …  something broke while it was handled: mend that, replay
  dead-lettered: …                Service Bus or a worker gave it up: see matoolkit messages get

The system also reads the dead-letter queues of Service Bus. It sends a message again
that was never processed, such as one that came while there was no handler: see
matoolkit messages list --status replayed. The others are open.`
	return g
}

func listMessagesCommand(c *console) *cobra.Command {
	var p command.Paging
	var o api.ListOptions
	list := &cobra.Command{
		Use: "list", Short: "List messages that could not be processed, the newest first", Args: command.Needs(),
		Long: `List messages that could not be processed, those kept last first. A message is
open until it is replayed or discarded; one that was replayed and could not be
processed again is open again, and its count tells how often that was.`,
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
	list.Flags().StringVar(&o.Status, "status", "", "only messages that are open, replayed or discarded (default open)")
	list.Flags().StringVar(&o.Topic, "topic", "", "only messages of this topic: orchestrator-events, worker-results or worker-jobs")
	command.Sorted(list, &o, api.UnprocessableSorts)
	p.Flags(list)
	return list
}

func getMessageCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "get <message>", Short: "Show such a message with its body", Args: command.Needs("the message"),
		Long: `Show a message that could not be processed, with its properties and its body. A
body that is not JSON is shown with its bytes escaped; --output json has it in
base64. It takes the app role Admin, for a body can hold anything.`,
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
			if c.Structured() || c.Quiet {
				return c.Print(view, c.MessageTable(view))
			}
			if err := c.MessageTable(view).Print(); err != nil {
				return err
			}
			return c.PrintMessage(view)
		},
	}
}

func replayCommand(c *console) *cobra.Command {
	var all bool
	var why string
	var o api.ListOptions
	replay := &cobra.Command{
		Use: "replay [<message> …]", Short: "Send such messages again as they came",
		Long: `Send messages that could not be processed to their topics again, as they came.
Whatever stood in the way should be put right first. Replaying is safe: a message
whose work has been done in the meantime changes nothing.

One that cannot be processed again is open again within moments, with the new
reason: look at matoolkit messages list afterwards. With --all every message that is
open now is replayed once.`,
		Example: `  matoolkit messages replay 0b1d5c0e3f6a4c0d9e2b7a8f1c3d5e7f --reason "batch 42 is there now"
  matoolkit messages replay --all --topic worker-results --reason "handler 1.4.2 is out"`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return exit.Usagef("--all replays every message that is open; %q is one argument too many", args[0])
			case !all && len(args) == 0:
				return exit.Usagef("the message is missing: %s; or --all", cmd.UseLine())
			case !all && o.Topic != "":
				return exit.Usagef("--topic goes with --all")
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
	replay.Flags().BoolVar(&all, "all", false, "replay every message that is open")
	replay.Flags().StringVar(&o.Topic, "topic", "", "with --all, only messages of this topic")
	replay.Flags().StringVar(&why, "reason", "", "why it is replayed, for those who ask later")
	return replay
}

// openMessages lists the ids of all open messages, those kept first first: what was
// sent first is likely to have to be processed first.
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
		Use: "discard <message> …", Short: "Mark such messages as dealt with",
		Long: `Mark messages that could not be processed as dealt with, so that they are no longer
listed as open. Nothing is deleted: matoolkit messages list --status discarded still
shows them, and they can be replayed later.

It asks before it does so. Without a terminal it takes --yes.`,
		Example: `  matoolkit messages discard 0b1d5c0e3f6a4c0d9e2b7a8f1c3d5e7f --reason "a test of the vendor's"
  matoolkit messages list --quiet --all | xargs matoolkit messages discard --yes`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("the message is missing: %s", cmd.UseLine())
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
	discard.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	discard.Flags().StringVar(&why, "reason", "", "why it is discarded, for those who ask later")
	return discard
}

// each does something with one message after another and prints what they have
// become. One that is refused does not hold up the others; an outage, or a sign-in
// that has ended, ends it all. With progress it tells how far it is.
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
		return c.Print(views[0], c.MessageTable(views...))
	}
	if err := c.PrintPage(api.Page[api.UnprocessableMessage]{Items: views}, len(views), "", c.MessageTable(views...)); err != nil {
		return err
	}
	switch {
	case stopped != nil:
		c.Notice("%d of %s %s before this:", len(views), render.Count(len(ids), "message"), done)
		return stopped
	case refused > 0:
		return &exit.Error{Status: exit.Failed, Text: fmt.Sprintf("%d of %s could not be %s", refused, render.Count(len(ids), "message"), done)}
	}
	return nil
}
