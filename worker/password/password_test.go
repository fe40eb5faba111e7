package password_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/password"
)

// Each password has 32 characters of all four classes.
func TestPasswordsMeetThePolicy(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	for range 100 {
		for _, p := range []string{password.Strong(), password.Derived(key, password.Strong(), "ada")} {
			for _, class := range []string{"ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz", "23456789", "!#$%&*+-=?@^_~"} {
				if len(p) != 32 || !strings.ContainsAny(p, class) {
					t.Errorf("%q has %d characters, and none of %s", p, len(p), class)
				}
			}
		}
	}
}

// A derived password is that of its key, job and user. It must not change: workers of two versions can have the same job.
func TestDerivedPasswords(t *testing.T) {
	t.Parallel()
	key := "0123456789abcdef0123456789abcdef"
	first := password.Derived([]byte(key), "job-1", "ada")
	if first != "!D&G+y@!Vr6_iJ88qrB3+JmY7~9nJ43k" {
		t.Errorf("got %q", first)
	}
	seen := map[string]bool{first: true}
	for _, other := range [][3]string{{key + "0", "job-1", "ada"}, {key, "job-2", "ada"}, {key, "job-1", "bob"}, {key, "job-1\" \"ada", ""}} {
		p := password.Derived([]byte(other[0]), other[1], other[2])
		if seen[p] {
			t.Errorf("%q has the password of another", other)
		}
		seen[p] = true
	}
}
