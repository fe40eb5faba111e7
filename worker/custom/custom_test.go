package custom_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
)

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// directory is one of custom functions.
type directory struct{ path string }

func newDirectory(t *testing.T) directory {
	t.Helper()
	d := directory{t.TempDir()}
	if err := os.Chmod(d.path, 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

// write makes a file. Another process does, because one that this process had open
// for writing could not be executed while a parallel test starts a process, which
// has its open files for a moment.
func (d directory) write(t *testing.T, name, mode, content string) string {
	t.Helper()
	path := filepath.Join(d.path, name)
	cmd := exec.Command("/bin/sh", "-c", `mkdir -p "$(dirname "$0")" && cat >"$0" && chmod "$1" "$0"`, path, mode)
	cmd.Stdin = strings.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// script makes a function Do of a shell script, with more lines of its manifest.
func (d directory) script(t *testing.T, manifest, script string) {
	t.Helper()
	d.write(t, "do.sh", "755", "#!/bin/sh\n"+script)
	d.write(t, "do.yaml", "644", "name: Do\ndescription: Does.\ncommand: [do.sh]\n"+manifest)
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		if name == "PATH" {
			return os.Getenv("PATH")
		}
		return ""
	}
}

func (d directory) load(t *testing.T, getenv func(string) string) (*custom.Set, *catalog.Catalog) {
	t.Helper()
	set := testenv.Must(custom.Load(custom.Config{Dir: d.path, Getenv: getenv, Own: []string{"APP_SECRET"}, MaxTimeout: time.Hour}))(t)
	c := testenv.Must(catalog.New(set.Functions()...))(t)
	return set, c
}

// call calls Do and gives its answer as JSON, or its failure.
func call(t *testing.T, c *catalog.Catalog, params string) (string, *catalog.Failure) {
	t.Helper()
	return callWith(t, t.Context(), c, params)
}

func callWith(t *testing.T, ctx context.Context, c *catalog.Catalog, params string) (string, *catalog.Failure) {
	t.Helper()
	return callFunction(t, ctx, c, "Do", params)
}

func callFunction(t *testing.T, ctx context.Context, c *catalog.Catalog, name, params string) (string, *catalog.Failure) {
	t.Helper()
	answer, err := c.Call(ctx, name, []byte(params))
	if err != nil {
		var f *catalog.Failure
		if !errors.As(err, &f) {
			t.Fatalf("failed with %T: %v, not with a *catalog.Failure", err, err)
		}
		return "", f
	}
	raw := testenv.Must(json.Marshal(answer))(t)
	return string(raw), nil
}

func withLog(ctx context.Context, to *testenv.Buffer) context.Context {
	return catalog.WithJob(ctx, catalog.Job{
		ID: "batch-42-step-7-attempt-1", EffectID: "42/7/1", BatchID: 42, StepExecutionID: 7,
		Log: slog.New(slog.NewJSONHandler(to, nil)).With("JobId", "step-7-attempt-1"),
	})
}

func TestFunctionIsCalledWithJSONAndAnswersJSON(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.write(t, "bin/do", "755", "#!/bin/sh\necho \"with $1 and $2\" >&2\nprintf '{\"success\":true,\"result\":{\"Input\":%s}}' \"$(cat)\"\n")
	d.write(t, "do.yaml", "644", `
name: Do
description: Does.
params:
  - {name: UserId, type: guid, required: true, description: Who.}
  - {name: Names, type: string list, description: Which.}
  - {name: Really, type: boolean, description: Whether.}
  - {name: Note, description: Text.}
result:
  - {name: Input, description: What was read.}
permissions: [Badge.Write]
timeout: 30s
command: [bin/do, --badge, "two words"]
`)
	_, c := d.load(t, environment())
	log := &testenv.Buffer{}
	got, failure := callWith(t, withLog(t.Context(), log), c,
		`{"userid":"11111111-0000-4000-8000-00000000000A","NAMES":"[\"a\",\"b\"]","Really":"true","Note":17}`)
	if failure != nil {
		t.Fatal(failure)
	}
	want := `{"Input":{"function":"Do","parameters":{"Names":["a","b"],"Note":"17","Really":true,` +
		`"UserId":"11111111-0000-4000-8000-00000000000a"},` +
		`"job":{"id":"batch-42-step-7-attempt-1","effectId":"42/7/1","batchId":42,"stepExecutionId":7}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if said := log.String(); !strings.Contains(said, `"JobId":"step-7-attempt-1","Line":"with --badge and two words"`) {
		t.Errorf("the log says %s", said)
	}
	f := c.Functions()[0]
	if f.Description != "Does." || len(f.Params) != 4 || !f.Params[0].Required || f.Params[3].Type != catalog.String ||
		len(f.Result) != 1 || f.Permissions[0] != "Badge.Write" {
		t.Errorf("declared is %+v", f)
	}
	// What the catalogue refuses starts no process.
	if _, failure := callWith(t, withLog(t.Context(), log), c, `{"Other":1}`); failure == nil || failure.Type != catalog.FailureParameters ||
		!strings.Contains(failure.Message, `unknown parameter "Other"; required parameter UserId is missing`) {
		t.Errorf("got %+v", failure)
	}
	if n := strings.Count(log.String(), "standard error"); n != 1 {
		t.Errorf("%d processes were started", n)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		note, manifest, script string
		want                   string
		failure                catalog.Failure // its message need only hold the one here
	}{
		{"true", "", `echo '{"success":true,"result":true}'`, `true`, catalog.Failure{}},
		{"false", "", `echo '{"success":true,"result":false}'`, `false`, catalog.Failure{}},
		{"no result", "", `echo '{"success":true}'`, `true`, catalog.Failure{}},
		{"null for a result", "", `echo '{"success":true,"result":null,"error":null}'`, `true`, catalog.Failure{}},
		{"fields in another case, with blanks around", "", `printf '\n {"Success":true,"RESULT":{"A":1}} \n\n'`, `{"A":1}`, catalog.Failure{}},
		{"with a byte order mark", "", `printf '\357\273\277{"success":true}'`, `true`, catalog.Failure{}},
		{"a poll", "", `echo '{"success":true,"result":{"complete":false,"data":{"Done":3}}}'`, `{"complete":false,"data":{"Done":3}}`, catalog.Failure{}},
		{"numbers as they are", "", `echo '{"success":true,"result":{"N":12345678901234567890.10}}'`, `{"N":12345678901234567890.10}`, catalog.Failure{}},
		{"declared fields", "result: [{name: BadgeId, description: x}]", `echo '{"success":true,"result":{"badgeId":"7","More":1}}'`, `{"badgeId":"7","More":1}`, catalog.Failure{}},

		{
			"failure", "", `echo '{"success":false,"error":{"message":"no such badge","type":"NotFound","attempts":2}}'`, "",
			catalog.Failure{Type: "NotFound", Message: "no such badge", Attempts: 2},
		},
		{
			"failure without a type", "", `echo '{"success":false,"error":{"message":"no such badge"}}'`, "",
			catalog.Failure{Type: custom.FailureCustom, Message: "no such badge"},
		},
		{
			"throttled", "", `echo '{"success":false,"error":{"message":"slow down","isThrottled":true,"retryAfterSeconds":2.5}}'`, "",
			catalog.Failure{Type: catalog.FailureThrottled, Message: "slow down", Throttled: true, RetryAfter: 2500 * time.Millisecond},
		},
		{
			"failure with a status", "", `echo '{"success":false,"error":{"message":"no such badge"}}'; exit 4`, "",
			catalog.Failure{Type: custom.FailureCustom, Message: "no such badge"},
		},

		{"a status", "", `echo oh >&2; exit 3`, "", catalog.Failure{Type: custom.FailureProcess, Message: "Do: the process ended with exit status 3"}},
		{"success with a status", "", `echo '{"success":true}'; exit 3`, "", catalog.Failure{Type: custom.FailureProcess, Message: "exit status 3"}},
		{"a signal", "", `kill -9 $$`, "", catalog.Failure{Type: custom.FailureProcess, Message: "signal: killed"}},
		{"nothing", "", `cat >/dev/null`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "Do: standard output is empty"}},
		{"no JSON", "", `echo done`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "is not a valid answer"}},
		{"half of it", "", `printf '{"success":tr'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "is not a valid answer"}},
		{"two", "", `echo '{"success":true}{"success":true}'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "more than one answer"}},
		{"words before it", "", `echo 'Working…'; echo '{"success":true}'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "is not a valid answer"}},
		{"a list", "", `echo '[]'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "is not a valid answer"}},
		{"no success", "", `echo '{"result":true}'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "has no success"}},
		{"an unknown field", "", `echo '{"success":true,"reslut":{}}'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: `unknown field "reslut"`}},
		{"success with an error", "", `echo '{"success":true,"error":{"message":"x"}}'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "success true and an error"}},
		{"failure with a result", "", `echo '{"success":false,"result":true,"error":{"message":"x"}}'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "success false and a result"}},
		{"failure without an error", "", `echo '{"success":false}'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "no error.message"}},
		{"negative delay", "", `echo '{"success":false,"error":{"message":"x","retryAfterSeconds":-1}}'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "retryAfterSeconds or attempts out of range"}},
		{"text for a result", "", `echo '{"success":true,"result":"ok"}'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "must be true, false or an object"}},
		{"a poll that cannot be", "", `echo '{"success":true,"result":{"complete":"yes"}}'`, "", catalog.Failure{Type: catalog.FailureInvalidResult, Message: "the field complete must be"}},
		{
			"a declared field missing", "result: [{name: BadgeId, description: x}, {name: B, description: x}]", `echo '{"success":true,"result":{"More":1}}'`, "",
			catalog.Failure{Type: catalog.FailureInvalidResult, Message: "lacks the declared fields BadgeId, B"},
		},
		{
			"true for an object", "result: [{name: BadgeId, description: x}]", `echo '{"success":true}'`, "",
			catalog.Failure{Type: catalog.FailureInvalidResult, Message: "lacks the declared fields BadgeId"},
		},
		{
			"without end", "", `yes; echo never`, "",
			catalog.Failure{Type: catalog.FailureInvalidResult, Message: "Do: the answer has more than 262144 bytes; the process was killed"},
		},
		{
			"not in time", "timeout: 100ms", `sleep 600`, "",
			catalog.Failure{Type: catalog.FailureTimeout, Message: "Do: the process did not finish within 100ms and was killed"},
		},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t)
			d.script(t, tc.manifest, tc.script)
			_, c := d.load(t, environment())
			got, failure := call(t, c, `{}`)
			if tc.failure == (catalog.Failure{}) {
				if failure != nil || got != tc.want {
					t.Fatalf("got %s, %v; want %s", got, failure, tc.want)
				}
				return
			}
			if failure == nil || !strings.Contains(failure.Message, tc.failure.Message) {
				t.Fatalf("got %s, %+v; want %+v", got, failure, tc.failure)
			}
			tc.failure.Message = failure.Message
			if *failure != tc.failure {
				t.Fatalf("got %+v; want %+v", *failure, tc.failure)
			}
		})
	}
}

