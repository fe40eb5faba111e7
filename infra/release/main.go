// Command release makes what a release of the command line consists of, for every system
// from one machine: per system an archive with the program, the licence, what its
// licences ask to be passed on, and the read-me; its bill of materials, as CycloneDX; and
// SHA256SUMS of all. "make release" calls it.
//
// The same commit and the same Go release give the same files, byte for byte.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/matoolkit/matoolkit/infra/archive"
)

func main() { os.Exit(run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr)) }

// all are the systems that a release is made for.
const all = "darwin/amd64,darwin/arm64,linux/amd64,linux/arm64,windows/amd64,windows/arm64"

// run returns the exit status: 0, 1 where the release cannot be made, 2 for wrong usage.
func run(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	repo := flags.String("repo", ".", "the root of the repository")
	version := flags.String("version", "", "the version, as the programs tell it")
	to := flags.String("out", "", "the folder to make; it must not be there")
	targets := flags.String("targets", all, "the systems, each GOOS/GOARCH, with commas between them")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *version == "" || *to == "" || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "usage: release -version V -out DIR [-targets linux/amd64,…]")
		return 2
	}
	if err := release(*repo, *version, *to, strings.Split(*targets, ","), getenv, stdout); err != nil {
		fmt.Fprintln(stderr, "release:", err)
		return 1
	}
	return 0
}

// versionForm is what may stand in a file's name and in the linker's arguments.
var versionForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,99}$`)

// release makes the folder to; it appears when everything in it is done.
func release(repo, version, to string, targets []string, getenv func(string) string, stdout io.Writer) (err error) {
	if !versionForm.MatchString(version) {
		return fmt.Errorf("the version %q has something else than letters, digits, dots, + and -", version)
	}
	to = filepath.Clean(to) // or what is beside it would be in it, where a slash ends it
	r := maker{repo: repo, version: version, stdout: stdout}
	if r.at, err = archive.Time(getenv); err != nil {
		return err
	}
	systems, err := parse(targets)
	if err != nil {
		return err
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is there; take it away first", to)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if r.dir, err = os.MkdirTemp(filepath.Dir(to), filepath.Base(to)+".*.new"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	if r.scratch, err = os.MkdirTemp("", "release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
	for _, s := range systems {
		program, err := r.build(s)
		if err != nil {
			return err
		}
		if err := r.bundle(s, program); err != nil {
			return err
		}
	}
	if err := archive.Sums(filepath.Join(r.dir, "SHA256SUMS"), r.made...); err != nil {
		return err
	}
	if err := os.Chmod(r.dir, 0o755); err != nil {
		return err
	}
	return os.Rename(r.dir, to)
}

// system is what a program is built for.
type system struct{ os, arch string }

func (s system) String() string { return s.os + "/" + s.arch }

func parse(targets []string) ([]system, error) {
	var systems []system
	for _, text := range targets {
		if !strings.Contains(","+all+",", ","+text+",") {
			return nil, fmt.Errorf("nothing is released for %q; there are %s", text, strings.ReplaceAll(all, ",", ", "))
		}
		os, arch, _ := strings.Cut(text, "/")
		systems = append(systems, system{os, arch})
	}
	return systems, nil
}
