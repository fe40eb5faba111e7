package admin

import (
	"context"
	"fmt"
	"time"
)

// heartbeatAge is how old the heartbeats are at most that the views of a batch depend on: the states of
// workers, and whether a worker runs a job. No write of the batch comes with them.
const heartbeatAge = 30 * time.Second

// ChangeMark returns a text that is another one whenever a view of a batch may have changed: after each
// write of the batch, and every 30 seconds. It is empty if the batch does not exist, or changes too
// fast to tell. It costs one query, however large the batch is.
func (a *Admin) ChangeMark(ctx context.Context, batch int) (string, error) {
	now := a.now()
	mark, err := a.store.ChangeMark(ctx, batch, now)
	if err != nil || mark == "" {
		return "", err
	}
	return fmt.Sprintf("%s-%x", mark, now.Unix()/int64(heartbeatAge/time.Second)), nil
}
