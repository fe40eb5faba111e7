// Command notices writes the licences of all modules in a program, as the licences require.
// The release runs it: go run ./infra/notices ./cmd/matoolkit >THIRD-PARTY-NOTICES.txt
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: notices PACKAGE")
		os.Exit(2)
	}
	var text bytes.Buffer
	folders, err := moduleFolders(os.Args[1])
	if err == nil {
		err = writeNotices(&text, folders)
	}
	if err == nil {
		_, err = text.WriteTo(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

// folder is the source of a module, with its name and version.
type folder struct{ name, dir string }

// moduleFolders returns the modules that a program uses on any of the released systems, and
// Go itself.
func moduleFolders(program string) ([]folder, error) {
	root, err := output("", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := []folder{{"Go", strings.TrimSpace(root)}}
	for _, system := range []string{"darwin", "linux", "windows"} {
		list, err := output(system, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", program)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(list) {
			name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if one := (folder{name, dir}); name != "" && !slices.Contains(folders, one) {
				folders = append(folders, one)
			}
		}
	}
	slices.SortFunc(folders[1:], func(a, b folder) int { return strings.Compare(a.name, b.name) })
	return folders, nil
}

func output(system string, args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if system != "" {
		c.Env = append(c.Env, "GOOS="+system)
	}
	c.Stderr = os.Stderr
	text, err := c.Output()
	return string(text), err
}

// licence matches the names of files that hold a licence or what it requires to pass on.
var licence = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|patents|copyright)([._-].*)?$`)

// writeNotices fails for a module without a licence: it must not be distributed.
func writeNotices(out io.Writer, folders []folder) error {
	fmt.Fprintln(out, "This program contains the following modules. Each is followed by its licence.")
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
			line := strings.Repeat("=", 80)
			fmt.Fprintf(out, "\n%s\n%s, %s\n%s\n\n%s\n", line, f.name, entry.Name(), line, bytes.TrimSpace(text))
		}
		if !found {
			return fmt.Errorf("%s has no licence file in %s", f.name, f.dir)
		}
	}
	return nil
}
