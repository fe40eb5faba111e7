package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/matoolkit/matoolkit/infra/archive"
)

// maker makes the files of one release.
type maker struct {
	repo, version string
	at            time.Time // of every file in an archive
	dir           string    // what is made
	scratch       string    // what it is made of
	made          []string
	stdout        io.Writer
}

// build gives the program for a system. Without cgo it needs neither that system nor its
// C compiler, and none of its libraries but those that are always there.
func (m *maker) build(s system) (string, error) {
	program := filepath.Join(m.scratch, s.os+"_"+s.arch, "matoolkit")
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X github.com/matoolkit/matoolkit/internal/buildinfo.Version="+m.version, "-o", program, "./cmd/matoolkit")
	c.Dir = m.repo
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+s.os, "GOARCH="+s.arch)
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build for %s: %w\n%s", s, err, bytes.TrimSpace(out))
	}
	return program, nil
}

// bundle makes the archive of a program, and its bill of materials.
func (m *maker) bundle(s system, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	name := "matoolkit_" + m.version + "_" + s.os + "_" + s.arch
	notices := filepath.Join(m.scratch, name+".notices")
	if err := archive.Whole(notices, func(out io.Writer) error { return m.notices(info, out) }); err != nil {
		return err
	}
	entries := []archive.Entry{
		{Name: "LICENSE", Mode: 0o644, File: filepath.Join(m.repo, "LICENSE")},
		{Name: "README.md", Mode: 0o644, File: filepath.Join(m.repo, "README.md")},
		{Name: "THIRD-PARTY-NOTICES.txt", Mode: 0o644, File: notices},
	}
	file := filepath.Join(m.dir, name)
	if s.os == "windows" {
		file += ".zip"
		err = archive.Zip(file, append(entries, archive.Entry{Name: "matoolkit.exe", Mode: 0o755, File: program}), m.at)
	} else {
		file += ".tar.gz"
		err = archive.TarGz(file, append(entries, archive.Entry{Name: "matoolkit", Mode: 0o755, File: program}), m.at)
	}
	if err != nil {
		return err
	}
	materials := filepath.Join(m.dir, name+".cdx.json")
	if err := archive.Whole(materials, func(out io.Writer) error { return m.materials(info, program, out) }); err != nil {
		return err
	}
	m.made = append(m.made, file, materials)
	written, err := os.Stat(file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(m.stdout, "%s: %d bytes\n", filepath.Base(file), written.Size())
	return err
}
