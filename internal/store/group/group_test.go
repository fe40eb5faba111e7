package group_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/group"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

type doc struct {
	N    int            `json:"n"`
	Text string         `json:"text,omitempty"`
	In   map[string]int `json:"in,omitempty"`
}

func key(id string) store.Key { return store.Key{PK: "p", ID: id, Type: "doc"} }

// world is a store with the versions of its first documents.
type world struct {
	*memory.Store
	etags map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Store: memory.New(memory.Config{}), etags: map[string]string{}}
	for _, id := range []string{"a", "b", "c", "d", "x", "y"} {
		applied, err := w.Apply(t.Context(), store.Writes{store.Create(key(id), doc{N: 5, In: map[string]int{"z": 1}})})
		if err != nil {
			t.Fatal(err)
		}
		w.etags[id] = applied[0].ETag
	}
	return w
}

// draw returns random writes: of a few items by their versions, some of which are stale, and counts
// in others.
func draw(r *rand.Rand) func(*world) store.Writes {
	var parts []func(*world) store.Write
	add := func(w store.Write) { parts = append(parts, func(*world) store.Write { return w }) }
	versioned := func(id string, write func(etag string) store.Write) {
		stale := r.IntN(4) == 0
		parts = append(parts, func(in *world) store.Write {
			if stale {
				return write(`"stale"`)
			}
			return write(in.etags[id])
		})
	}
	for range 1 + r.IntN(4) {
		id, n := string("abcdef"[r.IntN(6)]), r.IntN(9)
		switch r.IntN(7) {
		case 0:
			versioned(id, func(etag string) store.Write { return store.Replace(key(id), doc{N: n}, store.Version{ETag: etag}) })
		case 1:
			add(store.Create(key(id), doc{N: n}))
		case 2:
			versioned(id, func(etag string) store.Write { return store.Delete(key(id), etag) })
		case 3:
			add(store.ReplaceUnlessNewer(key(id), doc{N: n}, "n", n))
		default:
			counter := key(string("xyz"[r.IntN(3)])) // of which z does not exist
			var changes []store.Change
			for range 1 + r.IntN(4) {
				path := []string{"/n", "/n", "/new", "/in/z", "/in", "/none/z"}[r.IntN(6)]
				if r.IntN(5) == 0 {
					changes = append(changes, store.Set(path, r.IntN(9)))
				} else if path != "/in" && (path != "/none/z" || r.IntN(6) == 0) {
					changes = append(changes, store.Increment(path, r.IntN(5)-2))
				}
			}
			if len(changes) > 0 {
				add(store.Patch(counter, "", changes...))
			}
			if r.IntN(2) == 0 || len(changes) == 0 {
				add(store.Get(counter))
			}
		}
	}
	return func(in *world) (writes store.Writes) {
		for _, part := range parts {
			writes = append(writes, part(in))
		}
		return writes
	}
}

