package cosmos

import (
	"errors"
	"fmt"
)

// errRefused marks a change of metadata that the caller must correct.
var errRefused = errors.New("refused")

// change runs a change of databases or containers by itself in a transaction;
// apply returns what the catalog does once that is on disk.
func (st *store) change(apply func(*group) (after func(), err error)) error {
	var err error
	var after func()
	st.writer.do(&job{
		alone: true,
		apply: func(g *group) {
			if after, err = apply(g); err != nil {
				g.err = err
			}
		},
		after: func() { st.catalog.update(after) },
		failed: func() {
			if err == nil {
				err = errors.New("cannot commit the change")
			}
		},
	})
	return err
}

func (st *store) createDatabase(name string) (*database, error) {
	d := &database{name: name}
	return d, st.change(func(g *group) (func(), error) {
		if st.catalog.database(name) != nil {
			return nil, errNameTaken
		}
		d.version, d.ts = g.newVersion(), g.ts
		result, err := g.tx.Exec(`INSERT INTO databases (name, version, ts) VALUES (?, ?, ?)`, name, d.version, d.ts)
		if err != nil {
			return nil, err
		}
		d.number, err = result.LastInsertId()
		return func() { st.catalog.databases[name] = d }, err
	})
}

func (st *store) deleteDatabase(d *database) error {
	return st.change(func(g *group) (func(), error) {
		containers := st.catalog.listContainers(d.name)
		for _, statement := range []string{
			`DELETE FROM items WHERE container IN (SELECT number FROM containers WHERE database = ?)`,
			`DELETE FROM entries WHERE container IN (SELECT number FROM containers WHERE database = ?)`,
			`DELETE FROM containers WHERE database = ?`,
			`DELETE FROM databases WHERE number = ?`,
		} {
			if _, err := g.tx.Exec(statement, d.number); err != nil {
				return nil, err
			}
		}
		return func() {
			delete(st.catalog.databases, d.name)
			for _, c := range containers {
				st.catalog.drop(c)
				st.writer.moves.dropContainer(c.number)
			}
		}, nil
	})
}

// drop takes a container out of the catalog, for those who hold it too.
func (cat *catalog) drop(c *container) {
	c.gone.Store(true)
	delete(cat.containers, [2]string{c.database.name, c.name})
}

func (st *store) createContainer(d *database, name string, definition []byte) (*container, error) {
	var c *container
	err := st.change(func(g *group) (func(), error) {
		key := [2]string{d.name, name}
		if st.catalog.container(d.name, name) != nil {
			return nil, errNameTaken
		}
		if st.catalog.database(d.name) != d {
			return nil, fmt.Errorf("%w: the database was deleted", errRefused)
		}
		version := g.newVersion()
		result, err := g.tx.Exec(`INSERT INTO containers (database, name, definition, version, ts) VALUES (?, ?, ?, ?, ?)`,
			d.number, name, string(definition), version, g.ts)
		if err != nil {
			return nil, err
		}
		number, err := result.LastInsertId()
		if err != nil {
			return nil, err
		}
		if c, err = newContainer(d, number, name, definition, version, g.ts); err != nil {
			return nil, fmt.Errorf("%w: %w", errRefused, err)
		}
		return func() { st.catalog.containers[key] = c }, nil
	})
	return c, err
}

func (st *store) replaceContainer(old *container, definition []byte) (*container, error) {
	var c *container
	err := st.change(func(g *group) (func(), error) {
		version := g.newVersion()
		var err error
		if c, err = newContainer(old.database, old.number, old.name, definition, version, g.ts); err != nil {
			return nil, fmt.Errorf("%w: %w", errRefused, err)
		}
		c.gone = old.gone
		if fmt.Sprint(c.paths) != fmt.Sprint(old.paths) {
			return nil, fmt.Errorf("%w: the partition key of a container cannot be changed", errRefused)
		}
		if _, err := g.tx.Exec(`UPDATE containers SET definition = ?, version = ?, ts = ? WHERE number = ?`,
			string(definition), version, g.ts, old.number); err != nil {
			return nil, err
		}
		return func() { st.catalog.containers[[2]string{old.database.name, old.name}] = c }, nil
	})
	return c, err
}

func (st *store) deleteContainer(c *container) error {
	return st.change(func(g *group) (func(), error) {
		for _, statement := range []string{
			`DELETE FROM items WHERE container = ?`,
			`DELETE FROM entries WHERE container = ?`,
			`DELETE FROM containers WHERE number = ?`,
		} {
			if _, err := g.tx.Exec(statement, c.number); err != nil {
				return nil, err
			}
		}
		return func() {
			st.catalog.drop(c)
			st.writer.moves.dropContainer(c.number)
		}, nil
	})
}
