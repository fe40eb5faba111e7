package render

import (
	"fmt"
	"io"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// PrintPage prints a list and, on the side, that it goes on.
func (c *Printer) PrintPage(page any, n int, continuation string, t *Sheet) error {
	if n == 0 && c.Format == FormatTable {
		c.Notice("None.")
		return nil
	}
	if err := c.Print(page, t); err != nil {
		return err
	}
	if continuation != "" && !c.Structured() {
		c.Notice("There are more: --all, or --continue '%s'", continuation)
	}
	return nil
}

// PrintDiagnostics prints what was found in a file, a line each.
func (c *Printer) PrintDiagnostics(w io.Writer, path string, diagnostics []runbook.Diagnostic) {
	for _, d := range diagnostics {
		fmt.Fprintf(w, "%s:%s\n", FileName(path), d)
	}
}
