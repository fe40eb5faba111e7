package applier

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Snapshot is the state of one batch as a decision sees it: it loads each document once,
// when it is first asked for, and holds what the decisions taken on it change, until all of
// that is written at once. It lives for one attempt to decide and is not safe for
// concurrent use.
type Snapshot struct {
	ctx     context.Context
	applier *Applier
	batch   int
	Now     time.Time // before anything was loaded: a revocation covers what is dispatched as of it
	fresh   bool      // runs are read from the store, not recalled

	events   []model.Event // that are decided on it
	docs     map[store.Key]*document
	changed  []store.Key // in the order of their first change
	counts   []model.Count
	mode     *model.DispatchMode
	recalled []store.Key // the runs that came from memory

	Written store.Applied // of the write; nil: there was none
}

// document is one document of a snapshot. Its values are pointers to the engine's types.
type document struct {
	was     any           // as it was loaded; nil: it is new, or there is none
	is      any           // with what was decided; nil: there is none
	version store.Version // of was
}

func (a *Applier) snapshot(ctx context.Context, batch int) *Snapshot {
	return &Snapshot{ctx: ctx, applier: a, batch: batch, Now: a.now(), docs: map[store.Key]*document{}}
}

// Prime gives a snapshot a document that its user has just read or written.
func Prime[T any](s *Snapshot, key store.Key, item store.Item[T]) {
	s.docs[key] = &document{was: &item.Doc, is: &item.Doc, version: item.Version}
}

