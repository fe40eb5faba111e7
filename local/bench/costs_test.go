package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// grid is a table of a page: its heading, and its rows by what the first column says.
type grid struct {
	columns []string
	rows    map[string][]string
	order   []string
}

var rule = regexp.MustCompile(`^\|[-|]+\|$`)

// grids reads the tables of a page.
func grids(page string) []grid {
	var all []grid
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		if !rule.MatchString(line) {
			continue
		}
		g := grid{columns: cells(lines[i-1]), rows: map[string][]string{}}
		for _, row := range lines[i+1:] {
			if !strings.HasPrefix(row, "|") {
				break
			}
			c := cells(row)
			g.rows[c[0]], g.order = c, append(g.order, c[0])
		}
		all = append(all, g)
	}
	return all
}

func cells(line string) []string {
	var all []string
	for c := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		all = append(all, strings.TrimSpace(c))
	}
	return all
}

// sheet checks the tables of a page; wrong is what it found.
type sheet struct {
	tables []grid
	wrong  []string
}

func (s *sheet) find(first, second string) grid {
	for _, g := range s.tables {
		if g.columns[0] == first && g.columns[1] == second {
			return g
		}
	}
	s.wrong = append(s.wrong, fmt.Sprintf("there is no table of %q and %q", first, second))
	return grid{}
}

// text is a cell, by its row and its column.
func (s *sheet) text(g grid, row, column string) string {
	i := slices.Index(g.columns, column)
	if i < 0 || len(g.rows[row]) <= i {
		s.wrong = append(s.wrong, fmt.Sprintf("there is no cell of %q and %q", row, column))
		return "0"
	}
	return g.rows[row][i]
}

func (s *sheet) number(g grid, row, column string) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(s.text(g, row, column), ",", ""), 64)
	if err != nil {
		s.wrong = append(s.wrong, fmt.Sprintf("%q and %q: %v", row, column, err))
	}
	return n
}

// is holds a cell against what it must be, with as many decimals as it has.
func (s *sheet) is(g grid, row, column string, want float64) {
	_, decimals, _ := strings.Cut(s.text(g, row, column), ".")
	step := math.Pow(10, -float64(len(decimals)))
	if got := s.number(g, row, column); math.Abs(got-want) > step/2+1e-9 {
		s.wrong = append(s.wrong, fmt.Sprintf("%s, %s: it says %v, which should be %v", row, column, got, want))
	}
}

// cost is an amount at a price, rounded to cents.
func (s *sheet) cost(amount float64, key string) float64 {
	prices := s.find("key", "USD")
	return math.Round(100*amount/s.number(prices, key, "per")*s.number(prices, key, "USD")) / 100
}

// check recomputes everything on the page that comes from something else on it.
func check(page string) []string {
	s := &sheet{tables: grids(page)}
	counted := s.find("of", "RU written")
	const step, poll, member = "a step", "a poll", "a member: 15 steps, 30 polls"
	for _, row := range []string{step, poll} {
		s.is(counted, row, "RU billed", s.number(counted, row, "RU written")+2*s.number(counted, row, "RU read"))
	}
	for _, column := range counted.columns[1:] {
		s.is(counted, member, column, 15*s.number(counted, step, column)+30*s.number(counted, poll, column))
	}

	used := s.find("what", "a member")
	executions := s.number(counted, member, "executions")
	for row, want := range map[string]float64{
		"RU":                                 s.number(counted, member, "RU billed"),
		"bus operations":                     s.number(counted, member, "bus operations"),
		"executions":                         executions,
		"GB-s of functions, at most":         executions * 2,
		"vCPU-s of the worker":               30 * 0.5,
		"GiB-s of the worker":                30,
		"GB of documents and index, a month": s.number(counted, member, "KB stored") * 2 / 1e6,
		"GB of logs":                         (executions*2 + s.number(counted, member, "KB logged")) / 1e6,
	} {
		s.is(used, row, "a member", want)
	}
	s.totals(used, map[string]string{"1,000 members": "USD for 1,000", "10,000 members": "USD for 10,000"}, func(row string) {
		s.is(used, row, "1,000 members", 1000*s.number(used, row, "a member"))
		s.is(used, row, "10,000 members", 10000*s.number(used, row, "a member"))
	})

	standing := s.find("what", "dev")
	s.totals(standing, map[string]string{"dev": "USD for dev", "prod": "USD for prod"}, func(string) {})
	const ticks = 730 * 60 / 5
	for row, want := range map[string]float64{
		"RU of ticks": ticks * 100, "ticks, GB-s": ticks * 2, "logs, GB": ticks * 2 / 1e6,
	} {
		s.is(standing, row, "dev", want)
	}
	s.is(standing, "three waiting instances of 2 GB, GB-s", "prod", 3*2*730*3600)
	s.is(standing, "a tenth of 4,000 RU/s, hours × 100 RU/s", "prod", 4*730)
	s.is(standing, "private endpoints, hours", "prod", 7*730)

	limits := s.find("limit", "a second")
	for _, row := range limits.order {
		second := s.number(limits, row, "a second")
		s.is(limits, row, "steps a second", math.Floor(second/s.number(limits, row, "a step takes")))
		s.is(limits, row, "members an hour", 100*math.Round(second*3600/s.number(limits, row, "a member takes")/100))
		if strings.Contains(row, "Cosmos") {
			s.is(limits, row, "a step takes", s.number(counted, step, "RU billed"))
			s.is(limits, row, "a member takes", s.number(counted, member, "RU billed"))
		}
		if strings.Contains(row, "Service Bus") {
			s.is(limits, row, "a step takes", s.number(counted, step, "bus operations"))
			s.is(limits, row, "a member takes", s.number(counted, member, "bus operations"))
		}
	}
	return s.wrong
}

