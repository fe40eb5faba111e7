// Package artifacttest is the conformance suite of artifact.Store.
package artifacttest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/artifact"
)

// Run checks the stores that open returns, each empty.
func Run(t *testing.T, open func(*testing.T) artifact.Store) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, artifact.Store){
		"write": write, "order of generations": generations, "concurrent writers": writers, "deletion": deletion,
		"hostile names": hostile, "lists": lists, "invalid artifacts": invalid,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

func of(key artifact.Key, fingerprint string, generation int64, content string) artifact.Artifact {
	return artifact.Artifact{
		Properties: artifact.Properties{Key: key, Fingerprint: fingerprint, Generation: generation, ContentType: "application/json"},
		Content:    []byte(content),
	}
}

func put(t *testing.T, s artifact.Store, a artifact.Artifact) artifact.Properties {
	t.Helper()
	p, err := s.Put(t.Context(), a)
	if err != nil {
		t.Fatalf("put %s: %v", a.Key, err)
	}
	return p
}

// stored checks the artifact of a key.
func stored(t *testing.T, s artifact.Store, want artifact.Artifact) {
	t.Helper()
	want.Size = int64(len(want.Content))
	got, err := s.Get(t.Context(), want.Key)
	if err != nil || got.Properties != want.Properties || string(got.Content) != string(want.Content) {
		t.Errorf("get %s: got %+v %q, %v, want %+v %q", want.Key, got.Properties, got.Content, err, want.Properties, want.Content)
	}
	if p, err := s.Stat(t.Context(), want.Key); err != nil || p != want.Properties {
		t.Errorf("stat %s: got %+v, %v, want %+v", want.Key, p, err, want.Properties)
	}
}

func write(t *testing.T, s artifact.Store) {
	key := artifact.NewKey("owner", "bundle")
	if _, err := s.Get(t.Context(), key); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("get of nothing: %v", err)
	}
	if _, err := s.Stat(t.Context(), key); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("stat of nothing: %v", err)
	}
	for generation, content := range map[int64]string{0: "", 1: "{}", 2: strings.Repeat("0123456789", 500_000)} {
		a := of(artifact.NewKey("owner", content[:min(2, len(content))]), `sha256:ab "c" ~`, generation, content)
		put(t, s, a)
		stored(t, s, a)
	}
}

func generations(t *testing.T, s artifact.Store) {
	key := artifact.NewKey("a")
	first := of(key, "f1", 10, "one")
	put(t, s, first)
	for _, c := range []struct {
		about    string
		put      artifact.Artifact
		conflict bool
		want     artifact.Artifact
	}{
		{"again", first, false, first},
		{"older with another fingerprint", of(key, "f0", 9, "zero"), true, first},
		{"older with the same fingerprint", of(key, "f1", 9, "one"), false, first},
		{"the same generation with another fingerprint", of(key, "f2", 10, "two"), true, first},
		{"newer with the same fingerprint", of(key, "f1", 11, "one"), false, of(key, "f1", 11, "one")},
		{"newer with another fingerprint", of(key, "f3", 12, "three"), false, of(key, "f3", 12, "three")},
		{"the first, late", first, true, of(key, "f3", 12, "three")},
	} {
		p, err := s.Put(t.Context(), c.put)
		var conflict *artifact.ConflictError
		want := c.want.Properties
		want.Size = int64(len(c.want.Content))
		switch {
		case errors.As(err, &conflict) != c.conflict || !c.conflict && err != nil:
			t.Errorf("%s: got %v, conflict: %t", c.about, err, c.conflict)
		case c.conflict && conflict.Stored != want:
			t.Errorf("%s: in conflict with %+v, want %+v", c.about, conflict.Stored, want)
		case !c.conflict && p != want:
			t.Errorf("%s: got %+v, want %+v", c.about, p, want)
		}
		stored(t, s, c.want)
	}
}

// The newest of concurrent writers wins, in whichever order they come.
func writers(t *testing.T, s artifact.Store) {
	key := artifact.NewKey("contended")
	const last = 8
	var group sync.WaitGroup
	for n := range int64(last + 1) {
		for range 2 { // each is delivered twice
			group.Go(func() {
				var conflict *artifact.ConflictError
				_, err := s.Put(t.Context(), of(key, fmt.Sprint("f", n), n, fmt.Sprint(n)))
				if err != nil && (!errors.As(err, &conflict) || conflict.Stored.Generation <= n) {
					t.Errorf("generation %d: %v", n, err)
				}
			})
		}
	}
	group.Wait()
	stored(t, s, of(key, fmt.Sprint("f", last), last, fmt.Sprint(last)))
}

