package applier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Snapshot is the state of one batch during one attempt to decide. It implements model.State: it
// loads a document when a decision first asks for it, and holds the changes of the decisions until
// the applier writes them. It is not safe for concurrent use.
type Snapshot struct {
	// Now is a time before anything was loaded: a revocation covers the jobs dispatched until then.
	Now time.Time
	// Written is the result of the write; nil if there was none.
	Written store.Applied

	ctx      context.Context
	applier  *Applier
	batch    int
	from     source
	recalled bool // a document came from the memory of this process, or was taken for new

	events  []model.Event // of the command that is decided on the snapshot
	after   []model.Event // that follow from its decisions behind those that follow from the last one
	docs    map[store.Key]*document
	changed []store.Key // in the order of their first change
	counts  []model.Count
	claims  []store.Key       // of entries of the cache that the decisions claim
	back    map[int]store.Key // documents that operations read back after their count, by the place of the operation
	mode    *model.DispatchMode
}

// source is where a snapshot has its documents from.
type source int

const (
	storeOnly   source = iota
	memoryFirst        // from the memory of this process, and others from the store
	memoryOnly         // documents that this process does not remember fail with errUnread
)

// errUnread: a decision needs a document that has to be read from the store.
var errUnread = errors.New("applier: the document is not remembered")

// document is one document of a snapshot. Its values are pointers to the engine's types.
type document struct {
	was     any           // as it was loaded; nil if it is new or does not exist
	is      any           // with the changes of the decisions; nil if it does not exist
	version store.Version // of was
}

func (a *Applier) newSnapshot(ctx context.Context, batch int, from source) *Snapshot {
	return &Snapshot{ctx: ctx, applier: a, batch: batch, from: from, Now: a.now().Truncate(time.Millisecond), docs: map[store.Key]*document{}}
}

// Prime gives a snapshot a document that the caller has just read or written.
func Prime[T any](s *Snapshot, key store.Key, item store.Item[T]) {
	s.docs[key] = &document{was: &item.Doc, is: &item.Doc, version: item.Version}
}

// AssumeNew spares the read of a batch that is being created. If the batch exists, the write fails
// and the next attempt reads it.
func (s *Snapshot) AssumeNew() { s.docs[s.BatchKey()] = &document{} }

// assumeBegun spares the read of what an event begins after a change of the batch: the page of a phase or the run of
// a sequence, which there cannot have been before. If it exists, the write fails and the next attempt reads it.
func (s *Snapshot) assumeBegun(e model.Event) {
	if s.from == storeOnly {
		return
	}
	var key store.Key
	switch e := e.(type) {
	case model.PageDue:
		key = store.ShardKey(s.batch, e.Phase, e.Page)
	case model.OnRun:
		if _, starts := e.RunEvent.(model.RunStarted); !starts || e.Member != 0 {
			return
		}
		key = store.RunKey(s.batch, e.Phase, e.Member)
	default:
		return
	}
	if _, ok := s.docs[key]; !ok {
		s.docs[key], s.recalled = &document{}, true
	}
}

// recallInto gives a snapshot a document that this process remembers, unless it has the document.
func recallInto[T any](s *Snapshot, key store.Key) {
	if _, ok := s.docs[key]; ok || s.from == storeOnly {
		return
	}
	if doc, etag := recall[T](s.applier.recalls, key); doc != nil {
		s.docs[key] = &document{was: doc, is: doc, version: store.Version{ETag: etag}}
		s.recalled = true
	}
}