// TestGroupIsSerial: Applies of one group have the results, the errors and the effects that they have
// one after the other.
func TestGroupIsSerial(t *testing.T) {
	t.Parallel()
	succeeded, lost := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		serial, together := newWorld(t), newWorld(t)
		var set group.Set
		var members []*group.Apply
		var twins []store.Writes
		for range 2 + r.IntN(8) {
			writes := draw(r)
			if writes(serial).Check() != nil {
				continue
			}
			a := group.New(writes(together), 0)
			if !set.Add(a) {
				continue
			}
			members, twins = append(members, a), append(twins, writes(serial))
		}
		outcomes := map[*group.Apply]store.Applied{}
		errs := map[*group.Apply]error{}
		together.ApplyGroup(members, func(a *group.Apply, applied store.Applied, err error) {
			if _, twice := errs[a]; twice {
				t.Errorf("seed %d: an Apply has two outcomes", seed)
			}
			outcomes[a], errs[a] = applied, err
		})
		alone := make([]store.Applied, len(members))
		for i, a := range members {
			want, wanted := serial.Apply(t.Context(), twins[i])
			err, answered := errs[a]
			if !answered || fmt.Sprint(err) != fmt.Sprint(wanted) {
				t.Fatalf("seed %d, Apply %d of %d %v: %v (answered %t), want %v", seed, i, len(members), a.Writes, err, answered, wanted)
			}
			if alone[i] = want; err != nil {
				lost++
			} else {
				succeeded++
			}
			for o := range want {
				if g, w := contents(t, outcomes[a][o].Document.Doc), contents(t, want[o].Document.Doc); !reflect.DeepEqual(g, w) {
					t.Fatalf("seed %d, Apply %d, operation %d read %v, want %v", seed, i, o, g, w)
				}
			}
		}
		compare(t, seed, serial, together)
		for i, a := range members {
			for o, r := range outcomes[a] {
				k := a.Writes[o].Key
				if g, w := together.stores(t, k, r.ETag), serial.stores(t, k, alone[i][o].ETag); g != w {
					t.Fatalf("seed %d, Apply %d: the ETag of %s is that of the stored version: %t, want %t", seed, i, k, g, w)
				}
			}
		}
	}
	if succeeded < 1000 || lost < 1000 {
		t.Errorf("only %d Applies succeeded and %d lost", succeeded, lost)
	}
}

// stores reports whether an ETag is that of the stored version.
func (w *world) stores(t *testing.T, k store.Key, etag string) bool {
	t.Helper()
	found, err := w.ReadDocument(t.Context(), k)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil && found.ETag == etag
}

func contents(t *testing.T, body json.RawMessage) (value any) {
	t.Helper()
	if body != nil {
		if err := json.Unmarshal(body, &value); err != nil {
			t.Fatal(err)
		}
	}
	return value
}

