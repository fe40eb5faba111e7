package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestNoticesHoldEveryLicence(t *testing.T) {
	t.Parallel()
	folders, err := moduleFolders("github.com/matoolkit/matoolkit/cmd/matoolkit")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := writeNotices(&text, folders); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Go, LICENSE", "github.com/spf13/cobra v", "golang.org/x/sys v"} {
		if !strings.Contains(text.String(), "\n"+name) {
			t.Errorf("the notices do not hold %s", name)
		}
	}
}

func TestModuleWithoutLicenceIsRefused(t *testing.T) {
	t.Parallel()
	err := writeNotices(&bytes.Buffer{}, []folder{{"example.com/y v1.0.0", t.TempDir()}})
	if err == nil || !strings.Contains(err.Error(), "example.com/y v1.0.0 has no licence file") {
		t.Errorf("got %v", err)
	}
}