func TestLargeInputThatNobodyReadsIsNoTrouble(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "params: [{name: Note, description: Text.}]", `echo '{"success":true}'`)
	_, c := d.load(t, environment())
	note, _ := json.Marshal(map[string]string{"Note": strings.Repeat("x", 1<<20)})
	if got, failure := call(t, c, string(note)); failure != nil || got != "true" {
		t.Fatalf("got %s, %v", got, failure)
	}
}

// A function's environment has the variables that its manifest names and none of the worker's own.
func TestEnvironment(t *testing.T) {
	t.Setenv("APP_SECRET", "of-the-worker")
	t.Setenv("LD_PRELOAD_NOT", "inherited")
	d := newDirectory(t)
	d.script(t, "environment: [HR_URL]", `printf '{"success":true,"result":{"Env":"%s"}}' "$(/usr/bin/env | cut -d= -f1 | grep -vxE 'PWD|SHLVL|_' | sort | tr '\n' ' ')"`)
	_, c := d.load(t, environment("APP_SECRET", "of-the-worker", "HR_URL", "https://hr.example", "HR_OTHER", "x", "TZ", "UTC", "LANG", "C"))
	got, failure := call(t, c, `{}`)
	// PWD, SHLVL and _ are the shell's.
	if want := `{"Env":"HR_URL LANG PATH TZ "}`; failure != nil || got != want {
		t.Fatalf("got %s, %v; want %s", got, failure, want)
	}
}

