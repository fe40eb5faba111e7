package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/bus"
	membus "github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/condition"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/storable"
	"github.com/matoolkit/matoolkit/internal/store"
	memstore "github.com/matoolkit/matoolkit/internal/store/memory"
)

const (
	runbookHead = "name: m\ndata_source: {type: csv, connection: C, query: p.csv, primary_key: Upn, batch_time: immediate}\n"
	onePhase    = "phases:\n  - {name: p, offset: T-0, steps: [{name: s, worker_id: w, function: No-Op}]}\n"
)

// items writes n items of a YAML list.
func items(n int, item string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, item, i)
	}
	return b.String()
}

func parsing(text string) error {
	_, found := runbook.Parse([]byte(text))
	return found.Err()
}

// filed reads a file of members.
func filed(t *testing.T, file membercsv.File) error {
	t.Helper()
	rb, _ := runbook.Parse([]byte(runbookHead + strings.Replace(onePhase, "No-Op}", "No-Op, params: {A: \"{{Name}}\"}}", 1)))
	members, err := membercsv.Read(file, rb, membercsv.Options{})
	if err != nil {
		return err
	}
	var all []string
	for _, p := range members.Problems {
		all = append(all, p.Message)
	}
	return errors.New(strings.Join(all, "\n"))
}

// huge is a file that is larger than its content.
type huge struct{ *bytes.Reader }

// Size is a byte more than is allowed.
func (huge) Size() int64 { return membercsv.MaxBytes + 1 }

