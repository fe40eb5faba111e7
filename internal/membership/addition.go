package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Newcomer is a person to be added. Data makes the member's data, for one page of people at a
// time. Hash is of the row of a data source; it is empty where an administrator adds the person,
// whom no data source then removes.
type Newcomer struct {
	Key  string
	Data func() (map[string]json.RawMessage, error)
	Hash string
	From *Former // the member that the person was in another batch, whose finished phases and outputs are kept; nil for none
}

// Former is a member who was moved out of a batch. ByHand says that an administrator did: the corrections
// of the member are kept, too.
type Former struct {
	Batch, Member int
	ByHand        bool
}

// addition adds people to a batch. It is not safe for concurrent use.
type addition struct {
	members  *Registrar
	by       audit.Caller
	batch    store.Item[model.Batch] // as it was read or written last
	claims   *claimant
	progress *progress // nil for a request without an idempotency key
	result   api.AddResult

	movedFrom int // the batch from which an administrator moves the people; 0 for none
}

// run adds people a page at a time, each in one write with the batch that counts it and with the
// progress of the request. It leaves out people who are members, unless known says that none is
// at the ETag of the batch; and it looks again when another process has changed the batch, which
// may have added the same people. It claims people before it adds them. Unless the claims are
// partial, it adds no one where some cannot be claimed.
func (a *addition) run(ctx context.Context, people []Newcomer, known bool) (taken []InOtherBatch, err error) {
	first, over := true, false
	for !over && err == nil { // each page that is added begins the back-off anew
		err = store.RetryOnConflict(ctx, func() (err error) {
			if !first {
				if a.batch, err = a.members.applier.ReadBatch(ctx, a.batch.Doc.ID); err != nil {
					return err
				}
			}
			added := a.result.Added
			left, found, err := a.claim(ctx, people, first, known)
			taken = append(taken, found...)
			if over = len(found) > 0 && !a.claims.partly; err != nil || over {
				return err
			}
			first = false
			if people, err = a.addPages(ctx, left); err == nil {
				over = true
				return a.finish(ctx)
			}
			if store.Overtaken(err) && a.result.Added > added {
				return nil // and goes on in the outer loop
			}
			return err
		})
	}
	return taken, err
}

// claim claims the people who are still to be added, and gives them and those whom it could not
// claim.
func (a *addition) claim(ctx context.Context, people []Newcomer, first, known bool) (left []Newcomer, taken []InOtherBatch, err error) {
	if a.progress != nil && !first {
		if err := a.progress.reload(ctx, a.members.store); err != nil { // after the batch was read, whose pages it counts
			return nil, nil, err
		}
		people = a.progress.remaining()
	}
	if !known || !first {
		if people, err = a.leaveOutMembers(ctx, people, first); err != nil {
			return nil, nil, err
		}
	}
	if len(people) > 0 { // before the claims, which stay where the batch refuses the people
		if err := engine.CheckJoin(&a.batch.Doc); err != nil {
			return nil, nil, err
		}
	}
	taken, err = a.claims.claimRows(ctx, people)
	if err != nil || len(taken) > 0 && !a.claims.partly {
		return nil, taken, err
	}
	if len(taken) > 0 {
		people = slices.DeleteFunc(people, func(p Newcomer) bool { return !a.claims.done[p.Key] })
	}
	if a.progress != nil && a.progress.item.ETag == "" && first {
		a.progress.markPresent(a.result.Present)
	}
	return people, taken, nil
}

// leaveOutMembers leaves out people whose key belongs to a member who was not removed. With
// report it lists them in the result.
func (a *addition) leaveOutMembers(ctx context.Context, people []Newcomer, report bool) ([]Newcomer, error) {
	present := map[string]bool{}
	for chunk := range slices.Chunk(people, 200) {
		keys := make([]string, len(chunk))
		for i, p := range chunk {
			keys[i] = p.Key
		}
		members, err := a.members.store.MembersByKey(ctx, a.batch.Doc.ID, keys)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			present[m.Key] = present[m.Key] || m.Status != model.MemberRemoved
		}
	}
	var left []Newcomer
	for _, p := range people {
		switch {
		case !present[p.Key]:
			left = append(left, p)
		case report:
			a.result.Present = append(a.result.Present, p.Key)
		}
	}
	return left, nil
}

