package model

// DispatchMode is what a batch allows its runs. What a run has in hand is carried to its
// result in any case.
type DispatchMode int

// The dispatch modes of a batch.
const (
	Running   DispatchMode = iota // all goes on
	Paused                        // nothing is dispatched: it waits
	Cancelled                     // the batch is cancelled: nothing more is dispatched
)

// DispatchMode is what the batch allows its runs.
func (b *Batch) DispatchMode() DispatchMode {
	switch {
	case b.Status == BatchCancelling || b.Status == BatchCancelled:
		return Cancelled
	case b.Paused != nil:
		return Paused
	}
	return Running
}
