package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/infra"
	"github.com/matoolkit/matoolkit/local/functionshost"
)

// executable is the handler's name in the app.
const executable = "handler"

// contents are the files of the staged app in dir, which holds these and no others.
func contents(dir string) ([]entry, error) {
	app, err := functionshost.Check(dir, infra.BusNames())
	if err != nil {
		return nil, err
	}
	if app.Executable != executable {
		return nil, fmt.Errorf("%s: host.json starts %q; expected %q beside host.json", dir, app.Executable, executable)
	}
	entries := []entry{{Name: executable, Mode: 0o755}, {Name: "host.json", Mode: 0o644}}
	lower := map[string]string{}
	for _, name := range app.Functions {
		if other, taken := lower[strings.ToLower(name)]; taken {
			return nil, fmt.Errorf("%s: the function names %s and %s differ only in case", dir, other, name)
		}
		lower[strings.ToLower(name)] = name
		entries = append(entries, entry{Name: name + "/function.json", Mode: 0o644})
	}
	for i := range entries {
		entries[i].File = filepath.Join(dir, filepath.FromSlash(entries[i].Name))
	}
	return entries, nothingElse(dir, entries)
}

// nothingElse refuses other files in dir than the entries: above all the settings of a
// machine, with their secrets, and folders that should be functions.
func nothingElse(dir string, entries []entry) error {
	var stray []error
	err := filepath.WalkDir(dir, func(path string, found fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch wanted := slices.ContainsFunc(entries, func(e entry) bool { return e.Name == name }); {
		case found.IsDir() && !slices.ContainsFunc(entries, func(e entry) bool { return strings.HasPrefix(e.Name, name+"/") }):
			stray = append(stray, fmt.Errorf("%s is a folder without function.json", path))
			return fs.SkipDir
		case found.IsDir(): // of a function
		case !wanted:
			stray = append(stray, fmt.Errorf("%s does not belong in the app", path))
		case !found.Type().IsRegular():
			stray = append(stray, fmt.Errorf("%s is not a regular file", path))
		}
		return nil
	})
	return errors.Join(append(stray, err)...)
}
