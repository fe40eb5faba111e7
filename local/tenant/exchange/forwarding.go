package exchange

import (
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// cleared are the parameters, by folded name, that null clears. Programs of others send it; no page says so.
var cleared = map[string]bool{"forwardingsmtpaddress": true, "forwardingaddress": true}

// applyForwarding applies the parameters of Set-Mailbox about forwarding.
func (s *Service) applyForwarding(p *command, next *directory.Recipient, asOf time.Time) *reply {
	if value, present := p.parameters["forwardingsmtpaddress"]; present {
		next.ForwardingSMTP = ""
		if value != nil {
			address, refusal := p.smtp("forwardingsmtpaddress")
			if refusal != nil {
				return refusal
			}
			next.ForwardingSMTP = address
		}
	}
	if value, present := p.parameters["forwardingaddress"]; present {
		next.ForwardingAddress = ""
		if value != nil {
			to, found := s.findRecipient(directory.Text(value), asOf, recipientKinds)
			if !found {
				return recipientNotFound(directory.Text(value))
			}
			next.ForwardingAddress = to.Name
		}
	}
	if value, present := p.parameters["delivertomailboxandforward"]; present {
		keep, isBool := value.(bool)
		if !isBool {
			return cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter 'DeliverToMailboxAndForward'. Cannot convert value \"%v\" to type \"System.Boolean\".", value)
		}
		next.KeepsForwarded = keep
	}
	return nil
}
