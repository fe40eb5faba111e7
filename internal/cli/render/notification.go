package render

import (
	"cmp"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
)

// NotificationTable returns the table of notification rules.
func (c *Printer) NotificationTable(views ...api.NotificationRule) *Sheet {
	t := c.Table("rule", "events", "target", "to", "runbook", "owner", "quiet hours", "urgent", "link", "created by", "created at")
	t.extra = []string{"owner", "urgent", "link", "created by", "created at"}
	for _, v := range views {
		quiet := ""
		if q := v.QuietHours; q != nil {
			quiet = q.From + "-" + q.To + " " + q.TimeZone
		}
		to := cmp.Or(v.Target.URLSetting, v.Target.WorkerID)
		if len(v.Target.To) > 0 {
			to += ": " + strings.Join(v.Target.To, " ")
		}
		t.Row(v.Name, strings.Join(v.Events, " "), v.Target.Type, to, v.Runbook, v.Owner, quiet, strings.Join(v.Urgent, " "), v.LinkURL, v.CreatedBy, v.CreatedAt)
	}
	return t
}

// DeliveryTable returns the table of deliveries.
func (c *Printer) DeliveryTable(views ...api.NotificationDelivery) *Sheet {
	t := c.Table("created", "event", "status", "subject", "attempts", "sent", "next attempt", "error", "delivery")
	t.extra = []string{"delivery"}
	for _, v := range views {
		t.Row(v.CreatedAt, v.Event, v.Status, v.Subject, v.Attempts, v.SentAt, v.NextAt, v.Error, v.ID)
	}
	return t
}
