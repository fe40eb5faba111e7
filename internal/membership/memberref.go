package membership

import (
	"context"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// FindMember gives the number of the member that a caller names by the key or the number. Of several
// members with the key, of whom all but one were removed, it gives the last. Where the text is the
// key of one member and the number of another, the prefix key: or id: says which. Errors:
// CodeNotFound; CodeInvalid where both fit.
func (r *Registrar) FindMember(ctx context.Context, batch int, ref string) (int, error) {
	if _, err := r.applier.ReadBatch(ctx, batch); err != nil {
		return 0, err
	}
	if text, ok := strings.CutPrefix(ref, "id:"); ok {
		number, ok := memberNumber(text)
		if !ok {
			return 0, problem.New(api.CodeNotFound, "batch %d has no member %q: id: is followed by the number of a member", batch, ref)
		}
		_, err := r.applier.ReadMember(ctx, batch, number)
		return number, err
	}
	key, only := strings.CutPrefix(ref, "key:")
	byKey, err := r.memberByKey(ctx, batch, key)
	if err != nil || only && byKey != 0 {
		return byKey, err
	}
	number, isNumber := memberNumber(ref)
	if isNumber && number != byKey {
		m, err := store.OrNone(store.Read[model.Member](ctx, r.store, store.MemberKey(batch, number)))
		if err != nil {
			return 0, err
		}
		if m.ETag != "" && byKey != 0 {
			return 0, problem.New(api.CodeInvalid, "in batch %d, %s is the number of %q and the key of member %d: write id:%s or key:%s", batch, ref, m.Doc.Key, byKey, ref, ref)
		}
		if m.ETag != "" {
			return number, nil
		}
	}
	if byKey == 0 {
		return 0, problem.New(api.CodeNotFound, "batch %d has no member %q; give the key, in the same upper and lower case, or the number", batch, ref)
	}
	return byKey, nil
}

// memberByKey gives the number of the member with a key; 0 where there is none.
func (r *Registrar) memberByKey(ctx context.Context, batch int, key string) (id int, err error) {
	found, err := r.store.MembersByKey(ctx, batch, []string{key})
	for _, m := range found {
		id = max(id, m.ID) // all but the last were removed
	}
	return id, err
}

// memberNumber reads the number of a member: no sign, no zero in front.
func memberNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= 1<<31-1 && strconv.Itoa(n) == text
}
