package functionshost

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestStage(t *testing.T) {
	t.Parallel()
	repo, dst := t.TempDir(), filepath.Join(t.TempDir(), "dist")
	write(t, filepath.Join(repo, "host.json"), "{}")
	write(t, filepath.Join(repo, "functions", "one", "function.json"), "1")
	write(t, filepath.Join(repo, "functions", "one", "one.go"), "package one")
	write(t, filepath.Join(repo, "functions", "two", "function.json"), "2")
	write(t, filepath.Join(repo, "bin"), "binary")
	if err := Stage(repo, filepath.Join(repo, "bin"), dst); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(repo, "functions", "two")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dst, "local.settings.json"), "{}") // not of the stage: stays
	if err := Stage(repo, filepath.Join(repo, "bin"), dst); err != nil {
		t.Fatal(err)
	}
	var files []string
	if err := filepath.WalkDir(dst, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rest, _ := filepath.Rel(dst, path)
			files = append(files, filepath.ToSlash(rest))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"handler", "host.json", "local.settings.json", "one/function.json"}; !slices.Equal(files, want) {
		t.Errorf("staged %q, want %q", files, want)
	}
	info, err := os.Stat(filepath.Join(dst, "handler"))
	if err != nil || info.Mode().Perm()&0o111 != 0o111 {
		t.Errorf("the handler cannot be executed: %v, %v", info, err)
	}
	if err := Stage(t.TempDir(), filepath.Join(repo, "bin"), dst); err == nil {
		t.Error("a folder without functions was staged")
	}
}