// compare checks that two stores have the same documents.
func compare(t *testing.T, seed uint64, serial, together *world) {
	t.Helper()
	var texts []string
	for _, w := range []*world{serial, together} {
		all, err := w.Dump(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, d := range all {
			text += fmt.Sprintf("%s %v\n", d.ID, contents(t, d.Doc))
		}
		texts = append(texts, text)
	}
	if texts[0] != texts[1] {
		t.Fatalf("seed %d: one after the other\n%stogether\n%s", seed, texts[0], texts[1])
	}
}

// TestCountsAreOnePatch: counts in one item become one patch, of which only the last sees the item
// empty. The ETags of the others guard nothing.
func TestCountsAreOnePatch(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	k := key("shard")
	if _, err := s.Apply(t.Context(), store.Writes{store.Create(k, map[string]int{"open": 3, "succeeded": 0})}); err != nil {
		t.Fatal(err)
	}
	var set group.Set
	var members []*group.Apply
	for i := range 3 {
		a := group.New(store.Writes{
			store.Create(key(fmt.Sprint(i)), doc{}), store.Patch(k, "", store.Increment("/open", -1), store.Increment("/succeeded", 1), store.Set("/at", i)), store.Get(k),
		}, 0)
		if !set.Add(a) {
			t.Fatal("counts cannot share a group")
		}
		members = append(members, a)
	}
	before := s.Versions()
	var seen, etags []string
	s.ApplyGroup(members, func(_ *group.Apply, applied store.Applied, err error) {
		if err != nil {
			t.Fatal(err)
		}
		seen, etags = append(seen, string(applied[2].Document.Doc)), append(etags, applied[2].ETag)
		if applied[2].Document.ETag != applied[2].ETag || applied[1].ETag != applied[2].ETag {
			t.Errorf("one version has several ETags: %+v", applied)
		}
	})
	want := []string{`{"at":0,"open":2,"succeeded":1}`, `{"at":1,"open":1,"succeeded":2}`, `{"at":2,"open":0,"succeeded":3}`}
	if !slices.Equal(seen, want) {
		t.Errorf("the callers read\n%s, want\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	if wrote := s.Versions() - before; wrote != 4 {
		t.Errorf("%d versions were written, want 3 documents and one patch", wrote)
	}
	for i, etag := range etags {
		_, err := s.Apply(t.Context(), store.Writes{store.Replace(k, map[string]int{"open": 9}, store.Version{ETag: etag})})
		if last := i == len(etags)-1; last != (err == nil) || !last && !errors.Is(err, store.ErrChanged) {
			t.Errorf("a replace by caller %d: %v", i, err)
		}
	}
}

// TestSetKeepsApart: which Applies cannot share a group.
func TestSetKeepsApart(t *testing.T) {
	t.Parallel()
	k := key("a")
	count := store.Patch(k, "", store.Increment("/n", 1))
	many := make([]store.Change, store.MaxChanges)
	for i := range many {
		many[i] = store.Increment(fmt.Sprintf("/n%d", i), 1)
	}
	for name, tc := range map[string]struct {
		first, second store.Writes
		share         bool
	}{
		"other items":               {store.Writes{store.Create(k, 1)}, store.Writes{store.Create(key("b"), 1)}, true},
		"counts":                    {store.Writes{count}, store.Writes{count, store.Get(k)}, true},
		"two creates":               {store.Writes{store.Create(k, 1)}, store.Writes{store.Create(k, 1)}, false},
		"a count and a replace":     {store.Writes{count}, store.Writes{store.Upsert(k, 1)}, false},
		"a read and an upsert":      {store.Writes{store.Upsert(k, 1)}, store.Writes{store.Get(k), store.Upsert(key("b"), 1)}, false},
		"a patch of a version":      {store.Writes{count}, store.Writes{store.Patch(k, `"1"`, store.Increment("/n", 1))}, false},
		"a set and an increment":    {store.Writes{count}, store.Writes{store.Patch(k, "", store.Set("/n", 1))}, false},
		"a path within another one": {store.Writes{store.Patch(k, "", store.Set("/in", 1))}, store.Writes{store.Patch(k, "", store.Set("/in/z", 1))}, false},
		"too many changes":          {store.Writes{store.Patch(k, "", many...)}, store.Writes{count}, false},
	} {
		var set group.Set
		if !set.Add(group.New(tc.first, 0)) || set.Add(group.New(tc.second, 0)) != tc.share {
			t.Errorf("%s: want %t", name, tc.share)
		}
	}
}

// TestCommitDivides: what the service refuses as a whole is divided until the Apply that is to blame
// is alone, and an outcome that is not known is that of all.
func TestCommitDivides(t *testing.T) {
	t.Parallel()
	var members []*group.Apply
	for i := range 7 {
		members = append(members, group.New(store.Writes{store.Create(key(fmt.Sprint(i)), i)}, 0))
	}
	for _, cause := range []error{store.ErrTooLarge, store.ErrRefused, store.ErrFull, store.ErrUnavailable} {
		tries := 0
		var failed, written []string
		group.Commit(members, func(writes store.Writes) (store.Applied, error) {
			tries++
			for _, w := range writes {
				if w.Key.ID == "4" {
					return nil, cause
				}
			}
			return make(store.Applied, len(writes)), nil
		}, func(a *group.Apply, _ store.Applied, err error) {
			if err == nil {
				written = append(written, a.Writes[0].Key.ID)
				return
			}
			if !errors.Is(err, cause) || err.Error() != "writing p/"+a.Writes[0].Key.ID+": "+cause.Error() {
				t.Errorf("%v", err)
			}
			failed = append(failed, a.Writes[0].Key.ID)
		})
		if cause == store.ErrUnavailable {
			if tries != 1 || len(failed) != 7 {
				t.Errorf("%v: %d tries, %v failed", cause, tries, failed)
			}
			continue
		}
		if !slices.Equal(failed, []string{"4"}) || len(written) != 6 || tries > 7 {
			t.Errorf("%v: %d tries, %v failed, %v were written", cause, tries, failed, written)
		}
	}
}
