//go:build unix

package command_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli/command"
)

// A report can go to a pipe, and to the file that a link leads to: neither is replaced by another file.
func TestWhatIsNoFileIsNotReplaced(t *testing.T) {
	t.Parallel()
	report := func(w io.Writer) error {
		_, err := fmt.Fprint(w, "report")
		return err
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		text, err := os.ReadFile(pipe)
		read <- fmt.Sprint(string(text), err)
	}()
	if err := command.SaveWhole(pipe, true, report); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "report<nil>" {
		t.Errorf("the pipe has %s", got)
	}
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := command.SaveWhole(link, true, report); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "report" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
