package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const folder = ".."

func TestTheConsoleIsBundledFromItsVendoredPackages(t *testing.T) {
	t.Parallel()
	if err := checkPackages(folder); err != nil {
		t.Fatal(err)
	}
	b, err := build(folder, "vendor")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b.files["index.html"])
	for _, kind := range []string{".js", ".css"} {
		found := false
		for name := range b.files {
			found = found || strings.HasSuffix(name, kind) && strings.Contains(page, `"/api/console/`+name+`"`)
		}
		if !found {
			t.Errorf("the page names no %s of the bundle: %s", kind, page)
		}
	}
	if strings.Contains(page, "{{") {
		t.Errorf("the page has a name that is not filled in: %s", page)
	}
	for _, name := range packagesOf(b.inputs) {
		if !strings.Contains(string(b.files["licences.txt"]), name+" ") {
			t.Errorf("licences.txt lacks %s", name)
		}
	}
}

// What a browser gets before the first view, compressed.
const maxFirst = 150 << 10

func TestTheFirstViewIsSmall(t *testing.T) {
	t.Parallel()
	b, err := build(folder, "vendor")
	if err != nil {
		t.Fatal(err)
	}
	page, sum := string(b.files["index.html"]), 0
	for name, data := range b.files {
		if name == "index.html" || strings.Contains(page, name) {
			sum += len(compressed(data))
		}
	}
	if sum > maxFirst || sum < maxFirst/10 {
		t.Errorf("the first view has %d bytes, at most %d are allowed", sum, maxFirst)
	}
}

func TestTwoBuildsAreTheSame(t *testing.T) {
	t.Parallel()
	one, err := build(folder, "vendor")
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "elsewhere")
	for _, part := range []string{"src", "vendor"} {
		if err := os.CopyFS(filepath.Join(other, part), os.DirFS(filepath.Join(folder, part))); err != nil {
			t.Fatal(err)
		}
	}
	two, err := build(other, "vendor")
	if err != nil {
		t.Fatal(err)
	}
	for name := range one.files {
		if string(one.files[name]) != string(two.files[name]) {
			t.Errorf("%s differs with the folder it is built in", name)
		}
	}
}

func TestAChangedPackageIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(vendor string) error{
		"changed": func(v string) error {
			return os.WriteFile(filepath.Join(v, "preact", "package.json"), []byte("{}"), 0o600)
		},
		"added":   func(v string) error { return os.WriteFile(filepath.Join(v, "more.js"), nil, 0o600) },
		"removed": func(v string) error { return os.Remove(filepath.Join(v, "preact", "LICENSE")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied := t.TempDir()
			if err := os.CopyFS(filepath.Join(copied, "vendor"), os.DirFS(filepath.Join(folder, "vendor"))); err != nil {
				t.Fatal(err)
			}
			if err := checkPackages(copied); err != nil {
				t.Fatal(err)
			}
			if err := change(filepath.Join(copied, "vendor")); err != nil {
				t.Fatal(err)
			}
			if err := checkPackages(copied); err == nil || !strings.Contains(err.Error(), "make console-vendor") {
				t.Errorf("%v", err)
			}
		})
	}
}
