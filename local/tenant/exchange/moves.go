package exchange

import (
	"maps"
	"slices"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// Move is a step of the move of a mailbox of a batch.
type Move struct {
	directory.Move
	Endpoint string
	Refusal  string // why the source keeps the mailbox

	batch, email string
}

// DueMoves are the steps that are due and that the other tenant has not carried out. It locks the directory.
func (s *Service) DueMoves() []Move {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, _ := s.Times()
	var due []Move
	for _, name := range s.dueBatches(now) {
		b, _ := s.Directory.Batches.Latest(name)
		if !s.Linked(b.SourceEndpoint) {
			continue
		}
		for _, u := range b.Users {
			r, exists := s.Directory.Recipients.Latest(u.ID)
			at, set := s.completion(b, u)
			completes := set && !now.Before(at.Add(s.MoveDelay))
			if u.Error != "" || u.Moved || !exists || now.Before(s.copied(b, u)) || u.Copied && (u.Left || !completes) {
				continue
			}
			due = append(due, Move{Move: directory.MoveOf(r, b.TargetDeliveryDomain, u.Copied), Endpoint: b.SourceEndpoint, batch: b.Name, email: u.Email})
		}
	}
	return due
}

// Release is the source's half of a step: see directory.Release. It locks the directory.
func (s *Service) Release(m directory.Move) (refusal string, err error) {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	return s.Directory.Release(m, now, asOf)
}

// NoteMoves keeps what the other tenant did with the steps of DueMoves, and finishes the moves. It locks the directory.
func (s *Service) NoteMoves(done []Move) error {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	steps := map[string]map[string]Move{} // by batch and address
	for _, m := range done {
		if steps[m.batch] == nil {
			steps[m.batch] = map[string]Move{}
		}
		steps[m.batch][m.email] = m
	}
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		b, exists := s.Directory.Batches.Latest(directory.Fold(name))
		if !exists {
			continue
		}
		b.Users = slices.Clone(b.Users)
		for i, u := range b.Users {
			if m, moved := steps[name][u.Email]; moved {
				b.Users[i].Error, b.Users[i].Copied, b.Users[i].Left = m.Refusal, true, u.Left || m.Completes && m.Refusal == ""
			}
		}
		if err := s.Directory.Commit(asOf, directory.PutBatch(b, now)); err != nil {
			return err
		}
	}
	return s.FinishMoves()
}
