package render

import (
	"fmt"
	"io"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// PrintPage prints a page of a list and how to get the next page.
func (c *Printer) PrintPage(page any, n int, continuation string, t *Sheet) error {
	if n == 0 && c.Human() {
		c.Notice("No items.")
		return nil
	}
	if err := c.Print(page, t); err != nil {
		return err
	}
	if continuation != "" && !c.Structured() {
		c.Notice("The list continues. For all items: --all. For the next page: --continue '%s'", continuation)
	}
	return nil
}

// PrintDiagnostics prints the findings in a file, one a line.
func (c *Printer) PrintDiagnostics(w io.Writer, path string, diagnostics []runbook.Diagnostic) {
	for i, line := range FindingLines(path, diagnostics) {
		fmt.Fprintln(w, c.finding(diagnostics[i], line))
	}
}

// FindingLines are the lines of the findings in a file.
func FindingLines(path string, diagnostics []runbook.Diagnostic) []string {
	lines := make([]string, len(diagnostics))
	for i, d := range diagnostics {
		lines[i] = FileName(path) + ":" + d.String()
	}
	return lines
}
