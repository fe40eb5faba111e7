package cosmos

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// Stats counts the requests served since the start or the last ResetStats. A
// request that failed is counted too; one that a fault refused is not.
type Stats struct {
	PointReads      int64
	Queries         int64 // pages
	SingleWrites    int64
	Batches         int64
	BatchOperations int64
	BytesWritten    int64 // of documents
	RU              float64
	ReadRU          float64 // of RU, what reads and queries cost: twice that, under Strong or Bounded Staleness
	Stored          int64   // bytes of the documents that are there
	Commits         int64   // transactions on disk, each with the writes of one group
	Scanned         int64   // documents that queries looked at
	Unindexed       int64   // pages of queries that asked for what the indexing policy leaves out
}

type counters struct {
	pointReads, queries, singleWrites, batches, batchOperations, bytesWritten atomic.Int64
	scanned, unindexed                                                        atomic.Int64
	centiRU, centiReadRU                                                      atomic.Int64
	paths                                                                     sync.Map // of QueriedPaths
}

// Stats returns the counts.
func (s *Server) Stats() Stats {
	return Stats{
		PointReads:      s.stats.pointReads.Load(),
		Queries:         s.stats.queries.Load(),
		SingleWrites:    s.stats.singleWrites.Load(),
		Batches:         s.stats.batches.Load(),
		BatchOperations: s.stats.batchOperations.Load(),
		BytesWritten:    s.stats.bytesWritten.Load(),
		RU:              float64(s.stats.centiRU.Load()) / 100,
		ReadRU:          float64(s.stats.centiReadRU.Load()) / 100,
		Stored:          s.store.stored(),
		Commits:         s.store.writer.commits.Load(),
		Scanned:         s.stats.scanned.Load(),
		Unindexed:       s.stats.unindexed.Load(),
	}
}

// ResetStats sets all counts to zero.
func (s *Server) ResetStats() {
	for _, c := range []*atomic.Int64{
		&s.stats.pointReads, &s.stats.queries, &s.stats.singleWrites, &s.stats.batches,
		&s.stats.batchOperations, &s.stats.bytesWritten, &s.stats.centiRU, &s.stats.centiReadRU, &s.stats.scanned, &s.stats.unindexed,
		&s.store.writer.commits,
	} {
		c.Store(0)
	}
}

func (c *counters) charge(ru float64, wrote int) {
	c.centiRU.Add(int64(math.Round(ru * 100)))
	c.bytesWritten.Add(int64(wrote))
}

// chargeRead is charge of what only reads.
func (c *counters) chargeRead(ru float64) {
	c.charge(ru, 0)
	c.centiReadRU.Add(int64(math.Round(ru * 100)))
}

// stored returns the size of all documents; 0 once the store is closed.
func (st *store) stored() (bytes int64) {
	if st.reads.QueryRow(`SELECT ifnull(sum(length(body)), 0) FROM items`).Scan(&bytes) != nil {
		return 0
	}
	return bytes
}

// queried notes the paths that a query filters or sorts by.
func (c *counters) queried(q *query.Query) {
	for _, path := range q.Filters() {
		c.paths.Store(path, true)
	}
	for _, by := range q.Order() {
		c.paths.Store("/"+strings.Join(by.Path, "/")+"/?", true)
	}
}

// QueriedPaths returns the paths, as an indexing policy names them, that queries have filtered
// or sorted by since the start. ResetStats keeps them.
func (s *Server) QueriedPaths() []string {
	var all []string
	s.stats.paths.Range(func(path, _ any) bool {
		all = append(all, path.(string))
		return true
	})
	slices.Sort(all)
	return all
}

// searched counts what a page of a query looked at.
func (c *counters) searched(p *page) {
	c.scanned.Add(int64(p.scanned))
	if len(p.lacks) > 0 {
		c.unindexed.Add(1)
	}
}
