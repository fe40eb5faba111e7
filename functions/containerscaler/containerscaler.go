// Package containerscaler turns a firing of the container scaler's timer into one tick.
// It knows the trigger's payload and the one use case it calls.
//
// The name of the function has no hyphen: the setting AzureWebJobs.<name>.Disabled, which keeps its timer
// from running where the scaler is not configured, cannot have one on Linux.
package containerscaler

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/invocation"
)

// Name is the function's, the same as its folder's.
const Name = "containerscaler"

const binding = "timer" // as in function.json

// Scaler creates and deletes container groups. A tick may come late, twice or together with another.
type Scaler interface {
	ScaleContainers(ctx context.Context) error
}

// New makes the function.
func New(scaler Scaler) invocation.Func { return invocation.OnTimer(binding, scaler.ScaleContainers) }
