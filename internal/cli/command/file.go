package command

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// SaveWhole writes a file that appears only when it is complete, and that only the user can read: a partial report must not
// look like a report. With force, a link goes on leading to its file, and a device or a pipe, such as /dev/stdout, is not replaced.
func SaveWhole(path string, force bool, write func(io.Writer) error) error {
	exists := &exit.Error{Status: exit.Refused, Text: path + " exists", Hint: "Overwrite it with --force."}
	if _, err := os.Lstat(path); err == nil && !force {
		return exists
	}
	if force {
		if to, err := os.Stat(path); err == nil && !to.Mode().IsRegular() && !to.IsDir() {
			return writeTo(path, write)
		}
		if file, err := filepath.EvalSymlinks(path); err == nil {
			path = file
		}
	}
	part, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	var failed *fs.PathError
	if errors.As(err, &failed) { // the temporary name means nothing to the user
		return &fs.PathError{Op: "create", Path: path, Err: failed.Err}
	}
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // if it still has that name
	err = write(part)
	if closing := part.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	if force {
		return os.Rename(part.Name(), path)
	}
	// A link fails if another program has written the file meanwhile. Not every file system
	// has links.
	err = os.Link(part.Name(), path)
	if os.IsExist(err) {
		return exists
	}
	if err == nil {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return exists
	}
	return os.Rename(part.Name(), path)
}

// writeTo writes to a device or a pipe.
func writeTo(path string, write func(io.Writer) error) error {
	to, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(to), to.Close())
}
