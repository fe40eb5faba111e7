package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store"
)

// thing is a document of the suite's own.
type thing struct {
	N    int            `json:"n"`
	Text string         `json:"text,omitempty"`
	In   map[string]int `json:"in,omitempty"`
	List []thing        `json:"list,omitempty"`
}

// newerThing is a thing of a later version.
type newerThing struct {
	thing
	Colour string `json:"colour"`
}

// place returns keys in a partition of the test's own.
func place(t *testing.T) func(id string) store.Key {
	pk := "test:" + tag() + strings.ReplaceAll(t.Name(), "/", "-")
	return func(id string) store.Key { return store.Key{PK: pk, ID: id, Type: "thing"} }
}

func read(t *testing.T, s store.Store, k store.Key) store.Item[thing] {
	t.Helper()
	item, err := store.Read[thing](t.Context(), s, k)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// testDocuments: a document is read as it was written, each time as a copy of its own.
func testDocuments(t *testing.T, d Driver) {
	k := place(t)
	must(t, d.Store, store.Create(k("a"), thing{N: 1, Text: "x", In: map[string]int{"y": 1}}))
	first := read(t, d.Store, k("a"))
	if first.Doc.N != 1 || first.Doc.Text != "x" || first.Key != k("a") || first.ETag == "" || first.Unknown != "" {
		t.Errorf("%+v", first)
	}
	first.Doc.In["y"] = 2
	if again := read(t, d.Store, k("a")); again.Doc.In["y"] != 1 || again.ETag != first.ETag {
		t.Errorf("read again: %+v", again)
	}
	if _, err := store.Read[thing](t.Context(), d.Store, k("b")); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), k("b").String()) {
		t.Errorf("a document that does not exist: %v", err)
	}
	must(t, d.Store, store.Create(place(t)("a"), thing{N: 2}))
	if read(t, d.Store, k("a")).Doc.N != 1 {
		t.Error("one id in two partitions is one document")
	}
	if err := d.Store.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// contentOf is N and Text of a document; "" if it does not exist.
