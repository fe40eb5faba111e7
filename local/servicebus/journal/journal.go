// Package journal is an append-only file of records with group commit: records
// are on disk when Committed says so, and one sync serves all that wait for it.
//
// It must not know a record's content. After one failed write a journal refuses
// all further records, so that it acknowledges none that may be lost.
package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// A file is the header and then, for each record, its length and CRC-32C (both
// four bytes, little-endian) and its bytes.
const (
	fileName   = "journal"
	newName    = "journal.new"
	fileHeader = "MATKSB01"
	frameSize  = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrClosed says that the journal was closed.
var ErrClosed = errors.New("journal: closed")

// Compactor decides when a journal is rewritten and with what.
type Compactor interface {
	// Live is about how many bytes of records a rewrite would take.
	Live() int64
	// Snapshot returns records, framed by AppendRecord, that stand for all that
	// were ever appended. It must keep others from appending while it collects
	// them, and call seal before it lets them go on.
	Snapshot(seal func()) []byte
}

// Options of a journal.
type Options struct {
	// Compactor rewrites the journal when it is larger than CompactAbove bytes
	// and than four times the live data. Nil means never.
	Compactor    Compactor
	CompactAbove int64
}

// Journal is an open journal. Its methods may be called concurrently.
type Journal struct {
	dir     string
	options Options
	written atomic.Int64
	syncs   atomic.Int64 // how often flush waited for the disk
	wake    chan struct{}
	done    chan struct{}

	// Of the writing goroutine.
	file *os.File
	size int64

	mu      sync.Mutex
	pending []byte        // framed records to be written
	waiting []func(error) // called when pending is on disk
	busy    bool          // records are being written
	unsaved bool          // records are written that no disk was waited for
	closed  bool
	err     error
}

// Open reads the journal in dir, which is made when it does not exist, and calls
// replay for each record. What follows the first record that is not whole is cut
// off: it was never acknowledged. cut is its length.
func Open(dir string, replay func(record []byte) error) (j *Journal, cut int64, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, fmt.Errorf("journal: %w", err)
	}
	if err := os.Remove(filepath.Join(dir, newName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, 0, fmt.Errorf("journal: %w", err)
	}
	path := filepath.Join(dir, fileName)
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, 0, fmt.Errorf("journal: %w", err)
	}
	size, err := scan(content, replay)
	if err != nil {
		return nil, 0, fmt.Errorf("journal: %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("journal: %w", err)
	}
	j = &Journal{dir: dir, wake: make(chan struct{}, 1), done: make(chan struct{}), file: file, size: int64(size)}
	if err := j.prepare(len(content)); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("journal: %w", err), file.Close())
	}
	return j, int64(len(content) - size), nil
}

// prepare cuts the file to its whole records and makes the next write follow them.
func (j *Journal) prepare(length int) error {
	if j.size == 0 {
		if err := j.file.Truncate(0); err != nil {
			return err
		}
		if _, err := j.file.WriteAt([]byte(fileHeader), 0); err != nil {
			return err
		}
		j.size = int64(len(fileHeader))
	} else if int64(length) > j.size {
		if err := j.file.Truncate(j.size); err != nil {
			return err
		}
	}
	if _, err := j.file.Seek(j.size, 0); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	return syncDir(j.dir)
}

// scan calls replay for the whole records of a file and returns where they end, 0
// when not even the header is whole.
func scan(content []byte, replay func([]byte) error) (int, error) {
	if len(content) < len(fileHeader) {
		if !bytes.HasPrefix([]byte(fileHeader), content) {
			return 0, errors.New("is not a journal")
		}
		return 0, nil
	}
	if string(content[:len(fileHeader)]) != fileHeader {
		return 0, errors.New("is not a journal of this version")
	}
	at := len(fileHeader)
	for len(content)-at >= frameSize {
		length := int64(binary.LittleEndian.Uint32(content[at:]))
		if length > int64(len(content)-at-frameSize) {
			break
		}
		record := content[at+frameSize : at+frameSize+int(length)]
		if length == 0 || crc32.Checksum(record, castagnoli) != binary.LittleEndian.Uint32(content[at+4:]) {
			break
		}
		if err := replay(record); err != nil {
			return 0, fmt.Errorf("record at byte %d: %w", at, err)
		}
		at += frameSize + len(record)
	}
	return at, nil
}

// Start makes the journal take records.
func (j *Journal) Start(o Options) {
	j.options = o
	go j.run()
}

// AppendRecord frames the bytes that record appends, which must be some.
func AppendRecord(b []byte, record func(b []byte) []byte) []byte {
	at := len(b)
	b = record(append(b, 0, 0, 0, 0, 0, 0, 0, 0))
	content := b[at+frameSize:]
	binary.LittleEndian.PutUint32(b[at:], uint32(len(content)))
	binary.LittleEndian.PutUint32(b[at+4:], crc32.Checksum(content, castagnoli))
	return b
}