func deletion(t *testing.T, s artifact.Store) {
	key := artifact.NewKey("a")
	put(t, s, of(key, "f", 10, "x"))
	var conflict *artifact.ConflictError
	if err := s.Delete(t.Context(), key, 9); !errors.As(err, &conflict) || conflict.Stored.Generation != 10 {
		t.Errorf("deletion up to an older generation: %v", err)
	}
	for range 2 {
		if err := s.Delete(t.Context(), key, 10); err != nil {
			t.Errorf("deletion: %v", err)
		}
	}
	if _, err := s.Get(t.Context(), key); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
	put(t, s, of(key, "f", 1, "x"))
}

func hostile(t *testing.T, s artifact.Store) {
	names := []string{
		"../../etc/passwd", "..", ".", "/", "//", "a/b", "a%2Fb", "%", "a b", "A", "a", "ü", "u\u0308", "\x00", "a\nb", "?comp=list", "#", `\`,
		"", "_", strings.Repeat("x", 2000), strings.Repeat("x", 1999) + "X", "CON", "a.", "a ", "<&>",
	}
	for i, name := range names {
		put(t, s, of(artifact.NewKey("names", name), fmt.Sprint("f", i), 1, name))
	}
	for i, name := range names {
		stored(t, s, of(artifact.NewKey("names", name), fmt.Sprint("f", i), 1, name))
	}
	if got := keys(t, s, artifact.NewKey("names")); len(got) != len(names) {
		t.Errorf("%d artifacts for %d names", len(got), len(names))
	}
}

func keys(t *testing.T, s artifact.Store, below artifact.Key) (all []string) {
	t.Helper()
	for p, err := range s.List(t.Context(), below) {
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Stat(t.Context(), p.Key)
		if err != nil || got != p {
			t.Errorf("%s: listed as %+v, but %+v, %v", p.Key, p, got, err)
		}
		all = append(all, p.Key.String())
	}
	return all
}

func lists(t *testing.T, s artifact.Store) {
	want := []string{}
	for i := range 12 {
		key := artifact.NewKey("octo", "items", fmt.Sprintf("r%02d", i))
		put(t, s, of(key, "f", int64(i), "{}"))
		want = append(want, key.String())
	}
	put(t, s, of(artifact.NewKey("octo", "bundle"), "f", 1, "{}"))
	put(t, s, of(artifact.NewKey("octo", "items"), "f", 1, "{}"))
	put(t, s, of(artifact.NewKey("octo", "items2", "x"), "f", 1, "{}"))
	put(t, s, of(artifact.NewKey("octocat", "items", "x"), "f", 1, "{}"))
	if got := keys(t, s, artifact.NewKey("octo", "items")); !slices.Equal(got, want) {
		t.Errorf("below octo/items: %v, want %v", got, want)
	}
	if got := keys(t, s, artifact.Key{}); len(got) != 16 || !slices.IsSorted(got) {
		t.Errorf("all: %v", got)
	}
	if got := keys(t, s, artifact.NewKey("none")); len(got) != 0 {
		t.Errorf("below nothing: %v", got)
	}
	for _, err := range s.List(t.Context(), artifact.Key{}) {
		if err != nil {
			t.Error(err)
		}
		break // the caller may stop
	}
}

func invalid(t *testing.T, s artifact.Store) {
	key := artifact.NewKey("a")
	typed := of(key, "f", 1, "")
	typed.ContentType = "text/plain\r\nx: y"
	for about, a := range map[string]artifact.Artifact{
		"no key": of(artifact.Key{}, "f", 1, ""), "no fingerprint": of(key, "", 1, ""), "a long fingerprint": of(key, strings.Repeat("f", 257), 1, ""),
		"a line in the fingerprint": of(key, "a\nb", 1, ""), "a space at its end": of(key, "a ", 1, ""), "a fingerprint that is not ASCII": of(key, "ü", 1, ""),
		"a negative generation": of(key, "f", -1, ""), "too large": of(key, "f", 1, strings.Repeat("x", artifact.MaxSize+1)), "a content type with a line": typed,
	} {
		if _, err := s.Put(t.Context(), a); !errors.Is(err, artifact.ErrInvalid) {
			t.Errorf("%s: %v", about, err)
		}
	}
	if got := keys(t, s, artifact.Key{}); len(got) != 0 {
		t.Errorf("stored nevertheless: %v", got)
	}
}
