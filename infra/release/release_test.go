package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

const version = "v1.2.3-rc.1"

// at is the time of every file in the test's release.
var at = time.Unix(1767323045, 0)

func environment(name string) string {
	return map[string]string{"SOURCE_DATE_EPOCH": "1767323045"}[name]
}

// TestRelease makes the release for this machine, and for Windows with the same program
// in it, which it does not look into.
func TestRelease(t *testing.T) {
	t.Parallel()
	here := runtime.GOOS + "/" + runtime.GOARCH
	to := filepath.Join(t.TempDir(), "out", "release")
	var said bytes.Buffer
	if status := run([]string{"-repo", "../..", "-version", version, "-out", to + "/", "-targets", here}, environment, io.Discard, &said); status != 0 {
		t.Fatal(said.String())
	}
	name := "matoolkit_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		t.Fatal("this test reads tar files")
	}
	checkSums(t, to, name+".cdx.json", name+".tar.gz")
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder is %v, %v", info, err)
	}
	files := untar(t, filepath.Join(to, name+".tar.gz"))
	checkContents(t, files, "matoolkit")

	program := filepath.Join(t.TempDir(), "matoolkit")
	if err := os.WriteFile(program, files["matoolkit"].content, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "--version").Output(); err != nil || string(out) != "matoolkit "+version+"\n" {
		t.Errorf("the program says %q, %v", out, err)
	}
	checkMaterials(t, filepath.Join(to, name+".cdx.json"), program)

	// The same again is the same, and nothing is written over.
	again := maker{repo: "../..", version: version, at: at, dir: t.TempDir(), scratch: t.TempDir(), stdout: io.Discard}
	for _, s := range []system{{runtime.GOOS, runtime.GOARCH}, {"windows", "amd64"}} {
		if err := again.bundle(s, program); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{name + ".tar.gz", name + ".cdx.json"} {
		if !bytes.Equal(read(t, filepath.Join(to, file)), read(t, filepath.Join(again.dir, file))) {
			t.Errorf("%s comes out another way the second time", file)
		}
	}
	checkContents(t, unzip(t, filepath.Join(again.dir, "matoolkit_"+version+"_windows_amd64.zip")), "matoolkit.exe")
	if status := run([]string{"-repo", "../..", "-version", version, "-out", to}, environment, io.Discard, &said); status != 1 || !strings.Contains(said.String(), "take it away first") {
		t.Errorf("status %d, %s", status, said.String())
	}
}

