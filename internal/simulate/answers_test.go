package simulate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

func TestAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	berlin := testenv.Must(time.LoadLocation("Europe/Berlin"))(t)
	for src, want := range map[string]string{
		"answer: []":                                          `1:1: the file has no field "answer": use answers, approvals, members`,
		"answers: {}":                                         "1:10: answers must be a list",
		"- x":                                                 "1:1: the file must be a mapping",
		"answers:\n  - {fails: x}":                            `2:6: an answer has no field "fails"`,
		"answers:\n  - {fail: x, fail: y}":                    "given twice",
		"answers:\n  - {fail: x, never: true}":                "2:5: never cannot be combined",
		"answers:\n  - {polls: 1, poll_for: 1h}":              "give polls or poll_for",
		"answers:\n  - {times: 2}":                            "times needs fail",
		"answers:\n  - {fail: x, result: 1}":                  "always fails cannot have a result",
		"answers:\n  - {retry_after: 5m}":                     "retry_after needs fail or throttled",
		"answers:\n  - {takes: 5}":                            "2:13: duration \"5\" has no unit",
		"answers:\n  - {polls: 0}":                            `2:13: "0" is not a whole number`,
		"answers:\n  - {never: yes please}":                   "neither true nor false",
		"answers:\n  - {member: []}":                          "the list is empty",
		"answers:\n  - {where: x}":                            "where must be a mapping",
		"approvals:\n  - {after: 1h}":                         "phase is missing",
		"approvals:\n  - {phase: x}":                          "give either at",
		"approvals:\n  - {phase: x, at: soon}":                `2:20: invalid time "soon"`,
		"members:\n  - {member: x}":                           "joins or leaves",
		"members:\n  - {member: x, joins: T-1x}":              `offset "T-1x"`,
		"members:\n  - {member: x, leaves: 2026-03-29 02:30}": "does not exist in Europe/Berlin",
		"answers: [":                                          "1: not valid YAML: ",
		"a: 1\n---\nb: 2":                                     "more than one YAML document",
		"answers:\n  - {fail: }":                              "expected text",
	} {
		if _, err := ParseAnswers([]byte(src), berlin); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", src, err, want)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "---\n"} {
		if a, err := ParseAnswers([]byte(empty), berlin); err != nil || len(a.Rules) > 0 {
			t.Errorf("%q: %v", empty, err)
		}
	}
	// All errors are reported.
	if _, err := ParseAnswers([]byte("answers:\n  - {polls: x}\n  - {takes: y}\n"), berlin); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v", err)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	berlin := testenv.Must(time.LoadLocation("Europe/Berlin"))(t)
	for text, want := range map[string]string{
		"2026-12-01 18:00":          "2026-12-01T17:00:00Z",
		"2026-06-01T18:00":          "2026-06-01T16:00:00Z",
		"2026-12-01T18:00:00Z":      "2026-12-01T18:00:00Z",
		"2026-12-01":                "2026-11-30T23:00:00Z",
		"2026-12-01T18:00:00+05:30": "2026-12-01T12:30:00Z",
	} {
		if got, err := ParseTime(text, berlin); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "18:00", "2026-13-01", "2026-03-29 02:30", "tomorrow"} {
		if got, err := ParseTime(bad, berlin); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "T-0", -120 * time.Hour: "T-5d", 65 * time.Second: "T+1m5s", -86399 * time.Second: "T-23h59m59s"} {
		if got := offset(d); got != want {
			t.Errorf("%s is %s", d, got)
		}
	}
}

// Every input is either read or refused as a whole, without a panic, at any size.
func FuzzParseAnswers(f *testing.F) {
	f.Add("answers:\n  - {function: A, where: {B: c}, polls: 2, takes: 1m}\napprovals:\n  - {phase: p, after: 2h}\nmembers:\n  - {member: x, joins: T-2d}\n")
	f.Add("answers: &a\n  - *a\n")
	f.Add("answers:\n  - {<<: {fail: x}, result: {1: [~, !!binary aGk=]}}\n")
	f.Fuzz(func(t *testing.T, src string) {
		a, err := ParseAnswers([]byte(src), time.UTC)
		if err != nil {
			return
		}
		for _, r := range a.Rules {
			if r.Result != nil && !json.Valid(r.Result) || r.Polls < 0 || r.Takes < 0 || r.Never && r.Fail != "" {
				t.Errorf("got %+v", r)
			}
		}
	})
}
