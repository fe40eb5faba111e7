package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
)

// DescribeScaler describes the container scaler and its latest tick, without its containers.
func DescribeScaler(v api.ScalerStatus) []string {
	if !v.Configured {
		return []string{"The container scaler is not configured."}
	}
	s := v.Settings
	lines := []string{fmt.Sprintf("Topic %s, image %s in %s. At most %s, with %g CPU and %g to %g GB each.",
		s.Topic, s.Image, s.Location, Count(s.MaxInstances, "active container group"), s.CPU, s.MinMemoryGB, s.MaxMemoryGB)}
	t := v.LastTick
	if t == nil {
		return append(lines, "There was no tick yet.")
	}
	lines = append(lines, fmt.Sprintf("Tick on %s: created %d, deleted %d, %d active.", Stamp(t.At), t.CreatedCount, t.DeletedCount, t.ActiveCount))
	if t.Error != "" {
		lines = append(lines, "Error: "+t.Error)
	}
	if text := verdictCounts(t.Verdicts); text != "" {
		lines = append(lines, "Messages: "+text+".")
	}
	for _, f := range t.Failures {
		lines = append(lines, fmt.Sprintf("Failed: %s: %s", f.Group, f.Reason))
	}
	for _, m := range t.Skipped {
		lines = append(lines, fmt.Sprintf("Skipped: message %s (sequence number %d) of %s: %s.", quoted(m.MessageID), m.SequenceNumber, m.Subscription, m.Verdict))
	}
	for _, l := range v.LostContainers {
		line := fmt.Sprintf("Lost: %s of message %s of %s ended before it was received", Count(l.Count, "container"), quoted(l.MessageID), l.Subscription)
		if l.Detail != "" {
			line += ": " + l.Detail
		}
		lines = append(lines, line+".")
	}
	return append(lines, blockedLines(t.Subscriptions)...)
}

// DescribeScalerPlan describes a plan of the container scaler, without its messages.
func DescribeScalerPlan(v api.ScalerPlan) []string {
	lines := []string{fmt.Sprintf("A tick would create %s and delete %d; %d of %d are active. Nothing was changed.",
		Count(len(v.Create), "container group"), len(v.Delete), v.ActiveCount, v.MaxInstances)}
	if text := verdictCounts(v.Verdicts); text != "" {
		lines = append(lines, "Messages: "+text+".")
	}
	return append(lines, blockedLines(v.Subscriptions)...)
}

func quoted(id string) string {
	if id == "" {
		return "without id"
	}
	return id
}

func verdictCounts(counts map[api.ScalerVerdict]int) string {
	var all []string
	for _, verdict := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", counts[verdict], verdict))
	}
	return strings.Join(all, ", ")
}

func blockedLines(all []api.BlockedSubscription) (lines []string) {
	for _, b := range all {
		lines = append(lines, fmt.Sprintf("Subscription %s is not scaled: %s.", b.Subscription, b.Reason))
	}
	return lines
}

// ContainerTable returns the table of the containers of a tick.
func (c *Printer) ContainerTable(tick *api.ScalerTick) *Sheet {
	t := c.Table("container group", "state", "message", "subscription", "size MB", "exit code", "started", "finished", "detail")
	if tick == nil {
		return t
	}
	for _, g := range tick.Containers {
		exit := ""
		if g.ExitCode != nil {
			exit = fmt.Sprint(*g.ExitCode)
		}
		t.Row(g.Group, g.State, g.MessageID, g.Subscription, g.FileSizeMB, exit, g.StartedAt, g.FinishedAt, g.Detail)
	}
	return t
}

// ScalerPlanTable returns the table of the messages of a plan.
func (c *Printer) ScalerPlanTable(v api.ScalerPlan) *Sheet {
	t := c.Table("subscription", "message", "deliveries", "size MB", "verdict", "container group", "cores", "memory GB")
	groups := map[string]api.PlannedGroup{}
	for _, g := range v.Create {
		groups[g.Subscription+"/"+g.MessageID] = g
	}
	for _, m := range v.Messages {
		group, cores, memory := "", "", ""
		if g, ok := groups[m.Subscription+"/"+m.MessageID]; ok && m.Verdict == api.ScalerCreate {
			group, cores, memory = g.Group, fmt.Sprint(g.CPU), fmt.Sprint(g.MemoryGB)
		}
		t.Row(m.Subscription, m.MessageID, m.DeliveryCount, m.FileSizeMB, m.Verdict, group, cores, memory)
	}
	return t
}
