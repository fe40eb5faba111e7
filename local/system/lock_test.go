package system_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/system"
)

func TestStateIsOneSystemsOnly(t *testing.T) {
	t.Parallel()
	c := system.Config{DataDir: t.TempDir(), Addresses: system.FreeAddresses(), Parts: []system.Part{system.Cosmos}}
	first := testenv.Must(system.Start(t.Context(), c))(t)
	if second, err := system.Start(t.Context(), c); err == nil {
		second.Close()
		t.Error("two systems write the same state")
	} else if !strings.Contains(err.Error(), "another process uses the state in") {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third, err := system.Start(t.Context(), c)
	if err != nil {
		t.Fatal("a system that was closed still keeps the state: ", err)
	}
	third.Close()
}
