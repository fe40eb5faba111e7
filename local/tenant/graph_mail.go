package tenant

import (
	"net/http"
	"strings"
)

// Mail is a message that a user of the tenant sent.
type Mail struct {
	From    string            `json:"from"` // object id of the sender
	To      []string          `json:"to"`
	Subject string            `json:"subject"`
	Body    string            `json:"body"`
	Headers map[string]string `json:"headers,omitempty"` // of the sender's own, with names in lower case
}

// maxHeaders is how many headers of its own a message may have.
const maxHeaders = 5

// sendMail accepts a message from a user with a mailbox. It delivers nothing, keeps
// messages in memory only and detects no duplicates: two requests make two messages.
func (s *Server) sendMail(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	var message map[string]any
	for name, value := range body {
		switch strings.ToLower(name) {
		case "message":
			message, _ = value.(map[string]any)
		case "savetosentitems":
			if _, isBool := value.(bool); !isBool {
				return graphError(http.StatusBadRequest, "RequestBodyRead", "Cannot convert the literal '%v' to the expected type 'Edm.Boolean'.", value)
			}
		default:
			return graphError(http.StatusBadRequest, "RequestBodyRead",
				"The parameter '%s' in the request payload is not a valid parameter for the operation 'sendMail'.", name)
		}
	}
	mail, refusal := readMail(message)
	if refusal != nil {
		return refusal
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	_, asOf := s.times()
	u, found := s.findUser(c.arg["user"], asOf)
	if !found {
		return graphError(http.StatusNotFound, "ErrorInvalidUser", "The requested user '%s' is invalid.", c.arg["user"])
	}
	if r, visible := s.dir.recipients.rows[u.ID()].visible(asOf); !visible || r.Kind != UserMailbox {
		return graphError(http.StatusNotFound, "MailboxNotEnabledForRESTAPI", "The mailbox is either inactive, soft-deleted, or is hosted on-premise.")
	}
	mail.From = u.ID()
	s.dir.mails = append(s.dir.mails, mail)
	return &reply{status: http.StatusAccepted}
}

// readMail reads a message in JSON, and knows the properties of a plain-text
// message to one recipient.
func readMail(message map[string]any) (Mail, *reply) {
	mail := Mail{Subject: text(message["subject"]), Headers: map[string]string{}}
	for name, value := range message {
		switch name {
		case "subject":
		case "body":
			content, _ := value.(map[string]any)
			if kind := strings.ToLower(text(content["contentType"])); kind != "text" && kind != "html" {
				return mail, graphError(http.StatusBadRequest, "RequestBodyRead", "The value '%s' of contentType is neither text nor html.", kind)
			}
			mail.Body = text(content["content"])
		case "toRecipients":
			list, _ := value.([]any)
			for _, item := range list {
				recipient, _ := item.(map[string]any)
				to, _ := recipient["emailAddress"].(map[string]any)
				if !addressPattern.MatchString(text(to["address"])) {
					return mail, graphError(http.StatusBadRequest, "ErrorInvalidRecipients", "At least one recipient is not valid.")
				}
				mail.To = append(mail.To, text(to["address"]))
			}
		case "internetMessageHeaders":
			list, _ := value.([]any)
			if len(list) > maxHeaders {
				return mail, graphError(http.StatusBadRequest, "InvalidInternetMessageHeaderCollection", "The maximum number of internet message headers is %d.", maxHeaders)
			}
			for _, item := range list {
				header, _ := item.(map[string]any)
				name := strings.ToLower(text(header["name"]))
				if !strings.HasPrefix(name, "x-") {
					return mail, graphError(http.StatusBadRequest, "InvalidInternetMessageHeader", "The internet message header name '%s' should start with 'x-' or 'X-'.", name)
				}
				mail.Headers[name] = text(header["value"])
			}
		default:
			if !strings.HasPrefix(name, "@odata.") {
				return mail, graphError(http.StatusBadRequest, "RequestBodyRead", "The property '%s' does not exist on type 'microsoft.graph.message'.", name)
			}
		}
	}
	if len(mail.To) == 0 {
		return mail, graphError(http.StatusBadRequest, "ErrorInvalidRecipients", "At least one recipient is not valid., A message can't be sent because it contains no recipients.")
	}
	return mail, nil
}

// getDeleted finds a user among the deleted items, where a real tenant keeps one for
// 30 days with all properties. Here only the id is kept, and not across a restart.
func (s *Server) getDeleted(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	_, asOf := s.times()
	id := fold(c.arg["item"])
	if _, exists := s.dir.users.rows[id].latest(); exists || s.dir.users.rows[id] == nil {
		return notFound(c.arg["item"])
	}
	if _, still := s.dir.users.rows[id].visible(asOf); still {
		return notFound(c.arg["item"])
	}
	return ok(map[string]any{"@odata.context": c.context("directoryObjects/$entity"), "@odata.type": "#microsoft.graph.user", "id": id})
}
