package apiclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Notifications lists the notification rules, by name.
func (c *Client) Notifications(ctx context.Context) (api.Page[api.NotificationRule], error) {
	return ask[api.Page[api.NotificationRule]](ctx, c, get("notifications"))
}

// Notification gets a notification rule.
func (c *Client) Notification(ctx context.Context, name string) (api.NotificationRule, error) {
	return ask[api.NotificationRule](ctx, c, get("notifications", name))
}

// AddNotification adds a notification rule. The same rule can be added twice.
func (c *Client) AddNotification(ctx context.Context, rule api.NotificationRequest) (api.NotificationRule, error) {
	body, err := json.Marshal(rule)
	if err != nil {
		return api.NotificationRule{}, err
	}
	return ask[api.NotificationRule](ctx, c, call{method: http.MethodPost, path: []string{"notifications"}, media: "application/json", body: body, repeatable: true})
}

// RemoveNotification removes a notification rule and its deliveries.
func (c *Client) RemoveNotification(ctx context.Context, name, why string) (api.NotificationRule, error) {
	k := call{method: http.MethodDelete, path: []string{"notifications", name}}
	if why != "" {
		k.query = url.Values{"reason": {why}}
	}
	return ask[api.NotificationRule](ctx, c, k)
}

// TestNotification sends a test to the target of a rule. It is sent once: each request is another test.
func (c *Client) TestNotification(ctx context.Context, name string) (api.NotificationDelivery, error) {
	return ask[api.NotificationDelivery](ctx, c, post("", "notifications", name, "test"))
}

// NotificationDeliveries lists what a rule has sent, the newest first.
func (c *Client) NotificationDeliveries(ctx context.Context, name string, o api.ListOptions) (api.Page[api.NotificationDelivery], error) {
	return list[api.NotificationDelivery](ctx, c, o, "notifications", name, "deliveries")
}
