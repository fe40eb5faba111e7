package membercsv_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/membercsv"
)

// manyCells is a file of the shortest rows.
func manyCells(rows int) []byte {
	var b strings.Builder
	b.WriteString("UserId,Mail,Groups\n")
	for i := range rows {
		b.WriteString("u")
		for n := i; n > 0; n /= 10 {
			b.WriteByte(byte('0' + n%10))
		}
		b.WriteString("x,m,g\n")
	}
	return []byte(b.String())
}

// What Parse keeps of a file beside its text grows with its rows, not with its cells: a
// file of 40 MB took 5.4 GB when the values of all cells were kept.
//
//nolint:paralleltest // the heap is that of the whole process
func TestRowsKeepNoValues(t *testing.T) {
	const members = 100_000
	src := manyCells(members)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	rows, _, problems := membercsv.Parse(src, users("semicolon_delimited"))
	runtime.GC()
	runtime.ReadMemStats(&after)
	if len(problems) > 0 || len(rows) != members {
		t.Fatalf("%d rows, %v", len(rows), problems)
	}
	kept := int(after.HeapAlloc-before.HeapAlloc) / members
	if kept > 120 { // functions/admin-http counts 12 MiB for the rows of an upload
		t.Errorf("Parse keeps %d bytes for each row", kept)
	}
	runtime.KeepAlive(rows)
}
