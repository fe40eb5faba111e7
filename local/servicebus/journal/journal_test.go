package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

func open(t *testing.T, dir string, o Options) (*Journal, []string, int64) {
	t.Helper()
	var records []string
	j, cut, err := Open(dir, func(r []byte) error { records = append(records, string(r)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	j.Start(o)
	t.Cleanup(func() { _ = j.Close() })
	return j, records, cut
}

func put(j *Journal, record string) {
	j.Append(func(b []byte) []byte { return append(b, record...) })
}

// wait returns when everything appended is on disk.
func wait(t *testing.T, j *Journal) {
	t.Helper()
	done := make(chan error, 1)
	j.Committed(func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// crashed copies the files as a kill at this moment would leave them.
func crashed(t *testing.T, dir string) string {
	t.Helper()
	content := testenv.Must(os.ReadFile(filepath.Join(dir, fileName)))(t)
	to := t.TempDir()
	if err := os.WriteFile(filepath.Join(to, fileName), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestCommittedRecordsSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{})
	put(j, "one")
	put(j, "two")
	wait(t, j)
	_, got, cut := open(t, crashed(t, dir), Options{})
	if !slices.Equal(got, []string{"one", "two"}) || cut != 0 {
		t.Fatalf("replayed %q, cut %d", got, cut)
	}
}

// Records without a waiting caller are written at once, and a later Committed waits for the
// disk once.
func TestRecordsAreWrittenThoughNobodyWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{})
	put(j, "alone")
	for j.Written() == 0 {
		runtime.Gosched()
	}
	_, got, _ := open(t, crashed(t, dir), Options{})
	if !slices.Equal(got, []string{"alone"}) {
		t.Errorf("records %q", got)
	}
	before := j.syncs.Load()
	wait(t, j)
	wait(t, j)
	if n := j.syncs.Load() - before; before != 0 || n != 1 {
		t.Errorf("waited for the disk %d times before Committed, %d times for it", before, n)
	}
}

func TestTornTailIsCutAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{})
	put(j, "first")
	wait(t, j)
	whole := testenv.Must(os.ReadFile(filepath.Join(dir, fileName)))(t)
	put(j, "second")
	wait(t, j)
	content := testenv.Must(os.ReadFile(filepath.Join(dir, fileName)))(t)
	for n := len(whole); n < len(content); n++ {
		to := t.TempDir()
		if err := os.WriteFile(filepath.Join(to, fileName), content[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		j, got, cut := open(t, to, Options{})
		if !slices.Equal(got, []string{"first"}) || cut != int64(n-len(whole)) {
			t.Fatalf("of %d bytes: replayed %q, cut %d", n, got, cut)
		}
		put(j, "third")
		wait(t, j)
		if _, got, cut = open(t, crashed(t, to), Options{}); !slices.Equal(got, []string{"first", "third"}) || cut != 0 {
			t.Fatalf("after %d bytes: replayed %q, cut %d", n, got, cut)
		}
	}
}

func TestDamagedRecordEndsTheReplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _, _ := open(t, dir, Options{})
	put(j, "first")
	put(j, "second")
	wait(t, j)
	to := crashed(t, dir)
	path := filepath.Join(to, fileName)
	content := testenv.Must(os.ReadFile(path))(t)
	content[len(content)-1] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, got, _ := open(t, to, Options{}); !slices.Equal(got, []string{"first"}) {
		t.Fatalf("replayed %q", got)
	}
}

func TestForeignFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir, func([]byte) error { return nil }); err == nil {
		t.Fatal("opened a file that is not a journal")
	}
}

func TestClosedJournalTakesNothing(t *testing.T) {
	t.Parallel()
	j, _, _ := open(t, t.TempDir(), Options{})
	put(j, "one")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	put(j, "two")
	done := make(chan error, 1)
	j.Committed(func(err error) { done <- err })
	if err := <-done; err != ErrClosed {
		t.Fatalf("committed after close: %v", err)
	}
}

// counter is a compactor whose state is the number of times it was incremented.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) Live() int64 { return 16 }

func (c *counter) Snapshot(seal func()) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	seal()
	return AppendRecord(nil, func(b []byte) []byte { return fmt.Appendf(b, "=%d", c.n) })
}

func TestCompactionLosesNothingUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &counter{}
	j, _, _ := open(t, dir, Options{Compactor: c, CompactAbove: 512})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				c.mu.Lock()
				c.n++
				put(j, "+1")
				c.mu.Unlock()
				done := make(chan error, 1)
				j.Committed(func(err error) { done <- err })
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	_, records, _ := open(t, crashed(t, dir), Options{})
	total, compacted := 0, false
	for _, r := range records {
		var n int
		if _, err := fmt.Sscanf(r, "=%d", &n); err == nil {
			total, compacted = n, true
		} else {
			total++
		}
	}
	if total != 1600 || !compacted || len(records) > 400 {
		t.Fatalf("replayed %d of 1600 from %d records, compacted %t", total, len(records), compacted)
	}
}
