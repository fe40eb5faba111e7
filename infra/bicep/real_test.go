package bicep_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// tree is the repository's infra directory and what it loads from elsewhere.
func tree(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	repository := os.DirFS("../..")
	err := fs.WalkDir(repository, "infra", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules" || entry.Name() == "types") {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".bicep" && path.Ext(name) != ".json" {
			return nil
		}
		data, err := fs.ReadFile(repository, name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := fs.ReadFile(repository, "internal/store/cosmos/index-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	files["internal/store/cosmos/index-policy.json"] = &fstest.MapFile{Data: policy}
	return files
}

func findings(t *testing.T, files fstest.MapFS) (*bicep.Report, []bicep.Finding) {
	t.Helper()
	report, err := bicep.Check(files, "infra", types(t))
	if err != nil {
		t.Fatal(err)
	}
	return report, report.Findings
}

func TestTheInfrastructureIsRight(t *testing.T) {
	t.Parallel()
	report, found := findings(t, tree(t))
	for _, finding := range found {
		t.Error(finding)
	}
	if len(report.Files) < 3 || len(report.ParameterFiles) < 3 {
		t.Errorf("there are %d files and %d parameter files", len(report.Files), len(report.ParameterFiles))
	}
}

// A check of everything takes some milliseconds, and there are more than a thousand ways
// to break it.
var every = flag.Int("every", 11, "try only each nth way to break the infrastructure; 1 is all of them")

// mutation breaks a file at a place.
type mutation struct {
	what string
	text []byte
}

var (
	apiVersion = regexp.MustCompile(`@20\d\d-\d\d-\d\d(-preview)?'`)
	declared   = regexp.MustCompile(`(?m)^(param|var|resource|module) (\w+)`)
)

// mutations are ways to break a file, one mistake each.
func mutations(file *bicep.File, text []byte) []mutation {
	var all []mutation
	edit := func(what string, at bicep.Position, old, replacement string) {
		offset := offsetOf(text, at)
		if !bytes.HasPrefix(text[offset:], []byte(old)) {
			return
		}
		changed := slices.Concat(text[:offset], []byte(replacement), text[offset+len(old):])
		all = append(all, mutation{fmt.Sprintf("%s:%d:%d: %s", file.Path, at.Line, at.Column, what), changed})
	}
	used := map[string]bool{}
	file.Walk(func(e bicep.Expression) bool {
		if reference, is := e.(*bicep.Reference); is {
			used[reference.Text] = true
		}
		return true
	})
	for _, place := range apiVersion.FindAllIndex(text, -1) {
		all = append(all, mutation{file.Path + ": another version", slices.Concat(text[:place[0]], []byte("@2001-01-01'"), text[place[1]:])})
	}
	for _, place := range declared.FindAllSubmatchIndex(text, -1) {
		name := string(text[place[4]:place[5]])
		if !used[name] {
			continue
		}
		all = append(all, mutation{file.Path + ": " + name + " is called something else", slices.Concat(text[:place[4]], []byte(name+"X"), text[place[5]:])})
	}
	for _, resource := range file.Resources {
		for _, property := range resource.Body.Properties {
			edit("misspelt "+property.Text, property.Position, property.Text, property.Text+"x")
		}
		edit("another type", resource.Reference, "'Microsoft.", "'Microsft.")
	}
	for _, module := range file.Modules {
		params, _ := module.Body.Value("params").(*bicep.Object)
		if params == nil {
			continue
		}
		for _, property := range params.Properties {
			edit("misspelt param "+property.Text, property.Position, property.Text, property.Text+"x")
		}
	}
	for _, d := range file.Parameters {
		edit("no type", d.Type.Position, d.Type.Text, "strng")
	}
	return all
}

func offsetOf(text []byte, at bicep.Position) int {
	offset := 0
	for range at.Line - 1 {
		offset += bytes.IndexByte(text[offset:], '\n') + 1
	}
	line := []rune(string(text[offset:]))
	return offset + len(string(line[:at.Column-1]))
}

// Whatever is broken in a real file is found: without that, no findings mean nothing.
func TestMutationsOfTheInfrastructureAreFound(t *testing.T) {
	t.Parallel()
	files := tree(t)
	report, _ := findings(t, files)
	known, tried := 0, 0
	for _, file := range report.Files {
		for _, m := range mutations(file, files[file.Path].Data) {
			if known++; known%*every != 0 {
				continue
			}
			tried++
			broken := maps.Clone(files)
			broken[file.Path] = &fstest.MapFile{Data: m.text}
			if _, found := findings(t, broken); len(found) == 0 {
				t.Errorf("%s: nothing is found", m.what)
			}
		}
	}
	if tried < 500 / *every {
		t.Errorf("only %d ways to break it were tried", tried)
	}
	t.Logf("%d of %d ways to break it were tried", tried, known)
}

// What a resource or module has to be given is missed, in every one of them.
func TestWhatIsLeftOutOfTheInfrastructureIsFound(t *testing.T) {
	t.Parallel()
	files := tree(t)
	report, _ := findings(t, files)
	required := map[string]bool{}
	for _, file := range report.Files {
		for _, parameter := range file.Parameters {
			required[file.Path+" "+parameter.Text] = parameter.Default == nil
		}
	}
	tried := 0
	for _, file := range report.Files {
		without := func(property *bicep.Property) {
			text := files[file.Path].Data
			start := offsetOf(text, property.Position)
			end := start + bytes.IndexByte(text[start:], '\n')
			if strings.ContainsAny(string(text[start:end]), "{[(?") {
				return // It goes on in the next line, or may.
			}
			if tried++; tried%*every != 0 {
				return
			}
			broken := maps.Clone(files)
			broken[file.Path] = &fstest.MapFile{Data: slices.Concat(text[:start], text[end:])}
			if _, found := findings(t, broken); len(found) == 0 {
				t.Errorf("%s:%d: nothing is found without %s", file.Path, property.Line, property.Text)
			}
		}
		for _, resource := range file.Resources {
			without(resource.Body.Property("name"))
		}
		for _, module := range file.Modules {
			params, _ := module.Body.Value("params").(*bicep.Object)
			if params == nil {
				continue
			}
			for _, property := range params.Properties {
				if required[path.Join(path.Dir(file.Path), module.Source)+" "+property.Text] {
					without(property)
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d were left out", tried)
	}
}