// addPages adds people a page at a time, and gives those who are left with an error. Pages become smaller
// where what people take along does not fit into one write. It fails with ErrChanged where another process has changed the batch.
func (a *addition) addPages(ctx context.Context, people []Newcomer) (left []Newcomer, err error) {
	for limit := model.PageSize; len(people) > 0; {
		data, err := pageOfData(people, limit, func(n Newcomer) (map[string]json.RawMessage, error) { return n.Data() })
		if err != nil {
			return people, err
		}
		err = a.addPage(ctx, people[:len(data)], data, people[len(data):])
		if errors.Is(err, store.ErrTooLarge) && len(data) > 1 {
			limit = len(data) / 2
			continue
		}
		if err != nil {
			return people, err
		}
		a.result.Added += len(data)
		people = people[len(data):]
	}
	return nil, nil
}

// addPage adds the people of one page with their data; rest are those who are left for later
// pages.
func (a *addition) addPage(ctx context.Context, people []Newcomer, data []map[string]json.RawMessage, rest []Newcomer) error {
	var progress store.IdempotencyRecord
	if a.progress != nil {
		progress = a.progress.after(len(people), rest)
	}
	c := applier.On(model.MembersJoined{Members: len(people), Key: people[0].Key, Shared: a.claims.shared})
	c.Once, c.More = true, len(rest) > 0 // once: the page is made for the batch at this ETag
	c.Prime = func(s *applier.Snapshot) { applier.Prime(s, s.BatchKey(), a.batch) }
	c.Extra = func(s *applier.Snapshot, _ []model.Decision) (store.Writes, error) {
		ops, err := a.memberWrites(ctx, s, people, data)
		if err != nil {
			return nil, err
		}
		if !a.batch.Doc.Filling || a.by.Kind != api.ActorSystem { // else it is part of the batch's creation
			ops = append(ops, a.auditRecord(s, len(people)))
		}
		if a.progress != nil {
			ops = append(ops, a.progress.write(progress))
		}
		return ops, nil
	}
	s, _, err := a.members.applier.Run(ctx, a.batch.Doc.ID, c)
	if s != nil && s.Written != nil { // also where what follows from it was cut short
		if a.progress != nil {
			a.progress.item = store.Item[store.IdempotencyRecord]{Doc: progress, Version: s.Written.Version(len(s.Written) - 1)}
		}
		a.batch = s.BatchItem()
	}
	return err
}

// memberWrites creates the members of a new page, behind those that the batch has.
func (a *addition) memberWrites(ctx context.Context, s *applier.Snapshot, people []Newcomer, data []map[string]json.RawMessage) (store.Writes, error) {
	b := a.batch.Doc
	rb, err := a.members.runbooks.Load(ctx, b.Runbook, b.Version)
	if err != nil {
		return nil, err
	}
	var ops store.Writes
	for i, p := range people {
		id := b.Members + 1 + i
		sealed, err := a.members.sealer.SealData(ctx, rb, b.ID, id, data[i])
		if err != nil {
			return nil, err
		}
		carried, err := a.carry(ctx, p.From, id)
		if err != nil {
			return nil, err
		}
		m := model.Member{
			WorkerData: carried.WorkerData, Carried: carried.Carried, MovedFrom: carried.MovedFrom, MovedFromMember: carried.MovedFromMember, Overrides: carried.Overrides,
			ID: id, Page: s.After().PageCount(), Key: p.Key, Data: sealed, Hash: p.Hash,
			Status: model.MemberActive, AddedAt: s.Now.UTC(), Claim: a.claims.round,
		}
		if len(m.Carried) == 0 {
			m.OpenPhase = firstPhase(rb)
		}
		if p.Hash == "" {
			m.AddedBy = a.by.Name
		} else if err := a.carryCorrections(ctx, rb, &m, data[i]); err != nil {
			return nil, err
		}
		m.NoteSearch(b.Display)
		ops = append(ops, store.Create(store.MemberKey(b.ID, id), m))
	}
	return ops, nil
}

