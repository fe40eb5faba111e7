package exchange

import (
	"cmp"
	"context"
	"html"
	"regexp"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// autoReply is the automatic reply of a mailbox.
type autoReply struct {
	AutoReplyState   string
	InternalMessage  string
	ExternalMessage  string
	ExternalAudience string
	StartTime        string
	EndTime          string
}

func (c *Client) setAutoReply(ctx context.Context, p catalog.Params) (any, error) {
	wanted := autoReply{
		AutoReplyState: "Enabled", InternalMessage: p.String("InternalMessage"),
		ExternalMessage: cmp.Or(p.String("ExternalMessage"), p.String("InternalMessage")), ExternalAudience: cmp.Or(p.String("ExternalAudience"), "All"),
	}
	if p.Has("StartTime") != p.Has("EndTime") {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "StartTime and EndTime go together: give both or none"}
	}
	if p.Has("StartTime") {
		start, startErr := time.Parse(time.RFC3339, p.String("StartTime"))
		end, endErr := time.Parse(time.RFC3339, p.String("EndTime"))
		if startErr != nil || endErr != nil {
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "StartTime and EndTime must be times with a zone, such as 2026-03-01T18:00:00Z"}
		}
		if !start.Before(end) {
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "StartTime must be before EndTime"}
		}
		wanted.AutoReplyState, wanted.StartTime, wanted.EndTime = "Scheduled", start.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339)
	}
	change := map[string]any{
		"AutoReplyState": wanted.AutoReplyState, "InternalMessage": wanted.InternalMessage, "ExternalMessage": wanted.ExternalMessage, "ExternalAudience": wanted.ExternalAudience,
	}
	if wanted.StartTime != "" {
		change["StartTime"], change["EndTime"] = wanted.StartTime, wanted.EndTime
	}
	return c.writeAutoReply(ctx, p.String("Identity"), change, wanted.sameAs)
}

func (c *Client) removeAutoReply(ctx context.Context, p catalog.Params) (any, error) {
	return c.writeAutoReply(ctx, p.String("Identity"), map[string]any{"AutoReplyState": "Disabled"}, func(have autoReply) bool {
		return strings.EqualFold(have.AutoReplyState, "Disabled")
	})
}

func (c *Client) writeAutoReply(ctx context.Context, id string, change map[string]any, is func(autoReply) bool) (any, error) {
	change["Identity"] = id
	if err := c.Invoke(ctx, "Set-MailboxAutoReplyConfiguration", change, nil); err != nil {
		return nil, err
	}
	_, err := session.Until(ctx, c.Session, "the automatic reply is another one", is, func(ctx context.Context) (autoReply, error) {
		var found []autoReply
		if err := c.Invoke(ctx, "Get-MailboxAutoReplyConfiguration", map[string]any{"Identity": id}, &found); err != nil {
			return autoReply{}, err
		}
		if len(found) != 1 {
			return autoReply{}, session.Ambiguous("Get-MailboxAutoReplyConfiguration", len(found))
		}
		return found[0], nil
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}

// sameAs compares texts without markup: Exchange makes pages of messages.
func (a autoReply) sameAs(have autoReply) bool {
	return strings.EqualFold(have.AutoReplyState, a.AutoReplyState) && strings.EqualFold(have.ExternalAudience, a.ExternalAudience) &&
		words(have.InternalMessage) == words(a.InternalMessage) && words(have.ExternalMessage) == words(a.ExternalMessage) &&
		(a.StartTime == "" || sameTime(have.StartTime, a.StartTime) && sameTime(have.EndTime, a.EndTime))
}

var markup = regexp.MustCompile(`<[^>]*>`)

// words is the text of a page without white space, which markup can stand for.
func words(page string) string {
	return strings.Join(strings.Fields(html.UnescapeString(markup.ReplaceAllString(page, ""))), "")
}

// sameTime compares a time of Exchange, which may lack its zone, with a time in UTC.
func sameTime(have, want string) bool {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, have); err == nil {
			return t.UTC().Format(time.RFC3339) == want
		}
	}
	return false
}
