package graph

import (
	"cmp"
	"context"
	"net/mail"

	"github.com/google/uuid"
	"github.com/microsoftgraph/msgraph-sdk-go/models"
	"github.com/microsoftgraph/msgraph-sdk-go/users"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Alert configures the sender and the default recipients of alerts.
type Alert struct {
	From string   // object id or sign-in name of a user with a mailbox; empty: the function fails
	To   []string // addresses for mails that name none
}

// effectHeader is in all mails that one step sent for a member, be it by two deliveries of
// a job or by two attempts. Exchange Online takes headers of a sender's own when their names
// begin with x-.
const effectHeader = "x-matoolkit-effect"

// sendAlert sends a mail. A request without an answer is repeated: of an alert that comes
// twice and one that never comes the second is worse.
func (c *Client) sendAlert(ctx context.Context, p catalog.Params) (any, error) {
	if err := c.CheckMail(); err != nil {
		return nil, err
	}
	to := p.List("To")
	if len(to) == 0 {
		to = c.alert.To
	}
	if len(to) == 0 {
		return nil, &catalog.Failure{
			Type:    catalog.FailureParameters,
			Message: "no recipient: give To, or set ALERT_TO of the worker",
		}
	}
	for _, address := range to {
		if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "To has an invalid mail address"}
		}
	}
	text := p.String("Body")
	if text == "" {
		text = p.String("Subject")
	}
	if err := c.Mail(ctx, p.String("Subject"), text, to, true); err != nil {
		return nil, err
	}
	return true, nil
}

// CheckMail fails if the worker has no mailbox to send from.
func (c *Client) CheckMail() error {
	if c.alert.From == "" {
		return &catalog.Failure{
			Type:    catalog.FailureNotConfigured,
			Message: "no sender: set ALERT_FROM of the worker",
		}
	}
	return nil
}

// Mail sends a mail from the mailbox of alerts, and repeats a request without an answer. keep: the mailbox keeps a copy. The
// error is a *catalog.Failure.
func (c *Client) Mail(ctx context.Context, subject, text string, to []string, keep bool) error {
	job := catalog.JobOf(ctx)
	effect := cmp.Or(job.EffectID, job.ID)
	if effect == "" {
		effect = uuid.NewString()
	}
	return c.do(ctx, c.paces.writes, func(ctx context.Context) error {
		body := users.NewItemSendMailPostRequestBody()
		body.SetMessage(message(subject, text+"\n\n-- \nmatoolkit, effect "+effect, effect, to))
		if !keep {
			body.SetSaveToSentItems(&keep)
		}
		return c.graph.Users().ByUserId(c.alert.From).SendMail().Post(ctx, body, nil)
	})
}

func message(subject, text, effect string, to []string) models.Messageable {
	body := models.NewItemBody()
	body.SetContentType(new(models.TEXT_BODYTYPE))
	body.SetContent(&text)
	header := models.NewInternetMessageHeader()
	header.SetName(new(effectHeader))
	header.SetValue(&effect)
	var recipients []models.Recipientable
	for _, address := range to {
		email := models.NewEmailAddress()
		email.SetAddress(&address)
		recipient := models.NewRecipient()
		recipient.SetEmailAddress(email)
		recipients = append(recipients, recipient)
	}
	m := models.NewMessage()
	m.SetSubject(&subject)
	m.SetBody(body)
	m.SetToRecipients(recipients)
	m.SetInternetMessageHeaders([]models.InternetMessageHeaderable{header})
	return m
}
