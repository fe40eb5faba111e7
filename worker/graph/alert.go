package graph

import (
	"cmp"
	"context"
	"fmt"
	"net/mail"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/microsoftgraph/msgraph-sdk-go/models"
	"github.com/microsoftgraph/msgraph-sdk-go/users"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Alert configures the sender and the default recipients of alerts.
type Alert struct {
	From string   // object id or sign-in name of a user with a mailbox; empty: the function fails
	To   []string // addresses for mails that name none, which every mail may go to
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
		if slices.ContainsFunc(c.alert.To, func(known string) bool { return strings.EqualFold(known, address) }) {
			continue
		}
		if err := c.CheckRecipient(address); err != nil {
			return nil, err
		}
	}
	text := p.String("Body")
	if text == "" {
		text = p.String("Subject")
	}
	if err := c.SendMail(ctx, c.alertOf(p.String("Subject"), text, to, Effect(ctx))); err != nil {
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

// CheckRecipient fails if the worker does not mail people in the domain of an address.
func (c *Client) CheckRecipient(address string) error {
	domain := address[strings.LastIndex(address, "@")+1:]
	if slices.ContainsFunc(c.domains, func(d string) bool { return strings.EqualFold(d, domain) }) {
		return nil
	}
	return &catalog.Failure{
		Type:    catalog.FailureNotConfigured,
		Message: fmt.Sprintf("the worker does not mail people in %s: add the domain to its setting MAIL_DOMAINS", domain),
	}
}

// Effect identifies what a job does: the same in each delivery, attempt and retry of it.
func Effect(ctx context.Context) string {
	job := catalog.JobOf(ctx)
	if effect := cmp.Or(job.EffectID, job.ID); effect != "" {
		return effect
	}
	return uuid.NewString()
}

// alertOf is a mail from the mailbox of alerts.
func (c *Client) alertOf(subject, text string, to []string, effect string) Mail {
	return Mail{From: c.alert.From, To: to, Subject: subject, Body: text + "\n\n-- \nmatoolkit, effect " + effect, Effect: effect}
}

// MailSecret sends a text with a secret from the mailbox of alerts, which keeps no copy. Each call has an effect of its own,
// after that of the job: mails with the same effect are copies, and may be dropped, but another call has another secret.
// The error is a *catalog.Failure.
func (c *Client) MailSecret(ctx context.Context, subject, text, to string) error {
	m := c.alertOf(subject, text, []string{to}, Effect(ctx)+"/"+uuid.NewString())
	m.Forget = true
	return c.SendMail(ctx, m)
}

// Mail is a mail of a user with a mailbox.
type Mail struct {
	From          string // object id or sign-in name
	To            []string
	Subject, Body string
	HTML          bool
	Effect        string // the same in each copy
	Forget        bool   // the mailbox keeps no copy
}

// SendMail sends a mail. A request without an answer is repeated.
func (c *Client) SendMail(ctx context.Context, m Mail) error {
	return c.do(ctx, c.paces.writes, func(ctx context.Context) error {
		body := users.NewItemSendMailPostRequestBody()
		body.SetMessage(m.message())
		if m.Forget {
			body.SetSaveToSentItems(new(false))
		}
		return c.graph.Users().ByUserId(m.From).SendMail().Post(ctx, body, nil)
	})
}

func (mail Mail) message() models.Messageable {
	body := models.NewItemBody()
	body.SetContentType(new(models.TEXT_BODYTYPE))
	if mail.HTML {
		body.SetContentType(new(models.HTML_BODYTYPE))
	}
	body.SetContent(&mail.Body)
	header := models.NewInternetMessageHeader()
	header.SetName(new(effectHeader))
	header.SetValue(&mail.Effect)
	var recipients []models.Recipientable
	for _, address := range mail.To {
		email := models.NewEmailAddress()
		email.SetAddress(&address)
		recipient := models.NewRecipient()
		recipient.SetEmailAddress(email)
		recipients = append(recipients, recipient)
	}
	m := models.NewMessage()
	m.SetSubject(&mail.Subject)
	m.SetBody(body)
	m.SetToRecipients(recipients)
	m.SetInternetMessageHeaders([]models.InternetMessageHeaderable{header})
	return m
}
