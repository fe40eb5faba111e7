package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/model"
)

func TestSearchTextHasTheKeyAndThenTheDisplayColumn(t *testing.T) {
	t.Parallel()
	m := model.Member{Key: "Ada@X", Data: map[string]json.RawMessage{
		"Alias": json.RawMessage(`"ada"`), "Upn": json.RawMessage(`"ADA@X"`), "Name": json.RawMessage(`" Ada\n  \u00c4RTZ "`), "Size": json.RawMessage(`7`),
		"Groups": json.RawMessage(`["a"]`), "None": json.RawMessage(`null`), "Pin": model.Seal("v1.fixed.x"), "On": json.RawMessage(`true`),
	}}
	m.NoteSearch("Name")
	if want := "ada@x\nada ärtz\nada\ntrue\n7"; m.Search != want {
		t.Errorf("%q, want %q", m.Search, want)
	}
	for i := range 100 {
		m.Data["A"+strings.Repeat("x", i)] = json.RawMessage(`"` + strings.Repeat("é", i) + `"`)
	}
	m.NoteSearch("Name")
	if lines := strings.Split(m.Search, "\n"); len(m.Search) > 1000 || lines[0] != "ada@x" || lines[1] != "ada ärtz" {
		t.Errorf("%d bytes: %q", len(m.Search), m.Search)
	}
}

func TestErasedSecretLeavesTheSearchText(t *testing.T) {
	t.Parallel()
	m := model.Member{Key: "ada@x", Data: map[string]json.RawMessage{"Pin": json.RawMessage(`"Canary 1"`), "Copy": json.RawMessage(`"canary 1"`), "Name": json.RawMessage(`"Ada"`)}}
	m.NoteSearch("")
	if !m.EraseSecrets([]string{"Pin"}) || m.Search != "ada@x\nada" {
		t.Errorf("search text %q", m.Search)
	}
}
