package snapshot_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"

	"github.com/matoolkit/matoolkit/internal/snapshot"
)

func options() snapshot.Options { return snapshot.Options{TenantID: "contoso", Tool: "matoolkit test"} }

func create(t *testing.T, dir string, o snapshot.Options) *snapshot.Writer {
	t.Helper()
	w, err := snapshot.Create(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func user(n int) map[string]any {
	return map[string]any{"id": fmt.Sprintf("u%d", n), "userPrincipalName": fmt.Sprintf("u%d@contoso.com", n), "displayName": "<O'Hara & Söhne>"}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, r *snapshot.Reader, kind snapshot.Kind) []string {
	t.Helper()
	var lines []string
	must(t, r.Each(kind, func(line int, raw json.RawMessage) error {
		if line < 1 {
			t.Errorf("line %d", line)
		}
		lines = append(lines, string(raw))
		return nil
	}))
	return lines
}

// identity is an age key: the recipient, and a file with the key.
func identity(t *testing.T) (recipient, file string) {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	must(t, err)
	file = filepath.Join(t.TempDir(), "key.txt")
	must(t, os.WriteFile(file, []byte("# created for a test\n"+key.String()+"\n"), 0o600))
	return key.Recipient().String(), file
}

func TestSnapshotIsReadAsWritten(t *testing.T) {
	t.Parallel()
	recipient, key := identity(t)
	for name, to := range map[string][]string{"plain": nil, "encrypted": {recipient}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "new", "contoso")
			o := options()
			o.EncryptTo = to
			w := create(t, dir, o)
			must(t, w.Append(snapshot.Domains, "", "contoso.com", "contoso.onmicrosoft.com"))
			must(t, w.Append(snapshot.Users, "2", user(1), user(2)))
			must(t, w.Append(snapshot.Users, "3", json.RawMessage("{\n  \"id\": \"u3\"\n}")))
			w.LeaveOut("", "sites", "no permission")
			w.LeaveOut("", "sites", "no permission")
			m, err := w.Finish()
			must(t, err)
			if m.Objects(snapshot.Users) != 3 || m.Objects(snapshot.Groups) != 0 || len(m.LeftOut) != 1 || m.FinishedAt.IsZero() || m.Encrypted != (to != nil) {
				t.Errorf("manifest %+v", m)
			}
			file := "users-0001.jsonl"
			if to != nil {
				file += ".age"
			}
			content, err := os.ReadFile(filepath.Join(dir, file))
			must(t, err)
			if strings.Contains(string(content), "u1@contoso.com") == (to != nil) {
				t.Errorf("%s is %q", file, content)
			}
			info, err := os.Stat(filepath.Join(dir, file))
			must(t, err)
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has the mode %v", file, info.Mode())
			}
			r, err := snapshot.Open(dir, key)
			must(t, err)
			want := []string{
				`{"displayName":"<O'Hara & Söhne>","id":"u1","userPrincipalName":"u1@contoso.com"}`,
				`{"displayName":"<O'Hara & Söhne>","id":"u2","userPrincipalName":"u2@contoso.com"}`, `{"id":"u3"}`,
			}
			if got := read(t, r, snapshot.Users); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("users %q", got)
			}
			if got := read(t, r, snapshot.Domains); len(got) != 2 || got[0] != `"contoso.com"` {
				t.Errorf("domains %q", got)
			}
			if got := read(t, r, snapshot.Recipients); got != nil {
				t.Errorf("recipients %q", got)
			}
		})
	}
}

// TestContinuesFromTheCheckpoint breaks a snapshot off after a checkpoint: what came after it is written again.
func TestContinuesFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	recipient, key := identity(t)
	for name, to := range map[string][]string{"plain": nil, "encrypted": {recipient}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			o := options()
			o.EncryptTo, o.State = to, json.RawMessage(`{"key":"secret"}`)
			first := create(t, dir, o)
			must(t, first.Complete(snapshot.Licenses, "end", map[string]any{"skuPartNumber": "SPE_E3"}))
			must(t, first.Append(snapshot.Users, "page 1", user(1), user(2)))
			first.LeaveOut("", "archives", "no permission")
			must(t, first.Sync())
			must(t, first.Append(snapshot.Users, "page 2", user(3)))
			if _, err := snapshot.Open(dir, key); err == nil || !strings.Contains(err.Error(), "is not finished") {
				t.Fatalf("opening a snapshot that is not finished: %v", err)
			}
			o.State = nil
			second := create(t, dir, o)
			position, complete := second.Position(snapshot.Users)
			end, licensed := second.Position(snapshot.Licenses)
			if !second.Resumed() || position != "page 1" || complete || end != "end" || !licensed || second.Objects(snapshot.Licenses) != 1 || second.Objects(snapshot.Users) != 2 {
				t.Fatalf("resumed %v at %q, %v, %v with %d users", second.Resumed(), position, complete, licensed, second.Objects(snapshot.Users))
			}
			var state struct{ Key string }
			if must(t, json.Unmarshal(second.State(), &state)); state.Key != "secret" {
				t.Errorf("state %s", second.State())
			}
			must(t, second.Append(snapshot.Users, "page 2", user(3), user(4)))
			m, err := second.Finish()
			must(t, err)
			if m.Objects(snapshot.Users) != 4 || len(m.LeftOut) != 1 {
				t.Errorf("manifest %+v", m)
			}
			r, err := snapshot.Open(dir, key)
			must(t, err)
			if got := read(t, r, snapshot.Users); len(got) != 4 || !strings.Contains(got[3], "u4@") {
				t.Errorf("users %q", got)
			}
			entries, _ := os.ReadDir(dir)
			for _, entry := range entries {
				content, _ := os.ReadFile(filepath.Join(dir, entry.Name()))
				if strings.Contains(string(content), "secret") {
					t.Errorf("%s has the state", entry.Name())
				}
			}
		})
	}
}

func TestManyObjectsHaveSeveralFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := create(t, dir, options())
	large := strings.Repeat("x", 3<<20)
	var all sync.WaitGroup
	for _, kind := range []snapshot.Kind{snapshot.Users, snapshot.Recipients} {
		all.Go(func() {
			for n := range 4 {
				if err := w.Append(kind, fmt.Sprint(n), map[string]any{"n": 2 * n, "text": large}, map[string]any{"n": 2*n + 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	m, err := w.Finish()
	must(t, err)
	if len(m.Files) != 4 || m.Objects(snapshot.Users) != 8 {
		t.Errorf("%d files, %d users", len(m.Files), m.Objects(snapshot.Users))
	}
	r, err := snapshot.Open(dir, "")
	must(t, err)
	for i, line := range read(t, r, snapshot.Users) {
		if !strings.HasPrefix(line, fmt.Sprintf(`{"n":%d`, i)) {
			t.Errorf("line %d is %.20s", i, line)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	recipient, _ := identity(t)
	begin := func(t *testing.T) string {
		dir := t.TempDir()
		w := create(t, dir, options())
		must(t, w.Append(snapshot.Users, "", user(1)))
		must(t, w.Sync())
		return dir
	}
	for name, tc := range map[string]struct {
		dir    func(*testing.T) string
		change func(*snapshot.Options)
		want   string
	}{
		"a recipient that is none": {nil, func(o *snapshot.Options) { o.EncryptTo = []string{"ssh-ed25519 AAAA"} }, "not a recipient of age"},
		"other files": {func(t *testing.T) string {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "thesis.doc"), nil, 0o600))
			return dir
		}, nil, "has other files (thesis.doc)"},
		"a finished snapshot": {func(t *testing.T) string {
			dir := begin(t)
			_, err := create(t, dir, options()).Finish()
			must(t, err)
			return dir
		}, nil, "has a finished snapshot"},
		"another tenant":  {begin, func(o *snapshot.Options) { o.TenantID = "fabrikam" }, "snapshot of tenant contoso"},
		"another version": {begin, func(o *snapshot.Options) { o.Tool = "matoolkit 2" }, "begun by matoolkit test"},
		"redaction":       {begin, func(o *snapshot.Options) { o.Redacted = true }, "without redaction"},
		"encryption":      {begin, func(o *snapshot.Options) { o.EncryptTo = []string{recipient} }, "without encryption"},
		"a damaged checkpoint": {func(t *testing.T) string {
			dir := begin(t)
			must(t, os.WriteFile(filepath.Join(dir, "checkpoint.json"), []byte("{"), 0o600))
			return dir
		}, nil, "is damaged"},
		"a lost file": {func(t *testing.T) string {
			dir := begin(t)
			must(t, os.Remove(filepath.Join(dir, "users-0001.jsonl")))
			return dir
		}, nil, "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "x")
			if tc.dir != nil {
				dir = tc.dir(t)
			}
			o := options()
			if tc.change != nil {
				tc.change(&o)
			}
			if _, err := snapshot.Create(dir, o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestReadingRefuses(t *testing.T) {
	t.Parallel()
	recipient, key := identity(t)
	_, other := identity(t)
	edit := func(name, old, with string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			content, err := os.ReadFile(path)
			must(t, err)
			if !strings.Contains(string(content), old) {
				t.Fatalf("%s does not have %q:\n%s", name, old, content)
			}
			must(t, os.WriteFile(path, []byte(strings.Replace(string(content), old, with, 1)), 0o600))
		}
	}
	for name, tc := range map[string]struct {
		encrypted bool
		damage    func(*testing.T, string)
		key       string
		want      string
	}{
		"another folder":         {damage: func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "manifest.json"))) }, want: "has no manifest.json"},
		"another version":        {damage: edit("manifest.json", `"format": 1`, `"format": 2, "news": true`), want: "reads version 1"},
		"an unknown field":       {damage: edit("manifest.json", `"redacted"`, `"news": 1, "redacted"`), want: `unknown field "news"`},
		"an unknown kind":        {damage: edit("manifest.json", `"kind": "users"`, `"kind": "sites"`), want: `files[0]: unknown kind "sites"`},
		"a path":                 {damage: edit("manifest.json", `users-0001.jsonl`, `../users-0001.jsonl`), want: "is not the name of a file of this kind"},
		"no tenant":              {damage: edit("manifest.json", `"tenantId": "contoso"`, `"tenantId": ""`), want: "tenantId is missing"},
		"no end":                 {damage: edit("manifest.json", `"finishedAt"`, `"takenAt"`), want: "finishedAt is missing"},
		"a changed file":         {damage: edit("users-0001.jsonl", `u1@contoso.com`, `u9@contoso.com`), want: "users-0001.jsonl: the file is not as it was written"},
		"a shorter file":         {damage: edit("users-0001.jsonl", "\n", ""), want: "users-0001.jsonl: the file is not as it was written"},
		"a lost file":            {damage: func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "users-0001.jsonl"))) }, want: "users-0001.jsonl"},
		"another count":          {damage: edit("manifest.json", `"objects": 1`, `"objects": 2`), want: "has 1 objects, and manifest.json lists 2"},
		"encrypted, no key":      {encrypted: true, want: "is encrypted"},
		"encrypted, another key": {encrypted: true, key: other, want: "not one that the snapshot was encrypted to"},
		"encrypted, no file":     {encrypted: true, key: "/no/such/file", want: "/no/such/file"},
		"encrypted, no identity": {encrypted: true, key: "snapshot_test.go", want: "snapshot_test.go"},
		"encrypted, changed":     {encrypted: true, key: key, damage: edit("users-0001.jsonl.age", "age-encryption", "age-encryptiom"), want: "the file is not as it was written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			o := options()
			if tc.encrypted {
				o.EncryptTo = []string{recipient}
			}
			w := create(t, dir, o)
			must(t, w.Append(snapshot.Users, "", user(1)))
			_, err := w.Finish()
			must(t, err)
			if tc.damage != nil {
				tc.damage(t, dir)
			}
			r, err := snapshot.Open(dir, tc.key)
			if err == nil {
				err = r.Each(snapshot.Users, func(int, json.RawMessage) error { return nil })
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := create(t, dir, options())
	must(t, w.Append(snapshot.Users, "", user(1), user(2)))
	_, err := w.Finish()
	must(t, err)
	r, err := snapshot.Open(dir, "")
	must(t, err)
	refused := errors.New("no such domain")
	err = r.Each(snapshot.Users, func(line int, _ json.RawMessage) error {
		if line == 2 {
			return refused
		}
		return nil
	})
	if !errors.Is(err, refused) || !strings.HasSuffix(err.Error(), "users-0001.jsonl:2: no such domain") {
		t.Errorf("got %v", err)
	}
	if err := r.Each("sites", nil); err == nil {
		t.Error("an unknown kind is read")
	}
	if err := w.Append(snapshot.Users, "", user(3)); err == nil {
		t.Error("an object is appended to a finished snapshot")
	}
	if err := create(t, t.TempDir(), options()).Append("sites", "", user(3)); err == nil {
		t.Error("an object of an unknown kind is appended")
	}
}

func TestRestartForgetsAKind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := create(t, dir, options())
	w.LeaveOut(snapshot.Users, "guests", "no permission")
	w.LeaveOut(snapshot.Groups, "devices", "no such objects")
	w.LeaveOut("", "sites", "no such kind")
	must(t, w.Append(snapshot.Users, "page 1", user(1), user(2)))
	must(t, w.Append(snapshot.Domains, "end", "contoso.com"))
	must(t, w.Sync())
	must(t, w.Append(snapshot.Users, "page 2", user(3)))
	must(t, w.Restart(snapshot.Users))
	w = create(t, dir, options())
	if position, _ := w.Position(snapshot.Users); position != "" || w.Objects(snapshot.Users) != 0 || w.Objects(snapshot.Domains) != 1 {
		t.Errorf("position %q, %d users", position, w.Objects(snapshot.Users))
	}
	must(t, w.Append(snapshot.Users, "page 1", user(1)))
	w.LeaveOut(snapshot.Users, "rooms", "no permission")
	m, err := w.Finish()
	must(t, err)
	if m.Objects(snapshot.Users) != 1 || fmt.Sprint(m.LeftOut) != "[{devices no such objects} {sites no such kind} {rooms no permission}]" {
		t.Errorf("manifest %+v", m)
	}
	r, err := snapshot.Open(dir, "")
	must(t, err)
	if got := read(t, r, snapshot.Users); len(got) != 1 {
		t.Errorf("users %q", got)
	}
}
