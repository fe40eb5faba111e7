package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Document is a stored document as a driver returns it.
type Document struct {
	Key
	Doc  json.RawMessage
	ETag string
}

// Version identifies the version of a document that was read.
type Version struct {
	ETag string // changes with each write; empty if there is no document
	// Unknown names the first field that the document has and its reader does not know; empty
	// if there is none. A later version of the program wrote such a document: it can be read,
	// patched and deleted, but a Replace would lose the field and fails with ErrLater.
	Unknown string
}

// Item is a document with its key and its version.
type Item[T any] struct {
	Key
	Doc T
	Version
}

// Read is a point read. It fails as Documents.ReadDocument does.
func Read[T any](ctx context.Context, s Documents, k Key) (Item[T], error) {
	document, err := s.ReadDocument(ctx, k)
	if err != nil {
		return Item[T]{}, err
	}
	return Decode[T](document)
}

// Decode decodes a document.
func Decode[T any](d Document) (Item[T], error) {
	item := Item[T]{Key: d.Key, Version: Version{ETag: d.ETag}}
	if d.Doc == nil {
		return item, nil
	}
	strict := json.NewDecoder(bytes.NewReader(d.Doc))
	strict.DisallowUnknownFields()
	unknown := strict.Decode(&item.Doc)
	if unknown == nil {
		return item, nil
	}
	item.Doc = *new(T)
	if err := json.Unmarshal(d.Doc, &item.Doc); err != nil {
		return item, fmt.Errorf("store: %s cannot be read: %w", d.Key, err)
	}
	item.Unknown = strings.TrimPrefix(unknown.Error(), "json: ")
	return item, nil
}

// Encode encodes the content of a document. It does not escape "<", ">" and "&", which would
// take six bytes each of the limits.
func Encode(doc any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(doc); err != nil {
		return nil, err
	}
	return bytes.TrimRight(body.Bytes(), "\n"), nil
}
