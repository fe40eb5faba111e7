package membercsv

import (
	"bytes"
	"encoding/csv"

	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Template is a file for people to fill in: the header alone, the key first, lines
// ended as RFC 4180 has it. It begins with a byte order mark, without which Excel
// takes it for the local code page and saves names with accents wrongly; Parse
// accepts files with the mark and without.
func Template(rb *runbook.Runbook) []byte {
	var b bytes.Buffer
	b.Write(csvtext.BOM)
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	_ = w.Write(columns(rb)) // a Buffer takes everything
	w.Flush()
	return b.Bytes()
}

// columns are the columns a file has to have: the key, then the others by
// name.
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
