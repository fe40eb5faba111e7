package command

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// SaveWhole writes a file that appears only when it is complete: a partial report must not look
// like a report.
func SaveWhole(path string, force bool, write func(io.Writer) error) error {
	exists := &exit.Error{Status: exit.Refused, Text: path + " exists", Hint: "Overwrite it with --force."}
	if _, err := os.Lstat(path); err == nil && !force {
		return exists
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
