// Package notify carries out the functions that tell people something: mails to people of a batch, and messages to webhooks.
// Whom a runbook may tell is in the settings of the worker.
package notify

import (
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Config configures the functions.
type Config struct {
	Graph  *graph.Client
	From   string          // object id or sign-in name of the user who mails people; empty: Send-MemberMail fails
	Poster *webhook.Sender // of Send-WebhookMessage
	Policy throttle.Policy // of posts
}

type service struct{ Config }

// Functions are the catalogue's functions that this package carries out.
func Functions(c Config) []catalog.Function {
	s := service{c}
	return []catalog.Function{
		catalog.SendMemberMail.With(s.sendMail),
		catalog.SendWebhookMessage.With(s.post),
	}
}

func wrong(text string) error {
	return &catalog.Failure{Type: catalog.FailureParameters, Message: text}
}

func notConfigured(text string) error {
	return &catalog.Failure{Type: catalog.FailureNotConfigured, Message: text}
}