func checkSums(t *testing.T, dir string, want ...string) {
	t.Helper()
	sums := map[string]string{}
	for line := range strings.Lines(string(read(t, filepath.Join(dir, "SHA256SUMS")))) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		sums[name] = sum
	}
	if names := slices.Sorted(maps.Keys(sums)); !slices.Equal(names, want) {
		t.Errorf("there are the sums of %q, want %q", names, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(want)+1 {
		t.Errorf("the release holds %v, %v", entries, err)
	}
	for name, sum := range sums {
		got := sha256.Sum256(read(t, filepath.Join(dir, name)))
		if hex.EncodeToString(got[:]) != sum {
			t.Errorf("the sum of %s is not that", name)
		}
	}
}

func checkContents(t *testing.T, files map[string]packed, program string) {
	t.Helper()
	if names, want := slices.Sorted(maps.Keys(files)), []string{"LICENSE", "README.md", "THIRD-PARTY-NOTICES.txt", program}; !slices.Equal(names, want) {
		t.Errorf("the archive holds %q, want %q", names, want)
	}
	for name, f := range files {
		want := fs.FileMode(0o644)
		if name == program {
			want = 0o755
		}
		if f.mode != want || !f.time.Equal(at) {
			t.Errorf("%s has mode %o and is of %s", name, f.mode, f.time)
		}
	}
	if notices := string(files["THIRD-PARTY-NOTICES.txt"].content); !strings.Contains(notices, "github.com/spf13/cobra, LICENSE.txt") || !strings.Contains(notices, "Apache License") || !strings.Contains(notices, "Go "+runtime.Version()+", LICENSE") {
		t.Errorf("the notices lack what they must have:\n%.2000s", notices)
	}
	if !bytes.Equal(files["LICENSE"].content, read(t, "../../LICENSE")) {
		t.Error("the licence is another one")
	}
}

func checkMaterials(t *testing.T, file, program string) {
	t.Helper()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(read(t, file)), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go")}
	for _, dep := range info.Deps {
		want = append(want, "pkg:golang/"+dep.Path+"@"+dep.Version)
	}
	var got []string
	for _, c := range *bom.Components {
		got = append(got, c.PackageURL)
	}
	built := map[string]string{}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	if built["-trimpath"] != "true" || built["CGO_ENABLED"] != "0" || built["vcs"] != "" {
		t.Errorf("another machine, or another checkout, would build another program: %v", built)
	}
	sum := sha256.Sum256(read(t, program))
	self := bom.Metadata.Component
	if !slices.Equal(got, want) || len(want) < 20 {
		t.Errorf("the bill names\n%q, want\n%q", got, want)
	}
	if self.Version != version || (*self.Hashes)[0].Value != hex.EncodeToString(sum[:]) || bom.Metadata.Timestamp != "2026-01-02T03:04:05Z" {
		t.Errorf("the bill is of %+v, made at %s", self, bom.Metadata.Timestamp)
	}
}

func TestWhatIsNotReleased(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"the version":             {"-version", "v1 -X main.x=y"},
		`"plan9/amd64"`:           {"-version", version, "-targets", "linux/amd64,plan9/amd64"},
		`nothing is released for`: {"-version", version, "-targets", ""},
		"SOURCE_DATE_EPOCH":       {"-version", version},
	} {
		to := filepath.Join(t.TempDir(), "release")
		var said bytes.Buffer
		status := run(append(args, "-out", to), func(string) string { return map[bool]string{true: "soon"}[want == "SOURCE_DATE_EPOCH"] }, io.Discard, &said)
		if _, err := os.Stat(to); status != 1 || !strings.Contains(said.String(), want) || err == nil {
			t.Errorf("%q: status %d, %q", args, status, said.String())
		}
	}
	// A program that does not compile leaves nothing.
	parent, repo := t.TempDir(), t.TempDir()
	var said bytes.Buffer
	status := run([]string{"-repo", repo, "-version", version, "-out", filepath.Join(parent, "release"), "-targets", "linux/amd64"}, environment, io.Discard, &said)
	left, err := os.ReadDir(parent)
	if status != 1 || !strings.Contains(said.String(), "build for linux/amd64") || err != nil || len(left) != 0 {
		t.Errorf("status %d, %q; left %v, %v", status, said.String(), left, err)
	}
	if status := run(nil, environment, io.Discard, &said); status != 2 {
		t.Errorf("wrong usage gives %d", status)
	}
}

// What may not be passed on, or cannot be named, stops a release.
func TestModuleWithoutLicenceOrSumIsNotReleased(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module example.com/x\n\ngo 1.24\n\nrequire example.com/y v1.0.0\n\nreplace example.com/y => ./y\n",
		"y/go.mod": "module example.com/y\n",
	} {
		file := filepath.Join(repo, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := maker{repo: repo, version: version, at: at}
	info := &debug.BuildInfo{GoVersion: runtime.Version(), Deps: []*debug.Module{{Path: "example.com/y", Version: "v1.0.0", Replace: &debug.Module{Path: "./y"}}}}
	if err := m.notices(info, io.Discard); err == nil || !strings.Contains(err.Error(), "example.com/y has no file with its licence") {
		t.Errorf("got %v", err)
	}
	if err := m.materials(info, filepath.Join(repo, "go.mod"), io.Discard); err == nil || !strings.Contains(err.Error(), "no checksum") {
		t.Errorf("got %v", err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// packed is a file of an archive.
type packed struct {
	content []byte
	mode    fs.FileMode
	time    time.Time
}

func untar(t *testing.T, file string) map[string]packed {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]packed{}
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
			t.Errorf("%s belongs to %d %q", h.Name, h.Uid, h.Uname)
		}
		files[h.Name] = packed{content, h.FileInfo().Mode(), h.ModTime}
	}
}

func unzip(t *testing.T, file string) map[string]packed {
	t.Helper()
	r, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files := map[string]packed{}
	for _, f := range r.File {
		content, err := fs.ReadFile(r, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = packed{content, f.Mode(), f.Modified}
	}
	return files
}
