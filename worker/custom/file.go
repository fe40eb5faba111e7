package custom

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// powerShell is the program that runs scripts.
const powerShell = "pwsh"

// safeFile finds a file below root, which has no symbolic links in it, and returns
// its path without symbolic links. It refuses files outside root and files that
// other users can write: a user who can write such a file gains the worker's rights.
func safeFile(root, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", errors.New("the path must be inside the functions' directory")
	}
	path, err := filepath.EvalSymlinks(filepath.Join(root, name))
	if err != nil {
		return "", plain(err)
	}
	inside, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(inside) {
		return "", errors.New("a symbolic link leads out of the functions' directory")
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", plain(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	for at := path; ; at = filepath.Dir(at) {
		if info, err = os.Stat(at); err != nil {
			return "", plain(err)
		}
		if info.Mode().Perm()&0o002 != 0 {
			return "", fmt.Errorf("every user can write %s (mode %04o): remove that permission", shown(root, at), info.Mode().Perm())
		}
		if at == root || at == filepath.Dir(at) {
			return path, nil
		}
	}
}

// shown is how a path is named in errors.
func shown(root, path string) string {
	if path == root {
		return "the functions' directory"
	}
	return strings.TrimPrefix(strings.TrimPrefix(path, root), string(filepath.Separator))
}

// plain drops the operation and the path, which the place of the error tells.
func plain(err error) error {
	var of *os.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return plain(err)
	}
	if strings.EqualFold(filepath.Ext(path), ".ps1") {
		return errors.New("use script, not command, for a PowerShell script")
	}
	if info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("the file is not executable (mode %04o)", info.Mode().Perm())
	}
	return nil
}

// find looks a program up in the directories of a PATH.
func find(program, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		at := filepath.Join(dir, program)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return at, nil
		}
	}
	return "", fmt.Errorf("cannot find %s in the worker's PATH: use an image with PowerShell", program)
}
