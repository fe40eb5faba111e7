package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"filippo.io/age"
)

// A file ends once it has so many bytes of JSON, and a checkpoint is written no more often than that,
// beside those that Sync writes.
const (
	fileSize   = 8 << 20
	syncPeriod = 10 * time.Second
)

// Options of a new snapshot.
type Options struct {
	TenantID  string
	Tool      string // name and version of the program
	Redacted  bool
	EncryptTo []string // recipients of age, such as age1…; none: the files are not encrypted
	// State is returned by Writer.State when the snapshot is continued, and deleted by Finish.
	State json.RawMessage
	Now   func() time.Time // nil: time.Now
}

// checkpoint is the content of checkpoint.json: what a broken-off snapshot has so far.
type checkpoint struct {
	Manifest  Manifest        `json:"manifest"`
	EncryptTo []string        `json:"encryptTo"`
	Positions map[Kind]string `json:"positions"`
	Complete  []Kind          `json:"complete"`
	LeftOut   []leftOut       `json:"leftOut"`
	State     json.RawMessage `json:"state,omitempty"`
}

// leftOut is a part of a kind that was left out. The kind is empty for what the snapshot has no kind of.
type leftOut struct {
	LeftOut
	Kind Kind `json:"kind"`
}

// Writer writes a snapshot. It is safe for concurrent use.
type Writer struct {
	dir     string
	now     func() time.Time
	to      []age.Recipient
	resumed bool

	mu     sync.Mutex
	saved  checkpoint // as on disk, apart from LeftOut
	open   map[Kind]*part
	next   map[Kind]string // positions after what the open files have
	done   map[Kind]bool
	synced time.Time
	failed error // of the disk; the Writer is of no more use
}

// part is a file that is being written.
type part struct {
	name    string
	file    *os.File
	sum     func() string
	out     io.WriteCloser // encrypts, or passes on
	objects int
	bytes   int
}

type passThrough struct{ io.Writer }

func (passThrough) Close() error { return nil }

// Create begins a snapshot in a folder that does not exist or is empty, or continues one that was broken off there
// and had the same options. It refuses a folder with anything else. One process at a time may write a snapshot.
func Create(dir string, o Options) (*Writer, error) {
	w := &Writer{dir: dir, now: o.Now, open: map[Kind]*part{}, next: map[Kind]string{}, done: map[Kind]bool{}}
	if w.now == nil {
		w.now = time.Now
	}
	for _, text := range o.EncryptTo {
		recipient, err := age.ParseX25519Recipient(text)
		if err != nil {
			return nil, fmt.Errorf("snapshot: %q is not a recipient of age (age1…): %w", text, err)
		}
		w.to = append(w.to, recipient)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	begun, err := readCheckpoint(dir)
	switch {
	case err == nil:
		if err := w.resume(begun, o); err != nil {
			return nil, err
		}
		return w, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == manifestFile }) {
		return nil, fmt.Errorf("snapshot: %s has a finished snapshot: choose another folder", dir)
	}
	for _, entry := range entries {
		if entry.Name() != checkpointFile+".part" {
			return nil, fmt.Errorf("snapshot: %s has other files (%s): choose an empty folder", dir, entry.Name())
		}
	}
	w.saved = checkpoint{
		Manifest: Manifest{
			Format: Version, TenantID: o.TenantID, Tool: o.Tool, TakenAt: w.now().UTC().Truncate(time.Second),
			Redacted: o.Redacted, Encrypted: len(o.EncryptTo) > 0, Files: []File{}, LeftOut: []LeftOut{},
		},
		EncryptTo: o.EncryptTo, Positions: map[Kind]string{}, State: o.State,
	}
	if err := w.save(); err != nil {
		return nil, err
	}
	return w, nil
}

func readCheckpoint(dir string) (checkpoint, error) {
	var c checkpoint
	text, err := os.ReadFile(filepath.Join(dir, checkpointFile))
	if err != nil {
		return c, fmt.Errorf("snapshot: %w", err)
	}
	if err := decodeStrict(text, &c); err != nil {
		return c, fmt.Errorf("snapshot: %s is damaged (%w): delete the folder and export again", filepath.Join(dir, checkpointFile), err)
	}
	return c, nil
}

