// Package idempotency finds idempotency records: the record of a request that its caller sent with an
// idempotency key (Idempotency-Key), so that the same request, sent again, does nothing twice.
//
// It does not write the records: a use case creates them in the write that the request makes.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Records finds idempotency records. It is safe for concurrent use.
type Records struct {
	store  store.Store
	sealer *sealing.Sealer
}

// Config has the parts that Records uses. All are required.
type Config struct {
	Store  store.Store
	Sealer *sealing.Sealer
}

// New returns Records.
func New(c Config) *Records { return &Records{store: c.Store, sealer: c.Sealer} }

// Find reads the record of the caller's idempotency key in a partition. The item has no ETag where
// there is no record, or the caller has no key. Keys of different callers, and in different partitions,
// are independent. content is the digest of the request. Errors: CodeKeyReused where the record is of a
// request with other content.
func (r *Records) Find(ctx context.Context, by audit.Caller, partition, content string) (store.Item[store.IdempotencyRecord], error) {
	if by.Key == "" {
		return store.Item[store.IdempotencyRecord]{}, nil
	}
	item, err := store.OrNone(store.Read[store.IdempotencyRecord](ctx, r.store, Key(by, partition)))
	if err != nil || item.ETag == "" {
		return item, err
	}
	same, err := r.sealer.SameContent(ctx, item.Doc.Content, content)
	if err == nil && !same {
		return item, problem.New(api.CodeKeyReused, "the idempotency key was used on %s for a request with other content; use a new key for a new request", item.Doc.At.Format(time.RFC3339))
	}
	return item, err
}

// Key gives the key, in a partition, of the record of a caller's idempotency key.
func Key(by audit.Caller, partition string) store.Key {
	return store.RequestKey(partition, Digest(by.Identity(), by.Key))
}

// Digest gives a digest of the parts of a request. Each part is written with its length, so that the
// digest tells where one ends.
func Digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		_ = binary.Write(sum, binary.BigEndian, int64(len(part))) // writing to a hash does not fail
		_, _ = sum.Write([]byte(part))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// FileDigest gives a digest of the content of a file. It fails where the file cannot be read.
func FileDigest(file membercsv.File) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, file.Size())); err != nil {
		return "", fmt.Errorf("read the member CSV: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
