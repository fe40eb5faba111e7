package servicebus

import (
	"testing"
	"time"
)

func TestClaimsCoverWhatIsBelow(t *testing.T) {
	t.Parallel()
	valid, over := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	c := claims{"topic": valid, "old": over}
	for path, want := range map[string]bool{"topic": true, "Topic/Subscriptions/s": true, "topic2": false, "old": false, "": false} {
		if got := c.cover(path); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
	if !(claims{"": valid}).cover("anything") {
		t.Error("a token for the namespace does not cover its entities")
	}
}
