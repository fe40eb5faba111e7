package model

// DispatchMode says whether a batch's runs may dispatch jobs. A job in flight reaches its
// result in every mode.
type DispatchMode int

// The dispatch modes of a batch.
const (
	Running   DispatchMode = iota // all goes on
	Paused                        // nothing is dispatched: it waits
	Cancelled                     // the batch is cancelled: nothing more is dispatched
)

// DispatchMode returns whether the batch's runs may dispatch jobs.
func (b *Batch) DispatchMode() DispatchMode {
	switch {
	case b.Status == BatchCancelling || b.Status == BatchCancelled:
		return Cancelled
	case b.Paused != nil:
		return Paused
	}
	return Running
}
