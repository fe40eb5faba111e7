package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/functionshost"
)

//go:generate go test -count 1 -run ^(TestDocumentedCommands|TestPictureOfABatch)$ -update-docs

var updateDocs = flag.Bool("update-docs", false, "write the outputs of commands into the pages that show them, and draw the picture of README.md")

var (
	codeFence  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	pageLink   = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchorID   = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	notInLink  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks checks that each relative link in a Markdown page leads to a file, and to a heading
// where it names one.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages := markdownPages(t)
	for page, text := range pages {
		for _, link := range pageLink.FindAllStringSubmatch(inlineCode.ReplaceAllString(text, ""), -1) {
			to := link[1] + link[2]
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(to, "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: %s: %v", page, to, err)
			} else if text, ok := pages[target]; anchor != "" && (!ok || !anchors(text)[anchor]) {
				t.Errorf("%s: %s: no such heading", page, to)
			}
		}
	}
}

// markdownPages returns the Markdown pages of the repository without their code blocks, by path.
func markdownPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (slices.Contains([]string{"testdata", "bin", "dist", "node_modules"}, name) || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		page, err := filepath.Rel(root, path)
		pages[page] = codeFence.ReplaceAllString(string(text), "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 20 {
		t.Fatalf("found only %d pages", len(pages))
	}
	return pages
}

// anchors returns the anchors of a page: those of its headings, as GitHub makes them, and its own.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		anchor := strings.ReplaceAll(notInLink.ReplaceAllString(strings.ToLower(strings.TrimSpace(h[1])), ""), " ", "-")
		for unique, n := anchor, 1; ; n++ {
			if !found[unique] {
				found[unique] = true
				break
			}
			unique = fmt.Sprintf("%s-%d", anchor, n)
		}
	}
	for _, a := range anchorID.FindAllStringSubmatch(text, -1) {
		found[a[1]] = true
	}
	return found
}

// console matches a block of commands, each after "$ ", with what they print.
var console = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

// TestDocumentedCommands runs the commands of README.md, docs/getting-started.md and docs/rehearse.md in their
// order, in one shell for each page. Each command must succeed. With -update-docs it writes what
// they print into the page, where the page shows an output.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"README.md", "docs/getting-started.md", "docs/rehearse.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(root, name)
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var commands []string
			for _, block := range console.FindAllStringSubmatch(string(page), -1) {
				for _, c := range splitConsole(block[1]) {
					commands = append(commands, c.command)
				}
			}
			if len(commands) == 0 {
				t.Fatal("the page has no commands")
			}
			outputs := runInShell(t, commands)
			if !*updateDocs {
				return
			}
			next := 0
			updated := console.ReplaceAllStringFunc(string(page), func(block string) string {
				var b strings.Builder
				b.WriteString("```console\n")
				for _, c := range splitConsole(console.FindStringSubmatch(block)[1]) {
					b.WriteString("$ " + c.command + "\n")
					if c.output != "" {
						b.WriteString(outputs[next])
					}
					next++
				}
				return b.String() + "```"
			})
			if err := os.WriteFile(path, []byte(updated), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// consoleCommand is a command of a console block with the output that the page shows.
type consoleCommand struct{ command, output string }

// splitConsole separates the commands of a console block from their output. A command goes on in
// the next line after a backslash.
func splitConsole(block string) []consoleCommand {
	var all []consoleCommand
	continued := false
	for line := range strings.Lines(block) {
		text, isCommand := strings.CutPrefix(line, "$ ")
		text = strings.TrimSuffix(text, "\n")
		switch {
		case isCommand:
			all = append(all, consoleCommand{command: text})
		case len(all) == 0:
			continue
		case continued:
			all[len(all)-1].command += "\n" + text
		default:
			all[len(all)-1].output += line
		}
		continued = (isCommand || continued) && strings.HasSuffix(text, "\\")
	}
	return all
}

// runInShell runs commands one after the other in one shell, in a folder that looks like a clone of
// the repository after "make build", and returns what each of them prints. It fails the test
// at the first command that fails, and ends what the commands leave running.
func runInShell(t *testing.T, commands []string) []string {
	t.Helper()
	home := t.TempDir()
	if err := cloneBuilt(home); err != nil {
		t.Fatal(err)
	}
	script := "set -e\n"
	for i, c := range commands {
		script += fmt.Sprintf("exec >%d.out 2>&1\n%s\n", i, c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = home
	// Settings of the person who runs the tests do not apply to the page.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MATOOLKIT_") })
	cmd.Env = append(cmd.Env, "HOME="+home, "NO_COLOR=1", "MATOOLKIT_TOKEN_STORE=file", functionshost.ExchangesVariable+"="+os.Getenv(functionshost.ExchangesVariable),
		"PATH="+filepath.Join(home, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	endGroup(t, cmd.Process.Pid)
	var outputs []string
	for i, c := range commands {
		out, readErr := os.ReadFile(filepath.Join(home, fmt.Sprintf("%d.out", i)))
		if readErr != nil {
			break
		}
		t.Logf("$ %s\n%s", c, out)
		outputs = append(outputs, string(out))
	}
	if err != nil {
		t.Fatalf("%s: %v", commands[len(outputs)-1], err)
	}
	return outputs
}

// endGroup stops the processes of a group and waits until they are gone.
func endGroup(t *testing.T, group int) {
	t.Helper()
	signal := syscall.SIGTERM
	for began := time.Now(); syscall.Kill(-group, signal) == nil; time.Sleep(20 * time.Millisecond) {
		signal = 0
		if time.Since(began) > patience {
			_ = syscall.Kill(-group, syscall.SIGKILL)
			t.Fatal("the programs do not stop")
		}
	}
}

// Stand-ins for programs of a page: the local system takes free ports, and nothing is built again.
const (
	matoolkitStandIn = `#!/bin/sh
endpoints=%[2]s
case "$1 $2" in
"local up") shift 2; exec %[1]s local up --free-ports --endpoints "$endpoints" "$@" ;;
"local env") shift 2
	while ! [ -e "$endpoints" ]; do sleep 0.1; done
	exec %[1]s local env --endpoints "$endpoints" "$@" ;;
esac
exec %[1]s "$@"
`
	makeStandIn = `#!/bin/sh
exec %s --no-print-directory -o build -o demo-programs BUILD=true "$@"
`
)

// cloneBuilt makes a folder that has what a clone has after "make build".
func cloneBuilt(home string) error {
	tool, err := exec.LookPath("make")
	if err != nil {
		return err
	}
	folder := filepath.Join(home, "bin")
	return errors.Join(
		clone(home),
		os.Symlink(dist, filepath.Join(home, "dist")),
		os.Mkdir(folder, 0o700),
		os.Symlink(program("worker"), filepath.Join(folder, "worker")),
		os.WriteFile(filepath.Join(folder, "matoolkit"), fmt.Appendf(nil, matoolkitStandIn, program("matoolkit"), filepath.Join(home, "endpoints.json")), 0o700),
		os.WriteFile(filepath.Join(folder, "make"), fmt.Appendf(nil, makeStandIn, tool), 0o700),
	)
}
