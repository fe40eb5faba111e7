package scaler

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

const (
	// LossesKept is how long a Record keeps a loss, also if the message has a container that received it since.
	LossesKept = 3 * 24 * time.Hour
	// MaxLosses bounds the losses of a Record, which is one document.
	MaxLosses = 1000
)

// Loss counts the containers of one subscription that ended on one day, in UTC, before they received their messages.
type Loss struct {
	Subscription string    `json:"subscription"`
	FirstAt      time.Time `json:"firstAt"`
	LastAt       time.Time `json:"lastAt"`
	Containers   int       `json:"containers"`
}

// Observe brings the attempts of a record up to date, as Settings.Observe does, and counts lost containers. It
// returns the attempts whose lost containers have grown.
func (r *Record) Observe(s *Settings, inventory Inventory, waiting Waiting, p Plan, now time.Time) []Attempt {
	before := map[string]int{}
	for _, a := range r.Attempts {
		before[a.Group] = a.Lost
	}
	attempts, lost := s.Observe(r.Attempts, inventory, waiting, p, now)
	r.Attempts = attempts
	losses := slices.DeleteFunc(slices.Clone(r.Losses), func(l Loss) bool { return now.Sub(l.LastAt) > LossesKept })
	for _, a := range lost {
		losses = addLoss(losses, a.Subscription, a.Lost-before[a.Group], now.UTC())
	}
	if len(losses) > MaxLosses {
		slices.SortFunc(losses, func(a, b Loss) int { return cmp.Or(b.LastAt.Compare(a.LastAt), byPlace(a, b)) })
		losses = losses[:MaxLosses]
	}
	slices.SortFunc(losses, byPlace)
	if r.Losses = losses; len(losses) == 0 {
		r.Losses = nil // as it is read from the store
	}
	return lost
}

// addLoss counts containers of a subscription as lost at a time.
func addLoss(losses []Loss, subscription string, containers int, at time.Time) []Loss {
	i := slices.IndexFunc(losses, func(l Loss) bool {
		return l.Subscription == subscription && l.FirstAt.Format(time.DateOnly) == at.Format(time.DateOnly)
	})
	if i < 0 {
		return append(losses, Loss{Subscription: subscription, FirstAt: at, LastAt: at, Containers: containers})
	}
	losses[i].LastAt, losses[i].Containers = at, losses[i].Containers+containers
	return losses
}

func byPlace(a, b Loss) int {
	return cmp.Or(strings.Compare(a.Subscription, b.Subscription), a.FirstAt.Compare(b.FirstAt))
}
