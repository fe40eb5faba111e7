package model

import (
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// MemoryState is a State in memory with the documents that a decision needs. Reading
// another one is an error, or nil where State allows a missing document.
type MemoryState struct {
	Batch        *Batch
	DispatchMode DispatchMode // of a MemoryState without a Batch; else it is the Batch's where this is Running
	Members      []*Member
	Runs         []*Run
	Shards       []*Shard
	Cache        []*CacheEntry
	Runbook      *runbook.Runbook         // of any version
	Runbooks     map[int]*runbook.Runbook // by version, where there are several
}

// LoadBatch returns the batch.
func (s MemoryState) LoadBatch() (*Batch, error) {
	if s.Batch == nil {
		return nil, fmt.Errorf("%w: the memory state has none", ErrNoBatch)
	}
	return s.Batch, nil
}

// LoadDispatchMode returns the dispatch mode of the state, or else of the batch.
func (s MemoryState) LoadDispatchMode() (DispatchMode, error) {
	if s.DispatchMode == Running && s.Batch != nil {
		return s.Batch.DispatchMode(), nil
	}
	return s.DispatchMode, nil
}

// LoadRun returns the run of a member in a phase, nil if there is none.
func (s MemoryState) LoadRun(phase, member int) (*Run, error) {
	return first(s.Runs, func(r *Run) bool { return r.Phase == phase && r.Member == member }), nil
}

// LoadBatchToWrite is LoadBatch.
func (s MemoryState) LoadBatchToWrite() (*Batch, error) { return s.LoadBatch() }

// LoadMemberToWrite is LoadMember.
func (s MemoryState) LoadMemberToWrite(member int) (*Member, error) { return s.LoadMember(member) }

// LoadMember returns a member by its ID.
func (s MemoryState) LoadMember(member int) (*Member, error) {
	if m := first(s.Members, func(m *Member) bool { return m.ID == member }); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("model: the memory state has no member %d", member)
}

// LoadRunsOf returns the runs of a member.
func (s MemoryState) LoadRunsOf(member int) ([]*Run, error) {
	return slices.DeleteFunc(slices.Clone(s.Runs), func(r *Run) bool { return r.Member != member }), nil
}

// LoadPage returns the members of a fan-out page.
func (s MemoryState) LoadPage(page int) ([]*Member, error) {
	return slices.DeleteFunc(slices.Clone(s.Members), func(m *Member) bool { return m.Page != page }), nil
}

// LoadPageRuns returns the runs of a fan-out page in a phase.
func (s MemoryState) LoadPageRuns(phase, page int) ([]*Run, error) {
	return slices.DeleteFunc(slices.Clone(s.Runs), func(r *Run) bool { return r.Phase != phase || r.Page != page }), nil
}

// LoadOutputs returns a key, and stores nothing.
func (s MemoryState) LoadOutputs(phase int) (string, error) {
	return fmt.Sprintf("outputs/%d/%d", s.Batch.ID, phase), nil
}

// LoadCacheEntry returns an entry of the cache, nil if there is none.
func (s MemoryState) LoadCacheEntry(id string) (*CacheEntry, error) {
	return first(s.Cache, func(e *CacheEntry) bool { return e.ID == id }), nil
}

// LoadHolder returns the run that an entry of the cache names, nil if there is none.
func (s MemoryState) LoadHolder(e *CacheEntry) (*Run, error) {
	return first(s.Runs, e.HeldBy), nil
}

// LoadShard returns the shard of a fan-out page in a phase, nil if there is none.
func (s MemoryState) LoadShard(phase, page int) (*Shard, error) {
	return first(s.Shards, func(c *Shard) bool { return c.Phase == phase && c.Page == page }), nil
}

// LoadRunbook returns a version of a runbook.
func (s MemoryState) LoadRunbook(name string, version int) (*runbook.Runbook, error) {
	if rb, ok := s.Runbooks[version]; ok {
		return rb, nil
	}
	if s.Runbook == nil {
		return nil, fmt.Errorf("model: the memory state has no version %d of runbook %s", version, name)
	}
	return s.Runbook, nil
}

func first[T any](all []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}
