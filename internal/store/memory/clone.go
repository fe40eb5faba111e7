package memory

import (
	"maps"
	"slices"
)

// Clone returns a Store with the documents that s has at this moment, and without a hook.
// Writes to one do not affect the other. It takes time and memory for each document's
// entry, not for its body, because a version of a document never changes.
//
// Both go on to count versions from the same number, so an ETag says something only to the
// Store that gave it, or to an earlier one that this Store was cloned from.
func (s *Store) Clone() *Store {
	s.state.mu.RLock()
	defer s.state.mu.RUnlock()
	next := &state{partitions: make(map[string]*partition, len(s.state.partitions)), versions: s.state.versions, room: s.state.room}
	for name, p := range s.state.partitions {
		c := &partition{documents: maps.Clone(p.documents), types: make(map[string][]*document, len(p.types)), bytes: p.bytes, applied: p.applied}
		for kind, all := range p.types {
			c.types[kind] = slices.Clone(all)
		}
		next.partitions[name] = c
	}
	return &Store{state: next}
}
