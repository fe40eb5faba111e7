package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/matoolkit/matoolkit/internal/api"
)

// field is a line of the details of an item.
type field struct {
	name  string
	value any
}

// printFields prints the fields that have a value, in two columns. On a terminal it wraps the
// values.
func (c *Printer) printFields(fields ...field) {
	longest := 0
	for _, f := range fields {
		longest = max(longest, text.StringWidth(f.name))
	}
	for _, f := range fields {
		value := c.Cell(f.value)
		if value == "-" {
			continue
		}
		lines := []string{value}
		if room := c.Width - longest - gap; c.Terminal && room >= leastWidth {
			lines = wrap(value, room)
		}
		name := f.name
		for _, line := range lines {
			fmt.Fprintf(c.Stdout, "%s%s%s\n", name, strings.Repeat(" ", longest+gap-text.StringWidth(name)), line)
			name = ""
		}
	}
}

// PrintMember prints a member of a batch with its data and its steps.
func (c *Printer) PrintMember(batch int, v api.Member, steps []api.Step) error {
	failed := ""
	if v.FailedIn != "" {
		failed = v.FailedIn + "/" + v.FailedStep
	}
	removed := ""
	if v.RemovedAt != nil {
		removed = Stamp(*v.RemovedAt) + " by the data source"
		if v.RemovedBy != "" {
			removed = Stamp(*v.RemovedAt) + " by " + v.RemovedBy
		}
	}
	c.printFields(field{"Member", v.ID}, field{"Key", v.Key}, field{"Display", v.Display}, field{"Batch", batch}, field{"Status", v.Status}, field{"Phase", v.Phase},
		field{"Failed at", failed}, field{"Failed on", v.FailedAt}, field{"Error", v.Error}, field{"Added", v.AddedAt}, field{"Removed", removed}, field{"Moved", movedText(v)})
	c.printValues("Data", v.Data)
	c.printOverrides(v.Overrides)
	c.printValues("Outputs of steps", v.WorkerData)
	if len(steps) > 0 {
		fmt.Fprintln(c.Stdout)
		t := c.Table("step", "phase", "name", "status", "retries", "done", "note")
		for _, s := range steps {
			t.Row(s.ID, s.Phase, s.Name, s.Status, s.RetryCount, s.CompletedAt, stepNote(s))
		}
		if err := t.Print(); err != nil {
			return err
		}
	}
	if v.Status == api.MemberFailed {
		c.Notice("Next: matoolkit batch retry %d --member %d", batch, v.ID)
	}
	return nil
}

// printOverrides prints which columns an administrator corrected, with the values of the data source.
func (c *Printer) printOverrides(overrides map[string]api.Override) {
	if len(overrides) == 0 {
		return
	}
	fmt.Fprint(c.Stdout, "\nCorrected columns, which the data source has otherwise:\n")
	var fields []field
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		o := overrides[name]
		source := "no such column"
		if o.Source != nil {
			source = c.value(o.Source)
		}
		fields = append(fields, field{"  " + Printable(name), fmt.Sprintf("%s in the data source; corrected by %s, %s", source, o.By, Stamp(o.At))})
	}
	c.printFields(fields...)
}

// movedText says between which batches a member moved with what it had finished.
func movedText(v api.Member) string {
	switch {
	case v.MovedToID != 0:
		return fmt.Sprintf("to batch %d", v.MovedToID)
	case v.MovedTo != nil:
		return "to the batch of " + Stamp(*v.MovedTo)
	case v.MovedFrom != 0 && len(v.Carried) > 0:
		return fmt.Sprintf("from batch %d, having finished %s", v.MovedFrom, strings.Join(v.Carried, ", "))
	case v.MovedFrom != 0:
		return fmt.Sprintf("from batch %d", v.MovedFrom)
	}
	return ""
}

// printValues prints JSON values by their names.
func (c *Printer) printValues(title string, values map[string]json.RawMessage) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(c.Stdout, "\n%s:\n", title)
	var fields []field
	for _, name := range slices.Sorted(maps.Keys(values)) {
		word := string(values[name])
		var s string
		if json.Unmarshal(values[name], &s) == nil {
			word = s
		}
		fields = append(fields, field{"  " + c.Cell(name), word})
	}
	c.printFields(fields...)
}

// span formats seconds as runbooks write a duration.
func span(seconds int) string {
	if seconds == 0 {
		return ""
	}
	return round(time.Duration(seconds) * time.Second)
}

