//go:build browser

package browser

import (
	"flag"
	"os"
	"testing"

	"github.com/matoolkit/matoolkit/e2e/answers"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(answers.Compare(m, absolute("../.."), ""))
}
