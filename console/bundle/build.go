package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// bundled are the files of the console, by their path below /api/console/, and the packages in them.
type bundled struct {
	files map[string][]byte
	// inputs are the files of packages that the bundle is made of, relative to the folder of packages.
	inputs []string
}

// metafile has the fields that the bundler reads of esbuild's description of a build.
type metafile struct {
	Inputs  map[string]struct{} `json:"inputs"`
	Outputs map[string]struct {
		EntryPoint string `json:"entryPoint"`
		CSSBundle  string `json:"cssBundle"`
		Imports    []struct {
			Path string `json:"path"`
			Kind string `json:"kind"`
		} `json:"imports"`
	} `json:"outputs"`
}

// build bundles the sources of a console folder with the packages of one of its folders.
func build(folder, packages string) (*bundled, error) {
	root, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: root, // paths are part of the hashes
		EntryPoints:   []string{"src/main.tsx"},
		NodePaths:     []string{filepath.Join(root, packages)},
		Outdir:        "assets", EntryNames: "[name]-[hash]", ChunkNames: "[name]-[hash]", AssetNames: "[name]-[hash]",
		Bundle: true, Splitting: true, Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2022,
		JSX: api.JSXAutomatic, JSXImportSource: "preact",
		TsconfigRaw:      "{}", // tsconfig.json is for the check of types, with the packages that npm installed
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		Metafile: true, LogLevel: api.LogLevelSilent,
	})
	if len(result.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), "\n"))
	}
	var m metafile
	if err := json.Unmarshal([]byte(result.Metafile), &m); err != nil {
		return nil, err
	}
	b := &bundled{files: map[string][]byte{}, inputs: packageFiles(m, packages)}
	for _, f := range result.OutputFiles {
		name, err := filepath.Rel(root, f.Path)
		if err != nil {
			return nil, err
		}
		b.files[filepath.ToSlash(name)] = f.Contents
	}
	if b.files["index.html"], err = page(root, m); err != nil {
		return nil, err
	}
	b.files["licences.txt"], err = licences(filepath.Join(root, packages), b.inputs)
	return b, err
}

// packageFiles are the inputs of a build below its folder of packages.
func packageFiles(m metafile, packages string) []string {
	var files []string
	for name := range m.Inputs {
		if rest, ok := strings.CutPrefix(name, packages+"/"); ok {
			files = append(files, rest)
		}
	}
	slices.Sort(files)
	return files
}

// page is index.html with the hashed names of the entry point, of what it imports, and of its style.
func page(root string, m metafile) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(root, "src", "index.html"))
	if err != nil {
		return nil, err
	}
	for name, output := range m.Outputs {
		if output.EntryPoint == "src/main.tsx" {
			return []byte(strings.NewReplacer("{{script}}", name, "{{style}}", output.CSSBundle, "{{preload}}", preload(m, name)).Replace(string(source))), nil
		}
	}
	return nil, errors.New("the bundle has no entry point")
}

// preload are the links by which a browser fetches what a script imports together with the script.
func preload(m metafile, script string) string {
	var links strings.Builder
	seen := map[string]bool{script: true}
	for next := []string{script}; len(next) > 0; next = next[1:] {
		for _, i := range m.Outputs[next[0]].Imports {
			if i.Kind == "import-statement" && !seen[i.Path] {
				seen[i.Path] = true
				next = append(next, i.Path)
				fmt.Fprintf(&links, "<link rel=\"modulepreload\" href=\"/api/console/%s\">\n", i.Path)
			}
		}
	}
	return links.String()
}

// licences is the text of the licences of all packages in the bundle.
func licences(packages string, inputs []string) ([]byte, error) {
	var text bytes.Buffer
	for _, name := range packagesOf(inputs) {
		p, err := readPackage(packages, name)
		if err != nil {
			return nil, err
		}
		licence, err := os.ReadFile(filepath.Join(packages, name, p.licenceFile))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%s %s (%s)\n\n%s\n\n", name, p.Version, p.License, bytes.TrimSpace(licence))
	}
	return text.Bytes(), nil
}

// write makes dist what it has to be, and leaves files alone that are so already.
func (b *bundled) write(folder string) error {
	dist := filepath.Join(folder, "dist")
	files := map[string][]byte{}
	for name, data := range b.files {
		files[filepath.Join(dist, filepath.FromSlash(name)+".gz")] = compressed(data)
	}
	err := filepath.WalkDir(dist, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == filepath.Join(dist, "README.md") {
			return err
		}
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if now, ok := files[path]; ok && bytes.Equal(old, now) {
			delete(files, path)
			return nil
		}
		return os.Remove(path)
	})
	if err != nil {
		return err
	}
	for path, data := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compressed is data in gzip, the same in each build.
func compressed(data []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil { // the level is one that gzip has
		panic(err)
	}
	_, _ = w.Write(data) // a bytes.Buffer takes all
	_ = w.Close()
	return out.Bytes()
}
