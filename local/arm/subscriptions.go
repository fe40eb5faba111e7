package arm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Subscription is a subscription of a topic of Service Bus.
type Subscription struct {
	Name            string
	MaxDeliveries   int
	LockDuration    time.Duration
	RequiresSession bool
	Status          string // empty is Active
	ForwardTo       string // queue or topic that gets its messages; empty: none
}

func (s *Server) listSubscriptions(w http.ResponseWriter, r *http.Request, _ []byte, _ string) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	namespace, topic := path[7], path[9]
	var all []Subscription
	found := false
	if s.config.Subscriptions != nil {
		all, found = s.config.Subscriptions(namespace, topic)
	}
	if !found {
		refuse(w, http.StatusNotFound, "NotFound", fmt.Sprintf("The topic '%s' of the namespace '%s' was not found.", topic, namespace))
		return
	}
	type object = map[string]any
	value := []object{}
	for _, sub := range all {
		status := sub.Status
		if status == "" {
			status = "Active"
		}
		properties := object{
			"maxDeliveryCount": sub.MaxDeliveries, "requiresSession": sub.RequiresSession, "status": status,
			"lockDuration": fmt.Sprintf("PT%gS", sub.LockDuration.Seconds()),
		}
		if sub.ForwardTo != "" {
			properties["forwardTo"] = sub.ForwardTo
		}
		value = append(value, object{
			"id": r.URL.Path + "/" + sub.Name, "name": sub.Name, "type": "Microsoft.ServiceBus/namespaces/topics/subscriptions",
			"properties": properties,
		})
	}
	answer(w, http.StatusOK, object{"value": value})
}
