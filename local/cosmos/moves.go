package cosmos

import (
	"context"
	"database/sql"
	"errors"
)

// The entries of a document move with nearly every write of it, and few queries read them. So the writer
// does not write them with each document. It gathers the moves, of which each document has one per
// index, and writes those of an index when a query comes by it, or when there are many.
//
// A crash loses moves. The entries follow from the documents, so the next start drops those of a
// database that was not closed, and the queries that need an index learn it again.

const (
	maxMoves  = 100_000 // about 20 MB
	moveChunk = 500     // moves that a group writes if there are more
)

// move is how the entry of a document has changed since entries were last written. Either may be nil.
type move struct{ from, to *entry }

// moves are gathered by index, with its number. Only the writer's goroutine uses them.
type moves struct {
	of map[int64]map[itemKey]move
	n  int
}

// moved is a move that a group makes.
type moved struct {
	in  *lookup
	key itemKey
	move
}

func newMoves() *moves { return &moves{of: map[int64]map[itemKey]move{}} }

// gather adds a move that was committed.
func (m *moves) gather(one moved) {
	of := m.of[one.in.number]
	if of == nil {
		of = map[itemKey]move{}
		m.of[one.in.number] = of
	}
	earlier, ok := of[one.key]
	if ok {
		one.from = earlier.from
	} else {
		m.n++
	}
	of[one.key] = one.move
	if one.from.same(one.to) {
		m.remove(one.in.number, one.key)
	}
}

// committed removes the moves that a group has written, and adds those that it made.
func (m *moves) committed(g *group) {
	for _, s := range g.settled {
		for _, key := range s.keys {
			m.remove(s.number, key)
		}
	}
	for _, one := range g.moved {
		m.gather(one)
	}
}

func (m *moves) remove(number int64, key itemKey) {
	if of := m.of[number]; of != nil {
		if _, ok := of[key]; ok {
			delete(of, key)
			m.n--
		}
	}
}

// dropContainer removes the moves of a container that was deleted.
func (m *moves) dropContainer(container int64) {
	for number, of := range m.of {
		for key := range of {
			if key.container == container {
				m.remove(number, key)
			}
		}
	}
}

// settle writes the moves of an index, at most as many as given, and returns them. They are removed once
// they are committed.
func (g *group) settle(number int64, most int) (written []itemKey, err error) {
	for key, one := range g.writer.moves.of[number] {
		if len(written) == most {
			break
		}
		if one.from != nil {
			if _, err := g.statement(deleteEntry).Exec(number, key.container, key.pk, one.from.equal, one.from.sorted, key.id); err != nil {
				return nil, err
			}
		}
		if one.to != nil {
			if _, err := g.statement(insertEntry).Exec(number, key.container, key.pk, one.to.equal, one.to.sorted, key.id, one.to.item); err != nil {
				return nil, err
			}
		}
		written = append(written, key)
	}
	return written, nil
}

// settleSome writes a part of the moves if there are too many.
func (g *group) settleSome() error {
	if g.writer.moves.n <= maxMoves {
		return nil
	}
	left := moveChunk
	for number := range g.writer.moves.of {
		written, err := g.settle(number, left)
		if err != nil {
			return err
		}
		g.settled = append(g.settled, settled{number, written})
		left -= len(written)
	}
	return nil
}

// settled are moves that a group has written.
type settled struct {
	number int64
	keys   []itemKey
}

// settle writes the moves of some indexes, in a transaction of its own. Amid calls after, if it is not nil,
// when they are written and before the next write.
func (w *writer) settle(of []*lookup, after func()) error {
	var err error
	w.do(&job{
		alone: true,
		apply: func(g *group) {
			for _, l := range of {
				written, failure := g.settle(l.number, w.moves.n)
				if failure != nil {
					g.err, err = failure, failure
					return
				}
				g.settled = append(g.settled, settled{l.number, written})
			}
		},
		after: func() {
			for _, l := range of {
				l.settled.Store(l.moved.Load())
			}
			if after != nil {
				after()
			}
		},
		failed: func() {
			if err == nil {
				err = errors.New("cannot write the entries of an index")
			}
		},
	})
	return err
}

// queryer is a connection to read with, or a pool of these.
type queryer interface {
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
}

// byEntries begins a query by the entries of an index. Those must be the entries of the documents that the
// query sees: either no move was gathered before it or while it began, or the writer writes them and begins
// it before the next write. The caller calls done after the rows.
func (st *store) byEntries(l *lookup, begin func(queryer) (*sql.Rows, error)) (rows *sql.Rows, done func(), err error) {
	if moved := l.moved.Load(); l.settled.Load() == moved {
		if rows, err = begin(st.reads); err != nil {
			return nil, nil, err
		}
		if l.moved.Load() == moved {
			return rows, func() {}, nil
		}
		if err := rows.Close(); err != nil {
			return nil, nil, err
		}
	}
	on, done := queryer(st.reads), func() {}
	if st.reads != st.writes { // the writer must not wait for a connection
		reserved, err := st.reads.Conn(context.Background())
		if err != nil {
			return nil, nil, err
		}
		on, done = reserved, func() { _ = reserved.Close() } // which goes back to the pool
	}
	if failure := st.writer.settle([]*lookup{l}, func() { rows, err = begin(on) }); failure != nil { //nolint:rowserrcheck // the caller reads them to their end
		err = failure
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return rows, done, nil
}

// closed notes with the last moves that no entry is missing.
func (w *writer) closed() error {
	tx, err := w.db.Begin()
	if err != nil {
		return err
	}
	g := &group{tx: tx, writer: w}
	for number := range w.moves.of {
		if _, err := g.settle(number, w.moves.n); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	if _, err := tx.Exec(`INSERT INTO settled (epoch) SELECT epoch FROM account`); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// dropUnsettled removes the indexes of a database that was not closed.
func dropUnsettled(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var settled bool
	if err := tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM settled JOIN account ON settled.epoch = account.epoch)`).Scan(&settled); err != nil {
		return err
	}
	statements := []string{`DELETE FROM settled`}
	if !settled {
		statements = append(statements, `DELETE FROM entries`, `DELETE FROM learned`)
	}
	for _, statement := range statements {
		if _, err := tx.Exec(statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}