// A parameter that is declared as secret is blanked under any name, also where JSON
// escapes its value differently.
func TestDeclaredSecretsAreBlanked(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "params: [{name: FirstPin, secret: true, description: x}, {name: Codes, type: string list, secret: true, description: x}, {name: UserId, description: x}]", `
cat >&2
echo '{"success":false,"error":{"message":"the pin p1n&word of ada and code-1 were refused"}}'`)
	_, c := d.load(t, environment())
	log := &testenv.Buffer{}
	_, failure := callWith(t, withLog(t.Context(), log), c, `{"firstpin":"p1n&word","Codes":["code-1","code-2"],"UserId":"ada"}`)
	if want := "the pin [blanked] of ada and [blanked] were refused"; failure == nil || failure.Message != want {
		t.Errorf("got %+v, want %s", failure, want)
	}
	if want := `\"Codes\":[\"[blanked]\",\"[blanked]\"],\"FirstPin\":\"[blanked]\",\"UserId\":\"ada\"`; !strings.Contains(log.String(), want) {
		t.Errorf("the log lacks %s:\n%s", want, log.String())
	}
}

// A secret of the runbook is blanked also in a parameter that the function does not declare
// as secret, and where the parameter is only a part of it.
func TestSecretsThatTheJobNamesAreBlanked(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "params: [{name: Note, description: x}]", `
cat >&2
echo "the pin is p1n&word" >&2
echo '{"success":false,"error":{"message":"the pin p1n&word was refused"}}'`)
	_, c := d.load(t, environment())
	log := &testenv.Buffer{}
	ctx := withLog(t.Context(), log)
	job := catalog.JobOf(ctx)
	job.Secrets = []string{"p1n&word"}
	_, failure := callWith(t, catalog.WithJob(ctx, job), c, `{"Note":"use p1n&word"}`)
	if want := "the pin [blanked] was refused"; failure == nil || failure.Message != want {
		t.Errorf("got %+v, want %s", failure, want)
	}
	if said := log.String(); strings.Contains(said, "p1n") || !strings.Contains(said, `\"Note\":\"use [blanked]\"`) || !strings.Contains(said, "the pin is [blanked]") {
		t.Errorf("logged %s", said)
	}
}

