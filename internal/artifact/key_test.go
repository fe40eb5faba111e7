package artifact_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/artifact"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		parts []string
		want  string // empty: only checked for form and difference
	}{
		{[]string{"owner", "my-repo"}, "owner/my-repo"},
		{[]string{"Owner", "my-repo"}, "_4fwner/my-repo"},
		{[]string{"..", "a"}, "_2e_2e/a"},
		{[]string{"../a"}, "_2e_2e_2fa"},
		{[]string{"a/b"}, "a_2fb"},
		{[]string{"a", "b"}, "a/b"},
		{[]string{"a%2Fb"}, "a_252_46b"},
		{[]string{"a_2fb"}, "a_5f2fb"},
		{[]string{"", "a"}, "_/a"},
		{[]string{"_"}, "_5f"},
		{[]string{"ü"}, "_c3_bc"},
		{[]string{"u\u0308"}, ""},
		{[]string{"\x00\xff "}, "_00_ff_20"},
		{[]string{long}, ""},
		{[]string{long + "y"}, ""},
		{[]string{strings.Repeat("ü", 100)}, ""},
		{[]string{strings.Repeat("Ü", 100)}, ""},
		{[]string{strings.Repeat("/", 300), long, long, long, long}, ""},
	} {
		key := artifact.NewKey(c.parts...)
		if c.want != "" && key.String() != c.want {
			t.Errorf("%q: got %s, want %s", c.parts, key, c.want)
		}
		if len(key.String()) > 1000 {
			t.Errorf("%q: %d characters", c.parts, len(key.String()))
		}
		if back, err := artifact.ParseKey(key.String()); err != nil || back != key {
			t.Errorf("%s: read back as %s, %v", key, back, err)
		}
	}
	for _, text := range []string{"", "/", "a/", "/a", "a//b", "A", "..", "a_", "a_2", "a_2F", "a_xff", "a/b/c/d/e/f", "ü", strings.Repeat("a", 191)} {
		if _, err := artifact.ParseKey(text); !errors.Is(err, artifact.ErrInvalid) {
			t.Errorf("%q was read as a key: %v", text, err)
		}
	}
}

// No two names have one key, also where the store ignores the case of letters.
func FuzzKeysDiffer(f *testing.F) {
	f.Add("a/b", "a_2fb")
	f.Add("A", "a")
	f.Add(strings.Repeat("A", 70), strings.Repeat("a", 210))
	f.Fuzz(func(t *testing.T, a, b string) {
		if ka, kb := artifact.NewKey(a), artifact.NewKey(b); a != b && strings.EqualFold(ka.String(), kb.String()) {
			t.Errorf("%q and %q have the key %s", a, b, ka)
		}
	})
}
