package cosmos

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

const (
	// newestRead is how many of the documents written last a change mark is made of.
	newestRead = 20
	// settled is how long after a second nothing more is written in it: more than the clocks of
	// this process and of the service differ.
	settled = time.Minute
)

// written is when a document was written last, in whole seconds, and its version.
type written struct {
	At   int64  `json:"at"`
	ETag string `json:"etag"`
}

// ChangeMark implements store.ChangeMarks. The service orders documents by _ts, the second of their
// last write, from its index. The mark has the versions of all documents of the newest second: a later
// write in this second gives one of them another version, or adds one. No document of a batch's
// partition is ever deleted.
func (s *Store) ChangeMark(ctx context.Context, batch int, now time.Time) (string, error) {
	newest, err := project[written](ctx, s, store.BatchPartition(batch), text{sql: fmt.Sprintf("SELECT TOP %d c._ts AS at, c._etag AS etag FROM c ORDER BY c._ts DESC", newestRead)})
	if err != nil || len(newest) == 0 {
		return "", err
	}
	second := newest[0].At
	if newest[len(newest)-1].At == second && len(newest) == newestRead { // there may be more than were read
		if now.Sub(time.Unix(second, 0)) < settled {
			return "", nil
		}
		newest = nil
	}
	var versions []string
	for _, one := range newest {
		if one.At == second {
			versions = append(versions, one.ETag)
		}
	}
	slices.Sort(versions)
	sum := sha256.Sum256(fmt.Append(nil, second, versions))
	return hex.EncodeToString(sum[:8]), nil
}
