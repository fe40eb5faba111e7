package e2e_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
)

// operations is what has gone wrong before the blocks of docs/operations.md, for a system
// that is that of docs/operating.md.
var operations = map[string]func(*runner){
	"matoolkit batch list":   func(r *runner) { r.announced(anyWorker) },
	"matoolkit batch get 42": (*runner).fails,
	"matoolkit batch retry 42 --error no result --reason the worker was down": func(r *runner) {
		r.names = append(r.names, "no result", "asked for a failure")
	},
	"matoolkit runbook list":  (*runner).lacksItsSource,
	"matoolkit messages list": (*runner).strangeTwice,
	"matoolkit automation disable moves": func(r *runner) {
		r.settle = nil
		r.batch(3)
	},
}

// lacksItsSource has automation look for people where there is no list.
func (r *runner) lacksItsSource() {
	r.t.Helper()
	r.settle = nil
	if _, err := os.Stat(filepath.Join(r.home, "people.csv")); !os.IsNotExist(err) {
		r.t.Fatalf("there is a list: %v", err)
	}
	r.must("automation", "enable", "moves")
	r.tick()
	var all api.Page[api.Runbook]
	r.ask(&all, "runbook", "list")
	if len(all.Items) != 1 || all.Items[0].LastError == "" {
		r.t.Fatalf("the runbook does not fail: %+v", all.Items)
	}
}

// strangeTwice has two messages kept: the page replays the one and discards the other.
func (r *runner) strangeTwice() {
	r.t.Helper()
	r.strange()
	r.settle = func(line string) {
		if !strings.Contains(line, "messages replay") {
			return
		}
		var kept api.Page[api.UnprocessedMessage]
		r.ask(&kept, "messages", "list")
		if len(kept.Items) == 0 {
			r.t.Fatal("nothing is kept besides")
		}
		r.names = []string{r.names[0], kept.Items[0].ID}
	}
}
