package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/humanize"
)

// PrintMessage prints the fields of a message that its table does not show.
func (c *Printer) PrintMessage(v api.UnprocessableMessage) error {
	out := c.Stdout
	if h := v.Handled; h != nil {
		fmt.Fprintf(out, "\nLast replayed or discarded by %s at %s", c.Cell(h.By), Stamp(h.At))
		if h.Why != "" {
			fmt.Fprintf(out, ": %s", c.Cell(h.Why))
		}
		fmt.Fprintln(out)
	}
	if d := v.DeadLetter; d != nil {
		fmt.Fprintf(out, "\nTaken from the dead-letter queue of %s/%s: %s\n", c.Cell(v.Topic), c.Cell(d.Subscription), c.Cell(d.Reason))
		if d.Description != "" {
			fmt.Fprintln(out, c.Cell(d.Description))
		}
	}
	fmt.Fprintf(out, "\nMessage id: %s\n", c.Cell(v.MessageID))
	for _, name := range slices.Sorted(maps.Keys(v.Properties)) {
		fmt.Fprintf(out, "%s: %s\n", c.Cell(name), c.Cell(v.Properties[name]))
	}
	fmt.Fprintf(out, "\nBody, %d bytes:\n", v.Size)
	body := fmt.Sprintf("%q", v.BodyBase64)
	if v.Body != nil {
		var indented bytes.Buffer
		if err := json.Indent(&indented, v.Body, "", "  "); err != nil {
			return err
		}
		body = indented.String()
	}
	for line := range strings.Lines(body) {
		if _, err := fmt.Fprintln(out, Printable(strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	if v.Truncated {
		c.Notice("Only the beginning of the body is shown.")
	}
	return nil
}

// Count returns a number with its noun.
func Count(n int, noun string) string { return humanize.Count(n, noun) }

// MessageTable returns the table of unprocessable messages.
func (c *Printer) MessageTable(views ...api.UnprocessableMessage) *Sheet {
	t := c.Table("message", "topic", "type", "status", "count", "replays", "kept", "reason")
	for _, v := range views {
		t.Row(v.ID, v.Topic, v.Type, v.Status, v.Count, v.Replays, v.StoredAt, v.Reason)
	}
	return t
}
