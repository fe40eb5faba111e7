package env_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/env"
)

func reader(value string) *env.Reader {
	return env.New(func(name string) string {
		if name == "NAME" {
			return value
		}
		return ""
	})
}

func TestValuesAreRead(t *testing.T) {
	t.Parallel()
	r := env.New(func(name string) string {
		return map[string]string{
			"TEXT": " a ", "NUMBER": "7", "SECONDS": "90", "ON": "1", "OFF": "0", "LEVEL": "debug", "LIST": " a, b ,,c",
			"SERVER": "https://name.example/", "LOCAL": "http://LocalHost:8081", "SECURE": "HTTPS://127.0.0.1:1",
		}[name]
	})
	server, remote := r.Server("SERVER", "")
	local, is := r.Server("LOCAL", "https://other.example")
	other, _ := r.Server("NONE", "https://other.example")
	for what, ok := range map[string]bool{
		"text": r.Text("TEXT") == " a " && r.Text("NONE") == "", "or": r.Or("TEXT", "b") == " a " && r.Or("NONE", "b") == "b",
		"required": r.Required("TEXT", "what") == " a ",
		"number":   r.Number("NUMBER", 3, 1, 9) == 7 && r.Number("NONE", 3, 5, 9) == 3,
		"seconds":  r.Seconds("SECONDS", 1) == 90*time.Second && r.Seconds("NONE", 1) == time.Second,
		"switch":   r.Switch("ON") && !r.Switch("OFF") && !r.Switch("NONE"),
		"level":    r.Level("LEVEL") == slog.LevelDebug && r.Level("NONE") == slog.LevelInfo,
		"list":     slices.Equal(r.List("LIST"), []string{"a", "b", "", "c"}) && r.List("NONE") == nil,
		"server":   server == "https://name.example/" && !remote, "local": local == "http://LocalHost:8081" && is, "other": other == "https://other.example",
		"secure": r.SecureServer("SECURE") == "HTTPS://127.0.0.1:1" && r.SecureServer("NONE") == "",
	} {
		if !ok {
			t.Errorf("%s is not read as it is", what)
		}
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

func TestProblemsNameTheVariableAndAreOneLine(t *testing.T) {
	t.Parallel()
	number := func(r *env.Reader) { r.Number("NAME", 5, 1, 10) }
	server := func(r *env.Reader) { r.Server("NAME", "") }
	for _, tc := range []struct {
		value, want string
		read        func(*env.Reader)
	}{
		{"", "NAME is not set: the id", func(r *env.Reader) { r.Required("NAME", "the id") }},
		{"", "NAME is not set", func(r *env.Reader) { r.Required("NAME", "") }},
		{"11", `NAME: "11" is not a whole number from 1 to 10`, number},
		{"0", `NAME: "0" is not a whole number from 1 to 10`, number},
		{"ten", `NAME: "ten" is not a whole number from 1 to 10`, number},
		{"-1", `NAME: "-1" is not a whole number from 0 to 604800`, func(r *env.Reader) { r.Seconds("NAME", 0) }},
		{"yes", `NAME: "yes" is neither 0 nor 1`, func(r *env.Reader) { r.Switch("NAME") }},
		{"loud", `NAME: "loud" is not one of debug, info, warn, error`, func(r *env.Reader) { r.Level("NAME") }},
		{"http://name.example", `NAME: "http://name.example" must be https: http is allowed only for a server on this machine`, server},
		{"http://127.0.0.1.example", `NAME: "http://127.0.0.1.example" must be https: http is allowed only for a server on this machine`, server},
		{"https://u:s3cret@name.example", "NAME: it is not the URL of a server, such as https://name.example, without a user and a query", server},
		{"https://name.example?code=s3cret", "NAME: it is not the URL of a server, such as https://name.example, without a user and a query", server},
		{"s3cret", "NAME: it is not the URL of a server, such as https://name.example, without a user and a query", server},
		{"http://127.0.0.1:1", `NAME: "http://127.0.0.1:1" must be https`, func(r *env.Reader) { r.SecureServer("NAME") }},
		{"x", "NAME: it is 1 long; A and B are both set", func(r *env.Reader) {
			r.Wrong("NAME", "it is %d long", 1)
			r.Problem("%s and %s are both set", "A", "B")
		}},
	} {
		r := reader(tc.value)
		tc.read(r)
		err := r.Err()
		if err == nil || err.Error() != tc.want || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v, want %s", tc.value, err, tc.want)
		}
	}
}