// retriesOf says how often a step was retried, and how often it can be.
func retriesOf(v api.Step) any {
	if v.MaxRetries == 0 {
		return positive(v.RetryCount)
	}
	if v.RetryCount > v.MaxRetries { // an administrator has repeated the step
		return fmt.Sprintf("%d in all, at most %d in a row, the first after %s", v.RetryCount, v.MaxRetries, span(v.RetryInterval))
	}
	return fmt.Sprintf("%d of %d, the first after %s", v.RetryCount, v.MaxRetries, span(v.RetryInterval))
}

// pollsOf says how often a step was polled, and how it is.
func pollsOf(v api.Step) string {
	if v.Poll == nil {
		return ""
	}
	return fmt.Sprintf("%d, every %s for %s", v.PollCount, span(v.Poll.IntervalSeconds), span(v.Poll.TimeoutSeconds))
}

func pollTime(v api.Step, of func(*api.StepPoll) *time.Time) *time.Time {
	if v.Poll == nil {
		return nil
	}
	return of(v.Poll)
}

// PrintStep prints a step of a batch with its parameters and its result.
func (c *Printer) PrintStep(batch int, v api.Step) error {
	resolved := ""
	if v.Resolved != nil {
		resolved = marked(*v.Resolved)
	}
	var took time.Duration
	if v.DispatchedAt != nil && v.CompletedAt != nil {
		took = v.CompletedAt.Sub(*v.DispatchedAt)
	}
	cached := ""
	if v.Cached != nil {
		cached = cachedNote(*v.Cached)
	}
	duration := ""
	if took > 0 {
		duration = round(took)
	}
	c.printFields(field{"Step", v.ID}, field{"Name", v.Name}, field{"Batch", batch}, field{"Phase", v.Phase}, field{"Version", v.RunbookVersion}, field{"Kind", stepKind(v)},
		field{"Member", stepMember(v)}, field{"Worker", v.WorkerID}, field{"Function", v.Function}, field{"Condition", v.When}, field{"Status", v.Status}, field{"Error", v.Error}, field{"Cache", cached},
		field{"Job", v.JobID}, field{"Dispatched", v.DispatchedAt}, field{"Completed", v.CompletedAt}, field{"Took", duration},
		field{"Timeout", span(v.TimeoutSeconds)}, field{"Deadline", v.Deadline}, field{"Retries", retriesOf(v)}, field{"Next retry", v.RetryAfter},
		field{"Polls", pollsOf(v)}, field{"Polling since", pollTime(v, func(p *api.StepPoll) *time.Time { return p.StartedAt })},
		field{"Last polled", pollTime(v, func(p *api.StepPoll) *time.Time { return p.LastPolledAt })}, field{"On failure", v.OnFailure},
		field{"Resolved by", resolved})
	if v.Poll != nil {
		for _, a := range v.Poll.EarlierAnswers {
			c.printFields(field{"Answered", fmt.Sprintf("%s, until %s", a.Text, Stamp(a.LastAt))})
		}
	}
	for _, late := range v.Late {
		outcome := "no result"
		if late.At != nil {
			outcome = "failed: " + late.Error
			if late.Succeeded {
				outcome = "succeeded"
			}
			outcome += " on " + Stamp(*late.At)
		}
		c.printFields(field{"Abandoned", fmt.Sprintf("job %s, on %s: %s", late.JobID, Stamp(late.AbandonedAt), outcome)})
	}
	if len(v.Attempts) > 0 {
		fmt.Fprintln(c.Stdout)
		t := c.Table("attempt", "job", "started", "ended", "outcome", "error")
		for i, a := range v.Attempts {
			t.Row(i+1, a.JobID, a.StartedAt, a.EndedAt, a.Outcome, a.Error)
		}
		if err := t.Print(); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		title string
		value json.RawMessage
	}{{"Parameters", v.Params}, {"Result", v.Result}} {
		if len(part.value) == 0 {
			continue
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, part.value, "", "  "); err != nil {
			return err
		}
		fmt.Fprintf(c.Stdout, "\n%s:\n", part.title)
		for line := range strings.Lines(indented.String()) {
			if _, err := fmt.Fprintln(c.Stdout, Printable(strings.TrimSuffix(line, "\n"))); err != nil {
				return err
			}
		}
	}
	if v.Status == api.StepFailed && v.MemberID > 0 {
		c.Notice("Next: matoolkit batch retry %d --member %d", batch, v.MemberID)
	}
	return nil
}
