package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modernc.org/sqlite"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/statement"
)

// lite is a source that is a SQLite file.
type lite struct {
	path, statement string
	immutable       bool
}

// openSQLite takes "sqlite:path" and "file:path?mode=ro". A relative path is one of the
// directory that the program runs in.
func openSQLite(spec datasource.Spec) (datasource.Source, error) {
	query, err := statement.SQLite.Check(spec.Query)
	if err != nil {
		return nil, err
	}
	l := &lite{statement: query}
	if path, ok := strings.CutPrefix(spec.Connection, "sqlite:"); ok {
		l.path = path
		if rest, ok := strings.CutPrefix(path, "//"); ok {
			if !strings.HasPrefix(rest, "/") {
				return nil, errors.New("a SQLite URL has no host: use sqlite:path or sqlite:///path")
			}
			l.path = rest
		}
	} else if err := l.fileURL(spec.Connection); err != nil {
		return nil, err
	}
	if l.path == "" || strings.HasPrefix(l.path, ":memory:") {
		return nil, errors.New("the path of the file is missing")
	}
	if l.path, err = filepath.Abs(l.path); err != nil {
		return nil, errors.New("the path of the SQLite file cannot be resolved")
	}
	return l, nil
}

func (l *lite) fileURL(connection string) error {
	u, err := url.Parse(connection)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.User != nil || u.Fragment != "" {
		return errors.New("the file URL must name a file on this machine")
	}
	l.path = u.Path
	if u.Opaque != "" { // file:people.db
		if l.path, err = url.PathUnescape(u.Opaque); err != nil {
			return errors.New("the file URL is invalid")
		}
	}
	for name, values := range u.Query() {
		switch {
		case name == "mode" && slices.Equal(values, []string{"ro"}):
		case name == "immutable" && slices.Equal(values, []string{"1"}):
			l.immutable = true
		default:
			return errors.New("a file URL may have the parameters mode=ro and immutable=1 and no others")
		}
	}
	return nil
}

// dsn is for the driver: read only in two ways, and a writer is waited for.
func (l *lite) dsn() string {
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}
	if l.immutable {
		q.Set("immutable", "1")
	}
	return "file://" + (&url.URL{Path: filepath.ToSlash(l.path)}).EscapedPath() + "?" + q.Encode()
}

func (l *lite) Query(ctx context.Context) (_ datasource.Rows, err error) {
	switch info, err := os.Stat(l.path); {
	case err != nil:
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("the SQLite file (a relative path starts in the handler's working directory): %w", err)
	case info.IsDir():
		return nil, errors.New("the SQLite file is a directory")
	}
	ctx, cancel := context.WithCancel(ctx)
	var done closers
	defer func() {
		if err != nil {
			cancel()
			_ = done.close()
		}
	}()
	db, err := sql.Open("sqlite", l.dsn())
	if err != nil {
		return nil, errors.New("the SQLite file cannot be opened")
	}
	done.add(db.Close)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite file: %w", because(ctx, err))
	}
	done.add(conn.Close)
	columns, err := l.columns(conn)
	if err != nil {
		return nil, err
	}
	s := session{deaf: true, end: done.close}
	for _, c := range columns {
		s.columns = append(s.columns, c.Name)
		switch strings.ToUpper(c.DeclType) {
		case "BOOLEAN", "BOOL":
			s.decode = append(s.decode, storedBoolean)
		default:
			s.decode = append(s.decode, stored)
		}
	}
	if s.rows, err = conn.QueryContext(ctx, l.unread(columns)); err != nil {
		return nil, fmt.Errorf("run the query: %w", because(ctx, err))
	}
	if names, err := s.rows.Columns(); err != nil || len(names) != len(columns) {
		_ = s.rows.Close()
		return nil, errors.New("the columns changed while the query began")
	}
	return read(s, cancel), nil
}

// columns are those that the statement will give.
func (l *lite) columns(conn *sql.Conn) (columns []sqlite.ColumnInfo, err error) {
	err = conn.Raw(func(driver any) error {
		describer, ok := driver.(interface {
			ColumnInfo(query string) ([]sqlite.ColumnInfo, error)
		})
		if !ok {
			return errors.New("the driver does not describe columns")
		}
		columns, err = describer.ColumnInfo(l.statement)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the query: %w", err)
	}
	return columns, nil
}

// unread is the statement so that the driver leaves its values alone. It parses the text
// of columns that were declared as dates, and does not tell afterwards whether there was a
// zone. A unary plus changes nothing of a value, but what it gives has no declared type.
func (l *lite) unread(columns []sqlite.ColumnInfo) string {
	parsed := func(c sqlite.ColumnInfo) bool {
		return slices.Contains([]string{"DATE", "DATETIME", "TIMESTAMP"}, strings.ToUpper(c.DeclType))
	}
	if !slices.ContainsFunc(columns, parsed) {
		return l.statement
	}
	var names, values []string
	for i := range columns {
		name := fmt.Sprintf("c%d", i+1)
		names, values = append(names, name), append(values, "+"+name)
	}
	return fmt.Sprintf("WITH r(%s) AS (%s\n) SELECT %s FROM r", strings.Join(names, ", "), l.statement, strings.Join(values, ", "))
}
