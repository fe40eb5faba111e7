package notification

import (
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	defaultFailedPercent = 10
	maxRecipients        = 20
	maxText              = 500 // bytes of each text of a rule
)

var ruleName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// ofRunbook are the events that have a runbook, ofBatch those that have an owner.
var (
	ofBatch   = []string{api.EventGateWaiting, api.EventRemovalsHeld, api.EventFailures, api.EventBatchEnded}
	ofRunbook = append(slices.Clone(ofBatch), api.EventAdditionsHeld, api.EventSourceFailing)
)

// newRule checks a request and returns its rule, with lists in one order. Errors: CodeInvalid.
func (n *Notifier) newRule(request api.NotificationRequest) (store.NotificationRule, error) {
	r := store.NotificationRule{
		Name: request.Name, Events: sorted(request.Events), Runbook: request.Runbook, Owner: request.Owner, FailedPercent: request.FailedPercent,
		Urgent: sorted(request.Urgent), LinkURL: request.LinkURL, Target: store.NotificationTarget(request.Target),
	}
	invalid := func(format string, args ...any) (store.NotificationRule, error) {
		return store.NotificationRule{}, problem.New(api.CodeInvalid, format, args...)
	}
	if !ruleName.MatchString(r.Name) {
		return invalid("invalid name %q: use 1 to 40 small letters, digits and '-'", clip(r.Name))
	}
	if len(r.Events) == 0 {
		return invalid("events is empty: name at least one of %s", strings.Join(api.NotificationEvents, ", "))
	}
	for _, e := range r.Events {
		switch {
		case !slices.Contains(api.NotificationEvents, e):
			return invalid("unknown event %q: use one of %s", clip(e), strings.Join(api.NotificationEvents, ", "))
		case r.Runbook != "" && !slices.Contains(ofRunbook, e):
			return invalid("the event %s has no runbook: leave out runbookName, or the event", e)
		case r.Owner != "" && !slices.Contains(ofBatch, e):
			return invalid("the event %s has no owner: leave out owner, or the event", e)
		}
	}
	for _, e := range r.Urgent {
		if !slices.Contains(r.Events, e) {
			return invalid("urgent has %q, which is not in events", clip(e))
		}
	}
	for name, text := range map[string]string{"runbook": r.Runbook, "owner": r.Owner, "linkUrl": r.LinkURL} {
		if len(text) > maxText {
			return invalid("%s has %d bytes; at most %d are allowed", name, len(text), maxText)
		}
	}
	if len(r.Urgent) > 0 && request.QuietHours == nil {
		return invalid("urgent needs quietHours")
	}
	if failures := slices.Contains(r.Events, api.EventFailures); failures && r.FailedPercent == 0 {
		r.FailedPercent = defaultFailedPercent
	} else if !failures && r.FailedPercent != 0 {
		return invalid("failedPercent needs the event %s", api.EventFailures)
	}
	if r.FailedPercent < 0 || r.FailedPercent > 100 {
		return invalid("failedPercent %d is not from 1 to 100", r.FailedPercent)
	}
	if r.LinkURL != "" {
		if u, err := url.Parse(r.LinkURL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return invalid("linkUrl is not a URL such as https://console.example.com, without query and fragment")
		}
	}
	if q := request.QuietHours; q != nil {
		var err error
		if r.Quiet, err = runbook.DailyQuietHours(q.TimeZone, q.From, q.To); err != nil {
			return invalid("quietHours: %v", err)
		}
	}
	return r, n.checkTarget(r.Target)
}

// checkTarget refuses a target that lacks something, has something that its type does not have, or
// names a setting that rules may not use. Errors: CodeInvalid.
func (n *Notifier) checkTarget(t store.NotificationTarget) error {
	has := func(field, value, needed string) error {
		wanted := slices.Contains(strings.Fields(needed), t.Type)
		if wanted && value == "" {
			return problem.New(api.CodeInvalid, "target.%s is missing: a target of the type %s needs it", field, t.Type)
		}
		if !wanted && value != "" {
			return problem.New(api.CodeInvalid, "a target of the type %s has no %s", t.Type, field)
		}
		return nil
	}
	if !slices.Contains([]string{api.TargetWebhook, api.TargetTeams, api.TargetMail}, t.Type) {
		return problem.New(api.CodeInvalid, "unknown type of target %q: use webhook, teams or mail", clip(t.Type))
	}
	for _, err := range []error{
		has("urlSetting", t.URLSetting, "webhook teams"), has("keySetting", t.KeySetting, "webhook"), has("workerId", t.WorkerID, "mail"),
	} {
		if err != nil {
			return err
		}
	}
	if t.Type != api.TargetMail {
		if len(t.To) > 0 {
			return problem.New(api.CodeInvalid, "a target of the type %s has no to", t.Type)
		}
		if n.poster == nil {
			return problem.New(api.CodeInvalid, "this handler posts no notifications")
		}
		if err := n.poster.CheckTarget(t.URLSetting, t.KeySetting); err != nil {
			return problem.New(api.CodeInvalid, "target: %v", err)
		}
		return nil
	}
	if !message.ValidWorkerID(t.WorkerID) {
		return problem.New(api.CodeInvalid, "target.workerId %q is not the id of a worker", clip(t.WorkerID))
	}
	if len(t.To) > maxRecipients {
		return problem.New(api.CodeInvalid, "target.to has %d addresses; at most %d are allowed", len(t.To), maxRecipients)
	}
	for _, to := range t.To {
		if a, err := mail.ParseAddress(to); err != nil || a.Address != to || len(to) > maxText {
			return problem.New(api.CodeInvalid, "target.to has %q, which is not a mail address", clip(to))
		}
	}
	return nil
}

// sorted returns a list in order, each text once; nil for an empty one.
func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	if list = slices.Compact(list); len(list) == 0 {
		return nil
	}
	return list
}

// clip shortens a text of a request for an error.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// ruleView returns a rule as the API has it.
func ruleView(r *store.NotificationRule) api.NotificationRule {
	view := api.NotificationRule{
		NotificationRequest: api.NotificationRequest{
			Name: r.Name, Events: r.Events, Runbook: r.Runbook, Owner: r.Owner, FailedPercent: r.FailedPercent, Target: api.NotificationTarget(r.Target),
			Urgent: r.Urgent, LinkURL: r.LinkURL,
		},
		CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy,
	}
	if r.Quiet != nil {
		from, to := r.Quiet.Windows[0].Times()
		view.QuietHours = &api.NotificationQuietHours{TimeZone: r.Quiet.TimeZone, From: from, To: to}
	}
	return view
}