func contentOf(t *testing.T, s store.Store, k store.Key) string {
	t.Helper()
	item, err := store.Read[thing](t.Context(), s, k)
	if errors.Is(err, store.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(item.Doc.N, " ", item.Doc.Text)
}

// testWrites: what each kind of write does to a document with N 7 and Text x, by the version
// that it names.
func testWrites(t *testing.T, d Driver) {
	s := d.Store
	stale := store.Version{ETag: `"stale"`}
	const present, absent = "present", "absent"
	for _, r := range []struct {
		name  string
		write func(present, absent store.Key, now store.Version) store.Write
		err   error
		want  string // N and Text of the document; "" if it does not exist
		on    string
	}{
		{"create", func(_, k store.Key, _ store.Version) store.Write { return store.Create(k, thing{N: 1}) }, nil, "1 ", absent},
		{"create again", func(k, _ store.Key, _ store.Version) store.Write { return store.Create(k, thing{N: 1}) }, store.ErrExists, "7 x", present},
		{"replace", func(k, _ store.Key, v store.Version) store.Write { return store.Replace(k, thing{N: 1}, v) }, nil, "1 ", present},
		{"replace an older version", func(k, _ store.Key, _ store.Version) store.Write { return store.Replace(k, thing{N: 1}, stale) }, store.ErrChanged, "7 x", present},
		{"replace nothing", func(_, k store.Key, _ store.Version) store.Write { return store.Replace(k, thing{N: 1}, stale) }, store.ErrNotFound, "", absent},
		{"replace any version", func(k, _ store.Key, _ store.Version) store.Write {
			return store.Replace(k, thing{N: 1}, store.Version{})
		}, errAny, "7 x", present},
		{"upsert", func(k, _ store.Key, _ store.Version) store.Write { return store.Upsert(k, thing{N: 1}) }, nil, "1 ", present},
		{"upsert anew", func(_, k store.Key, _ store.Version) store.Write { return store.Upsert(k, thing{N: 1}) }, nil, "1 ", absent},
		{"replace an older revision", func(k, _ store.Key, _ store.Version) store.Write {
			return store.ReplaceUnlessNewer(k, thing{N: 8}, "n", 8)
		}, nil, "8 ", present},
		{"replace the same revision", func(k, _ store.Key, _ store.Version) store.Write {
			return store.ReplaceUnlessNewer(k, thing{N: 7, Text: "y"}, "n", 7)
		}, nil, "7 y", present},
		{"replace a newer revision", func(k, _ store.Key, _ store.Version) store.Write {
			return store.ReplaceUnlessNewer(k, thing{N: 6}, "n", 6)
		}, store.ErrNewer, "7 x", present},
		{"replace no revision", func(k, _ store.Key, _ store.Version) store.Write {
			return store.ReplaceUnlessNewer(k, thing{N: 1}, "none", -1)
		}, nil, "1 ", present},
		{"replace nothing by its revision", func(_, k store.Key, _ store.Version) store.Write {
			return store.ReplaceUnlessNewer(k, thing{N: 1}, "n", 1)
		}, store.ErrNotFound, "", absent},
		{"replace by no field", func(k, _ store.Key, _ store.Version) store.Write {
			return store.ReplaceUnlessNewer(k, thing{N: 8}, "", 8)
		}, errAny, "7 x", present},
		{"patch", func(k, _ store.Key, v store.Version) store.Write {
			return store.Patch(k, v.ETag, store.Increment("/n", -2), store.Set("/text", "y"))
		}, nil, "5 y", present},
		{"patch any version", func(k, _ store.Key, _ store.Version) store.Write { return store.Patch(k, "", store.Increment("/n", 1)) }, nil, "8 x", present},
		{"patch an older version", func(k, _ store.Key, _ store.Version) store.Write {
			return store.Patch(k, stale.ETag, store.Set("/n", 1))
		}, store.ErrChanged, "7 x", present},
		{"patch nothing", func(_, k store.Key, _ store.Version) store.Write { return store.Patch(k, "", store.Set("/n", 1)) }, store.ErrNotFound, "", absent},
		{"patch in nothing", func(k, _ store.Key, _ store.Version) store.Write {
			return store.Patch(k, "", store.Set("/no/such/place", 1))
		}, store.ErrRefused, "7 x", present},
		{"delete", func(k, _ store.Key, v store.Version) store.Write { return store.Delete(k, v.ETag) }, nil, "", present},
		{"delete an older version", func(k, _ store.Key, _ store.Version) store.Write { return store.Delete(k, stale.ETag) }, store.ErrChanged, "7 x", present},
		{"delete any version", func(k, _ store.Key, _ store.Version) store.Write { return store.Delete(k, "") }, errAny, "7 x", present},
		{"delete nothing", func(_, k store.Key, _ store.Version) store.Write { return store.Delete(k, stale.ETag) }, store.ErrNotFound, "", absent},
		{"get alone", func(k, _ store.Key, _ store.Version) store.Write { return store.Get(k) }, errAny, "7 x", present},
	} {
		for _, with := range []bool{false, true} { // alone, and with another write
			k := place(t)
			now := must(t, s, store.Create(k(present), thing{N: 7, Text: "x"})).Version(0)
			writes := store.Writes{r.write(k(present), k(absent), now)}
			if with {
				if r.name == "get alone" {
					continue
				}
				writes = append(writes, store.Create(k("other"), thing{}))
			}
			_, err := s.Apply(t.Context(), writes)
			switch {
			case r.err == nil && err != nil, r.err == errAny && err == nil, r.err != nil && r.err != errAny && !errors.Is(err, r.err):
				t.Errorf("%s, with another write %t: %v, want %v", r.name, with, err, r.err)
				continue
			case err != nil && r.err != errAny && !strings.Contains(err.Error(), writes[0].Key.String()):
				t.Errorf("%s, with another write %t: the error does not name the document: %v", r.name, with, err)
			}
			if got := contentOf(t, s, k(r.on)); got != r.want {
				t.Errorf("%s, with another write %t: the document is %q, want %q", r.name, with, got, r.want)
			}
		}
	}
	patchesInside(t, s)
	versionsFollow(t, s)
}

// errAny stands for any error.
var errAny = errors.New("any error")

// patchesInside: a patch reaches into objects and arrays, and appends a missing last element.
func patchesInside(t *testing.T, s store.Store) {
	k := place(t)("a")
	must(t, s, store.Create(k, thing{In: map[string]int{"x": 1}, List: []thing{{N: 1}, {N: 2}}}))
	must(t, s, store.Patch(k, "", store.Increment("/list/1/n", 5), store.Set("/in/y", 3), store.Increment("/in/z", 4), store.Set("/text", "<&>")))
	got := read(t, s, k).Doc
	if got.List[0].N != 1 || got.List[1].N != 7 || got.In["x"] != 1 || got.In["y"] != 3 || got.In["z"] != 4 || got.Text != "<&>" {
		t.Errorf("patched: %+v", got)
	}
}

// versionsFollow: Apply returns the version that each write made, and a Get what it read after
// the writes before it.
func versionsFollow(t *testing.T, s store.Store) {
	k := place(t)
	must(t, s, store.Create(k("a"), thing{N: 5}))
	applied := must(t, s, store.Patch(k("a"), "", store.Increment("/n", -2)), store.Get(k("a")))
	got, err := store.Got[thing](applied, 1)
	if err != nil || got.Doc.N != 3 || got.Key != k("a") {
		t.Fatalf("%+v, %v", got, err)
	}
	if now := read(t, s, k("a")); now.ETag != got.ETag || applied.Version(0).ETag != got.ETag {
		t.Errorf("the patch made version %s, the Get read %s, a read %s", applied.Version(0).ETag, got.ETag, now.ETag)
	}
	applied = must(t, s, store.Replace(k("a"), thing{N: 4}, got.Version))
	if now := read(t, s, k("a")); now.ETag != applied.Version(0).ETag || now.ETag == got.ETag {
		t.Errorf("the replace made version %s after %s, a read has %s", applied.Version(0).ETag, got.ETag, now.ETag)
	}
}

// testAtomicity: of writes of which one fails, none is carried out.
func testAtomicity(t *testing.T, d Driver) {
	for _, r := range []struct {
		name string
		bad  func(k func(string) store.Key) store.Write
		want error
	}{
		{"create what exists", func(k func(string) store.Key) store.Write { return store.Create(k("there"), thing{}) }, store.ErrExists},
		{"replace an older version", func(k func(string) store.Key) store.Write {
			return store.Replace(k("there"), thing{}, store.Version{ETag: `"stale"`})
		}, store.ErrChanged},
		{"patch what does not exist", func(k func(string) store.Key) store.Write {
			return store.Patch(k("nowhere"), "", store.Increment("/n", 1))
		}, store.ErrNotFound},
		{"create twice", func(k func(string) store.Key) store.Write { return store.Create(k("new"), thing{}) }, store.ErrExists},
		{"of another partition", func(func(string) store.Key) store.Write { return store.Upsert(place(t)("x"), thing{}) }, errAny},
	} {
		k := place(t)
		must(t, d.Store, store.Create(k("there"), thing{N: 7}))
		_, err := d.Store.Apply(t.Context(), store.Writes{store.Create(k("new"), thing{N: 1}), store.Patch(k("there"), "", store.Set("/n", 8)), r.bad(k), store.Create(k("last"), thing{})})
		if err == nil || r.want != errAny && !errors.Is(err, r.want) {
			t.Errorf("%s: %v, want %v", r.name, err, r.want)
		}
		for _, id := range []string{"new", "last"} {
			if _, err := store.Read[thing](t.Context(), d.Store, k(id)); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %s was created: %v", r.name, id, err)
			}
		}
		if got := read(t, d.Store, k("there")); got.Doc.N != 7 {
			t.Errorf("%s: the patch was carried out: %+v", r.name, got)
		}
	}
	if _, err := d.Store.Apply(t.Context(), nil); err == nil {
		t.Error("no writes are carried out")
	}
}

