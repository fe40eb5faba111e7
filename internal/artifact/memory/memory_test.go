package memory_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/internal/artifact/artifacttest"
	"github.com/matoolkit/matoolkit/internal/artifact/memory"
)

func TestContract(t *testing.T) {
	t.Parallel()
	artifacttest.Run(t, func(*testing.T) artifact.Store { return new(memory.Store) })
}
