package notification

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxRules bounds the rules, which each tick reads.
const maxRules = 100

// NotificationRules returns all rules by name. Errors: CodeUnavailable.
func (n *Notifier) NotificationRules(ctx context.Context) (api.Page[api.NotificationRule], error) {
	found, err := n.store.NotificationRules(ctx)
	if err != nil {
		return api.Page[api.NotificationRule]{}, err
	}
	page := api.Page[api.NotificationRule]{Items: []api.NotificationRule{}}
	for _, r := range found {
		page.Items = append(page.Items, ruleView(&r.Doc))
	}
	slices.SortFunc(page.Items, func(a, b api.NotificationRule) int { return strings.Compare(a.Name, b.Name) })
	return page, nil
}

// NotificationRule returns a rule. Errors: CodeNotFound, CodeUnavailable.
func (n *Notifier) NotificationRule(ctx context.Context, name string) (api.NotificationRule, error) {
	r, err := n.readRule(ctx, name)
	if err != nil {
		return api.NotificationRule{}, err
	}
	return ruleView(&r.Doc), nil
}

// AddNotificationRule adds a rule. The addition of a rule that exists changes nothing. Errors:
// CodeInvalid; CodeConflict if another rule has the name, or there are too many; CodeUnavailable.
func (n *Notifier) AddNotificationRule(ctx context.Context, by audit.Caller, request api.NotificationRequest) (api.NotificationRule, error) {
	rule, err := n.newRule(request)
	if err != nil {
		return api.NotificationRule{}, err
	}
	all, err := n.store.NotificationRules(ctx)
	if err != nil {
		return api.NotificationRule{}, err
	}
	key := store.NotificationRuleKey(rule.Name)
	if i := slices.IndexFunc(all, func(r store.Item[store.NotificationRule]) bool { return r.Key == key }); i >= 0 {
		return added(&all[i].Doc, rule)
	}
	if len(all) >= maxRules {
		return api.NotificationRule{}, problem.New(api.CodeConflict, "there are %d notification rules, the most that are allowed; remove one first", len(all))
	}
	rule.CreatedAt, rule.CreatedBy = n.now().UTC(), by.Name
	view := ruleView(&rule)
	_, err = n.store.Apply(ctx, store.Writes{store.Create(key, rule), n.audit.Record(store.AuditRecord{
		At: rule.CreatedAt, Actor: by.Actor(), Action: "add_notification", Notification: rule.Name, After: audit.State{"rule": view}.JSON(),
	})})
	if errors.Is(err, store.ErrExists) { // another request added it, or the answer to this write was lost
		stored, err := n.readRule(ctx, rule.Name)
		if err != nil {
			return api.NotificationRule{}, err
		}
		return added(&stored.Doc, rule)
	}
	if err != nil {
		return api.NotificationRule{}, err
	}
	n.log.InfoContext(ctx, "notification rule added", logkey.Target, rule.Name, logkey.By, by.Name)
	return view, nil
}

// added returns the stored rule if it has the content of a request.
func added(stored *store.NotificationRule, rule store.NotificationRule) (api.NotificationRule, error) {
	rule.CreatedAt, rule.CreatedBy = stored.CreatedAt, stored.CreatedBy
	view := ruleView(stored)
	if !reflect.DeepEqual(view, ruleView(&rule)) {
		return api.NotificationRule{}, problem.New(api.CodeConflict, "there is another notification rule %q; remove it first, or choose another name", rule.Name)
	}
	view.Unchanged = true
	return view, nil
}

// RemoveNotificationRule removes a rule and its deliveries. Errors: CodeNotFound, CodeInvalid,
// CodeUnavailable.
func (n *Notifier) RemoveNotificationRule(ctx context.Context, by audit.Caller, name, why string) (api.NotificationRule, error) {
	if err := audit.CheckReason(why); err != nil {
		return api.NotificationRule{}, err
	}
	// The rule as it was stays under the key of the request, for a repetition.
	request := store.RemovedRuleKey(requestID(by, "remove", name))
	if by.Key != "" {
		if done, err := store.Read[store.NotificationRule](ctx, n.store, request); !errors.Is(err, store.ErrNotFound) {
			return ruleView(&done.Doc), err
		}
	}
	rule, err := n.readRule(ctx, name)
	if err != nil {
		return api.NotificationRule{}, err
	}
	view := ruleView(&rule.Doc)
	writes := store.Writes{store.Delete(rule.Key, rule.ETag), n.audit.Record(store.AuditRecord{
		At: n.now().UTC(), Actor: by.Actor(), Action: "remove_notification", Notification: name, Why: why, Before: audit.State{"rule": view}.JSON(),
	})}
	if by.Key != "" {
		writes = append(writes, store.Create(request, rule.Doc))
	}
	_, err = n.store.Apply(ctx, writes)
	switch {
	case errors.Is(err, store.ErrNotFound) && by.Key != "", errors.Is(err, store.ErrExists): // a repetition came first
		done, err := store.Read[store.NotificationRule](ctx, n.store, request)
		if errors.Is(err, store.ErrNotFound) {
			return api.NotificationRule{}, unknownRule(name, err)
		}
		return ruleView(&done.Doc), err
	case errors.Is(err, store.ErrNotFound):
		return api.NotificationRule{}, unknownRule(name, err)
	case err != nil:
		return api.NotificationRule{}, err
	}
	n.log.InfoContext(ctx, "notification rule removed", logkey.Target, name, logkey.By, by.Name)
	if err := n.deleteDeliveries(ctx, name); err != nil { // the scheduler deletes them later
		n.log.WarnContext(ctx, "failed to delete the deliveries of a notification rule", logkey.Target, name, logkey.Error, err)
	}
	return view, nil
}

