package runbook

import (
	"testing"
	"time"
)

func TestParseOffset(t *testing.T) {
	t.Parallel()
	for text, minutes := range map[string]int{
		"T-5d": 7200, "T-4h": 240, "T-30m": 30, "T-90s": 2, "T-60s": 1, "T-61s": 2, "T-1s": 1,
		"T-0": 0, "T-0s": 0, "T-0d": 0, "T-3650d": 3650 * 1440,
		"T+5d": -7200, "T+4h": -240, "T+30m": -30, "T+90s": -2, "T+60s": -1, "T+61s": -2, "T+1s": -1,
		"T+0": 0, "T+0s": 0, "T+0d": 0, "T+3650d": -3650 * 1440,
	} {
		if o, err := ParseOffset(text); err != nil || o.Minutes() != minutes {
			t.Errorf("ParseOffset(%q) = %d, %v; want %d minutes", text, o.Minutes(), err, minutes)
		}
	}
	for _, text := range []string{
		"", "T", "T-", "T+", "T+-5d", "T++5d", "T+5", "T+3651d", "t-5d", "5d", "T-5", "T-5w", "T-5.5d", "T--5d", "T-+5d", " T-5d", "T-5d ",
		"T-1d2h", "T-٣d", "T-3651d", "T-99999999999999999999d",
	} {
		if o, err := ParseOffset(text); err == nil {
			t.Errorf("ParseOffset(%q) = %d minutes; want an error", text, o.Minutes())
		}
	}
}

func TestOffsetIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"T-0", "T-5d", "T-4h", "T-30m", "T-25h", "T-61m", "T+5d", "T+4h", "T+30m", "T+25h", "T+61m"} {
		if o, err := ParseOffset(text); err != nil || o.String() != text {
			t.Errorf("ParseOffset(%q) = %v, %v", text, o, err)
		}
	}
}

func TestOffsetDueAt(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"T-5d":  time.Date(2026, 2, 24, 8, 0, 0, 0, time.UTC),
		"T-90s": time.Date(2026, 3, 1, 7, 58, 0, 0, time.UTC),
		"T-0":   start,
		"T+0":   start,
		"T+90s": time.Date(2026, 3, 1, 8, 2, 0, 0, time.UTC),
		"T+31d": time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC),
	} {
		o, err := ParseOffset(text)
		if err != nil {
			t.Fatal(err)
		}
		if due := o.DueAt(start); !due.Equal(want) {
			t.Errorf("%s of %v falls due at %v; want %v", text, start, due, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "15m": 15 * time.Minute, "24h": 24 * time.Hour, "7d": 168 * time.Hour, "0s": 0, "007d": 168 * time.Hour,
	} {
		if d, err := ParseDuration(text); err != nil || d != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, d, err, want)
		}
	}
	for _, text := range []string{"", "s", "30", "-1s", "+1s", "1.5h", "1h30m", "30S", "1ms", "1 h", "3651d", "9223372036854775808s"} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v; want an error", text, d)
		}
	}
}

// A parsed offset is formatted to a text with the same meaning, and an offset
// after the start mirrors the one before it.
func FuzzParseOffset(f *testing.F) {
	for _, seed := range []string{"T-5d", "T+90s", "T-0", "T+0", "T+-1d", "T", "T-3650d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOffset(text)
		if err != nil {
			return
		}
		if again, err := ParseOffset(o.String()); err != nil || again != o {
			t.Errorf("%q is written as %q, which is read as %d, %v", text, o, again, err)
		}
		other := "T+" + text[2:]
		if text[1] == '+' {
			other = "T-" + text[2:]
		}
		if mirrored, err := ParseOffset(other); err != nil || mirrored != -o {
			t.Errorf("%q is %d, %q is %d, %v", text, o, other, mirrored, err)
		}
		start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
		if before := start.Sub(o.DueAt(start)); before != time.Duration(o.Minutes())*time.Minute || before.Abs() > maxSpan {
			t.Errorf("%q falls due %v before the start", text, before)
		}
	})
}
