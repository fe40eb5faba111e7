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
	"github.com/matoolkit/matoolkit/internal/store"
)

// Find reads the request that the caller made by this key before, in a partition; one
// without an ETag where there is none, or no key. Keys of different callers, and in
// different partitions, have nothing to do with one another. Errors: CodeKeyReused
// where other content was asked for by the key.
func (rs *Records) Find(ctx context.Context, by audit.Caller, partition, content string) (store.Item[store.IdempotencyRecord], error) {
	if by.Key == "" {
		return store.Item[store.IdempotencyRecord]{}, nil
	}
	item, err := store.OrNone(store.Read[store.IdempotencyRecord](ctx, rs.store, Key(by, partition)))
	if err != nil || item.ETag == "" {
		return item, err
	}
	same, err := rs.sealer.SameContent(ctx, item.Doc.Content, content)
	if err == nil && !same {
		return item, problem.New(api.CodeKeyReused, "the idempotency key was used on %s for a request with other content; choose a new key for what is to be done anew", item.Doc.At.Format(time.RFC3339))
	}
	return item, err
}

// Key is where a request of a caller is kept in a partition.
func Key(by audit.Caller, partition string) store.Key {
	return store.RequestKey(partition, Digest(by.Identity(), by.Key))
}

// Digest is one of all the parts, each told from the next by its length.
func Digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		_ = binary.Write(sum, binary.BigEndian, int64(len(part))) // a hash takes everything
		_, _ = sum.Write([]byte(part))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// FileDigest is a short text for the content of a file.
func FileDigest(file membercsv.File) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, file.Size())); err != nil {
		return "", fmt.Errorf("read the member CSV: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
