package secret_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/secret"
)

// ring is a key with versions.
type ring struct {
	versions map[string][]byte
	current  string
	err      error
	reads    int
}

func (r *ring) Current(ctx context.Context) (secret.Key, error) { return r.Version(ctx, r.current) }

func (r *ring) Version(_ context.Context, id string) (secret.Key, error) {
	r.reads++
	if r.err != nil {
		return secret.Key{}, r.err
	}
	key, ok := r.versions[id]
	if !ok {
		return secret.Key{}, fmt.Errorf("%w: no version %s", secret.ErrLost, id)
	}
	return secret.Key{ID: id, Bytes: key}, nil
}

func key(b byte) []byte { return bytes.Repeat([]byte{b}, secret.KeySize) }

func TestAValueIsReadOnlyWithItsKeyAndInItsPlace(t *testing.T) {
	t.Parallel()
	keys := &ring{versions: map[string][]byte{"one": key(1)}, current: "one"}
	box := secret.New(keys)
	if keys.reads != 0 {
		t.Error("the key is read before it is needed")
	}
	sealed, err := box.Seal(t.Context(), []byte("canary"), "batch 1")
	if err != nil || !strings.HasPrefix(sealed, "v1.one.") || strings.Contains(sealed, "canary") {
		t.Fatalf("%s, %v", sealed, err)
	}
	if again, _ := box.Seal(t.Context(), []byte("canary"), "batch 1"); again == sealed {
		t.Error("a value is encrypted to the same text twice")
	}
	if opened, err := box.Open(t.Context(), sealed, "batch 1"); err != nil || string(opened) != "canary" {
		t.Errorf("%q, %v", opened, err)
	}
	if keys.reads != 1 {
		t.Errorf("the key was read %d times", keys.reads)
	}
	changed := sealed[:len(sealed)-4] + "AAAA"
	for _, tt := range []struct{ sealed, place string }{
		{sealed, "batch 2"}, {changed, "batch 1"}, {"v1.one.AA", "batch 1"}, {"v1.one.!", "batch 1"}, {"v1.two." + sealed[7:], "batch 1"}, {"v2" + sealed[2:], "batch 1"}, {"", "batch 1"},
	} {
		if opened, err := box.Open(t.Context(), tt.sealed, tt.place); !errors.Is(err, secret.ErrLost) {
			t.Errorf("%q of %s: %q, %v", tt.sealed, tt.place, opened, err)
		}
	}
}

func TestOldVersionsOfTheKeyStayReadable(t *testing.T) {
	t.Parallel()
	keys := &ring{versions: map[string][]byte{"one": key(1), "two": key(2)}, current: "one"}
	before := secret.New(keys)
	sealed, err := before.Seal(t.Context(), []byte("canary"), "p")
	if err != nil {
		t.Fatal(err)
	}
	digest, err := before.Digest(t.Context(), []byte("file"))
	if err != nil {
		t.Fatal(err)
	}
	keys.current = "two"
	after := secret.New(keys)
	if opened, err := after.Open(t.Context(), sealed, "p"); err != nil || string(opened) != "canary" {
		t.Errorf("%q, %v", opened, err)
	}
	if fresh, err := after.Seal(t.Context(), []byte("x"), "p"); err != nil || !strings.HasPrefix(fresh, "v1.two.") {
		t.Errorf("%s, %v", fresh, err)
	}
	for data, want := range map[string]bool{"file": true, "other": false} {
		if same, err := after.SameDigest(t.Context(), digest, []byte(data)); err != nil || same != want {
			t.Errorf("%s: %v, %v", data, same, err)
		}
	}
	if same, err := after.SameDigest(t.Context(), "0123", []byte("file")); err != nil || same {
		t.Errorf("a digest without a key: %v, %v", same, err)
	}
}

func TestAnOutageOfTheKeyIsDistinguishedFromALostOne(t *testing.T) {
	t.Parallel()
	keys := &ring{err: fmt.Errorf("%w: away", secret.ErrUnavailable)}
	box := secret.New(keys)
	if _, err := box.Seal(t.Context(), nil, ""); !errors.Is(err, secret.ErrUnavailable) {
		t.Errorf("sealing: %v", err)
	}
	if _, err := box.Open(t.Context(), "v1.one.AAAA", ""); !errors.Is(err, secret.ErrUnavailable) {
		t.Errorf("opening: %v", err)
	}
	keys.err, keys.versions, keys.current = nil, map[string][]byte{"one": key(1)}, "one"
	if err := box.Check(t.Context()); err != nil {
		t.Errorf("the key is back: %v", err)
	}
}

func TestAKeyIsThirtyTwoBytesInBase64(t *testing.T) {
	t.Parallel()
	if got, err := secret.DecodeKey(" AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"); err != nil || len(got) != secret.KeySize {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "canary", "AAAA"} {
		if _, err := secret.DecodeKey(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
