package exchange

import (
	"reflect"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

func init() { // not a literal: run reaches back into cmdlets
	cmdlets["Get-MailboxAutoReplyConfiguration"] = cmdlet{names("Identity", "ResultSize"), (*Service).autoReply}
	cmdlets["Set-MailboxAutoReplyConfiguration"] = cmdlet{
		names("Identity", "AutoReplyState", "InternalMessage", "ExternalMessage", "ExternalAudience", "StartTime", "EndTime", "Confirm"), (*Service).setAutoReply,
	}
}

func autoReplyOf(r directory.Recipient) directory.AutoReply {
	if r.AutoReply == nil {
		return directory.AutoReply{State: "Disabled", ExternalAudience: "All"}
	}
	return *r.AutoReply
}

func (s *Service) autoReply(c *call) *reply {
	_, asOf := s.Times()
	r, _, refusal := s.mailbox(c, asOf)
	if refusal != nil {
		return refusal
	}
	a := autoReplyOf(r)
	out := map[string]any{
		"Identity": r.Name, "AutoReplyState": a.State, "ExternalAudience": a.ExternalAudience,
		"InternalMessage": asPage(a.InternalMessage), "ExternalMessage": asPage(a.ExternalMessage), "StartTime": nil, "EndTime": nil,
	}
	if a.StartTime != "" {
		out["StartTime"], out["EndTime"] = a.StartTime, a.EndTime
	}
	return c.results([]map[string]any{out})
}

// asPage is a message as Exchange gives it back.
func asPage(message string) string {
	if message == "" {
		return ""
	}
	return "<html>\n<body>\n" + message + "\n</body>\n</html>\n"
}

func (s *Service) setAutoReply(c *call) *reply {
	now, asOf := s.Times()
	_, r, refusal := s.mailbox(c, asOf)
	if refusal != nil {
		return refusal
	}
	p, next := c.exchange, autoReplyOf(r)
	for _, refusal := range []*reply{
		p.choice("autoreplystate", &next.State, "Enabled", "Disabled", "Scheduled"),
		p.choice("externalaudience", &next.ExternalAudience, "None", "Known", "All"),
		p.text("internalmessage", &next.InternalMessage),
		p.text("externalmessage", &next.ExternalMessage),
		p.time("starttime", &next.StartTime),
		p.time("endtime", &next.EndTime),
	} {
		if refusal != nil {
			return refusal
		}
	}
	if next.State == "Scheduled" && next.StartTime >= next.EndTime { // in one zone and format, and so in order
		return cmdletFailure(invalidData, "The end time of the automatic reply has to be later than its start time.")
	}
	if r.AutoReply != nil && reflect.DeepEqual(*r.AutoReply, next) {
		return c.nothing()
	}
	r.AutoReply = &next
	return s.saveRecipient(c, r, now, asOf)
}

// time sets field to a time in UTC if the parameter is given.
func (p *command) time(parameter string, field *string) *reply {
	value, present := p.parameters[parameter]
	if !present {
		return nil
	}
	t, err := time.Parse(time.RFC3339, directory.Text(value))
	if err != nil {
		return p.cannotConvert(parameter, "System.DateTime")
	}
	*field = t.UTC().Format(time.RFC3339)
	return nil
}
