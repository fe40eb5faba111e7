package console_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook/schema"
)

// TestFormatOfTheEditor holds the format that the editor completes to the one that runbooks have.
func TestFormatOfTheEditor(t *testing.T) {
	t.Parallel()
	document := schema.Document(nil)
	for _, definition := range document["definitions"].(map[string]any) {
		for _, property := range definition.(map[string]any)["properties"].(map[string]any) {
			delete(property.(map[string]any), "markdownDescription") // the same text again
		}
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(document); err != nil {
		t.Fatal(err)
	}
	const file = "src/editor/format.json"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not the format of runbooks: UPDATE_GOLDEN=1 go test ./console", file)
	}
}
