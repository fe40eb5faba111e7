package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// pictureWidth is the width of the terminal in the picture, in columns.
const pictureWidth = 112

// TestPictureOfABatch follows a batch in progress on a terminal: the live display shows a phase that
// has ended, one that runs and one to come. With -update-docs it draws that terminal as
// docs/batch.svg.
func TestPictureOfABatch(t *testing.T) {
	t.Parallel()
	seed, err := os.ReadFile(filepath.Join(example, "tenant.json"))
	if err != nil {
		t.Fatal(err)
	}
	m := newMachineWith(t, seed, environment{worker: map[string]string{"LAG_TIMEOUT_SECONDS": "0", "MAX_PARALLELISM": "3"}}, everything)
	a := newAdmin(m)
	if err := errors.Join(a.advance(), a.await("init", ended), a.advance(), a.await("pre-stage", ended), a.advance(), a.await("verify", ended)); err != nil {
		t.Fatal(err)
	}
	slow := tenant.Faults{Rules: []tenant.Fault{{Service: "exchange", DelayMS: 200}}}
	if err := misbehave(m.endpoints.TenantURL, encode(slow)); err != nil {
		t.Fatal(err)
	}
	if err := a.advance(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var screen screen
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		root := cli.NewRoot(command.Environment{Stdout: &screen, Stderr: &screen, Terminal: true, Width: pictureWidth, Getenv: func(name string) string { return a.env[name] }})
		root.SetArgs([]string{"batch", "watch", a.batch, "--interval", "100ms"})
		cli.Execute(ctx, root)
	}()
	shown := regexp.MustCompile(`cut-over .*█.*░.*running`)
	done := a.await("cut-over", func(p api.Phase) bool {
		return p.Succeeded > p.Members/2 && shown.MatchString(plain(screen.text()))
	})
	frame := screen.text()
	stop()
	<-watched
	if done != nil {
		t.Fatalf("%v\n%s", done, frame)
	}
	if !regexp.MustCompile(`pre-stage .*25/25.*\n.*verify .*24/24`).MatchString(plain(frame)) {
		t.Errorf("the display does not show the phases that have ended:\n%s", plain(frame))
	}
	if *updateDocs {
		frame = "$ matoolkit batch watch " + a.batch + "\n" + frame
		if err := os.WriteFile(filepath.Join(root, "docs", "batch.svg"), []byte(drawTerminal(frame)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// screen is the part of a terminal that the live display needs: it writes lines, moves the cursor up
// and clears the lines below it.
type screen struct {
	mu    sync.Mutex
	lines []string
	row   int
}

var screenCode = regexp.MustCompile(`\n|\x1b\[(\d*)([AJ])`)

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	write := func(text string) {
		for len(s.lines) <= s.row {
			s.lines = append(s.lines, "")
		}
		s.lines[s.row] += text
	}
	rest := strings.ReplaceAll(string(b), "\r", "")
	for {
		code := screenCode.FindStringSubmatchIndex(rest)
		if code == nil {
			write(rest)
			return len(b), nil
		}
		write(rest[:code[0]])
		switch rest[code[1]-1] {
		case '\n':
			s.row++
		case 'A':
			up, err := strconv.Atoi(rest[code[2]:code[3]])
			if err != nil {
				return 0, err
			}
			s.row = max(0, s.row-up)
		case 'J':
			s.lines = s.lines[:s.row]
		}
		rest = rest[code[1]:]
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(strings.Join(s.lines, "\n"))
}

var escapes = regexp.MustCompile(`\x1b\[([\d;?]*)([A-Za-z])`)

// plain removes colours and cursor movements from terminal output.
func plain(text string) string {
	return escapes.ReplaceAllString(text, "")
}

// colours of the terminal by the number that sets them.
var colours = map[string]string{"31": "#f47067", "32": "#57ab5a", "33": "#c69026", "34": "#539bf5", "36": "#39c5cf", "90": "#768390", "2": "#768390", "91": "#ff938a", "92": "#6bc46d", "93": "#daaa3f"}

// drawTerminal draws text with colours as an SVG picture of a terminal.
func drawTerminal(text string) string {
	const (
		columnWidth, lineHeight = 8.4, 20
		left, top               = 16, 44
	)
	lines := strings.Split(text, "\n")
	width := 0
	for _, line := range lines {
		width = max(width, len([]rune(plain(line))))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="A batch in progress in a terminal">
<rect width="100%%" height="100%%" rx="8" fill="#22272e"/>
<circle cx="20" cy="18" r="6" fill="#f47067"/><circle cx="40" cy="18" r="6" fill="#c69026"/><circle cx="60" cy="18" r="6" fill="#57ab5a"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d1d7e0" xml:space="preserve">
`, int(columnWidth*float64(width))+2*left, lineHeight*len(lines)+top)
	for i, line := range lines {
		column, colour := 0, ""
		for part := range segments(line) {
			switch {
			case part.colour != nil:
				colour = colours[*part.colour]
			case strings.TrimSpace(part.text) != "":
				fill := ""
				if colour != "" {
					fill = fmt.Sprintf(` fill="%s"`, colour)
				}
				n := len([]rune(part.text))
				fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\"%s>%s</text>\n",
					left+columnWidth*float64(column), top+lineHeight*i+6, columnWidth*float64(n), fill, html.EscapeString(part.text))
				fallthrough
			default:
				column += len([]rune(part.text))
			}
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// segment is a piece of a line of one colour, or the number that sets another colour.
type segment struct {
	text   string
	colour *string
}

func segments(line string) func(func(segment) bool) {
	return func(yield func(segment) bool) {
		for line != "" {
			at := escapes.FindStringSubmatchIndex(line)
			if at == nil {
				yield(segment{text: line})
				return
			}
			number := line[at[2]:at[3]]
			if at[0] > 0 && !yield(segment{text: line[:at[0]]}) || !yield(segment{colour: &number}) {
				return
			}
			line = line[at[1]:]
		}
	}
}