// carryCorrections gives a new member from a data source the corrections of their last membership in a
// batch of the runbook, but for those that the source agrees with by now. Plain is the row.
func (a *addition) carryCorrections(ctx context.Context, rb *runbook.Runbook, m *model.Member, plain map[string]json.RawMessage) error {
	at, ok := a.claims.corrected[m.Key]
	if !ok {
		return nil
	}
	last, err := a.members.applier.ReadMember(ctx, at.batch, at.member)
	if err != nil {
		return err
	}
	values, err := a.members.sealer.OpenData(ctx, at.batch, &last.Doc, slices.Collect(maps.Keys(last.Doc.Overrides)))
	if err != nil {
		return err
	}
	maps.DeleteFunc(values, func(name string, value json.RawMessage) bool { return model.SameValue(value, plain[name]) })
	sealed, err := a.members.sealer.SealData(ctx, rb, a.batch.Doc.ID, m.ID, values)
	if err != nil || len(sealed) == 0 {
		return err
	}
	m.Overrides, m.Data = map[string]model.Override{}, maps.Clone(m.Data)
	for name, value := range sealed {
		o := last.Doc.Overrides[name]
		o.Source = m.Data[name]
		m.Overrides[name], m.Data[name] = o, value
	}
	return nil
}

// carry gives what a member keeps of the one that the person was in another batch: outputs, encrypted
// anew, and the phases that were finished.
func (a *addition) carry(ctx context.Context, from *Former, id int) (model.Member, error) {
	if from == nil {
		return model.Member{}, nil
	}
	was, err := a.members.applier.ReadMember(ctx, from.Batch, from.Member)
	if err != nil {
		return model.Member{}, err
	}
	there, here := sealing.Place{Batch: from.Batch, Member: from.Member}, sealing.Place{Batch: a.batch.Doc.ID, Member: id}
	outputs, err := a.members.sealer.Reseal(ctx, there, here, was.Doc.WorkerData)
	if err != nil {
		return model.Member{}, err
	}
	finished := slices.Concat(was.Doc.Carried, was.Doc.Finished)
	slices.Sort(finished)
	m := model.Member{WorkerData: outputs, Carried: slices.Compact(finished), MovedFrom: from.Batch}
	if from.ByHand {
		m.MovedFromMember = from.Member
		m.Overrides, err = a.carryOverrides(ctx, there, here, was.Doc.Overrides)
	}
	return m, err
}

// carryOverrides gives the corrections of a member for the one who takes them over: in a batch that follows
// a data source. The values are in the data.
func (a *addition) carryOverrides(ctx context.Context, there, here sealing.Place, was map[string]model.Override) (map[string]model.Override, error) {
	if len(was) == 0 || !a.batch.Doc.FollowsSource() {
		return nil, nil
	}
	sources := map[string]json.RawMessage{}
	for name, o := range was {
		sources[name] = o.Source
	}
	sources, err := a.members.sealer.Reseal(ctx, there, here, sources)
	if err != nil {
		return nil, err
	}
	overrides := map[string]model.Override{}
	for name, o := range was {
		o.Source = sources[name]
		overrides[name] = o
	}
	return overrides, nil
}

func (a *addition) auditRecord(s *applier.Snapshot, n int) store.Write {
	b := a.batch.Doc
	after := audit.State{"memberCount": s.After().Members}
	if a.claims.shared {
		after["allowInOtherBatches"] = true
	}
	if a.movedFrom != 0 {
		after["movedFrom"] = a.movedFrom
	}
	return a.members.audit.Record(store.AuditRecord{
		At: s.Now.UTC(), Actor: a.by.Actor(), Action: "add_members", Batch: b.ID, Target: memberRange(b.Members+1, n),
		Before: audit.State{"memberCount": b.Members}.JSON(), After: after.JSON(),
	})
}

// memberRange names n members with consecutive ids.
func memberRange(first, n int) string {
	if n == 1 {
		return fmt.Sprintf("member %d", first)
	}
	return fmt.Sprintf("members %d to %d", first, first+n-1)
}

// finish ends an addition of which no one is left to be added. It fails with ErrExists or
// ErrChanged where another process has gone on with the same request.
func (a *addition) finish(ctx context.Context) error {
	if a.progress != nil {
		if err := a.progress.end(ctx, a.members.store); err != nil {
			return err
		}
		a.progress.fill(&a.result)
	}
	b := &a.batch.Doc
	a.result.Batch = apiview.Batch(*b, a.members.now())
	if a.result.Added == 0 || a.result.Replayed { // a call that was cut short may not have announced them
		var o applier.Outbox
		if err := o.Add(b, catchUps(b), a.members.now()); err != nil {
			return err
		}
		return a.members.applier.Send(ctx, &o)
	}
	return nil
}

func catchUps(b *model.Batch) []model.Message {
	var messages []model.Message
	for _, j := range b.Joining {
		messages = append(messages, model.CatchUp{Join: j})
	}
	return messages
}
