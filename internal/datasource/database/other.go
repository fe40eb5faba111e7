package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/statement"
)

var registered = struct {
	sync.RWMutex
	drivers map[string]string
}{drivers: map[string]string{}}

// Register makes sources of the type sql out of connections whose URL has this scheme, by
// a driver of database/sql that the build imports. The driver is given the connection as
// it is, and asked for a transaction that only reads. It panics if the scheme is taken.
// It is to be called by an init.
func Register(scheme, driver string) {
	registered.Lock()
	defer registered.Unlock()
	if _, ok := registered.drivers[scheme]; ok || scheme == "sqlserver" || scheme == "sqlite" || scheme == "file" {
		panic("database: the scheme " + scheme + " is registered twice")
	}
	registered.drivers[scheme] = driver
}

// other is a source of a driver that was registered.
type other struct {
	driver, connection, statement string
}

func openOther(spec datasource.Spec, driver string) (datasource.Source, error) {
	query, err := statement.Other.Check(spec.Query)
	if err != nil {
		return nil, err
	}
	return &other{driver: driver, connection: spec.Connection, statement: query}, nil
}

func (o *other) Query(ctx context.Context) (_ datasource.Rows, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var done closers
	defer func() {
		if err != nil {
			cancel()
			_ = done.close()
		}
	}()
	db, err := sql.Open(o.driver, o.connection)
	if err != nil {
		return nil, errors.New("the driver refuses the connection string")
	}
	done.add(db.Close)
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", because(ctx, err))
	}
	done.add(tx.Rollback)
	rows, err := tx.QueryContext(ctx, o.statement)
	if err != nil {
		return nil, fmt.Errorf("run the query: %w", because(ctx, err))
	}
	return describe(session{rows: rows, deaf: true, end: done.close}, otherColumn, cancel)
}

// describe finds out how each column is read, and makes the rows. On an error it has
// closed the rows, but not the session.
func describe(s session, column func(*sql.ColumnType) (decode, error), cancel context.CancelFunc) (datasource.Rows, error) {
	types, err := described(s.rows)
	if err == nil && len(types) == 0 {
		err = errors.New("the query returns no columns")
		if failed := s.rows.Err(); failed != nil {
			err = failed
		}
	}
	for _, t := range types {
		d, failed := column(t)
		if failed != nil {
			err = failed
			break
		}
		s.columns, s.decode = append(s.columns, t.Name()), append(s.decode, d)
	}
	if err != nil {
		cancel()
		_ = s.rows.Close()
		return nil, err
	}
	return read(s, cancel), nil
}

// closers are called in the reverse order, once.
type closers struct{ all []func() error }

func (c *closers) add(f func() error) { c.all = append(c.all, f) }

func (c *closers) close() error {
	var errs []error
	for i := len(c.all) - 1; i >= 0; i-- {
		errs = append(errs, c.all[i]())
	}
	c.all = nil
	return errors.Join(errs...)
}
