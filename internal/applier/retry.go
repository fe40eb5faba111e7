package applier

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

func Backoff() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 5*time.Millisecond, 5*time.Second
	return b
}
