package demo

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheStateOfAnEarlierDemoIsReplacedAndNoOtherFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data", "demo")
	if err := makeData(folder); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(folder, "store")
	if err := os.WriteFile(old, []byte("state"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := makeData(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the state of the earlier demo is still there")
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := makeData(other); err == nil {
		t.Error("a folder of others is taken")
	}
	if _, err := os.Stat(filepath.Join(other, "thesis.txt")); err != nil {
		t.Errorf("a file of others is gone: %v", err)
	}
}