// resume continues from a checkpoint: files that it does not list are from after it, and are written again.
func (w *Writer) resume(begun checkpoint, o Options) error {
	m := begun.Manifest
	switch {
	case m.Format != Version || m.Tool != o.Tool:
		return fmt.Errorf("snapshot: %s was begun by %s: finish it with that version, or delete the folder", w.dir, m.Tool)
	case m.TenantID != o.TenantID:
		return fmt.Errorf("snapshot: %s has the beginning of a snapshot of tenant %s: choose another folder", w.dir, m.TenantID)
	case m.Redacted != o.Redacted:
		return fmt.Errorf("snapshot: %s was begun %s redaction: continue it in the same way, or choose another folder", w.dir, withOrWithout(m.Redacted))
	case !slices.Equal(begun.EncryptTo, o.EncryptTo):
		return fmt.Errorf("snapshot: %s was begun %s encryption to %q: continue it in the same way, or choose another folder", w.dir, withOrWithout(m.Encrypted), begun.EncryptTo)
	}
	w.saved, w.resumed, w.synced = begun, true, w.now()
	if w.saved.Positions == nil {
		w.saved.Positions = map[Kind]string{}
	}
	for kind, position := range begun.Positions {
		w.next[kind] = position
	}
	for _, kind := range begun.Complete {
		w.done[kind] = true
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	for _, entry := range entries {
		listed := slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == entry.Name() })
		if listed || !fileName.MatchString(entry.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(w.dir, entry.Name())); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	}
	for _, f := range m.Files {
		if _, err := os.Stat(filepath.Join(w.dir, f.Name)); err != nil {
			return fmt.Errorf("snapshot: a file of the broken-off snapshot is missing: %w", err)
		}
	}
	return nil
}

func withOrWithout(with bool) string {
	if with {
		return "with"
	}
	return "without"
}

// Resumed reports whether the snapshot continues one that was broken off.
func (w *Writer) Resumed() bool { return w.resumed }

// State is Options.State, of the first Create where the snapshot was broken off.
func (w *Writer) State() json.RawMessage { return w.saved.State }

// Position is that of the last Append or Complete of a kind that survived, empty before the first, and whether it was Complete.
func (w *Writer) Position(kind Kind) (position string, complete bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next[kind], w.done[kind]
}

// Objects is how many objects of a kind were appended.
func (w *Writer) Objects(kind Kind) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.saved.Manifest.Objects(kind)
	if p := w.open[kind]; p != nil {
		n += p.objects
	}
	return n
}

// Append adds objects of a kind. position says where to continue after them: a snapshot that breaks off has
// either all of them and the position, or none.
func (w *Writer) Append(kind Kind, position string, objects ...any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.append(kind, position, objects); err != nil {
		return err
	}
	if w.now().Sub(w.synced) >= syncPeriod {
		return w.sync()
	}
	return nil
}

// Complete adds the last objects of a kind, if there are more. A snapshot that breaks off has either all of them
// and a complete kind, or none: no checkpoint is between the two, from which the end of the kind would be read twice.
func (w *Writer) Complete(kind Kind, position string, objects ...any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.append(kind, position, objects); err != nil {
		return err
	}
	w.done[kind] = true
	return w.sync()
}

func (w *Writer) append(kind Kind, position string, objects []any) error {
	if w.failed != nil {
		return w.failed
	}
	if !slices.Contains(Kinds(), kind) {
		return fmt.Errorf("snapshot: unknown kind %q", kind)
	}
	lines := make([][]byte, len(objects))
	for i, object := range objects {
		line, err := encode(object)
		if err != nil {
			return fmt.Errorf("snapshot: object %d of %s: %w", w.saved.Manifest.Objects(kind)+i+1, kind, err)
		}
		lines[i] = line
	}
	for _, line := range lines {
		if err := w.write(kind, line); err != nil {
			return w.fail(err)
		}
	}
	w.next[kind] = position
	return nil
}

// LeaveOut notes in the manifest a part of the tenant that the snapshot does not have. kind is what it would be among, until
// Restart; empty: the snapshot has no such kind.
func (w *Writer) LeaveOut(kind Kind, what, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if entry := (leftOut{LeftOut{what, why}, kind}); !slices.Contains(w.saved.LeftOut, entry) {
		w.saved.LeftOut = append(w.saved.LeftOut, entry)
	}
}

// Sync writes a checkpoint, such as before the process ends.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	return w.sync()
}

