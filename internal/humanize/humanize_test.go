package humanize_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

func TestClip(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		s     string
		most  int
		want  string
		bytes string
	}{
		{"", 3, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc…", "abc…"},
		{"äöü", 3, "äöü", "ä…"},
		{"äöüß", 3, "äöü…", "ä…"},
		{"a\xffb", 3, "a\xffb", "a\xffb"},
		{"a\xffbc", 3, "a\xffb…", "ab…"},
	} {
		if got := humanize.Clip(tc.s, tc.most); got != tc.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tc.s, tc.most, got, tc.want)
		}
		if got := humanize.ClipBytes(tc.s, tc.most); got != tc.bytes {
			t.Errorf("ClipBytes(%q, %d) = %q, want %q", tc.s, tc.most, got, tc.bytes)
		}
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]string{20: "20%", 97.5: "97.5%", 0.0001: "0.0001%"} {
		if got := humanize.Percent(share); got != want {
			t.Errorf("%v: %q", share, got)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	known := []string{"interval", "Timeout", "retry"}
	for word, want := range map[string]string{
		"timout": `; did you mean "Timeout"?`, "TIMEOUT": `; did you mean "Timeout"?`,
		"rerty": `; did you mean "retry"?`, "x": "", "offset": "",
	} {
		if got := humanize.DidYouMean(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 members", 1: "1 member", 2: "2 members"} {
		if got := humanize.Count(n, "member"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	for noun, want := range map[string]string{"person": "3 people", "batch": "3 batches"} {
		if got := humanize.Count(3, noun); got != want {
			t.Errorf("%s: %q", noun, got)
		}
	}
}
