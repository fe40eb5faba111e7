package graph

import (
	"net/http"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// maxHeaders is how many headers of its own a message may have.
const maxHeaders = 5

// sendMail accepts a message from a user with a mailbox. It delivers nothing, keeps
// messages in memory only and detects no duplicates: two requests make two messages.
func (s *Service) sendMail(c *call) *reply {
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
				return odata.Error(http.StatusBadRequest, "RequestBodyRead", "Cannot convert the literal '%v' to the expected type 'Edm.Boolean'.", value)
			}
		default:
			return odata.Error(http.StatusBadRequest, "RequestBodyRead",
				"The parameter '%s' in the request payload is not a valid parameter for the operation 'sendMail'.", name)
		}
	}
	mail, refusal := readMail(message)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	u, found := s.findUser(c.Arg["user"], asOf)
	if !found {
		return odata.Error(http.StatusNotFound, "ErrorInvalidUser", "The requested user '%s' is invalid.", c.Arg["user"])
	}
	if r, visible := s.Directory.Recipients.Visible(u.ID(), asOf); !visible || r.Kind != directory.UserMailbox {
		return odata.Error(http.StatusNotFound, "MailboxNotEnabledForRESTAPI", "The mailbox is either inactive, soft-deleted, or is hosted on-premise.")
	}
	mail.From = u.ID()
	s.Directory.Mails = append(s.Directory.Mails, mail)
	return &reply{Status: http.StatusAccepted}
}

// readMail reads a message in JSON, and knows the properties of a plain-text
// message to one recipient.
func readMail(message map[string]any) (directory.Mail, *reply) {
	mail := directory.Mail{Subject: directory.Text(message["subject"]), Headers: map[string]string{}}
	for name, value := range message {
		switch name {
		case "subject":
		case "body":
			content, _ := value.(map[string]any)
			if kind := strings.ToLower(directory.Text(content["contentType"])); kind != "text" && kind != "html" {
				return mail, odata.Error(http.StatusBadRequest, "RequestBodyRead", "The value '%s' of contentType is neither text nor html.", kind)
			}
			mail.Body = directory.Text(content["content"])
		case "toRecipients":
			list, _ := value.([]any)
			for _, item := range list {
				recipient, _ := item.(map[string]any)
				to, _ := recipient["emailAddress"].(map[string]any)
				if !directory.ValidAddress(directory.Text(to["address"])) {
					return mail, odata.Error(http.StatusBadRequest, "ErrorInvalidRecipients", "At least one recipient is not valid.")
				}
				mail.To = append(mail.To, directory.Text(to["address"]))
			}
		case "internetMessageHeaders":
			list, _ := value.([]any)
			if len(list) > maxHeaders {
				return mail, odata.Error(http.StatusBadRequest, "InvalidInternetMessageHeaderCollection", "The maximum number of internet message headers is %d.", maxHeaders)
			}
			for _, item := range list {
				header, _ := item.(map[string]any)
				name := strings.ToLower(directory.Text(header["name"]))
				if !strings.HasPrefix(name, "x-") {
					return mail, odata.Error(http.StatusBadRequest, "InvalidInternetMessageHeader", "The internet message header name '%s' should start with 'x-' or 'X-'.", name)
				}
				mail.Headers[name] = directory.Text(header["value"])
			}
		default:
			if !strings.HasPrefix(name, "@odata.") {
				return mail, odata.Error(http.StatusBadRequest, "RequestBodyRead", "The property '%s' does not exist on type 'microsoft.graph.message'.", name)
			}
		}
	}
	if len(mail.To) == 0 {
		return mail, odata.Error(http.StatusBadRequest, "ErrorInvalidRecipients", "At least one recipient is not valid., A message can't be sent because it contains no recipients.")
	}
	return mail, nil
}

// getDeleted finds a user among the deleted items, where a real tenant keeps one for
// 30 days with all properties. Here only the id is given.
func (s *Service) getDeleted(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	id := directory.Fold(c.Arg["item"])
	if !slices.ContainsFunc(s.Directory.DeletedUsers, func(u directory.User) bool { return u.ID() == id }) {
		return notFound(c.Arg["item"])
	}
	if _, still := s.Directory.Users.Visible(id, asOf); still {
		return notFound(c.Arg["item"])
	}
	return odata.OK(map[string]any{"@odata.context": c.context("directoryObjects/$entity"), "@odata.type": "#microsoft.graph.user", "id": id})
}