// What is stored of a failure holds no secret: neither the type, nor what says why an answer is not valid. A result is
// stored as it is.
func TestFailuresHoldNoSecret(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]catalog.Failure{
		`echo '{"success":false,"error":{"message":"refused","type":"Bad '$HR_TOKEN'"}}'`: {Type: "Bad [blanked]", Message: "refused"},
		`echo '{"success":true,"'$HR_TOKEN'":1}'`: {
			Type: catalog.FailureInvalidResult, Message: `Do: standard output is not a valid answer: json: unknown field "[blanked]"`,
		},
		`echo '{"success":true,"result":{"Seen":"'$HR_TOKEN'"}}'`: {},
	} {
		d := newDirectory(t)
		d.script(t, "environment: [HR_TOKEN]", script)
		_, c := d.load(t, environment("HR_TOKEN", "t0ken-of-hr"))
		got, failure := call(t, c, `{}`)
		switch {
		case want == (catalog.Failure{}) && (failure != nil || got != `{"Seen":"t0ken-of-hr"}`):
			t.Errorf("%s: got %s, %+v", script, got, failure)
		case want != (catalog.Failure{}) && (failure == nil || *failure != want):
			t.Errorf("%s: got %+v, want %+v", script, failure, want)
		}
	}
}

// A line can be longer than what is read of it, and end within a secret.
func TestALongLineOfSecretsHoldsNoPartOfOne(t *testing.T) {
	t.Parallel()
	for note, secrets := range map[string][]string{
		"a long one":                    {"t0ken" + strings.Repeat("-of-hr", 500), "unused"},
		"a long one with another in it": {"t0ken" + strings.Repeat("-of-hr", 500), "-of-hr-of-hr"},
		"a short one":                   {"t0ken-of-hr", "unused"},
	} {
		d := newDirectory(t)
		d.script(t, "environment: [HR_TOKEN, HR_KEY]", `
cat >/dev/null
i=0; while [ $((i*${#HR_TOKEN})) -lt 70000 ]; do printf %s "$HR_TOKEN" >&2; i=$((i+1)); done
printf '\nafter it\n' >&2
echo '{"success":true}'`)
		_, c := d.load(t, environment("HR_TOKEN", secrets[0], "HR_KEY", secrets[1]))
		log := &testenv.Buffer{}
		if got, failure := callWith(t, withLog(t.Context(), log), c, `{}`); failure != nil {
			t.Fatalf("%s: got %s, %v", note, got, failure)
		}
		said := log.String()
		if strings.Contains(said, "t0k") || strings.Contains(said, "-of") || !strings.Contains(said, `…"`) || !strings.Contains(said, `"after it"`) {
			t.Errorf("%s: the log says %.400s", note, said)
		}
	}
}