// Finish makes the snapshot readable, and ends the use of the Writer.
func (w *Writer) Finish() (Manifest, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return Manifest{}, w.failed
	}
	if err := w.sync(); err != nil {
		return Manifest{}, err
	}
	m := w.saved.Manifest
	for _, entry := range w.saved.LeftOut {
		m.LeftOut = append(m.LeftOut, entry.LeftOut)
	}
	m.FinishedAt = w.now().UTC().Truncate(time.Second)
	if err := w.writeJSON(manifestFile, m); err != nil {
		return Manifest{}, w.fail(err)
	}
	// The checkpoint ends last: a folder that has both is continued, and finished again.
	if err := os.Remove(filepath.Join(w.dir, checkpointFile)); err != nil {
		return Manifest{}, w.fail(fmt.Errorf("snapshot: %w", err))
	}
	w.failed = errors.New("snapshot: it is finished")
	return m, nil
}

func encode(object any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil { // compact, also of a json.RawMessage
		return nil, err
	}
	if line.Len() > maxFile/2 {
		return nil, fmt.Errorf("it has %d bytes, and may have %d", line.Len(), maxFile/2)
	}
	return line.Bytes(), nil
}

// write adds a line to the open file of a kind, which may end an older one.
func (w *Writer) write(kind Kind, line []byte) error {
	p := w.open[kind]
	if p == nil {
		var err error
		if p, err = w.begin(kind); err != nil {
			return err
		}
		w.open[kind] = p
	}
	if _, err := p.out.Write(line); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	p.objects, p.bytes = p.objects+1, p.bytes+len(line)
	if p.bytes >= fileSize {
		// The checkpoint does not list it before the Append ends.
		return w.end(kind)
	}
	return nil
}

func (w *Writer) begin(kind Kind) (*part, error) {
	n := 1
	for _, f := range w.saved.Manifest.Files {
		if f.Kind == kind {
			n++
		}
	}
	p := &part{name: fmt.Sprintf("%s-%04d.jsonl", kind, n)}
	if len(w.to) > 0 {
		p.name += ".age"
	}
	file, err := os.OpenFile(filepath.Join(w.dir, p.name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	digest := sha256.New()
	p.file, p.sum = file, func() string { return hex.EncodeToString(digest.Sum(nil)) }
	both := io.MultiWriter(file, digest)
	p.out = passThrough{both}
	if len(w.to) > 0 {
		if p.out, err = age.Encrypt(both, w.to...); err != nil {
			file.Close()
			return nil, fmt.Errorf("snapshot: encrypt %s: %w", p.name, err)
		}
	}
	return p, nil
}

// end closes the open file of a kind and lists it.
func (w *Writer) end(kind Kind) error {
	p := w.open[kind]
	delete(w.open, kind)
	err := p.out.Close()
	if err == nil {
		err = p.file.Sync()
	}
	if closed := p.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	w.saved.Manifest.Files = append(w.saved.Manifest.Files, File{Name: p.name, Kind: kind, Objects: p.objects, SHA256: p.sum()})
	return nil
}

func (w *Writer) sync() error {
	for _, kind := range Kinds() {
		if w.open[kind] != nil {
			if err := w.end(kind); err != nil {
				return w.fail(err)
			}
		}
		if position, set := w.next[kind]; set {
			w.saved.Positions[kind] = position
		}
	}
	w.saved.Complete = slices.DeleteFunc(Kinds(), func(kind Kind) bool { return !w.done[kind] })
	if err := w.save(); err != nil {
		return w.fail(err)
	}
	return nil
}

func (w *Writer) fail(err error) error {
	for _, p := range w.open {
		p.file.Close()
	}
	w.failed = err
	return err
}

func (w *Writer) save() error {
	w.synced = w.now()
	return w.writeJSON(checkpointFile, w.saved)
}

// writeJSON replaces a file as a whole.
func (w *Writer) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	path := filepath.Join(w.dir, name)
	file, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(path+".part", path)
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// Restart forgets all objects of a kind, its position and what was left out of it, for a kind that is read from the beginning.
func (w *Writer) Restart(kind Kind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	if err := w.sync(); err != nil {
		return err
	}
	var gone []string
	w.saved.Manifest.Files = slices.DeleteFunc(w.saved.Manifest.Files, func(f File) bool {
		if f.Kind == kind {
			gone = append(gone, f.Name)
		}
		return f.Kind == kind
	})
	delete(w.next, kind)
	delete(w.saved.Positions, kind)
	delete(w.done, kind)
	w.saved.LeftOut = slices.DeleteFunc(w.saved.LeftOut, func(entry leftOut) bool { return entry.Kind == kind })
	// The checkpoint no longer lists the files when they are deleted.
	if err := w.sync(); err != nil {
		return err
	}
	for _, name := range gone {
		if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
			return w.fail(fmt.Errorf("snapshot: %w", err))
		}
	}
	return nil
}
