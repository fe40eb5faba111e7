package containerscaler

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/matoolkit/matoolkit/internal/invocation"
)

type counting int

func (c *counting) ScaleContainers(context.Context) error { *c++; return nil }

// TestTheTimerFiresEachMinute reads the binding that the host reads.
func TestTheTimerFiresEachMinute(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("function.json")
	if err != nil {
		t.Fatal(err)
	}
	var function struct {
		Bindings []struct{ Type, Name, Schedule string }
	}
	if err := json.Unmarshal(text, &function); err != nil {
		t.Fatal(err)
	}
	if len(function.Bindings) != 1 || function.Bindings[0].Type != "timerTrigger" || function.Bindings[0].Schedule != "0 * * * * *" {
		t.Fatalf("bindings %+v", function.Bindings)
	}
	call, err := invocation.Decode([]byte(`{"Data":{"` + function.Bindings[0].Name + `":{"IsPastDue":false}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var ticks counting
	if err := New(&ticks)(t.Context(), call); err != nil || ticks != 1 {
		t.Errorf("%d ticks, %v", ticks, err)
	}
}
