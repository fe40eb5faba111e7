package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// documentOperations are the operations of the write that creates the document of a batch, besides members.
const documentOperations = 2 // the document and its audit record

// WriteMembers writes the members of a batch that is being created, in the order of their ids.
// Another call may have begun with it before, or work on it at the same time, for the same people in
// this order: members that exist are the first ones, and stay as they are.
func (r *Registrar) WriteMembers(ctx context.Context, b model.Batch, rb *runbook.Runbook, people []Newcomer) error {
	_, err := r.writePages(ctx, b, rb, people, 0)
	return err
}

// WriteEarlierMembers writes members as WriteMembers does, without the last that fit into one write with
// the document of the batch. It returns the writes of these, for CreateDocument.
func (r *Registrar) WriteEarlierMembers(ctx context.Context, b model.Batch, rb *runbook.Runbook, people []Newcomer) (last store.Writes, err error) {
	return r.writePages(ctx, b, rb, people, store.MaxOperations-documentOperations)
}

// writePages writes members, and returns the writes of the last of them if these are at most so many.
func (r *Registrar) writePages(ctx context.Context, b model.Batch, rb *runbook.Runbook, people []Newcomer, keep int) (last store.Writes, err error) {
	for done := 0; done < len(people); {
		ops, err := r.memberPage(ctx, b, rb, people, done)
		if err != nil {
			return nil, err
		}
		if done+len(ops) == len(people) && len(ops) <= keep {
			return ops, nil
		}
		_, err = r.store.Apply(ctx, ops)
		// The other call writes the same members. So this one goes on behind them, without a pause.
		if errors.Is(err, store.ErrExists) {
			if done, err = r.lastMember(ctx, b.ID); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("write members of batch %d: %w", b.ID, err)
		}
		done += len(ops)
	}
	return nil, nil
}

// memberPage returns the writes of the members behind the first done, as many as fit into one write.
func (r *Registrar) memberPage(ctx context.Context, b model.Batch, rb *runbook.Runbook, people []Newcomer, done int) (store.Writes, error) {
	page, err := pageOfData(people[done:], store.MaxOperations, func(p Newcomer) (map[string]json.RawMessage, error) { return p.Data() })
	if err != nil {
		return nil, err
	}
	var ops store.Writes
	for i, plain := range page {
		id := done + i + 1
		data, err := r.sealer.SealData(ctx, rb, b.ID, id, plain)
		if err != nil {
			return nil, err
		}
		m := model.Member{
			ID: id, Page: model.PageOf(id), Key: people[id-1].Key, Data: data, Status: model.MemberActive, AddedAt: b.DetectedAt,
			OpenPhase: firstPhase(rb),
		}
		m.NoteSearch(b.Display)
		ops = append(ops, store.Create(store.MemberKey(b.ID, id), m))
	}
	return ops, nil
}

// firstPhase is the execution that a new member is in: the checks, where one is required. The member
// comes out of them before a phase begins.
func firstPhase(rb *runbook.Runbook) int {
	if rb.HoldsMembers() {
		return model.CheckPhase
	}
	return 0
}

// lastMember gives the highest member id of a batch that has members.
func (r *Registrar) lastMember(ctx context.Context, batch int) (int, error) {
	last, err := r.store.LastMember(ctx, batch)
	if err == nil && last == 0 {
		return 0, fmt.Errorf("the members of batch %d cannot be found", batch)
	}
	return last, err
}

// pageOfData makes the data of the first rows, as many as fit into one write: at most limit, and
// fewer where their data come near the 2 MB that the store takes.
func pageOfData[R any](rows []R, limit int, data func(R) (map[string]json.RawMessage, error)) (page []map[string]json.RawMessage, err error) {
	const maxBytes = 1 << 20
	total := 0
	for _, row := range rows[:min(len(rows), limit)] {
		d, err := data(row)
		if err != nil {
			return nil, err
		}
		if total += size(d) + 512; total > maxBytes && len(page) > 0 {
			break
		}
		page = append(page, d)
	}
	return page, nil
}

func size(data map[string]json.RawMessage) int {
	n := 0
	for k, v := range data {
		n += len(k) + len(v) + 4
	}
	return n
}
