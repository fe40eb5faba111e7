package runbook

import (
	"strings"
	"testing"
)

// Long waits and many retries are the administrator's decision: a warning, no error.
func TestSpecificationLongRetriesAreAWarning(t *testing.T) {
	t.Parallel()
	for _, retry := range []string{"{max_retries: 101, interval: 1h}", "{max_retries: 3, interval: 25h}", "{max_retries: 200, interval: 7d}"} {
		rb, found := Parse([]byte(strings.Replace(smallest, "function: F", "function: F, retry: "+retry, 1)))
		if rb == nil || found.HasErrors() || len(found) == 0 || found[0].Code != CodeLongRetry {
			t.Errorf("%s: %v", retry, found)
		}
	}
}
