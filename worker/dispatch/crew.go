package dispatch

import "context"

// crew runs what a job does in goroutines of its own. It keeps those that are done for the next jobs, whose
// stacks need not grow again: three goroutines for each job with new stacks took a twelfth of the
// worker's CPU time. There are as many as once ran at the same time.
type crew struct{ idle chan func() }

func newCrew() crew { return crew{make(chan func())} }

// do runs f in a goroutine, which ends with ctx when it is idle.
func (c crew) do(ctx context.Context, f func()) {
	select {
	case c.idle <- f:
		return
	default:
	}
	go func() {
		for {
			f()
			f = nil // it has the message of its job
			select {
			case f = <-c.idle:
			case <-ctx.Done():
				return
			}
		}
	}()
}