// load gives a document; nil where there is none.
func load[T any](s *Snapshot, key store.Key) (*T, error) {
	if d, ok := s.docs[key]; ok {
		doc, _ := d.is.(*T)
		return doc, nil
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

// loadAll gives documents that a query found, as they are in the snapshot.
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

// loaded is a document that was loaded and not changed since; nil if there is none.
func (s *Snapshot) loaded(key store.Key) any {
	if d := s.docs[key]; d != nil && d.was == d.is {
		return d.is
	}
	return nil
}

func RunKey(r *model.Run) store.Key { return store.RunKey(r.Batch, r.Phase, r.Member) }

func (s *Snapshot) BatchKey() store.Key { return store.BatchKey(s.batch) }

func (s *Snapshot) known() (*model.Batch, bool) {
	d, ok := s.docs[s.BatchKey()]
	if !ok {
		return nil, false
	}
	b, ok := d.is.(*model.Batch)
	return b, ok
}

func (s *Snapshot) LoadBatch() (*model.Batch, error) {
	_, seen := s.docs[s.BatchKey()]
	b, err := load[model.Batch](s, s.BatchKey())
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, fmt.Errorf("reading %s: %w", s.BatchKey(), store.ErrNotFound)
	}
	if !seen {
		s.applier.modes.saw(b, s.Now)
	}
	return b, nil
}

func (s *Snapshot) LoadDispatchMode() (model.DispatchMode, error) {
	if b, ok := s.known(); ok {
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

func (s *Snapshot) LoadRun(phase, member int) (*model.Run, error) {
	key := store.RunKey(s.batch, phase, member)
	if _, ok := s.docs[key]; !ok && !s.fresh {
		if run, ok := s.applier.recallRun(key); ok {
			Prime(s, key, run)
			s.recalled = append(s.recalled, key)
		}
	}
	return load[model.Run](s, key)
}

func (s *Snapshot) LoadMember(member int) (*model.Member, error) {
	key := store.MemberKey(s.batch, member)
	m, err := load[model.Member](s, key)
	if err == nil && m == nil {
		err = fmt.Errorf("reading %s: %w", key, store.ErrNotFound)
	}
	return m, err
}

func (s *Snapshot) LoadRunsOf(member int) ([]*model.Run, error) {
	runs, err := s.applier.store.RunsOfMember(s.ctx, s.batch, member)
	return loadAll(s, runs, RunKey), err
}

func (s *Snapshot) LoadPage(page int) ([]*model.Member, error) {
	members, err := s.applier.store.MembersOfPage(s.ctx, s.batch, page, "")
	return loadAll(s, members, func(m *model.Member) store.Key { return store.MemberKey(s.batch, m.ID) }), err
}

func (s *Snapshot) LoadPageRuns(phase, page int) ([]*model.Run, error) {
	runs, err := s.applier.store.RunsOfPage(s.ctx, s.batch, page, store.RunSelection{Phase: phase})
	return loadAll(s, runs, RunKey), err
}

func (s *Snapshot) LoadShard(phase, page int) (*model.Shard, error) {
	return load[model.Shard](s, store.ShardKey(s.batch, phase, page))
}

func (s *Snapshot) LoadRunbook(name string, version int) (*runbook.Runbook, error) {
	return s.applier.runbooks.Load(s.ctx, name, version)
}

// take holds what a decision changes.
func (s *Snapshot) take(w model.Writes) {
	for _, run := range w.Runs {
		s.set(RunKey(run), run)
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

// Before is the batch as it was loaded, and after as it was decided; nil where it was not
// loaded.
func (s *Snapshot) Before() *model.Batch {
	if d := s.docs[s.BatchKey()]; d != nil {
		b, _ := d.was.(*model.Batch)
		return b
	}
	return nil
}

func (s *Snapshot) After() *model.Batch {
	b, _ := s.known()
	return b
}

// writes tells whether the batch is among what is to be written.
func (s *Snapshot) WritesBatch() bool { return slices.Contains(s.changed, s.BatchKey()) }

// countsInBatch reports whether counters of the batch were added to: its ETag is not known.
func (s *Snapshot) countsInBatch() bool {
	return slices.ContainsFunc(s.counts, func(c model.Count) bool {
		switch c.(type) {
		case model.CountShard, model.CountFailures, model.CountRemoval:
			return true
		}
		return false
	})
}

// Writes are the operations that write what was decided, and the shards among the counts that
// they read back: by the place of the operation.
func (s *Snapshot) Writes() (ops store.Writes, shards map[int]store.Key) {
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
	shards = map[int]store.Key{}
	for _, c := range s.counts {
		switch c := c.(type) {
		case model.CountRun:
			key := store.ShardKey(s.batch, c.Phase, c.Page)
			var changes []store.Change
			if c.Outcome != "" {
				changes = append(changes, store.Increment("/open", -1), store.Increment("/"+string(c.Outcome), 1))
			}
			if c.Yields {
				changes = append(changes, store.Increment("/yielded", 1), store.Set("/yieldedAt", s.Now.UTC()))
			}
			ops = append(ops, store.Patch(key, "", changes...), store.Get(key))
			shards[len(ops)-1] = key
		case model.CountShard:
			at := fmt.Sprintf("/phases/%d/", c.Phase-1)
			ops = append(ops, store.Patch(s.BatchKey(), "",
				store.Increment(at+"shardsClosed", 1), store.Increment(at+"succeeded", c.Succeeded),
				store.Increment(at+"failed", c.Failed), store.Increment(at+"cancelled", c.Cancelled)))
		case model.CountFailures:
			ops = append(ops, store.Patch(s.BatchKey(), "", store.Increment(fmt.Sprintf("/phases/%d/failedSoFar", c.Phase-1), c.Failed)))
		case model.CountRemoval:
			at := fmt.Sprintf("/phases/%d/", c.Phase-1)
			ops = append(ops, store.Patch(s.BatchKey(), "", store.Increment(at+"open", -1), store.Increment(at+string(c.Outcome), 1)))
		case model.MarkSent:
			ops = append(ops, store.Patch(store.ShardKey(s.batch, c.Phase, c.Page), "", store.Set("/sent", true)))
		default:
			panic(fmt.Sprintf("app: no write for %T", c))
		}
	}
	return ops, shards
}

// writeMember writes a member who changed. A member carries the columns of the source:
// where the member only enters a phase, nothing else is sent.
func writeMember(key store.Key, was, is *model.Member, version store.Version) store.Write {
	if reflect.DeepEqual(is, was) { // only nobody else is to change the member at this moment
		return store.Patch(key, version.ETag, store.Set("/status", is.Status))
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

// IsRecalled reports whether some run of the snapshot came from memory.
func (s *Snapshot) IsRecalled() bool { return len(s.recalled) > 0 }

// GuardBatch writes the batch as it is, where no decision writes it: what is written with it is
// right only for this version of the batch.
func (s *Snapshot) GuardBatch() store.Writes {
	if s.WritesBatch() {
		return nil
	}
	return store.Writes{store.Replace(s.BatchKey(), s.After(), s.Version(s.BatchKey()))}
}

// Version is the version of a document as it was written, or loaded.
func (s *Snapshot) Version(key store.Key) store.Version {
	if d := s.docs[key]; d != nil {
		return d.version
	}
	return store.Version{}
}

// BatchItem is the batch as it was written, or loaded.
func (s *Snapshot) BatchItem() store.Item[model.Batch] {
	key := s.BatchKey()
	return store.Item[model.Batch]{Key: key, Doc: *s.After(), Version: s.docs[key].version}
}

// Member is a member as it was loaded, and as it was decided; nil where it was not loaded.
func (s *Snapshot) Member(id int) (was, is *model.Member) {
	if d := s.docs[store.MemberKey(s.batch, id)]; d != nil {
		was, _ = d.was.(*model.Member)
		is, _ = d.is.(*model.Member)
	}
	return was, is
}

// StepRun gives the run of the step execution that a message names.
func (s *Snapshot) StepRun(stepID int64, phase, member, index int) (*model.Run, error) {
	run, err := s.LoadRun(phase, member)
	switch {
	case err != nil:
		return nil, err
	case run == nil:
		return nil, message.Reject("batch %d has no step execution %d", s.batch, stepID)
	case index < len(run.Steps):
		return run, nil
	case s.IsRecalled(): // a rollback may have added to it since
		return nil, ErrOutdated
	}
	return nil, message.Reject("batch %d has no step execution %d: its run has %d steps", s.batch, stepID, len(run.Steps))
}