// requestID identifies a request with an idempotency key.
func requestID(by audit.Caller, action, name string) string {
	return idempotency.Digest(by.Identity(), by.Key, action+"-notification "+name)[:idLength]
}

// deleteDeliveries deletes the deliveries of a rule in pages.
func (n *Notifier) deleteDeliveries(ctx context.Context, rule string) error {
	for {
		page, err := n.store.Deliveries(ctx, rule, store.Paging{Limit: store.MaxOperations})
		if err != nil || len(page.Items) == 0 {
			return err
		}
		var writes store.Writes
		for _, d := range page.Items {
			writes = append(writes, store.Delete(d.Key, d.ETag))
		}
		if _, err := n.store.Apply(ctx, writes); err != nil {
			return err
		}
	}
}

// TestNotificationRule sends a test to the target of a rule at once, also in quiet hours, and returns its
// delivery: with the error if the target did not take it. A request that is repeated sends no second
// test. Errors: CodeNotFound, CodeUnavailable.
func (n *Notifier) TestNotificationRule(ctx context.Context, by audit.Caller, name string) (api.NotificationDelivery, error) {
	rule, err := n.readRule(ctx, name)
	if err != nil {
		return api.NotificationDelivery{}, err
	}
	now := n.now().UTC()
	id := n.newID()
	if by.Key != "" {
		id = requestID(by, "test", name)
	}
	d := newDelivery(&rule.Doc, &Event{
		Kind: api.EventTest, Subject: "Test of the notification rule " + name,
		Text: fmt.Sprintf("%s sent this test. Notifications about %s come here.", by.Name, strings.Join(rule.Doc.Events, ", ")),
	}, id, now)
	d.Attempts, d.WakeAt = 1, now.Add(firstRetry)
	key := store.DeliveryKey(name, id)
	applied, err := n.store.Apply(ctx, store.Writes{store.Create(key, d), n.audit.Record(store.AuditRecord{
		At: now, Actor: by.Actor(), Action: "test_notification", Notification: name, Target: id,
	})})
	if err == nil {
		err = n.send(ctx, &rule.Doc, store.Item[store.Delivery]{Key: key, Doc: d, Version: applied.Version(0)})
	}
	if err != nil && !errors.Is(err, store.ErrExists) { // it exists for a request that is repeated
		return api.NotificationDelivery{}, err
	}
	sent, err := store.Read[store.Delivery](ctx, n.store, key)
	if err != nil {
		return api.NotificationDelivery{}, err
	}
	return deliveryView(sent), nil
}

// NotificationDeliveries lists the deliveries of a rule, the newest first. Errors: CodeNotFound,
// CodeInvalid, CodeUnavailable.
func (n *Notifier) NotificationDeliveries(ctx context.Context, name string, o api.ListOptions) (api.Page[api.NotificationDelivery], error) {
	if _, err := n.readRule(ctx, name); err != nil {
		return api.Page[api.NotificationDelivery]{}, err
	}
	found, err := n.store.Deliveries(ctx, name, store.Paging{Limit: o.PageSize(), Continuation: o.Continuation})
	if err != nil {
		return api.Page[api.NotificationDelivery]{}, err
	}
	page := api.Page[api.NotificationDelivery]{Items: []api.NotificationDelivery{}, Continuation: found.Continuation}
	for _, d := range found.Items {
		page.Items = append(page.Items, deliveryView(d))
	}
	return page, nil
}

// readRule reads a rule. Errors: CodeNotFound.
func (n *Notifier) readRule(ctx context.Context, name string) (store.Item[store.NotificationRule], error) {
	err := store.ErrNotFound
	var rule store.Item[store.NotificationRule]
	if ruleName.MatchString(name) {
		rule, err = store.Read[store.NotificationRule](ctx, n.store, store.NotificationRuleKey(name))
	}
	if errors.Is(err, store.ErrNotFound) {
		return rule, unknownRule(name, err)
	}
	return rule, err
}

func unknownRule(name string, err error) error {
	return &problem.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("unknown notification rule %q", name), Cause: err}
}

func deliveryView(d store.Item[store.Delivery]) api.NotificationDelivery {
	view := api.NotificationDelivery{
		ID: strings.TrimPrefix(d.ID, store.DeliveryPrefix(d.Doc.Rule)), Rule: d.Doc.Rule, Event: d.Doc.Event, Subject: d.Doc.Subject, Text: d.Doc.Text, Link: d.Doc.Link,
		BatchID: d.Doc.Batch, Runbook: d.Doc.Runbook, Phase: d.Doc.Phase, WorkerID: d.Doc.Worker, Status: api.DeliveryStatus(d.Doc.Status), Attempts: d.Doc.Attempts,
		CreatedAt: d.Doc.CreatedAt, SentAt: d.Doc.SentAt, Error: d.Doc.Error,
	}
	if d.Doc.Status == store.DeliveryPending {
		next := d.Doc.WakeAt
		view.NextAt = &next
	}
	return view
}
