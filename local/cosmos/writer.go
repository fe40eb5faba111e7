package cosmos

import (
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// The writer is the one goroutine that changes the database. It takes every
// write that is waiting, applies them in one SQLite transaction, commits once
// and only then answers all of them: under load a disk flush is shared by
// many writes, and an acknowledged write is always on disk.
//
// Writes in a group do not affect each other. A write that is refused changes
// nothing. A transactional batch of which an operation is refused has the
// transaction rolled back; if the batch was not alone in its group, the group is
// applied again, each batch inside a savepoint. Savepoints cost much and batches
// are seldom refused. When the commit fails, every write of the group is
// answered with 503 and none has happened.

// maxGroup bounds a group, so that the first in it does not wait too long.
const maxGroup = 256

// job is one unit of the writer's work. A job that runs alone changes
// databases, containers or indexes.
type job struct {
	apply  func(*group)
	failed func() // replaces the answer when the commit failed
	alone  bool
	after  func() // runs after the commit, before the answer
	done   chan struct{}
}

type writer struct {
	db         *sql.DB
	lookups    *atomic.Pointer[lookups]
	now        func() time.Time
	log        *slog.Logger
	next       int64 // the next version; only the writer's goroutine uses it
	statements [statementCount]*sql.Stmt
	recent     *recentItems
	newest     *newestItems
	moves      *moves
	jobs       chan *job
	commits    atomic.Int64
	stopOnce   sync.Once
	stop       chan struct{}
	stopped    chan struct{}
}

const (
	insertItem = iota
	updateItem
	deleteItem
	selectItem
	insertEntry
	deleteEntry
	statementCount
)

var statementText = [statementCount]string{
	insertItem:  `INSERT INTO items (seq, container, pk, id, version, ts, body) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (container, pk, id) DO NOTHING`,
	updateItem:  `UPDATE items SET version = ?, ts = ?, body = ? WHERE seq = ?`,
	deleteItem:  `DELETE FROM items WHERE seq = ?`,
	selectItem:  `SELECT seq, version, ts, body FROM items WHERE container = ? AND pk = ? AND id = ?`,
	insertEntry: `INSERT INTO entries (lookup, container, pk, equal, sorted, id, item) VALUES (?, ?, ?, ?, ?, ?, ?)`,
	deleteEntry: `DELETE FROM entries WHERE lookup = ? AND container = ? AND pk = ? AND equal = ? AND sorted = ? AND id = ?`,
}

func newWriter(db *sql.DB, ls *atomic.Pointer[lookups], epoch int64, now func() time.Time, log *slog.Logger) (*writer, error) {
	w := &writer{
		db: db, lookups: ls, now: now, log: log, next: epoch<<40 + 1,
		recent: newRecentItems(), newest: newNewestItems(), moves: newMoves(), jobs: make(chan *job, maxGroup), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	for i, text := range statementText {
		var err error
		if w.statements[i], err = db.Prepare(text); err != nil {
			return nil, err
		}
	}
	go w.run()
	return w, nil
}

// do passes a job to the writer and waits for its answer.
func (w *writer) do(j *job) {
	j.done = make(chan struct{})
	select {
	case w.jobs <- j:
	case <-w.stop:
		j.failed()
		return
	}
	select {
	case <-j.done:
	case <-w.stopped:
		select {
		case <-j.done:
		default:
			j.failed()
		}
	}
}

func (w *writer) close() {
	w.stopOnce.Do(func() { close(w.stop) })
	<-w.stopped
}

func (w *writer) run() {
	defer close(w.stopped)
	var held *job // a job that must run alone, met while a group was collected
	for {
		var jobs []*job
		if held != nil {
			jobs, held = append(jobs, held), nil
		} else {
			select {
			case j := <-w.jobs:
				jobs = append(jobs, j)
			case <-w.stop:
				if err := w.closed(); err != nil {
					w.log.Error("cannot write the entries of the indexes: they will be made again", "error", err)
				}
				return
			}
			for !jobs[0].alone && len(jobs) < maxGroup && held == nil {
				select {
				case j := <-w.jobs:
					if j.alone {
						held = j
					} else {
						jobs = append(jobs, j)
					}
					continue
				default:
				}
				break
			}
		}
		w.commit(jobs)
	}
}

func (w *writer) commit(jobs []*job) {
	err := w.inTransaction(jobs, false)
	if errors.Is(err, errRefusedBatch) && len(jobs) > 1 {
		err = w.inTransaction(jobs, true)
	}
	if errors.Is(err, errRefusedBatch) {
		err = nil // it has its outcomes
	}
	if err != nil && !jobs[0].alone {
		w.log.Error("cannot commit a group of writes", "writes", len(jobs), "error", err)
	}
	for _, j := range jobs {
		if err != nil {
			j.failed()
		} else if j.after != nil {
			j.after()
		}
		close(j.done)
	}
}

// errRefusedBatch ends a transaction without savepoints.
var errRefusedBatch = errors.New("an operation of a batch was refused")

func (w *writer) inTransaction(jobs []*job, savepoints bool) error {
	tx, err := w.db.Begin()
	if err != nil {
		return err
	}
	g := &group{tx: tx, writer: w, savepoints: savepoints, lookups: w.lookups.Load(), ts: w.now().Unix(), changed: map[itemKey]item{}}
	if err := g.settleSome(); err != nil {
		g.abandon(err)
	}
	for _, j := range jobs {
		j.apply(g)
	}
	if g.err != nil {
		return errors.Join(g.err, tx.Rollback())
	}
	for _, m := range g.moved {
		m.in.moved.Add(1) // before a query can see the document
	}
	if err := tx.Commit(); err != nil {
		w.recent.forget(g.changed)
		w.newest.forget(g.changed)
		// SQLite may leave the transaction open after a failed commit, and
		// the pool's only connection with it. Where it did not, there is
		// nothing to roll back, which is as good.
		_, _ = w.db.Exec("ROLLBACK")
		return err
	}
	w.commits.Add(1)
	w.moves.committed(g)
	w.recent.keep(g.changed)
	w.newest.keep(g.changed)
	return nil
}

// group is the transaction that the jobs of one group share.
type group struct {
	tx         *sql.Tx
	writer     *writer
	savepoints bool
	lookups    *lookups
	ts         int64
	statements [statementCount]*sql.Stmt
	changed    map[itemKey]item // by the group so far, within a savepoint by its batch; without a body if it was deleted
	moved      []moved          // by the group so far
	settled    []settled        // moves of earlier groups that it writes
	err        error            // a failure of the database itself, which ends the group
}

func (g *group) statement(which int) *sql.Stmt {
	if g.statements[which] == nil {
		g.statements[which] = g.tx.Stmt(g.writer.statements[which])
	}
	return g.statements[which]
}

func (g *group) newVersion() int64 {
	version := g.writer.next
	g.writer.next++
	return version
}

// abandon marks the group as lost: the database failed, not the write.
func (g *group) abandon(err error) outcome {
	if g.err == nil {
		g.err = err
	}
	return unavailable
}

var unavailable = outcome{status: http.StatusServiceUnavailable, message: "cannot commit the write"}

// atomically runs steps that are kept or undone together.
func (g *group) atomically(steps func() (keep bool)) {
	if !g.savepoints {
		if g.err == nil && !steps() && g.err == nil {
			g.err = errRefusedBatch
		}
		return
	}
	if _, err := g.tx.Exec("SAVEPOINT batch"); err != nil {
		g.abandon(err)
		return
	}
	before, moved := g.changed, len(g.moved)
	g.changed = map[itemKey]item{}
	keep := steps()
	if keep {
		maps.Copy(before, g.changed)
	} else {
		g.moved = g.moved[:moved]
	}
	g.changed = before
	if !keep && g.err == nil {
		if _, err := g.tx.Exec("ROLLBACK TO batch"); err != nil {
			g.abandon(err)
			return
		}
	}
	if g.err == nil {
		if _, err := g.tx.Exec("RELEASE batch"); err != nil {
			g.abandon(err)
		}
	}
}