// load returns a document; nil if it does not exist.
func load[T any](s *Snapshot, key store.Key) (*T, error) {
	if d, ok := s.docs[key]; ok {
		doc, _ := d.is.(*T)
		return doc, nil
	}
	if s.from == memoryOnly {
		return nil, errUnread
	}
	item, err := store.Read[T](s.ctx, s.applier.store, key)
	if errors.Is(err, store.ErrNotFound) {
		s.docs[key] = &document{}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	Prime(s, key, item)
	return &item.Doc, nil
}

// loadAll returns the documents that a query found, with the changes of the decisions.
func loadAll[T any](s *Snapshot, items []store.Item[T], key func(*T) store.Key) []*T {
	all := make([]*T, 0, len(items))
	for i := range items {
		k := key(&items[i].Doc)
		if _, ok := s.docs[k]; !ok {
			Prime(s, k, items[i])
		}
		if doc, ok := s.docs[k].is.(*T); ok && doc != nil {
			all = append(all, doc)
		}
	}
	return all
}

func runKey(r *model.Run) store.Key { return store.RunKey(r.Batch, r.Phase, r.Member) }

// BatchKey returns the key of the batch.
func (s *Snapshot) BatchKey() store.Key { return store.BatchKey(s.batch) }

// LoadBatch implements model.State.
func (s *Snapshot) LoadBatch() (*model.Batch, error) {
	_, seen := s.docs[s.BatchKey()]
	b, err := load[model.Batch](s, s.BatchKey())
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, fmt.Errorf("reading %s: %w: %w", s.BatchKey(), model.ErrNoBatch, store.ErrNotFound)
	}
	if !seen {
		s.applier.batches.noteMode(b, s.Now)
		s.applier.recalls.remember(s.BatchKey(), b, s.docs[s.BatchKey()].version)
	}
	return b, nil
}

// LoadBatchToWrite implements model.State.
func (s *Snapshot) LoadBatchToWrite() (*model.Batch, error) {
	recallInto[model.Batch](s, s.BatchKey())
	return s.LoadBatch()
}

// LoadDispatchMode implements model.State.
func (s *Snapshot) LoadDispatchMode() (model.DispatchMode, error) {
	if b := s.After(); b != nil {
		return b.DispatchMode(), nil
	}
	if s.mode == nil {
		mode, err := s.applier.dispatchMode(s.ctx, s.batch)
		if err != nil {
			return mode, err
		}
		s.mode = &mode
	}
	return *s.mode, nil
}

// LoadRun implements model.State.
func (s *Snapshot) LoadRun(phase, member int) (*model.Run, error) {
	key := store.RunKey(s.batch, phase, member)
	recallInto[model.Run](s, key)
	return load[model.Run](s, key)
}

// LoadMemberToWrite implements model.State.
func (s *Snapshot) LoadMemberToWrite(member int) (*model.Member, error) {
	key := store.MemberKey(s.batch, member)
	recallInto[model.Member](s, key)
	return s.LoadMember(member)
}

// LoadMember implements model.State.
func (s *Snapshot) LoadMember(member int) (*model.Member, error) {
	key := store.MemberKey(s.batch, member)
	_, seen := s.docs[key]
	m, err := load[model.Member](s, key)
	switch {
	case err == nil && m == nil:
		err = fmt.Errorf("reading %s: %w", key, store.ErrNotFound)
	case err == nil && !seen:
		s.applier.recalls.remember(key, m, s.docs[key].version)
	}
	return m, err
}

// LoadRunsOf implements model.State.
func (s *Snapshot) LoadRunsOf(member int) ([]*model.Run, error) {
	if s.from == memoryOnly {
		return nil, errUnread
	}
	runs, err := s.applier.store.RunsOfMember(s.ctx, s.batch, member)
	return loadAll(s, runs, runKey), err
}

// LoadPage implements model.State.
func (s *Snapshot) LoadPage(page int) ([]*model.Member, error) {
	if s.from == memoryOnly {
		return nil, errUnread
	}
	members, err := s.applier.store.MembersOfPage(s.ctx, s.batch, page, "")
	return loadAll(s, members, func(m *model.Member) store.Key { return store.MemberKey(s.batch, m.ID) }), err
}

// LoadPageRuns implements model.State.
func (s *Snapshot) LoadPageRuns(phase, page int) ([]*model.Run, error) {
	if s.from == memoryOnly {
		return nil, errUnread
	}
	runs, err := s.applier.store.RunsOfPage(s.ctx, s.batch, page, store.RunSelection{Phase: phase})
	return loadAll(s, runs, runKey), err
}

// LoadShard implements model.State.
func (s *Snapshot) LoadShard(phase, page int) (*model.Shard, error) {
	return load[model.Shard](s, store.ShardKey(s.batch, phase, page))
}

// LoadRunbook implements model.State.
func (s *Snapshot) LoadRunbook(name string, version int) (*runbook.Runbook, error) {
	return s.applier.runbooks.Load(s.ctx, name, version)
}

// Definition returns the definition of the step of a run at index.
func (s *Snapshot) Definition(run *model.Run, index int) (runbook.Step, error) {
	rb, err := s.LoadRunbook(run.Runbook, run.Version)
	if err != nil {
		return runbook.Step{}, err
	}
	return run.Definition(rb, index)
}

