package model

// Decision is the outcome of an event: the state to store in one atomic write, the
// messages to send after it, and the follow-up events to decide then, in order, each with
// its own follow-ups before the next. A process may die
// between any two of these: the event comes again, and its decision, which is then
// Repeated, asks for the same messages and events.
type Decision struct {
	Writes
	// Claims are entries of the cache that are stored before the write, each in a partition of its own. A
	// process may die in between: the entry then names a run that does not do the work.
	Claims   []*CacheEntry
	Messages []Message
	Next     []Event
	// Repeated: the event was applied before. Nothing is written, except that the deadline of a job
	// that may be sent only now is put off.
	Repeated bool
	// Stale: the event is for something that has moved on or ended. Nothing is written,
	// sent or decided.
	Stale bool
}

// Writes are the documents that a decision changes, each as a whole, and the counters
// that it adds to without reading them. All belong to one batch.
type Writes struct {
	Batch   *Batch    // nil: unchanged
	Members []*Member // changed
	Runs    []*Run    // changed, or new
	Shards  []*Shard  // changed, or new
	Counts  []Count
}

// Empty reports whether there is nothing to write.
func (w *Writes) Empty() bool {
	return w.Batch == nil && len(w.Members)+len(w.Runs)+len(w.Shards)+len(w.Counts) == 0
}

// Count adds to counters that many decisions change at once.
type Count interface{ count() }

type (
	// CountRun counts a run in its shard: as one that ended, where there is an Outcome,
	// and as one that yielded (see Run.Yielded), where it is the first time.
	CountRun struct {
		Phase, Page int
		Outcome     RunStatus
		Yields      bool
	}
	// CountShard counts a shard that is done in its phase.
	CountShard struct{ Phase, Succeeded, Failed, Cancelled, Carried int }
	// CountFailures counts failed runs in what the stop_when of their phase looks at.
	CountFailures struct{ Phase, Failed int }
	// CountCheckFailure counts a member whom a required check failed.
	CountCheckFailure struct{}
	// MarkSent notes that the jobs which the runs of a shard began with are all sent.
	MarkSent struct{ Phase, Page int }
	// CountRemoval counts an ended removal run in its execution.
	CountRemoval struct {
		Phase   int
		Outcome RunStatus
	}
)

func (CountRun) count()          {}
func (CountShard) count()        {}
func (CountFailures) count()     {}
func (CountCheckFailure) count() {}
func (MarkSent) count()          {}
func (CountRemoval) count()      {}
