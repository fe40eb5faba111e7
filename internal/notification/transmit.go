package notification

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/adaptivecard"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apijson"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// mailFunction is the function of a worker that sends mail.
const mailFunction = "Send-AdminAlert"

// mailTime is how long a worker may take to begin the job that sends a mail.
const mailTime = time.Hour

// transmit sends a delivery to the target of its rule once.
func (n *Notifier) transmit(ctx context.Context, r *store.NotificationRule, d store.Item[store.Delivery]) error {
	t := r.Target
	if t.Type == api.TargetMail {
		return n.mail(ctx, t, d)
	}
	if n.poster == nil {
		return errors.New("this handler posts no notifications")
	}
	id := strings.TrimPrefix(d.ID, store.DeliveryPrefix(r.Name))
	body := webhookBody(id, d.Doc)
	if t.Type == api.TargetTeams {
		body = adaptivecard.Message(d.Doc.Subject, d.Doc.Text, d.Doc.Link)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return n.poster.Post(ctx, t.URLSetting, t.KeySetting, id, data)
}

// payload is the body of a webhook.
type payload struct {
	Type      string  `json:"type"`      // the kind of event
	Timestamp string  `json:"timestamp"` // with milliseconds, as in the API
	Data      content `json:"data"`
}

type content struct {
	ID      string `json:"id"` // of the delivery
	Rule    string `json:"ruleName"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
	Link    string `json:"link,omitempty"`
	Batch   int    `json:"batchId,omitempty"`
	Runbook string `json:"runbook,omitempty"`
	Phase   string `json:"phase,omitempty"`
	Worker  string `json:"workerId,omitempty"`
}

func webhookBody(id string, d store.Delivery) any {
	return payload{Type: d.Event, Timestamp: d.CreatedAt.UTC().Format(apijson.TimeLayout), Data: content{
		ID: id, Rule: d.Rule, Subject: d.Subject, Text: d.Text, Link: d.Link, Batch: d.Batch, Runbook: d.Runbook, Phase: d.Phase, Worker: d.Worker,
	}}
}

// mail sends a worker the job that sends a mail. The delivery counts as sent with the job; a result
// that reports a failure changes that: see OnMailResult.
func (n *Notifier) mail(ctx context.Context, t store.NotificationTarget, d store.Item[store.Delivery]) error {
	text := d.Doc.Text
	if d.Doc.Link != "" {
		text += "\n\n" + d.Doc.Link
	}
	params := map[string]any{"Subject": d.Doc.Subject, "Body": text}
	if len(t.To) > 0 {
		params["To"] = t.To
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return err
	}
	now := n.now().UTC()
	expires := now.Add(mailTime)
	job := message.Job{
		JobID: message.NotificationJobID(d.ID, d.Doc.Attempts), WorkerID: t.WorkerID, FunctionName: mailFunction, Parameters: encoded,
		EffectID: d.ID, DispatchedAt: &now, ExpiresAt: &expires,
	}
	body, err := json.Marshal(job)
	if err != nil {
		return err
	}
	err = n.bus.Send(ctx, message.TopicWorkerJobs, bus.Message{
		ID: job.JobID, Body: body, Properties: map[string]any{message.PropertyWorkerID: t.WorkerID}, TimeToLive: mailTime,
	})
	if err != nil {
		return fmt.Errorf("the job for the worker %s was not sent: %w", t.WorkerID, err)
	}
	return nil
}

// OnMailResult stores the failure of a job that was to send a mail: the delivery is pending again, or
// has failed after its last attempt. It does nothing for a success, and for an attempt that is not the
// last one.
func (n *Notifier) OnMailResult(ctx context.Context, result message.Result) error {
	id, attempt, ok := message.SplitNotificationJobID(result.JobID)
	if !ok || strings.EqualFold(result.Status, message.StatusSuccess) {
		return nil
	}
	return store.RetryOnConflict(ctx, func() error {
		d, err := store.Read[store.Delivery](ctx, n.store, store.Key{PK: store.PartitionNotifications, ID: id, Type: "delivery"})
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil || d.Doc.Attempts != attempt || d.Doc.Status == store.DeliveryDropped || d.Doc.Status == store.DeliveryFailed {
			return err
		}
		now := n.now().UTC()
		d.Doc.Error, d.Doc.SentAt = shorten(message.ErrorText(result.Error)), nil
		if attempt >= maxAttempts || d.Doc.Event == api.EventTest {
			end(&d.Doc, store.DeliveryFailed, now)
		} else {
			d.Doc.Status, d.Doc.WakeAt = store.DeliveryPending, now.Add(retryDelay(attempt))
		}
		_, err = n.store.Apply(ctx, store.Writes{store.Replace(d.Key, d.Doc, d.Version)})
		return err
	})
}
