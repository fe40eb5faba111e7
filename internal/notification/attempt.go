package notification

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	// firstRetry is the delay after the first attempt. Each later one doubles it, up to longestRetry.
	firstRetry   = 5 * time.Minute
	longestRetry = 4 * time.Hour
	// maxAttempts bounds the attempts of a delivery, which take some seventeen hours.
	maxAttempts = 10
	// keptFor is how long a delivery is kept after its end. A delivery of an event that has not ended is
	// kept longer, so that the event is not announced again.
	keptFor = 30 * 24 * time.Hour
)

// begin prepares the next attempt of a pending delivery. It reports whether to send it now: the
// attempt is counted then, and WakeAt is when the next one may follow. In quiet hours WakeAt is their
// end. After the last attempt the delivery has failed.
func begin(d *store.Delivery, r *store.NotificationRule, now time.Time) bool {
	if d.Attempts >= maxAttempts {
		end(d, store.DeliveryFailed, now)
		return false
	}
	if until, quiet := r.Quiet.Until(now); quiet && !slices.Contains(r.Urgent, d.Event) {
		d.WakeAt = until.UTC()
		return false
	}
	d.Attempts++
	d.WakeAt = now.Add(retryDelay(d.Attempts))
	return true
}

func retryDelay(attempts int) time.Duration {
	delay := firstRetry
	for range attempts - 1 {
		delay = min(2*delay, longestRetry)
	}
	return delay
}

// end gives a delivery its final status.
func end(d *store.Delivery, status store.DeliveryStatus, now time.Time) {
	d.Status, d.WakeAt = status, now.Add(keptFor)
	if status == store.DeliverySent {
		d.SentAt, d.Error = &now, ""
	}
}
