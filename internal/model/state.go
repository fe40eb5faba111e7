package model

import (
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// State loads what decisions on one batch read. A decision asks only for what it needs,
// and for the same document twice it gets the same value. What it is given it never
// changes. An error of a load ends the decision and is its error.
type State interface {
	// LoadBatch fails with ErrNoBatch if the batch does not exist.
	LoadBatch() (*Batch, error)
	// LoadBatchToWrite is LoadBatch for a decision that writes the batch. The batch may be out of date, in
	// which case the write is refused and the decision is taken again.
	LoadBatchToWrite() (*Batch, error)
	// LoadDispatchMode is the batch's dispatch mode. It may be a moment old where it is Running.
	LoadDispatchMode() (DispatchMode, error)
	// LoadRun is nil where there is no such run. Member 0 is the run of an init sequence
	// or of on_complete steps.
	LoadRun(phase, member int) (*Run, error)
	LoadMember(member int) (*Member, error)
	// LoadMemberToWrite is LoadMember for a decision that writes the member. The member may be out of
	// date, in which case the write is refused and the decision is taken again.
	LoadMemberToWrite(member int) (*Member, error)
	// LoadRunsOf is all runs of a member, in the order of their executions.
	LoadRunsOf(member int) ([]*Run, error)
	// LoadPage is the members of one page, in the order of their ids.
	LoadPage(page int) ([]*Member, error)
	// LoadPageRuns is the runs of one page in one execution, in the order of their members.
	LoadPageRuns(phase, page int) ([]*Run, error)
	// LoadOutputs stores the outputs of the members of an execution as an artifact, and returns the text of
	// its key. It fails with a *Refusal where that cannot be done and a repetition does not help.
	LoadOutputs(phase int) (string, error)
	// LoadCacheEntry is nil where there is none.
	LoadCacheEntry(id string) (*CacheEntry, error)
	// LoadHolder is the run that an entry of the cache names, of any batch, as it is stored now; nil where
	// there is no such run.
	LoadHolder(e *CacheEntry) (*Run, error)
	// LoadShard is nil where the page was not fanned out in the execution.
	LoadShard(phase, page int) (*Shard, error)
	LoadRunbook(name string, version int) (*runbook.Runbook, error)
}
