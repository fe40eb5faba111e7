package functionshost

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCheckTellsOfTheApp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "host.json"), fmt.Sprintf(hostJSON, "handler"))
	write(t, filepath.Join(dir, "tick", "function.json"), yearly)
	write(t, filepath.Join(dir, "admin-http", "function.json"), catchAll)
	got, err := Check(dir, nil)
	if err != nil || got.Executable != "handler" || !slices.Equal(got.Functions, []string{"admin-http", "tick"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	write(t, filepath.Join(dir, "2nd", "function.json"), yearly)
	if _, err := Check(dir, nil); err == nil || !strings.Contains(err.Error(), `invalid function name "2nd"`) {
		t.Errorf("got %v", err)
	}
}
