package csvfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// path is a source that is a file of this machine.
type path struct {
	name    string
	columns []string // that the header should name
}

func file(name string, columns []string) (datasource.Source, error) {
	if name == "" {
		return nil, errors.New("the path of the file is missing")
	}
	return path{name, columns}, nil
}

// Query opens the file. Only a regular file has an end that can be told from a pause.
func (p path) Query(ctx context.Context) (datasource.Rows, error) {
	switch info, err := os.Stat(p.name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the file that the connection names (a relative path starts in the handler's working directory): %w", fs.ErrNotExist)
	case err != nil:
		return nil, plain("read", err)
	case info.IsDir():
		return nil, errors.New("the connection names a folder, not a file")
	case !info.Mode().IsRegular():
		return nil, errors.New("the connection names something that is not a regular file")
	}
	f, err := os.Open(p.name)
	if err != nil {
		return nil, plain("opened", err)
	}
	before, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, plain("read", err)
	}
	whole := func() error {
		after, err := f.Stat()
		switch {
		case err != nil:
			return plain("read", err)
		case after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()):
			return errors.New("the file was changed while it was read; write a new file and rename it to this one")
		}
		return nil
	}
	return begin(ctx, f, p.columns, func() {}, whole)
}

// plain is err without the path.
func plain(done string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("the file that the connection names cannot be %s: %w", done, err)
}
