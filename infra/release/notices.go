package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// licence are the names under which modules have their licence, and what it asks to be
// passed on.
var licence = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|patents|copyright)([._-].*)?$`)

// notices writes the licences of all that is in a program, which they ask for.
func (m *maker) notices(info *debug.BuildInfo, out io.Writer) error {
	folders, err := m.folders(info)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "matoolkit %s holds the following, each under the licence that stands below it.\n", m.version)
	for _, f := range folders {
		entries, err := os.ReadDir(f.dir)
		if err != nil {
			return err
		}
		found := false
		for _, entry := range entries {
			if entry.IsDir() || !licence.MatchString(entry.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(f.dir, entry.Name()))
			if err != nil {
				return err
			}
			found = true
			text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
			fmt.Fprintf(out, "\n%s\n%s, %s\n%s\n\n%s\n", strings.Repeat("=", 80), f.name, entry.Name(), strings.Repeat("=", 80), bytes.TrimSpace(text))
		}
		if !found {
			return fmt.Errorf("%s has no file with its licence in %s", f.name, f.dir)
		}
	}
	return nil
}

type folder struct{ name, dir string }

// folders are where the modules of a program are on this machine, and Go itself.
func (m *maker) folders(info *debug.BuildInfo) ([]folder, error) {
	args := []string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"}
	for _, dep := range info.Deps {
		args = append(args, dep.Path)
	}
	c := exec.Command("go", args...)
	c.Dir = m.repo
	var failed bytes.Buffer
	c.Stderr = &failed
	listed, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w: %s", err, bytes.TrimSpace(failed.Bytes()))
	}
	root := exec.Command("go", "env", "GOROOT")
	root.Dir = m.repo
	at, err := root.Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	all := []folder{{"Go " + info.GoVersion, strings.TrimSpace(string(at))}}
	for line := range strings.Lines(string(listed)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if dir == "" {
			return nil, fmt.Errorf("%s is not on this machine; fetch it with: go mod download", path)
		}
		all = append(all, folder{path, dir})
	}
	return all, nil
}