func TestStandardErrorGoesIntoTheLogWithoutSecrets(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "params: [{name: NewPassword, description: x}, {name: UserId, description: x}]\nenvironment: [HR_TOKEN, HR_KEY]", `
echo "token $HR_TOKEN, key $HR_KEY" >&2
cat >&2; echo >&2
printf '\377 not text\n\n' >&2
head -c 100000 /dev/zero | tr '\0' x >&2; echo >&2
i=0; while [ $i -lt 1200 ]; do echo "line $i" >&2; i=$((i+1)); done
printf 'no end of line' >&2
echo '{"success":false,"error":{"message":"the token '$HR_TOKEN' was refused"}}'`)
	_, c := d.load(t, environment("HR_TOKEN", "t0ken-of-hr", "HR_KEY", "first line\nsecond line"))
	log := &testenv.Buffer{}
	_, failure := callWith(t, withLog(t.Context(), log), c, `{"NewPassword":"Pa55word!","UserId":"ada"}`)
	if failure == nil || failure.Message != "the token [blanked] was refused" {
		t.Errorf("got %+v", failure)
	}
	said := log.String()
	for _, secret := range []string{"t0ken-of-hr", "Pa55word!", "first line", "second line"} {
		if strings.Contains(said, secret) {
			t.Errorf("the log tells %s", secret)
		}
	}
	for _, want := range []string{
		`"Line":"token [blanked], key [blanked]"`, `\"NewPassword\":\"[blanked]\"`, `\"UserId\":\"ada\"`,
		`"Line":"` + "\uFFFD" + ` not text"`, `xx…"`, `"Line":"line 900"`, `the rest is not logged","JobId":"step-7-attempt-1","Lines":`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if strings.Contains(said, "line 1100") || strings.Contains(said, strings.Repeat("x", 5000)) {
		t.Error("the log has more than its bounds")
	}
}
