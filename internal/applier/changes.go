package applier

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// apply holds the changes of a decision until they are written.
func (s *Snapshot) apply(w model.Writes) {
	for _, run := range w.Runs {
		run.NoteStatuses()
		s.set(runKey(run), run)
	}
	for _, m := range w.Members {
		s.set(store.MemberKey(s.batch, m.ID), m)
	}
	if w.Batch != nil {
		s.set(s.BatchKey(), w.Batch)
	}
	for _, shard := range w.Shards {
		s.set(store.ShardKey(s.batch, shard.Phase, shard.Page), shard)
	}
	s.counts = append(s.counts, w.Counts...)
}

func (s *Snapshot) set(key store.Key, doc any) {
	d := s.docs[key]
	if d == nil {
		d = &document{}
		s.docs[key] = d
	}
	if !slices.Contains(s.changed, key) {
		s.changed = append(s.changed, key)
	}
	d.is = doc
}

// writesBatch reports whether the decisions change the batch document.
func (s *Snapshot) writesBatch() bool { return slices.Contains(s.changed, s.BatchKey()) }

// countsInBatch reports whether the decisions add to counters of the batch. Its ETag is then unknown.
func (s *Snapshot) countsInBatch() bool {
	return slices.ContainsFunc(s.counts, func(c model.Count) bool { return s.counter(c).key == s.BatchKey() })
}

// counter is what a count changes.
type counter struct {
	key     store.Key
	changes []store.Change
	isRead  bool // whether the decision that follows needs the document with the new counts
}

func (s *Snapshot) counter(c model.Count) counter {
	shard := func(phase, page int) store.Key { return store.ShardKey(s.batch, phase, page) }
	switch c := c.(type) {
	case model.CountRun:
		var changes []store.Change
		if c.Outcome != "" {
			changes = append(changes, store.Increment("/open", -1), store.Increment("/"+string(c.Outcome), 1))
		}
		if c.Yields {
			changes = append(changes, store.Increment("/yielded", 1), store.Set("/yieldedAt", s.Now.UTC()))
		}
		return counter{shard(c.Phase, c.Page), changes, true}
	case model.CountShard:
		at := pathOf(c.Phase)
		changes := []store.Change{
			store.Increment(at+"shardsClosed", 1), store.Increment(at+"succeeded", c.Succeeded),
			store.Increment(at+"failed", c.Failed), store.Increment(at+"cancelled", c.Cancelled),
		}
		if c.Carried > 0 {
			changes = append(changes, store.Increment(at+"carried", c.Carried))
		}
		return counter{s.BatchKey(), changes, true}
	case model.CountFailures:
		return counter{s.BatchKey(), []store.Change{store.Increment(pathOf(c.Phase)+"failedSoFar", c.Failed)}, false}
	case model.CountCheckFailure:
		return counter{s.BatchKey(), []store.Change{store.Increment("/failedChecks", 1)}, false}
	case model.CountRemoval:
		at := pathOf(c.Phase)
		return counter{s.BatchKey(), []store.Change{store.Increment(at+"open", -1), store.Increment(at+string(c.Outcome), 1)}, false}
	case model.MarkSent:
		return counter{shard(c.Phase, c.Page), []store.Change{store.Set("/sent", true)}, false}
	}
	panic(fmt.Sprintf("applier: no write for %T", c))
}

// pathOf is where the batch has a phase.
func pathOf(phase int) string { return fmt.Sprintf("/phases/%d/", phase-1) }

// writes returns the operations that write the changes, the changed documents first.
func (s *Snapshot) writes() (ops store.Writes) {
	for _, key := range s.changed {
		d := s.docs[key]
		switch was, isMember := d.was.(*model.Member); {
		case isMember:
			ops = append(ops, writeMember(key, was, d.is.(*model.Member), d.version))
		case d.was == nil:
			ops = append(ops, store.Create(key, d.is))
		default:
			ops = append(ops, store.Replace(key, d.is, d.version))
		}
	}
	s.back = map[int]store.Key{}
	for _, c := range s.counts {
		to := s.counter(c)
		ops = append(ops, store.Patch(to.key, "", to.changes...))
		if to.isRead {
			ops = append(ops, store.Get(to.key))
			s.back[len(ops)-1] = to.key
		}
	}
	return ops
}

// writeMember returns the operation that writes a changed member. A member carries the columns of
// its source, so if the member only enters a phase, the operation sends nothing else.
func writeMember(key store.Key, was, is *model.Member, version store.Version) store.Write {
	if reflect.DeepEqual(is, was) { // only nobody else is to change the member at this moment
		return store.Patch(key, version.ETag, store.Set("/status", is.Status))
	}
	refreshed := *was
	refreshed.Data, refreshed.Hash = is.Data, is.Hash
	if reflect.DeepEqual(is, &refreshed) {
		return store.Patch(key, version.ETag, store.Set("/data", is.Data), store.Set("/hash", is.Hash))
	}
	entered := *was
	entered.OpenPhase, entered.Queue = is.OpenPhase, is.Queue
	if is.OpenPhase == 0 || len(is.Queue) < len(was.Queue) || !reflect.DeepEqual(is, &entered) {
		return store.Replace(key, is, version)
	}
	changes := []store.Change{store.Set("/openPhase", is.OpenPhase)}
	if len(is.Queue) > 0 {
		changes = append(changes, store.Set("/queue", is.Queue))
	}
	return store.Patch(key, version.ETag, changes...)
}

// GuardBatch returns the operation that writes the batch unchanged, unless a decision changes it: the
// operations beside it then fail if another process has changed the batch.
func (s *Snapshot) GuardBatch() store.Writes {
	if s.writesBatch() {
		return nil
	}
	return store.Writes{store.Replace(s.BatchKey(), s.After(), s.docs[s.BatchKey()].version)}
}

// written keeps the versions that a write gave the changed documents, and the documents that it read
// back. The applier remembers runs, members and batches. After a write that failed it forgets them.
func (s *Snapshot) written(applied store.Applied, err error) error {
	if err != nil {
		s.applier.recalls.remove(s.changed...)
		if errors.Is(err, store.ErrExists) {
			err = fmt.Errorf("%w: %w", store.ErrChanged, err)
		}
		return err
	}
	s.Written = applied
	for i, key := range s.changed {
		d := s.docs[key]
		d.version.ETag = applied.Version(i).ETag // a patch leaves fields that this program does not know
		s.applier.recalls.remember(key, d.is, d.version)
	}
	for i, key := range s.back {
		prime := primeBack[model.Shard]
		if key == s.BatchKey() {
			prime = primeBack[model.Batch]
		}
		if err := prime(s, key, applied, i); err != nil {
			return err
		}
	}
	if s.writesBatch() {
		s.applier.batches.noteMode(s.After(), s.Now)
	}
	if s.countsInBatch() && !s.readsBack(s.BatchKey()) {
		s.applier.recalls.remove(s.BatchKey())
	}
	return nil
}

// primeBack gives a snapshot a document that an operation of its write read back.
func primeBack[T any](s *Snapshot, key store.Key, applied store.Applied, operation int) error {
	item, err := store.Got[T](applied, operation)
	if err == nil {
		Prime(s, key, item)
		s.applier.recalls.remember(key, s.docs[key].is, item.Version)
	}
	return err
}