// totals checks a table of amounts and what they cost, by the column that each amount
// has its cost in.
func (s *sheet) totals(g grid, columns map[string]string, row func(string)) {
	for amount, cost := range columns {
		total := 0.0
		for _, name := range g.order {
			if name == "together" {
				s.is(g, name, cost, total)
				continue
			}
			s.is(g, name, cost, s.cost(s.number(g, name, amount), s.text(g, name, "price")))
			total += s.number(g, name, cost)
		}
	}
	for _, name := range g.order {
		if name != "together" {
			row(name)
		}
	}
}

// What Azure bills is each operation of Service Bus, by whomever, and each delivery to the
// app as an execution; what is read counts apart from what is written.
func TestAmountsAreOfWhatWasCounted(t *testing.T) {
	t.Parallel()
	r := result{usage: []usage{{name: "handler", cpu: 2 * time.Second}, {name: "worker", cpu: time.Second}, {name: "cosmos", cpu: time.Hour}}, logged: 7000}
	r.stats.Cosmos = &cosmos.Stats{RU: 100, ReadRU: 30, Stored: 5000}
	r.stats.ServiceBus = &servicebus.Stats{Entities: map[string]servicebus.EntityStats{
		"worker-jobs": {Sent: 10, Messages: 99},
		"worker-jobs/Subscriptions/worker-worker-01":     {Delivered: 20, Completed: 30, Messages: 99},
		"worker-results/Subscriptions/orchestrator":      {Delivered: 40, Abandoned: 50, DeadLettered: 60, Expired: 99},
		"orchestrator-events/Subscriptions/orchestrator": {Delivered: 70, Renewed: 80, Peeked: 90},
	}}
	want := amounts{jobs: 10, writes: 70, reads: 30, operations: 450, executions: 110, handler: 2, worker: 1, stored: 5000, logged: 7000}
	if got := r.amounts(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	less := amounts{jobs: 5, writes: 60, reads: 10, operations: 50, executions: 10, handler: 1, worker: 0.5, stored: 1000, logged: 2000}
	if got, want := less.per(want, 10), (amounts{jobs: 0.5, writes: 1, reads: 2, operations: 40, executions: 10, handler: 0.1, worker: 0.05, stored: 400, logged: 500}); got != want {
		t.Errorf("a tenth of what is more: got %+v, want %+v", got, want)
	}
}

// The page of costs is right in itself: what it works out comes of what it counts and of
// the prices that it names. A figure that is changed alone is found.
func TestCostsAddUp(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "costs.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if wrong := check(page); len(wrong) > 0 {
		t.Errorf("docs/costs.md:\n%s", strings.Join(wrong, "\n"))
	}
	changes := 0
	for _, g := range grids(page) {
		if g.columns[0] == "key" {
			continue // a price that is used makes a difference in the tables that use it
		}
		for _, row := range g.order {
			for i, cell := range g.rows[row] {
				n, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64)
				if i == 0 || err != nil || n == 0 {
					continue
				}
				other := slices.Clone(g.rows[row])
				other[i] = strconv.FormatFloat(n*1.5+7, 'f', 4, 64)
				before, after := "| "+strings.Join(g.rows[row], " | ")+" |", "| "+strings.Join(other, " | ")+" |"
				changed := strings.Replace(page, before, after, 1)
				if changed == page {
					continue // a row with empty cells
				}
				if changes++; len(check(changed)) == 0 {
					t.Errorf("nobody notices %v in place of %s of %s", other[i], g.columns[i], row)
				}
			}
		}
	}
	if changes < 100 {
		t.Errorf("only %d figures were changed to see whether it is noticed", changes)
	}
	for key, rows := range map[string]string{"| bus-premium | 677.08 |": "| bus-premium | 700 |", "| 0.80 | 1,000,000 | operations": "| 0.90 | 1,000,000 | operations"} {
		if changed := strings.Replace(page, key, rows, 1); changed == page || len(check(changed)) == 0 {
			t.Errorf("nobody notices %s", rows)
		}
	}
}
