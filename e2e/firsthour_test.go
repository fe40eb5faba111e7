package e2e_test

import "strings"

// firstHour waits where a reader of docs/getting-started.md has read on meanwhile: who joins,
// and who is tried again, is on the way after the command has returned.
func (r *runner) firstHour() {
	r.settle = func(line string) {
		through := 0
		switch {
		case strings.Contains(line, "batch add-members 1 "):
			through = 3
		case strings.Contains(line, "batch retry 1 "):
			through = 4
		default:
			return
		}
		r.until("the cut-over is over for those who can", func() (bool, any) {
			phase := r.phaseOf(1, "cut-over")
			return phase.Succeeded == through, phase
		})
	}
}
