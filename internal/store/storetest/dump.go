package storetest

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Dumper is a driver that returns all that it stores.
type Dumper interface {
	// Dump returns the documents of one partition, or of all if none is named, by
	// partition and id.
	Dump(ctx context.Context, partition string) ([]store.Document, error)
}

// All returns the documents of one type in a partition, decoded, by id.
func All[T any](ctx context.Context, s Dumper, partition, kind string) ([]store.Item[T], error) {
	documents, err := s.Dump(ctx, partition)
	if err != nil {
		return nil, err
	}
	var items []store.Item[T]
	for _, d := range documents {
		if d.Type != kind {
			continue
		}
		item, err := store.Decode[T](d)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}
