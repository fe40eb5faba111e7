package memory

import (
	"context"
	"strconv"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// ChangeMark implements store.ChangeMarks.
func (s *Store) ChangeMark(ctx context.Context, batch int, _ time.Time) (mark string, err error) {
	s.counts.queries.Add(1)
	pk := store.BatchPartition(batch)
	err = s.do(ctx, Operation{Kind: KindQuery, Name: "ChangeMark", Partition: pk}, func() error {
		s.state.mu.RLock()
		defer s.state.mu.RUnlock()
		mark = ""
		if p := s.state.partition(pk); len(p.documents) > 0 {
			mark = strconv.FormatUint(p.applied, 16)
		}
		return nil
	})
	return mark, err
}
