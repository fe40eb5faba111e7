package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sums is the file in console/vendor with the SHA-256 of each other file there, as sha256sum writes it.
const sums = "SHA256SUMS"

// pkg has the fields that the bundler reads of a package.json.
type pkg struct {
	Version     string `json:"version"`
	License     string `json:"license"`
	licenceFile string
}

func readPackage(packages, name string) (pkg, error) {
	folder := filepath.Join(packages, filepath.FromSlash(name))
	data, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		return pkg{}, err
	}
	var p pkg
	if err := json.Unmarshal(data, &p); err != nil {
		return pkg{}, fmt.Errorf("%s: %w", name, err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "LICENSE*"))
	if err != nil || len(files) == 0 {
		return pkg{}, errors.Join(fmt.Errorf("package %s has no file LICENSE: its licence must be part of the console", name), err)
	}
	p.licenceFile = filepath.Base(files[0])
	return p, nil
}

// packagesOf are the names of the packages that files belong to.
func packagesOf(files []string) []string {
	names := map[string]bool{}
	for _, file := range files {
		parts := strings.Split(file, "/")
		n := 1
		if strings.HasPrefix(file, "@") {
			n = 2
		}
		names[strings.Join(parts[:n], "/")] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// copyPackages makes console/vendor anew: of each package that npm installed, the files that the console is
// bundled from, its description and its licence.
func copyPackages(folder string) error {
	const installed = "npm/node_modules"
	b, err := build(folder, installed)
	if err != nil {
		return err
	}
	files := b.inputs
	for _, name := range packagesOf(files) {
		p, err := readPackage(filepath.Join(folder, installed), name)
		if err != nil {
			return err
		}
		files = append(files, name+"/package.json", name+"/"+p.licenceFile)
		// A folder of a package that can be imported may have a description of its own.
		for _, file := range b.inputs {
			for dir := filepath.ToSlash(filepath.Dir(file)); strings.HasPrefix(dir, name+"/"); dir = filepath.ToSlash(filepath.Dir(dir)) {
				if _, err := os.Stat(filepath.Join(folder, installed, dir, "package.json")); err == nil {
					files = append(files, dir+"/package.json")
				}
			}
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)

	vendor := filepath.Join(folder, "vendor")
	if err := os.RemoveAll(vendor); err != nil {
		return err
	}
	var list strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(folder, installed, filepath.FromSlash(file)))
		if err != nil {
			return err
		}
		target := filepath.Join(vendor, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(data), file)
	}
	return os.WriteFile(filepath.Join(vendor, sums), []byte(list.String()), 0o644)
}

// checkPackages reports a file in console/vendor that is not as npm had it.
func checkPackages(folder string) error {
	vendor := filepath.Join(folder, "vendor")
	data, err := os.ReadFile(filepath.Join(vendor, sums))
	if err != nil {
		return err
	}
	want := map[string]string{}
	for line := range strings.Lines(string(data)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	err = filepath.WalkDir(vendor, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == sums {
			return err
		}
		name, err := filepath.Rel(vendor, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != want[name] {
			return fmt.Errorf("%s is not the file that %s names: run make console-vendor", path, sums)
		}
		delete(want, name)
		return nil
	})
	if err != nil {
		return err
	}
	if len(want) > 0 {
		return fmt.Errorf("%s lacks %s: run make console-vendor", vendor, strings.Join(slices.Sorted(maps.Keys(want)), ", "))
	}
	return nil
}
