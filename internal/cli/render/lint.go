package render

import (
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Finding is a diagnostic with its file.
type Finding struct {
	File string `json:"file"`
	runbook.Diagnostic
}

// FindingTable returns the table of findings.
func (c *Printer) FindingTable(found []Finding) *Sheet {
	t := c.Table("file", "line", "column", "severity", "code", "path", "message")
	for _, f := range found {
		t.Row(f.File, f.Line, f.Column, f.Severity, f.Code, f.Path, f.Message)
	}
	return t
}
