package custom

import (
	"bufio"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/worker/blank"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Bounds of what one run of a function may put into the log.
const (
	maxLine  = 4 << 10 // bytes; the rest of a line is cut off
	maxLines = 1000    // further ones are only counted
)

// What records of a function's lines are called, by where it wrote them.
const (
	standardError  = "standard error"
	standardOutput = "standard output"
)

// copyLines logs what a process writes, a record for each line, and reads on beyond
// the bounds so that the process is not held up.
func copyLines(log *slog.Logger, where string, from io.Reader, secrets []string) {
	without, rest := blank.Replacer(secrets), blank.MaxRest(secrets)
	// The buffer is larger than the kept part of a line: what is dropped where it ends within a secret is not missed.
	lines := bufio.NewReaderSize(from, 16*maxLine)
	for n := 0; ; n++ {
		line, more, err := lines.ReadLine()
		if err != nil {
			if n > maxLines {
				log.Warn("the function wrote too many lines to "+where+": the rest is not logged", logkey.Lines, n-maxLines)
			}
			return
		}
		text, cut := without.Replace(string(line)), more
		if cut {
			text = text[:max(len(text)-rest, 0)]
		}
		text = strings.ToValidUTF8(text, "\uFFFD")
		for more && err == nil {
			_, more, err = lines.ReadLine()
		}
		if cut || len(text) > maxLine {
			text = strings.ToValidUTF8(text[:min(len(text), maxLine)], "") + "…"
		}
		if n < maxLines && strings.TrimSpace(text) != "" {
			log.Info(where, logkey.Line, text)
		}
	}
}

// secretive are parts of the names of parameters whose values are secrets.
var secretive = []string{"password", "secret", "token"}

// secretsOf are the values of the variables that the function was given, of the
// parameters that it declares as secret or that have the name of a secret, and the secrets
// that the job names.
func (p *program) secretsOf(params catalog.Params, given []string) []string {
	secrets := slices.Clone(p.secrets)
	for _, declared := range p.declared.Params {
		if !declared.Secret && !secretName(declared.Name) {
			continue
		}
		switch value := params[declared.Name].(type) {
		case string:
			secrets = append(secrets, value)
		case []string:
			secrets = append(secrets, value...)
		}
	}
	return append(secrets, given...)
}

// secretName reports whether a parameter is a secret by its name.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretive, func(part string) bool { return strings.Contains(name, part) })
}