// StepRun returns the run of the step execution that a message names; nil if the run went over to
// another version of its runbook and no longer has so many steps.
func (s *Snapshot) StepRun(stepID int64, phase, member, index int) (*model.Run, error) {
	run, err := s.LoadRun(phase, member)
	switch {
	case err != nil:
		return nil, err
	case run == nil:
		return nil, message.Reject("batch %d has no step execution %d", s.batch, stepID)
	case index < len(run.Steps):
		return run, nil
	case run.Switches > 0:
		return nil, nil
	}
	return nil, message.Reject("batch %d has no step execution %d: its run has %d steps", s.batch, stepID, len(run.Steps))
}

// Before returns the batch as it was loaded; nil if it was not.
func (s *Snapshot) Before() *model.Batch {
	if d := s.docs[s.BatchKey()]; d != nil {
		b, _ := d.was.(*model.Batch)
		return b
	}
	return nil
}

// After returns the batch with the changes of the decisions; nil if it was not loaded.
func (s *Snapshot) After() *model.Batch {
	if d := s.docs[s.BatchKey()]; d != nil {
		b, _ := d.is.(*model.Batch)
		return b
	}
	return nil
}

// BatchItem returns the batch with the changes of the decisions, and the version that is stored.
func (s *Snapshot) BatchItem() store.Item[model.Batch] {
	key := s.BatchKey()
	return store.Item[model.Batch]{Key: key, Doc: *s.After(), Version: s.docs[key].version}
}

// Member returns a member as it was loaded, and with the changes of the decisions; nil if it was
// not loaded.
func (s *Snapshot) Member(id int) (was, is *model.Member) {
	if d := s.docs[store.MemberKey(s.batch, id)]; d != nil {
		was, _ = d.was.(*model.Member)
		is, _ = d.is.(*model.Member)
	}
	return was, is
}

// handOn returns the function that gives the snapshot of a following event documents that this one
// has. Before are the events that follow ahead of it.
func (s *Snapshot) handOn(e model.Event, before []model.Event) func(*Snapshot) {
	handed := map[store.Key]document{}
	for _, key := range s.handedKeys(e, before) {
		if d, ok := s.docs[key]; ok {
			handed[key] = document{was: d.is, is: d.is, version: d.version}
		}
	}
	return func(next *Snapshot) {
		for key, d := range handed {
			next.docs[key] = &d
		}
	}
}

// handedKeys returns the keys of the documents that a following event gets: the shard or the batch that was read
// back with its count, an ended run, and for the steps of a fan-out and of a sequence the batch. If the batch has
// changed since, their write loses the race, or the page is looked after once it exists. If late members catch up
// before them, or a page is counted in the batch, the steps behind it load the batch as it is then.
func (s *Snapshot) handedKeys(e model.Event, before []model.Event) []store.Key {
	switch e := e.(type) {
	case model.ShardCounted:
		if !e.Again {
			return []store.Key{store.ShardKey(s.batch, e.Phase, e.Page)}
		}
	case model.PhaseCounted: // the last count of several finds all of them
		if s.readsBack(s.BatchKey()) {
			return []store.Key{s.BatchKey()}
		}
	case model.CatchUpDue, model.PageDue, model.PageFannedOut, model.SequenceSent:
		counted := slices.ContainsFunc(before, func(e model.Event) bool { _, ok := e.(model.ShardCounted); return ok })
		if b := s.After(); b != nil && !s.countsInBatch() && !counted && (len(before) == 0 || len(b.Joining) == 0) {
			return []store.Key{s.BatchKey()}
		}
	case model.OnRun:
		// A retry that comes again would read the run that it restarted a second time. No message is
		// sent because of a run that has ended.
		key := store.RunKey(s.batch, e.Phase, e.Member)
		if d := s.docs[key]; d != nil && d.was == d.is {
			if run, ok := d.is.(*model.Run); ok && run.Status.Terminal() {
				return []store.Key{key}
			}
		}
	case model.MemberSecretsDue: // the member was read before the batch
		return []store.Key{store.MemberKey(s.batch, e.Member), s.BatchKey()}
	}
	return nil
}

// readsBack reports whether a write of the snapshot reads a document back.
func (s *Snapshot) readsBack(key store.Key) bool {
	for _, k := range s.back {
		if k == key {
			return true
		}
	}
	return false
}
