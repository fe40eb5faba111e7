package membercsv

import (
	"bytes"
	"encoding/csv"

	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Template gives a file for people to fill in: the header only, the key first, with the line ends of
// RFC 4180. It begins with a byte order mark, without which Excel reads it in the local code page and saves
// names with accents wrongly; Parse accepts files with the mark and without.
func Template(rb *runbook.Runbook, delimiter csvtext.Delimiter) []byte {
	var b bytes.Buffer
	b.Write(csvtext.BOM)
	w := csv.NewWriter(&b)
	w.UseCRLF, w.Comma = true, delimiter.Rune
	_ = w.Write(columns(rb)) // writing to a Buffer does not fail
	w.Flush()
	return b.Bytes()
}

// columns gives the columns that a file must have: the key, then the others by name.
func columns(rb *runbook.Runbook) []string {
	key := rb.DataSource.PrimaryKey
	names := []string{key}
	for _, c := range rb.Columns() {
		if c != key {
			names = append(names, c)
		}
	}
	return names
}