// scheduled reads one row of a data source.
func scheduled(t *testing.T, key, name string) error {
	t.Helper()
	rb, _ := runbook.Parse([]byte(runbookHead + strings.Replace(onePhase, "No-Op}", "No-Op, params: {A: \"{{Name}}\"}}", 1)))
	result, err := schedule.NewResult(rb, []string{"Upn", "Name"})
	if err != nil {
		t.Fatal(err)
	}
	var values []json.RawMessage
	for _, text := range []string{key, name} {
		value, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	result.Add(values)
	problems, _ := result.Problems()
	return fmt.Errorf("%v", problems)
}

func applied(writes ...store.Write) func(*testing.T) error {
	return func(t *testing.T) error {
		t.Helper()
		_, err := memstore.New(memstore.Config{}).Apply(t.Context(), writes)
		return err
	}
}

// provoked has an attempt to exceed each limit, by its table and name. The others are exceeded
// by the tests of a package.
var provoked = map[string]func(*testing.T) error{
	"Runbook/runbook": func(*testing.T) error { return parsing(strings.Repeat("#", runbook.MaxBytes+1)) },
	"Runbook/phases": func(*testing.T) error {
		return parsing(runbookHead + "phases:\n" + items(201, "  - {name: p%d, offset: T-0, steps: [{name: s, worker_id: w, function: No-Op}]}\n"))
	},
	"Runbook/steps of a list, checks": func(*testing.T) error {
		return parsing(runbookHead + "init:\n" + items(501, "  - {name: s%d, worker_id: w, function: No-Op}\n") + onePhase)
	},
	"Runbook/`multi_valued_columns`": func(*testing.T) error {
		return parsing(strings.Replace(runbookHead, "primary_key", "multi_valued_columns: ["+items(501, "{name: C%d, format: json_array},")+"], primary_key", 1) + onePhase)
	},
	"Runbook/`secret`": func(*testing.T) error {
		return parsing(runbookHead + "secret: [" + items(101, "C%d,") + "]\n" + onePhase)
	},
	"Runbook/workers": func(*testing.T) error {
		return parsing(runbookHead + "init:\n" + items(101, "  - {name: s%d, worker_id: w%[1]d, function: No-Op}\n") + onePhase)
	},
	"Runbook/`vars`": func(*testing.T) error {
		return parsing(runbookHead + "vars: {" + items(101, "c%d: 1,") + "}\n" + onePhase)
	},
	"Runbook/key in a parameter": func(*testing.T) error {
		return parsing(runbookHead + strings.Replace(onePhase, "No-Op}", "No-Op, params: {"+strings.Repeat("k", 201)+": 1}}", 1))
	},
	"Runbook/condition": func(*testing.T) error {
		_, err := condition.Parse(strings.Repeat("x", condition.MaxText+1), nil)
		return err
	},
	"Runbook/text after a filter": func(*testing.T) error {
		_, err := template.ResolveString(`{{Name | replace("x", "`+strings.Repeat("y", 1000)+`")}}`, template.Variables{"Name": strings.Repeat("x", 1000)})
		return err
	},
	"Members from a file/file": func(t *testing.T) error { return filed(t, huge{bytes.NewReader(nil)}) },
	"Members from a file/members of a file": func(t *testing.T) error {
		return filed(t, bytes.NewReader([]byte("Upn,Name\n"+items(membercsv.MaxRows+1, "u%d,n\n"))))
	},
	"Members from a file/columns": func(t *testing.T) error {
		return filed(t, bytes.NewReader([]byte("Upn,Name,"+items(1000, "C%d,")+"Z\n")))
	},
	"Members from a file/value": func(t *testing.T) error {
		return filed(t, bytes.NewReader([]byte("Upn,Name\nu,"+strings.Repeat("n", 32_768)+"\n")))
	},
	"Members from a file/row": func(t *testing.T) error {
		return filed(t, bytes.NewReader([]byte("Upn,Name,A,B,C,D\nu"+strings.Repeat(","+strings.Repeat("n", 30_000), 5)+"\n")))
	},
	"Members from a file/key of a member": func(t *testing.T) error {
		return filed(t, bytes.NewReader([]byte("Upn,Name\n"+strings.Repeat("u", 256)+",n\n")))
	},
	"Members from a data source/used columns of a row": func(t *testing.T) error { return scheduled(t, "u", strings.Repeat("n", schedule.MaxRow)) },
	"Members from a data source/key of a member":       func(t *testing.T) error { return scheduled(t, strings.Repeat("u", 256), "n") },
	"Requests/name of a batch":                         func(*testing.T) error { return details(func(d *api.BatchDetails, s *string) { d.Name = s }, 101) },
	"Requests/owner of a batch":                        func(*testing.T) error { return details(func(d *api.BatchDetails, s *string) { d.Owner = s }, 201) },
	"Requests/note of a batch":                         func(*testing.T) error { return details(func(d *api.BatchDetails, s *string) { d.Note = s }, 1001) },
	"Requests/moves of members from one batch that are under way": func(*testing.T) error {
		return engine.RefuseMove(&model.Batch{ID: 7, Status: model.BatchActive, Moves: make([]model.Move, 20)}, &model.Member{ID: 1})
	},
	"Steps/nesting of a value": func(*testing.T) error {
		_, err := storable.JSON(json.RawMessage(strings.Repeat("[", 121) + strings.Repeat("]", 121)))
		return err
	},
	"Messages and workers/message in the tier Standard, with properties": func(t *testing.T) error {
		broker, err := membus.New(membus.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return broker.Client(nil).Send(t.Context(), message.TopicWorkerJobs, bus.Message{ID: "a", Body: make([]byte, bus.MaxMessage+1)})
	},
	"Messages and workers/jobs in a heartbeat": func(*testing.T) error {
		now := time.Now()
		return message.Heartbeat{WorkerID: "w", ReplicaID: "r", Timestamp: now, MaxParallelism: 8, InFlight: message.MaxHeartbeatJobs + 1, JobsInFlight: make([]string, message.MaxHeartbeatJobs+1)}.Check(now)
	},
	"Store/document, or transaction": applied(store.Create(store.Key{PK: "batch:1", ID: "a"}, strings.Repeat("x", store.MaxBytes))),
	"Store/operations of a transaction": func(t *testing.T) error {
		var writes store.Writes
		for i := range store.MaxOperations + 1 {
			writes = append(writes, store.Create(store.Key{PK: "batch:1", ID: fmt.Sprint(i)}, struct{}{}))
		}
		return writes.Check()
	},
}

func details(set func(*api.BatchDetails, *string), length int) error {
	var d api.BatchDetails
	text := strings.Repeat("ä", length)
	set(&d, &text)
	_, err := membership.CheckDetails(d)
	return err
}

// elsewhere names the folder whose tests exceed a limit; they have the text of the error, or its end.
var elsewhere = map[string]string{
	"Members from a file/all keys of a file":                        "internal/membercsv",
	"Members from a file/members that are added to a batch at once": "internal/app",
	"Members from a file/members that are updated at once":          "internal/app",
	"Members from a data source/rows of a result":                   "internal/datasource",
	"Members from a data source/row of a result":                    "internal/datasource",
	"Members from a data source/result":                             "internal/datasource",
	"Members from a data source/row of a CSV file or blob":          "internal/datasource/csvfile",
	"Members from a data source/Excel file":                         "internal/datasource/graph",
	"Requests/reason":                                               "functions/admin-http",
	"Requests/idempotency key":                                      "functions/admin-http",
	"Requests/body with a reason":                                   "functions/admin-http",
	"Requests/body with a result":                                   "functions/admin-http",
	"Requests/token":                                                "internal/signin",
	"Steps/parameters or result of a step":                          "internal/engine",
	"Steps/parameters with secrets":                                 "internal/engine",
	"Steps/all steps of one member in one phase":                    "internal/engine",
	"Steps/outputs of a phase":                                      "internal/engine",
	"Steps/outputs of a member":                                     "internal/engine",
	"Steps/name of a function":                                      "internal/engine",
	"Steps/result that `batch mark-done` gives a step":              "internal/engine",
	"Messages and workers/answer of a function":                     "worker/dispatch",
	"Messages and workers/catalogue of a worker":                    "internal/app",
	"Messages and workers/functions of a worker":                    "internal/app",
	"Messages and workers/parameters or fields of a function":       "internal/app",
	"Messages and workers/heartbeat":                                "internal/app",
	"Messages and workers/manifest of a custom function":            "worker/custom",
	"Messages and workers/answer of a custom function":              "worker/custom",
}

// TestSpecificationEveryLimitIsNamedInItsError exceeds each limit. The error has the limit and, unless reading
// stops there, the size that was given.
func TestSpecificationEveryLimitIsNamedInItsError(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, group := range limitGroups() {
		for _, l := range group.Limits {
			name := group.Name + "/" + l.Name
			if seen[name] {
				t.Errorf("%s is listed twice", name)
			}
			seen[name] = true
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if err := l.read("../.."); err != nil {
					t.Fatal(err)
				}
				if l.Error == "" {
					if l.Then == "" {
						t.Error("it has neither an error nor another effect")
					}
					return
				}
				pattern := regexp.QuoteMeta(l.Error)
				pattern = strings.ReplaceAll(pattern, "LIMIT", fmt.Sprint(l.Value))
				pattern = regexp.MustCompile(`\bN\b`).ReplaceAllString(pattern, `\d+`)
				pattern = strings.ReplaceAll(pattern, "X", `.+`)
				switch provoke, dir := provoked[name], elsewhere[name]; {
				case provoke != nil:
					if err := provoke(t); err == nil || !regexp.MustCompile(pattern).MatchString(err.Error()) {
						t.Errorf("the error is %.300v, want %s", err, pattern)
					}
				case dir == "":
					t.Error("no test exceeds it")
				case !tested(t, dir, l):
					t.Errorf("no test of %s has %q", dir, l.Error)
				}
			})
		}
	}
	for name := range provoked {
		if !seen[name] {
			t.Errorf("there is no limit %s", name)
		}
	}
	for name := range elsewhere {
		if !seen[name] {
			t.Errorf("there is no limit %s", name)
		}
	}
}

// tested reports whether a test in a folder has a text with the limit and the words around it.
func tested(t *testing.T, dir string, l *limit) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	words := regexp.MustCompile(`[^NX]*LIMIT\w*( \w+)?`).FindString(l.Error)
	words = strings.TrimSpace(words[max(0, strings.LastIndex(words, "; ")):])
	words = strings.TrimPrefix(words, "; ")
	words = strings.ReplaceAll(words, "LIMIT", fmt.Sprint(l.Value))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(words)) {
			return true
		}
	}
	t.Logf("no %q", words)
	return false
}
