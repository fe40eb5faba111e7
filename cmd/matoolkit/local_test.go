package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli"
)

func TestWrongUsageOfLocalIsToldAsSuch(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"local up --parts servicebus,foo":             `there is no part "foo"`,
		"local env --for nobody":                      `no environment for "nobody"`,
		"local up --ephemeral --data-dir x":           "ephemeral data-dir",
		"local up --free-ports --host 127.0.0.1:1":    "free-ports",
		"local up --no-such-flag":                     "no-such-flag",
		"local demo --app nowhere --worker nothing x": "x",
	} {
		var out, errs bytes.Buffer
		root := cli.NewRoot(cli.Environment{Stdout: &out, Stderr: &errs})
		root.AddCommand(localCommand())
		root.SetArgs(strings.Fields(args))
		if status := cli.Execute(t.Context(), root); status != cli.ExitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: status %d, %q", args, status, errs.String())
		}
	}
}
