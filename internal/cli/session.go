package cli

import (
	"time"
)

// shown is how long a token is still good, for people.
func shown(until, now time.Time) string {
	if !until.After(now) {
		return "expired"
	}
	return until.Sub(now).Round(time.Minute).String()
}
