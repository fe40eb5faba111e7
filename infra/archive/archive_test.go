package archive

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestAFileIsWrittenWholeOrNotAtAll: what fails leaves the earlier file and nothing beside it.
func TestAFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	to := filepath.Join(dir, "sub", "file")
	broken := errors.New("the disk is full")
	half := func(out io.Writer) error {
		_, err := io.WriteString(out, "ha")
		return errors.Join(err, broken)
	}
	if err := Whole(to, half); !errors.Is(err, broken) || !strings.Contains(err.Error(), to) {
		t.Errorf("got %v", err)
	}
	if err := Whole(to, func(out io.Writer) error { _, err := io.WriteString(out, "whole"); return err }); err != nil {
		t.Fatal(err)
	}
	missing := []Entry{{Name: "a", Mode: 0o644, File: to}, {Name: "b", Mode: 0o644, File: filepath.Join(dir, "nowhere")}}
	for name, write := range map[string]func() error{
		"half a file":   func() error { return Whole(to, half) },
		"a zip file":    func() error { return Zip(to, missing, time.Now()) },
		"a tar file":    func() error { return TarGz(to, missing, time.Now()) },
		"sums":          func() error { return Sums(to, to, filepath.Join(dir, "nowhere")) },
		"over a folder": func() error { return Whole(filepath.Dir(to), half) },
	} {
		if err := write(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if info, err := os.Stat(to); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
		t.Errorf("the file is %v, %v; all may read it, whatever the umask", info, err)
	}
	text, err := os.ReadFile(to)
	left, listed := os.ReadDir(filepath.Dir(to))
	if err != nil || string(text) != "whole" || listed != nil || len(left) != 1 {
		t.Errorf("there is %q, %v; in the folder %v, %v", text, err, left, listed)
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"": 315532800, "1767323045": 1767323045, "315532800": 315532800, "315532799": 0, "-1": 0, "5000000000": 0, "1e9": 0, "1767323045 ": 0} {
		got, err := Time(func(string) string { return text })
		if want == 0 && err == nil || want != 0 && (err != nil || got.Unix() != want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
