package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
)

// movePreview is the effect of an advance, and outlook is how the command shows it.
const (
	movePreview = `{"batchId":42,"action":"advance","members":20,"jobs":60,"phases":[{"phase":"move","effect":"starts","members":20,"jobs":60}],"duration":{"seconds":1710,"batchIds":[41]},"wayBack":"Pausing helps."}`
	outlook     = "Batch 42: 20 members, up to 60 jobs.\n  move starts for 20 members (60 jobs).\nDuration: about 28m30s, as measured before.\nWay back: Pausing helps.\n"
)

// An advance names the phase that a person has seen, or that a script gives. It starts no other
// phase, and sends nothing without a confirmation.
func TestAdvanceNamesThePhaseItStarts(t *testing.T) {
	t.Parallel()
	began := start
	phase := func(name, status string, succeeded, failed int) api.Phase {
		v := api.Phase{Name: name, Kind: "phase", Status: status, Succeeded: succeeded, Failed: failed, Members: succeeded + failed}
		if status == "pending" {
			v.Members, v.Waiting = 20, 20
		} else {
			v.DispatchedAt = &began
		}
		return v
	}
	init := func(status string) api.Phase {
		v := phase("init", status, 0, 0)
		v.Kind, v.Members = "init", 0
		return v
	}
	pending, last := phase("move", "pending", 0, 0), phase("clean up", "pending", 0, 0)
	gated := pending
	gated.Approval = true
	breaks := pending
	breaks.StopWhen = "10%"
	const question = "Start phase move of batch 42 of moves (20 members)? [y/N] "
	const asked = outlook + question
	const refused = `{"detail":"why","error":"conflict","nextPhase":%q}`
	for _, tt := range []struct {
		name    string
		args    string
		answer  string // what a person types; there is no terminal where it is empty
		batch   api.Batch
		phases  []api.Phase
		refuses []string // problem documents, before the request is taken
		sent    []string // phase and If-Match of each request
		exit    int
		says    []string
	}{
		{name: "no terminal", phases: []api.Phase{pending}, exit: 2, says: []string{"give --phase <name>, or --yes for the next phase"}},
		{name: "an empty name", args: "--phase=", phases: []api.Phase{pending}, exit: 2, says: []string{"--phase is empty"}},
		{name: "named", args: "--phase move", phases: []api.Phase{pending}, sent: []string{"move"}, says: []string{"Started phase move (20 members). Remaining: clean up."}},
		{name: "named with --yes on a terminal", args: "--phase move --yes", answer: "n\n", phases: []api.Phase{pending}, sent: []string{"move"}},
		{name: "named, and it is not next", args: "--phase clean", phases: []api.Phase{pending, last}, refuses: []string{fmt.Sprintf(refused, "move")}, sent: []string{"clean"}, exit: 5, says: []string{"why"}},
		{name: "named on a terminal", args: "--phase move", answer: "y\n", phases: []api.Phase{pending}, sent: []string{`move "e1"`}, says: []string{asked}},
		{name: "named on a terminal, and it is not next", args: "--phase move", answer: "n\n", phases: []api.Phase{phase("move", "completed", 20, 0), last}, sent: []string{`move "e1"`}},
		{name: "yes", args: "--yes", phases: []api.Phase{phase("check", "completed", 20, 5), pending}, sent: []string{"move"}},
		{name: "yes, and init is next", args: "--yes", phases: []api.Phase{init("pending"), pending}, sent: []string{"init"}},
		{
			name: "yes after a phase in which no member succeeded", args: "--yes", phases: []api.Phase{init("completed"), phase("check", "failed", 0, 25), last},
			exit: 5, says: []string{"No member succeeded in phase check: 25 failed, 0 cancelled.", "matoolkit batch advance 42 --phase 'clean up'"},
		},
		{name: "yes while a phase runs", args: "--yes", phases: []api.Phase{phase("check", "dispatched", 0, 2), pending}, refuses: []string{fmt.Sprintf(refused, "move")}, sent: []string{`move "e1"`}, exit: 5, says: []string{"why"}},
		{name: "yes with no phase left", args: "--yes", phases: []api.Phase{phase("move", "completed", 2, 0)}, exit: 5, says: []string{"no phase remains"}},
		{
			name: "yes after a newer version", args: "--yes", phases: []api.Phase{pending},
			refuses: []string{fmt.Sprintf(refused, "check")}, sent: []string{"move", "move"},
		},
		{name: "asked", answer: "y\n", phases: []api.Phase{pending, last}, sent: []string{`move "e1"`}, says: []string{asked}},
		{name: "asked after a phase", answer: "y\n", phases: []api.Phase{phase("check", "completed", 20, 5), pending}, sent: []string{`move "e1"`}, says: []string{"Phase check completed with failures: 20 succeeded, 5 failed.\n" + asked}},
		{name: "asked for a phase with a stop_when", answer: "y\n", phases: []api.Phase{breaks}, sent: []string{`move "e1"`}, says: []string{"Start phase move of batch 42 of moves (20 members, stops when 10% failed)? [y/N] "}},
		{name: "asked after init", answer: "y\n", phases: []api.Phase{init("completed"), pending}, sent: []string{`move "e1"`}, says: []string{"Init completed.\n" + asked}},
		{name: "asked after a phase in which no member succeeded", answer: "y\n", phases: []api.Phase{phase("check", "failed", 0, 25), pending}, sent: []string{`move "e1"`}, says: []string{"No member succeeded in phase check: 25 failed, 0 cancelled.\n" + asked}},
		{name: "asked for init", answer: "y\n", phases: []api.Phase{init("pending"), pending}, sent: []string{`init "e1"`}, says: []string{"Start init of batch 42 of moves (25 members)? [y/N] "}},
		{name: "no", answer: "n\n", phases: []api.Phase{pending}, exit: 1, says: []string{asked, "nothing was changed"}},
		{name: "no answer", answer: "\n", phases: []api.Phase{pending}, exit: 1, says: []string{"nothing was changed"}},
		{name: "changed meanwhile", answer: "y\ny\n", phases: []api.Phase{pending}, refuses: []string{`{"detail":"why","error":"changed"}`}, sent: []string{`move "e1"`}, exit: 1, says: []string{asked + asked}},
		{name: "paused", answer: "y\n", batch: api.Batch{Paused: &api.Attribution{By: "ada"}}, phases: []api.Phase{pending}, refuses: []string{fmt.Sprintf(refused, "move")}, sent: []string{`move "e1"`}, exit: 5, says: []string{"why"}},
		{name: "waits for approval", answer: "y\n", phases: []api.Phase{gated}, refuses: []string{fmt.Sprintf(refused, "move")}, sent: []string{`move "e1"`}, exit: 5, says: []string{"why"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			batch := tt.batch
			batch.ID, batch.RunbookName, batch.Status, batch.IsManual, batch.MemberCount, batch.ETag = 42, "moves", "active", true, 25, "e1"
			for _, p := range tt.phases {
				if p.DispatchedAt != nil {
					batch.CurrentPhase = p.Name
				}
			}
			var sent []string
			refuses := slices.Clone(tt.refuses)
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				var answer any = batch
				switch {
				case r.Method == http.MethodPost:
					var request struct {
						Phase  string
						DryRun bool
					}
					body, _ := io.ReadAll(r.Body)
					if _ = json.Unmarshal(body, &request); request.DryRun {
						_, _ = io.WriteString(w, movePreview)
						return
					}
					sent = append(sent, strings.TrimSpace(request.Phase+" "+r.Header.Get("If-Match")))
					if len(refuses) > 0 {
						w.Header().Set("Content-Type", "application/problem+json")
						w.WriteHeader(map[bool]int{true: http.StatusPreconditionFailed, false: http.StatusConflict}[strings.Contains(refuses[0], "changed")])
						_, _ = io.WriteString(w, refuses[0])
						refuses = refuses[1:]
						return
					}
					answer = api.AdvanceResult{Batch: batch, Advanced: request.Phase, Members: 20, Remaining: []string{"clean up"}}
				case strings.HasSuffix(r.URL.Path, "/phases"):
					answer = api.Page[api.Phase]{Items: tt.phases}
				}
				_ = json.NewEncoder(w).Encode(answer)
			}))
			t.Cleanup(api.Close)
			var out, notices bytes.Buffer
			root := cli.NewRoot(command.Environment{
				Stdin: strings.NewReader(tt.answer), Stdout: &out, Stderr: &notices, Terminal: tt.answer != "", Width: 80,
				Now:   func() time.Time { return start },
				Token: func(context.Context) (string, error) { return "token", nil },
				Getenv: func(name string) string {
					return map[string]string{"MATOOLKIT_API_URL": api.URL, "MATOOLKIT_CONFIG_DIR": t.TempDir()}[name]
				},
			})
			root.SetArgs(append([]string{"batch", "advance", "42"}, strings.Fields(tt.args)...))
			if exit := cli.Execute(t.Context(), root); exit != tt.exit {
				t.Errorf("ended with %d, want %d", exit, tt.exit)
			}
			if !slices.Equal(sent, tt.sent) {
				t.Errorf("sent %q, want %q", sent, tt.sent)
			}
			for _, says := range tt.says {
				if !strings.Contains(notices.String(), says) {
					t.Errorf("it does not say %q:\n%s", says, notices.String())
				}
			}
			if strings.Contains(notices.String(), "[y/N]") != (strings.Contains(strings.Join(tt.says, ""), "[y/N]") || tt.name == "no answer") {
				t.Errorf("asked:\n%s", notices.String())
			}
		})
	}
}
