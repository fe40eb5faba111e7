package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

func notificationCommand(c *console) *cobra.Command {
	g := command.Group("notification", "Announce what waits for a person, by webhook, Teams or mail",
		listNotificationsCommand(c), getNotificationCommand(c), addNotificationCommand(c), testNotificationCommand(c), deliveriesCommand(c), removeNotificationCommand(c))
	g.Long = `A rule names events and a target. The scheduler looks for events every five minutes, and
announces each event once to each rule. A target that does not answer gets the notification
again, with growing delay, for some seventeen hours.

Events:
  gate_waiting           a gate holds a phase back
  removals_held          removals wait for confirmation
  additions_held         additions wait for confirmation; at most one a day for each runbook
  failures               members of a phase failed, from --failed-percent on
  batch_ended            a batch completed, failed or was cancelled
  worker_silent          jobs wait for a worker that gives no sign of life
  source_failing         the data source of a runbook cannot be read
  message_unprocessable  a message cannot be processed; one a day for each topic and type
  containers_lost        containers of the container scaler ended before they received their
                         messages; one a day for each subscription
  share_returned         the share of a pipeline returned to 0 because requests failed

Rules name settings of the handler that contain the address and the key; see
NOTIFICATION_SETTINGS.`
	g.Example = `  matoolkit notification add cut-over --event gate_waiting --teams TEAMS_URL
  matoolkit notification test cut-over
  matoolkit notification deliveries cut-over`
	return g
}

func listNotificationsCommand(c *console) *cobra.Command {
	return command.Lists(&cobra.Command{
		Use: "list", Short: "List notification rules", Args: command.Needs(),
		Long: `Lists all notification rules with their events and targets.`,
		Example: `  matoolkit notification list
  matoolkit notification list --output json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			page, err := s.Client.Notifications(cmd.Context())
			if err != nil {
				return err
			}
			return c.PrintPage(page, len(page.Items), "", c.NotificationTable(page.Items...))
		},
	})
}

func getNotificationCommand(c *console) *cobra.Command {
	return command.Shows(&cobra.Command{
		Use: "get <rule>", Short: "Show a notification rule", Args: command.Needs("the rule"),
		Long: `Shows a rule. It names the settings that contain the address and the key, not their values.`,
		Example: `  matoolkit notification get cut-over
  matoolkit notification get cut-over --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.Notification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.Print(view, c.NotificationTable(view))
		},
	})
}