// Append adds a record, which record appends to the buffer given. Records are in
// the order of the calls.
func (j *Journal) Append(record func(b []byte) []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.pending = AppendRecord(j.pending, record)
		j.signal()
	}
}

// Committed calls done once all that was appended before is on disk, or with the
// error that keeps it from there. It may call it at once. done must not block and
// not call the journal.
func (j *Journal) Committed(done func(error)) {
	j.mu.Lock()
	err := j.err
	if err == nil && (j.busy || j.unsaved || len(j.pending) > 0) {
		j.waiting = append(j.waiting, done)
		j.signal()
		j.mu.Unlock()
		return
	}
	j.mu.Unlock()
	done(err)
}

// Written is the number of bytes written since Open.
func (j *Journal) Written() int64 { return j.written.Load() }

// Close writes the pending records.
func (j *Journal) Close() error {
	j.mu.Lock()
	if !j.closed {
		j.closed = true
		j.signal()
	}
	j.mu.Unlock()
	<-j.done
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(j.err, ErrClosed) {
		return nil
	}
	return j.err
}

func (j *Journal) signal() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// gather is how long records are collected before a write while several callers wait at once: a
// disk writes the last block of the file again with each sync.
const gather = time.Millisecond

// run writes the pending records; one write takes all that arrived during the previous
// write. It waits for the disk when a caller does: until then the records outlive the
// process, which suffices for records without a waiting caller.
func (j *Journal) run() {
	defer close(j.done)
	var spare []byte
	unsaved, callers := false, 0
	for range j.wake {
		if callers > 1 {
			time.Sleep(gather)
		}
		j.mu.Lock()
		batch, waiting, closed, err := j.pending, j.waiting, j.closed, j.err
		j.pending, j.waiting, j.busy = spare[:0], nil, true
		j.mu.Unlock()
		if err == nil {
			save := len(waiting) > 0 || closed
			unsaved = unsaved || len(batch) > 0
			err = j.flush(batch, save && unsaved)
			unsaved = unsaved && !save
		}
		j.finish(err, unsaved, waiting)
		callers = len(waiting)
		if spare = batch; cap(spare) > 4<<20 {
			spare = nil
		}
		if err == nil && j.mostlyDead() {
			waiting, err = j.compact()
			unsaved = false
			j.finish(err, unsaved, waiting)
		}
		if closed {
			j.fail(ErrClosed)
			if err := j.file.Close(); err != nil {
				j.fail(err)
			}
			return
		}
	}
}

// fail sets the error that all calls get from now on, unless there is one.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
	}
	for _, done := range j.waiting {
		go done(j.err)
	}
	j.waiting, j.busy = nil, false
}

func (j *Journal) finish(err error, unsaved bool, waiting []func(error)) {
	j.mu.Lock()
	if j.err == nil {
		j.err = err
	}
	if len(j.waiting) > 0 {
		j.signal()
	}
	j.busy, j.unsaved = false, unsaved
	j.mu.Unlock()
	for _, done := range waiting {
		done(err)
	}
}

// flush writes records and, to save them, waits for the disk.
func (j *Journal) flush(batch []byte, save bool) error {
	if _, err := j.file.Write(batch); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if save {
		j.syncs.Add(1)
		if err := j.file.Sync(); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	j.size += int64(len(batch))
	j.written.Add(int64(len(batch)))
	return nil
}

func (j *Journal) mostlyDead() bool {
	return j.options.Compactor != nil && j.size > j.options.CompactAbove && j.size > 4*j.options.Compactor.Live()
}

// compact replaces the file by a snapshot. It returns who waited for records that
// the snapshot stands for.
func (j *Journal) compact() ([]func(error), error) {
	var waiting []func(error)
	snapshot := j.options.Compactor.Snapshot(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		waiting = j.waiting
		j.pending, j.waiting, j.busy = j.pending[:0], nil, true
	})
	file, err := j.replace(snapshot)
	if err != nil {
		return waiting, fmt.Errorf("journal: compaction: %w", err)
	}
	old := j.file
	j.file, j.size = file, int64(len(fileHeader)+len(snapshot))
	j.written.Add(j.size)
	return waiting, old.Close()
}

func (j *Journal) replace(snapshot []byte) (*os.File, error) {
	path := filepath.Join(j.dir, newName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	write := func() error {
		if _, err := file.Write([]byte(fileHeader)); err != nil {
			return err
		}
		if _, err := file.Write(snapshot); err != nil {
			return err
		}
		if err := file.Sync(); err != nil {
			return err
		}
		if err := os.Rename(path, filepath.Join(j.dir, fileName)); err != nil {
			return err
		}
		return syncDir(j.dir)
	}
	if err := write(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// syncDir makes a rename or a new file in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
