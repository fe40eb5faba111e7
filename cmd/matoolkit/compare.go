package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/simulate"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// compareFlags are the options of a comparison.
type compareFlags struct {
	batch, entries string
}

// ofCompare are the options of rehearse that a comparison takes.
var ofCompare = []string{"compare", "entries", "json"}

// run compares the report in a file with a batch.
func (f *compareFlags) run(cmd *cobra.Command, file, to string) error {
	var other []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(ofCompare, flag.Name) && cmd.InheritedFlags().Lookup(flag.Name) == nil {
			other = append(other, "--"+flag.Name)
		}
	})
	if len(other) > 0 {
		return exit.Usage(fmt.Errorf("--compare compares a rehearsal that has ended: omit %s", strings.Join(other, ", ")))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return exit.Usage(err)
	}
	report, err := rehearse.ReadReport(text)
	if err != nil {
		return command.Refused(fmt.Errorf("%s: %w", file, err))
	}
	var table []tenant.Unmodelled
	if f.entries != "" {
		if table, err = readEntries(f.entries); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return exit.Usage(fmt.Errorf("--entries: %w", err))
		}
	}
	real, err := readReality(cmd, f.batch, report)
	if err != nil {
		return err
	}
	c, err := rehearse.Compare(report, *real)
	if err != nil {
		return command.Refused(fmt.Errorf("%s: %w", file, err))
	}
	if err := writeReport(to, c.JSON); err != nil {
		return err
	}
	if f.entries != "" {
		if err := writeEntries(f.entries, rehearse.MergeNotModelled(table, c.Differences)); err != nil {
			return err
		}
	}
	if err := printComparison(cmd, c, f.entries); err != nil {
		return err
	}
	if !c.AsPredicted {
		return command.Failed()
	}
	return nil
}

// readReality reads a batch, and refuses one of another runbook or of another version than the rehearsed one.
func readReality(cmd *cobra.Command, batch string, report *rehearse.Report) (*rehearse.Reality, error) {
	s, id, err := command.OnBatch(cmd, batch)
	if err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	real := &rehearse.Reality{}
	if real.Batch, _, _, err = s.Client.Follow(ctx, id, ""); err != nil {
		return nil, err
	}
	if real.Batch.RunbookName != report.Runbook {
		return nil, command.Refused(fmt.Errorf("batch %d is of the runbook %s, and the report is of %s: give the report of its rehearsal", id, real.Batch.RunbookName, report.Runbook))
	}
	if real.Text, err = rehearsedVersion(ctx, s.Client, real.Batch, report.Digest); err != nil {
		return nil, err
	}
	if real.Members, err = all(ctx, id, api.ListOptions{}, s.Client.Members); err != nil {
		return nil, err
	}
	if real.Steps, err = all(ctx, id, api.ListOptions{Statuses: []string{api.StepFailed, api.StepPollTimeout}}, s.Client.Steps); err != nil {
		return nil, err
	}
	if real.Batch.Checks == nil {
		return real, nil
	}
	real.Checks, err = all(ctx, id, api.ListOptions{Statuses: []string{api.CheckFailed}}, s.Client.Checks)
	return real, err
}

// rehearsedVersion returns the text that was rehearsed, if a batch ran a version with it.
func rehearsedVersion(ctx context.Context, client *apiclient.Client, b api.Batch, digest string) ([]byte, error) {
	versions := []int{b.RunbookVersion}
	for _, p := range b.Phases {
		if !slices.Contains(versions, p.RunbookVersion) && p.DispatchedAt != nil {
			versions = append(versions, p.RunbookVersion)
		}
	}
	for _, v := range versions {
		published, err := client.Version(ctx, b.RunbookName, v)
		if err != nil {
			return nil, err
		}
		if text := []byte(published.YAML); rehearse.Digest(text) == digest {
			return text, nil
		}
	}
	return nil, command.Refused(fmt.Errorf("the report is of another text of %s than version %d, which batch %d ran: rehearse that version, which matoolkit runbook get %s --version %d shows",
		b.RunbookName, b.RunbookVersion, b.ID, b.RunbookName, b.RunbookVersion))
}