func addNotificationCommand(c *console) *cobra.Command {
	var rule api.NotificationRequest
	var webhook, teams, mail, quiet, zone string
	add := &cobra.Command{
		Use: "add <rule>", Short: "Add a notification rule", Args: command.Needs("the name of the rule"),
		Long: `Adds a rule with one target. To change a rule, remove it and add it again.

A webhook gets a JSON document that is signed as Standard Webhooks 1.0 describes. Its header
webhook-id is the same in each attempt. A Teams channel needs a workflow that posts to the
channel when it receives a webhook request. Mail is sent by a worker, with the function
Send-AdminAlert.

In quiet hours, notifications wait; what has ended by then is not announced. Events in
--urgent are announced at once.`,
		Example: `  matoolkit notification add cut-over --event gate_waiting,failures --failed-percent 5 --teams TEAMS_URL
  matoolkit notification add tickets --event batch_ended --webhook HOOK_URL --key HOOK_KEY --link https://console.example.com
  matoolkit notification add on-call --event worker_silent,batch_ended --mail worker-01 --to ada@example.com \
      --quiet 20:00-07:00 --time-zone Europe/Berlin --urgent worker_silent`,
		RunE: func(cmd *cobra.Command, args []string) error {
			rule.Name = args[0]
			given := 0
			for kind, name := range map[string]string{api.TargetWebhook: webhook, api.TargetTeams: teams, api.TargetMail: mail} {
				if name != "" {
					given++
					rule.Target.Type = kind
				}
			}
			if given != 1 {
				return exit.Usagef("give one target: --webhook, --teams or --mail")
			}
			rule.Target.URLSetting, rule.Target.WorkerID = webhook+teams, mail
			if quiet != "" || zone != "" {
				from, to, ok := strings.Cut(quiet, "-")
				if !ok || zone == "" {
					return exit.Usagef("give quiet hours as in --quiet 20:00-07:00 --time-zone Europe/Berlin")
				}
				rule.QuietHours = &api.NotificationQuietHours{TimeZone: zone, From: from, To: to}
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.AddNotification(cmd.Context(), rule)
			if err != nil {
				return err
			}
			next := "matoolkit notification test " + view.Name
			if view.Unchanged {
				return c.Done(view, c.NotificationTable(view), next, "The notification rule %s exists already.", view.Name)
			}
			return c.Done(view, c.NotificationTable(view), next, "Added notification rule %s.", view.Name)
		},
	}
	flags := add.Flags()
	flags.StringSliceVar(&rule.Events, "event", nil, "events to announce: "+strings.Join(api.NotificationEvents, ", "))
	flags.StringVar(&webhook, "webhook", "", "the setting of the handler with the URL of a webhook")
	flags.StringVar(&rule.Target.KeySetting, "key", "", "with --webhook, the setting with the key for signatures")
	flags.StringVar(&teams, "teams", "", "the setting of the handler with the URL of a Teams workflow")
	flags.StringVar(&mail, "mail", "", "the worker that sends mail")
	flags.StringSliceVar(&rule.Target.To, "to", nil, "with --mail, the recipients: of the worker's setting ALERT_TO, or in its MAIL_DOMAINS (default: all of ALERT_TO)")
	flags.StringVar(&rule.Runbook, "runbook", "", "only events of this runbook")
	flags.StringVar(&rule.Owner, "owner", "", "only events of batches with this owner")
	flags.IntVar(&rule.FailedPercent, "failed-percent", 0, "with the event failures, the percentage of failed members from which it is announced (default 10)")
	flags.StringVar(&quiet, "quiet", "", "daily quiet hours, such as 20:00-07:00")
	flags.StringVar(&zone, "time-zone", "", "with --quiet, the time zone, such as Europe/Berlin")
	flags.StringSliceVar(&rule.Urgent, "urgent", nil, "with --quiet, events that are announced at once")
	flags.StringVar(&rule.LinkURL, "link", "", "the URL that links in notifications begin with, such as https://console.example.com")
	return add
}

func testNotificationCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "test <rule>", Short: "Send a test to the target of a rule", Args: command.Needs("the rule"),
		Long: `Sends a test at once, also in quiet hours, and shows whether the target took it. The exit
status is 1 if it did not. A test by mail is sent when the worker has received its job; a
failure of the worker appears in matoolkit notification deliveries.`,
		Example: `  matoolkit notification test cut-over`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.TestNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			next := "matoolkit notification deliveries " + view.Rule
			if view.Status == api.DeliverySent {
				return c.Done(view, c.DeliveryTable(view), next, "Sent a test of notification rule %s.", view.Rule)
			}
			if err := c.Print(view, c.DeliveryTable(view)); err != nil {
				return err
			}
			return &exit.Error{Status: exit.Failed, Text: "the test was not sent: " + view.Error}
		},
	}
}

func deliveriesCommand(c *console) *cobra.Command {
	var p command.Paging
	list := &cobra.Command{
		Use: "deliveries <rule>", Short: "List what a rule has sent, the newest first", Args: command.Needs("the rule"),
		Long: `Lists the deliveries of a rule of the last 30 days. The status is one of these:

  pending  waits for the end of quiet hours or for the next attempt
  sent     the target accepted it
  failed   given up after the last attempt
  dropped  the event ended before it was announced`,
		Example: `  matoolkit notification deliveries cut-over
  matoolkit notification deliveries cut-over --all --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			page, err := command.Collect(cmd.Context(), p, api.ListOptions{}, func(ctx context.Context, o api.ListOptions) (api.Page[api.NotificationDelivery], error) {
				return s.Client.NotificationDeliveries(ctx, args[0], o)
			})
			if err != nil {
				return err
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, c.DeliveryTable(page.Items...))
		},
	}
	p.Flags(list)
	return list
}

func removeNotificationCommand(c *console) *cobra.Command {
	var why string
	remove := &cobra.Command{
		Use: "remove <rule>", Short: "Remove a notification rule and its deliveries", Args: command.Needs("the rule"),
		Long:    `Removes a rule and the list of its deliveries. What the rule has not sent is not sent.`,
		Example: `  matoolkit notification remove cut-over --reason "the channel is closed"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.RemoveNotification(cmd.Context(), args[0], why)
			if err != nil {
				return err
			}
			return c.Done(view, c.NotificationTable(view), "matoolkit notification list", "Removed notification rule %s.", view.Name)
		},
	}
	command.ReasonFlag(remove, &why)
	return remove
}
