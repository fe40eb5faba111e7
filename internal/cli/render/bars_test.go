package render_test

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/termlog"
)

// screen is a terminal without an edge: it interprets what the display and other programs
// write.
type screen struct {
	rows     [][]rune
	row, col int
}

func (s *screen) Write(b []byte) (int, error) {
	text := []rune(string(b))
	for i := 0; i < len(text); i++ {
		for len(s.rows) <= s.row {
			s.rows = append(s.rows, nil)
		}
		switch r := text[i]; r {
		case '\r':
			s.col = 0
		case '\n':
			s.row, s.col = s.row+1, 0
		case '\x1b':
			end := i + 2
			for text[end] < '@' {
				end++
			}
			n, _ := strconv.Atoi(string(text[i+2 : end]))
			switch text[end] {
			case 'J':
				s.rows[s.row] = s.rows[s.row][:min(s.col, len(s.rows[s.row]))]
				s.rows = s.rows[:s.row+1]
			case 'K':
				keep := min(s.col, len(s.rows[s.row]))
				if n == 2 {
					keep = 0
				}
				s.rows[s.row] = s.rows[s.row][:keep]
			case 'A':
				s.row -= max(n, 1)
			}
			i = end
		default:
			for len(s.rows[s.row]) <= s.col {
				s.rows[s.row] = append(s.rows[s.row], ' ')
			}
			s.rows[s.row][s.col] = r
			s.col++
		}
	}
	return len(b), nil
}

func (s *screen) String() string {
	var b strings.Builder
	for _, row := range s.rows {
		fmt.Fprintln(&b, strings.TrimRight(string(row), " "))
	}
	return b.String()
}

func progress(done, failed int, status string) render.Progress {
	start := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	end := start.Add(time.Minute)
	phase := api.Phase{ID: 1, Name: "pre-stage", Kind: api.KindPhase, Status: status, Members: 25, Succeeded: done, Failed: failed, Running: 25 - done - failed, DispatchedAt: &start}
	if status == api.PhaseCompleted {
		phase.CompletedAt = &end
	}
	return render.Progress{
		At: end, Batch: api.Batch{ID: 1, RunbookName: "moves", Status: "active", CurrentPhase: "pre-stage"},
		Phases: []api.Phase{phase, {ID: 2, Name: "cut-over", Kind: api.KindPhase, Status: api.PhasePending, Members: 25, Waiting: 25}},
	}
}

// Lines of other programs in the same terminal stay whole, and no part of an earlier frame
// stays between them.
func TestLinesOfOtherProgramsDoNotTearTheDisplay(t *testing.T) {
	t.Parallel()
	s := &screen{}
	fmt.Fprintln(s, "$ matoolkit batch watch 1")
	log := termlog.NewHandler(s, slog.LevelInfo)
	bars := render.NewBars(s, 100, false)
	bars.Show(progress(3, 0, api.PhaseDispatched))
	fmt.Fprintln(s, "a line of any program")
	bars.Show(progress(9, 1, api.PhaseDispatched))
	for i := range 4 { // programs of matoolkit erase what the line held before
		_ = log.Handle(t.Context(), slog.NewRecord(time.Date(2026, 1, 2, 10, 0, i, 0, time.UTC), slog.LevelInfo, "job done", 0))
	}
	bars.Show(progress(20, 2, api.PhaseDispatched))
	bars.Show(progress(23, 2, api.PhaseCompleted))
	bars.Close()
	fmt.Fprintln(s, "$")
	const want = `$ matoolkit batch watch 1
a line of any program
10:00:00Z INFO  job done
10:00:01Z INFO  job done
10:00:02Z INFO  job done
10:00:03Z INFO  job done
Batch 1  moves  active
pre-stage ██████████████████████▓▓ 25/25  completed with failures  23 succeeded, 2 failed, 1m0s
cut-over  ░░░░░░░░░░░░░░░░░░░░░░░░  0/25  pending                  25 waiting
$
`
	if got := s.String(); got != want {
		t.Errorf("the terminal shows\n%s\nwant\n%s", got, want)
	}
}

// The columns keep their places from frame to frame, though statuses and counts grow longer.
func TestColumnsOfTheDisplayKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	column := func(p ...render.Progress) int {
		s := &screen{}
		bars := render.NewBars(s, 100, false)
		for _, one := range p {
			bars.Show(one)
		}
		bars.Close()
		_, line, _ := strings.Cut(s.String(), "cut-over ")
		before, _, _ := strings.Cut(line, "25 waiting")
		return len([]rune(before))
	}
	failed, running := progress(23, 2, api.PhaseCompleted), progress(3, 0, api.PhaseDispatched)
	if last, grown := column(failed), column(failed, running); last != grown {
		t.Errorf("the counts stand at column %d, and after a shorter frame at %d", last, grown)
	}
}

// A phase with failures is not a full bar.
func TestBarOfAPhaseWithFailures(t *testing.T) {
	t.Parallel()
	for members, want := range map[int]string{25: "▓", 10_000: "▓"} {
		s := &screen{}
		bars := render.NewBars(s, 80, false)
		p := progress(23, 2, api.PhaseCompleted)
		p.Phases[0].Members, p.Phases[0].Succeeded, p.Phases[0].Running = members, members-1, 0
		p.Phases[0].Failed = 1
		bars.Show(p)
		bars.Close()
		if got := s.String(); strings.Count(got, want) == 0 || !strings.Contains(got, "completed with failures") {
			t.Errorf("%d members, 1 failed:\n%s", members, got)
		}
	}
}