// all reads all pages of a list of a batch.
func all[V any](ctx context.Context, id int, o api.ListOptions, list func(context.Context, int, api.ListOptions) (api.Page[V], error)) ([]V, error) {
	page, err := command.Collect(ctx, command.Paging{All: true, Limit: 1000}, o, command.PerBatch(id, list))
	return page.Items, err
}

// readEntries reads a file of entries of what is not modelled.
func readEntries(path string) ([]tenant.Unmodelled, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	entries, err := tenant.ParseNotModelled(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return entries, nil
}

// writeEntries replaces a file of entries, unless it has them.
func writeEntries(path string, entries []tenant.Unmodelled) error {
	text := tenant.FormatNotModelled(append([]tenant.Unmodelled{}, entries...))
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, text) {
		return nil
	}
	return command.SaveWhole(path, true, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// printComparison prints a comparison. With --quiet these are the keys of members who failed in one of both only.
func printComparison(cmd *cobra.Command, c *rehearse.Comparison, entries string) error {
	phases := command.Table{Head: []string{"phase", "status", "predicted start", "actual start", "later by", "predicted", "took", "difference", "as predicted"}}
	for _, p := range c.Phases {
		predicted, actual := cmp.Or(p.Predicted, &rehearse.PhaseTime{}), cmp.Or(p.Actual, &rehearse.PhaseTime{Status: "not in the batch"})
		phases.Rows = append(phases.Rows, []any{
			p.Phase, actual.Status, startText(predicted.StartedAt), startText(actual.StartedAt), differenceText(p.StartDifference),
			tookText(predicted), tookText(actual), durationDifference(p), verdict(p),
		})
	}
	groups := command.Table{Head: []string{"phase", "step", "error", "predicted", "actual", "only predicted", "only actual"}}
	differ := command.Table{Head: []string{"member"}}
	seen := map[string]bool{}
	for _, e := range c.Errors {
		step, text := e.Step, e.Error
		if e.Warning {
			step += " (warning)"
		}
		if e.ActualError != "" {
			text += " – in the batch: " + e.ActualError
		}
		actual := any(e.Actual)
		switch {
		case e.Open && ended(c):
			actual = "not ended"
		case e.Open:
			actual = "open"
		}
		groups.Rows = append(groups.Rows, []any{cmp.Or(e.Rollback, e.Phase), step, text, e.Predicted, actual, keysText(e.OnlyPredicted), keysText(e.OnlyActual)})
		for _, key := range append(slices.Clone(e.OnlyPredicted), e.OnlyActual...) {
			if !e.Open && key != "" && !seen[key] {
				seen[key] = true
				differ.Rows = append(differ.Rows, []any{key})
			}
		}
	}
	if command.QuietTable(cmd) {
		return command.Print(cmd, c, differ)
	}
	if err := command.Print(cmd, c, phases, groups); err != nil || !command.Plain(cmd) {
		return err
	}
	return summarize(cmd.OutOrStdout(), c, entries)
}

// summarize prints what the tables do not say.
func summarize(out io.Writer, c *rehearse.Comparison, entries string) error {
	lines := []string{fmt.Sprintf("Batch %d is %s. %s compared with the rehearsal.", c.Batch, c.Status, humanize.Count(c.Members, "member"))}
	if c.ActualStart != nil && !c.ActualStart.Equal(c.PredictedStart) {
		lines = append(lines, fmt.Sprintf("Starts are compared by their time from T-0: %s in the rehearsal, %s in the batch.", startText(&c.PredictedStart), startText(c.ActualStart)))
	}
	for _, other := range []struct {
		keys []string
		why  string
	}{{c.OnlyRehearsed, "Only in the rehearsal"}, {c.OnlyInBatch, "Only in the batch"}, {c.LeftOut, "In the batch for a part of it, removed or moved"}} {
		if len(other.keys) > 0 {
			lines = append(lines, fmt.Sprintf("%s, and not compared: %s.", other.why, keysText(other.keys)))
		}
	}
	for _, d := range c.Differences {
		lines = append(lines, fmt.Sprintf("Difference: %s (%s)", d.Behaviour, d.Observed[0].What))
	}
	switch {
	case c.AsPredicted:
		lines = append(lines, "The batch went as predicted.")
	case entries != "" && len(c.Differences) > 0:
		lines = append(lines, fmt.Sprintf("The differences are in %s. Next: matoolkit rehearse <file> --not-modelled %s …", entries, entries))
	case len(c.Differences) > 0:
		lines = append(lines, "Keep the differences for later rehearsals: --entries FILE.")
	default:
		lines = append(lines, notEnded(c)...)
	}
	_, err := fmt.Fprintf(out, "\n%s\n", strings.Join(lines, "\n"))
	return err
}

// notEnded says what becomes of phases that ended in one of both only.
func notEnded(c *rehearse.Comparison) []string {
	var inBatch, inRehearsal []string
	for _, p := range c.Phases {
		predicted, actual := p.Predicted != nil && p.Predicted.EndedAt != nil, p.Actual != nil && p.Actual.EndedAt != nil
		switch {
		case predicted && !actual:
			inBatch = append(inBatch, p.Phase)
		case actual && !predicted:
			inRehearsal = append(inRehearsal, p.Phase)
		}
	}
	if len(inBatch) > 0 && !ended(c) {
		return []string{"Some phases have not ended in both. Compare again when they have."}
	}
	var lines []string
	for _, without := range []struct {
		what   string
		phases []string
	}{{"batch", inBatch}, {"rehearsal", inRehearsal}} {
		if len(without.phases) > 0 {
			lines = append(lines, fmt.Sprintf("The %s ended without these phases, which are not compared: %s.", without.what, strings.Join(without.phases, ", ")))
		}
	}
	return lines
}

// ended reports whether the batch has ended.
func ended(c *rehearse.Comparison) bool { return api.Batch{Status: c.Status}.Terminal() }

func startText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("Mon 2006-01-02 15:04:05")
}

func tookText(p *rehearse.PhaseTime) string {
	if p.StartedAt == nil || p.EndedAt == nil {
		return ""
	}
	return simulate.Span(time.Duration(p.Seconds * float64(time.Second)))
}

func differenceText(s *float64) string {
	if s == nil {
		return ""
	}
	d := time.Duration(*s * float64(time.Second)).Round(time.Second)
	switch {
	case d < 0:
		return "-" + simulate.Span(-d)
	case d == 0:
		return "0s"
	}
	return "+" + simulate.Span(d)
}

func durationDifference(p rehearse.PhaseComparison) string {
	text := differenceText(p.SecondsDifference)
	if text != "" && p.Predicted.Seconds > 0 {
		text += fmt.Sprintf(" (%+.0f %%)", *p.SecondsDifference/p.Predicted.Seconds*100)
	}
	return text
}

// verdict says whether a phase took as long as predicted; nothing where one of both has not ended.
func verdict(p rehearse.PhaseComparison) string {
	switch {
	case p.SecondsDifference == nil:
		return ""
	case p.Differs:
		return "no"
	}
	return "yes"
}

// keysText names up to three members; an empty key is the batch.
func keysText(keys []string) string {
	const most = 3
	var named []string
	for _, key := range keys[:min(len(keys), most)] {
		named = append(named, cmp.Or(key, "the batch"))
	}
	text := strings.Join(named, ", ")
	if len(keys) > most {
		text += fmt.Sprintf(" and %d more", len(keys)-most)
	}
	return text
}
