package runbook

import (
	"os"
	"testing"
	"time"
)

func TestParseReadsTheWholeExample(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/contoso-mailbox-migration.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rb, found := Parse(src)
	if len(found) != 0 {
		t.Fatalf("Parse found:\n%v", found)
	}
	if rb.Phases[0].Steps[0].Timeout != 10*time.Minute || rb.Phases[0].Steps[1].Timeout != DefaultTimeout {
		t.Errorf("timeouts = %v, %v", rb.Phases[0].Steps[0].Timeout, rb.Phases[0].Steps[1].Timeout)
	}
}