// testLaterVersion: a document with fields that its reader does not know can be read, patched
// and deleted, but not replaced.
func testLaterVersion(t *testing.T, d Driver) {
	s := d.Store
	k := place(t)
	must(t, s, store.Create(k("a"), newerThing{thing{N: 1}, "red"}), store.Create(k("b"), thing{N: 1}))
	item := read(t, s, k("a"))
	if item.Doc.N != 1 || !strings.Contains(item.Unknown, `"colour"`) {
		t.Fatalf("%+v", item)
	}
	got, err := store.Got[thing](must(t, s, store.Patch(k("b"), "", store.Increment("/n", 1)), store.Get(k("a"))), 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, version := range map[string]store.Version{"read": item.Version, "got in an Apply": got.Version} {
		for _, writes := range []store.Writes{
			{store.Replace(k("a"), thing{N: 2}, version)},
			{store.Replace(k("b"), thing{N: 5}, read(t, s, k("b")).Version), store.Replace(k("a"), thing{N: 2}, version)},
		} {
			if _, err := s.Apply(t.Context(), writes); !errors.Is(err, store.ErrLater) || !strings.Contains(err.Error(), k("a").String()) || !strings.Contains(err.Error(), `"colour"`) {
				t.Errorf("%s, %d writes: %v", name, len(writes), err)
			}
		}
	}
	if n := read(t, s, k("b")).Doc.N; n != 2 {
		t.Errorf("the other write was carried out: %d", n)
	}
	must(t, s, store.Patch(k("a"), item.ETag, store.Increment("/n", 1)))
	now, err := store.Read[newerThing](t.Context(), s, k("a"))
	if err != nil || now.Doc.N != 2 || now.Doc.Colour != "red" || now.Unknown != "" {
		t.Fatalf("%+v %v", now, err)
	}
	must(t, s, store.Replace(k("a"), newerThing{thing{N: 3}, "blue"}, now.Version)) // by the later version itself
	if _, err := s.Apply(t.Context(), store.Writes{store.Delete(k("a"), item.ETag)}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("deleted at an old version: %v", err)
	}
	must(t, s, store.Delete(k("a"), read(t, s, k("a")).ETag))
}
