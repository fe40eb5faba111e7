package render

import (
	"fmt"
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
	lines = append(lines, fmt.Sprintf("Tick on %s: %d active and %d created make %d of at most %d container groups. Deleted %d that had ended.",
		Stamp(t.At), t.ActiveCount-t.CreatedCount, t.CreatedCount, t.ActiveCount, s.MaxInstances, t.DeletedCount))
	if t.Error != "" {
		lines = append(lines, "Error: "+t.Error)
	}
	lines = append(lines, verdictLines(t.MessageCount, t.Verdicts)...)
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
	return append(lines, subscriptionLines(t.Subscriptions, t.Partial)...)
}

// DescribeScalerPlan describes a plan of the container scaler, without its messages.
func DescribeScalerPlan(v api.ScalerPlan) []string {
	lines := []string{fmt.Sprintf("A tick would create %s and delete %d; %d of %d are active. Nothing was changed.",
		Count(len(v.Create), "container group"), len(v.Delete), v.ActiveCount, v.MaxInstances)}
	lines = append(lines, verdictLines(v.MessageCount, v.Verdicts)...)
	return append(lines, subscriptionLines(v.Subscriptions, v.Partial)...)
}

func quoted(id string) string {
	if id == "" {
		return "without id"
	}
	return id
}

// verdictMeanings has the meaning of each verdict.
var verdictMeanings = map[api.ScalerVerdict]string{
	api.ScalerCreate:           "a container group is created for it",
	api.ScalerCreateFailed:     "its container group could not be created; a later tick tries again",
	api.ScalerNoCapacity:       "the limit of active container groups is reached",
	api.ScalerNextTick:         "a later tick creates its container group; one tick creates a limited number",
	api.ScalerHasContainer:     "an active container group has its id",
	api.ScalerContainerEnded:   "a container group with its id has ended, and is deleted first",
	api.ScalerDuplicate:        "another message has its id",
	api.ScalerDeliveryLimit:    "it was delivered as often as its subscription permits",
	api.ScalerMessageIDMissing: "it has no id",
	api.ScalerBodyNotJSON:      "its body is not a JSON object",
	api.ScalerSizeMissing:      "its body has no file_size_mb, at the top or in data",
	api.ScalerSizeInvalid:      "its file_size_mb is not a number from 0 to 1073741824",
}

// VerdictHelp lists the verdicts on messages with their meanings, for the help of commands.
func VerdictHelp(verdicts ...api.ScalerVerdict) string {
	var lines []string
	for _, v := range verdicts {
		lines = append(lines, fmt.Sprintf("  %-21s  %s", v, verdictMeanings[v]))
	}
	return strings.Join(lines, "\n")
}

// verdictLines count messages by verdict. Each message has one.
func verdictLines(messages int, counts map[api.ScalerVerdict]int) []string {
	if messages == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("Read %s:", Count(messages, "message"))}
	for _, v := range api.ScalerVerdicts {
		if n := counts[v]; n > 0 {
			lines = append(lines, fmt.Sprintf("  %d %s: %s", n, v, verdictMeanings[v]))
		}
	}
	return lines
}

func subscriptionLines(blocked []api.BlockedSubscription, partial []string) (lines []string) {
	for _, b := range blocked {
		lines = append(lines, fmt.Sprintf("Subscription %s is not scaled: %s.", b.Subscription, b.Reason))
	}
	for _, name := range partial {
		lines = append(lines, fmt.Sprintf("Subscription %s has more messages than were read.", name))
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
		if g.ExitCode != 0 {
			exit = fmt.Sprint(g.ExitCode)
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
