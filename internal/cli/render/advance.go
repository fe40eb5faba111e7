package render

import (
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
)

// PhaseWords names a phase in a sentence.
func PhaseWords(name string) string {
	if name == "init" {
		return name
	}
	return "phase " + Printable(name)
}

// EndWords describes how a phase ended.
func EndWords(last api.Phase) string {
	switch {
	case last.Kind == api.KindInit:
		return "Init " + last.Status + "."
	case last.Succeeded > 0:
		text := fmt.Sprintf("Phase %s %s: %d succeeded, %d failed", Printable(last.Name), PhaseStatus(last), last.Succeeded, last.Failed)
		if last.Cancelled > 0 {
			text += fmt.Sprintf(", %d cancelled", last.Cancelled)
		}
		return text + "."
	}
	return fmt.Sprintf("No member succeeded in phase %s: %d failed, %d cancelled.", Printable(last.Name), last.Failed, last.Cancelled)
}

// startedBefore describes the phase of a repeated advance and the next phase.
func startedBefore(view api.AdvanceResult) string {
	text := Capital(PhaseWords(view.Advanced)) + " had already started; nothing was started now."
	next := " It is the last phase."
	if view.NextPhase != "" {
		next = " Next: " + view.NextPhase + "."
	}
	p := view.Phase
	switch {
	case p.Status != api.PhaseDispatched:
		return text + " " + EndWords(p) + next
	case p.Kind == api.KindInit:
		return text + " " + fmt.Sprintf("It is running: %d of %s succeeded.", p.Succeeded, Count(p.Members, "step")) + next
	}
	text += " " + fmt.Sprintf("It is running: %d of %s succeeded, %d failed", p.Succeeded, Count(p.Members, "member"), p.Failed)
	if p.Cancelled > 0 {
		text += fmt.Sprintf(", %d cancelled", p.Cancelled)
	}
	return text + "." + next
}

// Advanced describes what an advance started.
func Advanced(view api.AdvanceResult) string {
	if view.Repeated {
		return startedBefore(view)
	}
	text := fmt.Sprintf("Started %s (%s)", PhaseWords(view.Advanced), Count(view.Members, "member"))
	if len(view.Remaining) == 0 {
		return text + ". It is the last phase."
	}
	return text + ". Remaining: " + strings.Join(view.Remaining, ", ") + "."
}
