package cli

import (
	"time"
)

// shown returns for how long a token is still valid.
func shown(until, now time.Time) string {
	if !until.After(now) {
		return "expired"
	}
	return until.Sub(now).Round(time.Minute).String()
}
