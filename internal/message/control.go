package message

import (
	"fmt"
	"time"
)

// Control revokes the jobs of a batch that was paused or cancelled. It is sent to
// TopicWorkerControl. Every replica of every worker peeks its worker's subscription
// there (without receiving; messages expire by their time to live) and does not begin a job of the batch whose DispatchedAt is RevokedThrough or earlier, nor a poll that
// was sent ahead by then: it answers such a job with ErrorJobRevoked. Of several controls of a batch the latest
// RevokedThrough counts. A replica that has not been able to peek for ControlMaxAge
// begins no job at all.
type Control struct {
	BatchID        int       `json:"BatchId"`
	RevokedThrough time.Time `json:"RevokedThrough"` // UTC
}

// TypeControl is the value of PropertyMessageType on TopicWorkerControl.
const TypeControl = "batch-control"

// ControlPollInterval is how often a replica peeks for controls, and ControlMaxAge how
// old its last successful peek may be for it to begin a job.
const (
	ControlPollInterval = 5 * time.Second
	ControlMaxAge       = 20 * time.Second
)

// ID is the control's Service Bus message id.
func (c Control) ID() string {
	return fmt.Sprintf("control-batch-%d-%d", c.BatchID, c.RevokedThrough.UnixMilli())
}

// Revokes reports whether the control revokes a job of its batch.
func (c Control) Revokes(job Job) bool {
	return job.DispatchedAt != nil && !job.DispatchedAt.After(c.RevokedThrough)
}
