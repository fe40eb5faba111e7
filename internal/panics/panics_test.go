package panics_test

import (
	"errors"
	"testing"

	"github.com/matoolkit/matoolkit/internal/panics"
)

func TestCatch(t *testing.T) {
	t.Parallel()
	failure := errors.New("no store")
	if err := panics.Catch(t.Context(), func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	if err := panics.Catch(t.Context(), func() error { return nil }); err != nil {
		t.Error(err)
	}
	var none map[string]int
	if err := panics.Catch(t.Context(), func() error { none["x"] = 1; return nil }); err == nil || err.Error() != "panic: assignment to entry in nil map" {
		t.Errorf("error %v", err)
	}
}
