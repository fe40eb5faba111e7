package message

import (
	"fmt"
	"time"
)

// Control revokes the jobs of a batch that were dispatched before it was paused or
// cancelled. It is sent to TopicWorkerControl. Every replica of every worker peeks its
// worker's subscription there (nobody receives from it; messages leave it by their time
// to live) and does not begin a job whose Epoch is below RevokedBelow: it answers such
// a job with ErrorJobRevoked. A replica that has not been able to peek for
// ControlMaxAge begins no job at all.
type Control struct {
	BatchID      int       `json:"BatchId"`
	RevokedBelow int       `json:"RevokedBelow"` // only ever grows
	At           time.Time `json:"At"`           // UTC
}

// ControlPollInterval is how often a replica peeks for controls, and ControlMaxAge how
// old its last successful peek may be for it to begin a job.
const (
	ControlPollInterval = 5 * time.Second
	ControlMaxAge       = 20 * time.Second
)

// ID is the control's Service Bus message id.
func (c Control) ID() string { return fmt.Sprintf("control-batch-%d-%d", c.BatchID, c.RevokedBelow) }
