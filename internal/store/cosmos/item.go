package cosmos

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/store"
)

// item is a document as the service has it.
type item struct {
	ID   string          `json:"id"`
	PK   string          `json:"pk"`
	Type string          `json:"type"`
	Doc  json.RawMessage `json:"doc"`
	ETag string          `json:"_etag,omitempty"`
}

// PartitionKeyPath is the path of the container's partition key.
const PartitionKeyPath = "/pk"

func partition(pk string) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(pk) }

// ReadDocument implements store.Documents.
func (s *Store) ReadDocument(ctx context.Context, k store.Key) (store.Document, error) {
	s.counts.reads.Add(1)
	response, err := s.container.ReadItem(ctx, partition(k.PK), k.ID, nil)
	if err != nil {
		return store.Document{}, fmt.Errorf("reading %s: %w", k, classify(err))
	}
	return document(response.Value)
}

func document(body []byte) (store.Document, error) {
	var i item
	if err := json.Unmarshal(body, &i); err != nil {
		return store.Document{}, fmt.Errorf("store: an item cannot be read: %w", err)
	}
	return store.Document{Key: store.Key{PK: i.PK, ID: i.ID, Type: i.Type}, Doc: i.Doc, ETag: i.ETag}, nil
}

// encode encodes the item of a write that has a document. It puts the encoded document into the item as
// it is: to encode it within the item would check and copy it once more.
func encode(w store.Write) ([]byte, error) {
	doc, err := encodeJSON(w.Key, w.Doc)
	if err != nil {
		return nil, err
	}
	head, err := encodeJSON(w.Key, struct {
		ID   string `json:"id"`
		PK   string `json:"pk"`
		Type string `json:"type"`
	}{w.Key.ID, w.Key.PK, w.Key.Type})
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, len(head)+len(`,"doc":`)+len(doc))
	body = append(body, head[:len(head)-1]...)
	body = append(body, `,"doc":`...)
	body = append(body, doc...)
	return append(body, '}'), nil
}

func encodeJSON(k store.Key, value any) ([]byte, error) {
	body, err := store.Encode(value)
	if err != nil {
		return nil, fmt.Errorf("store: %s cannot be written as JSON: %w", k, err)
	}
	return body, nil
}
