package main

import (
	"strings"
	"testing"
)

func TestProcess(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"file_size_mb":1}`:                           "1 MB have the hash 30e14955ebf13522",
		`{"data":{"file_size_mb":1}}`:                  "1 MB have the hash 30e14955ebf13522",
		`{"file_size_mb":1,"data":{"file_size_mb":7}}`: "1 MB have the hash 30e14955ebf13522",
		`{}`: "0 MB have the hash e3b0c44298fc1c14",
	} {
		if got, err := process([]byte(body)); err != nil || got != want {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
	if _, err := process([]byte("nonsense")); err == nil || !strings.Contains(err.Error(), "the body is not a message") {
		t.Errorf("error %v", err)
	}
}
