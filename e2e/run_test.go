package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/matoolkit/matoolkit/e2e/pages"
)

// stories are the pages whose blocks with the mark <!-- run --> are carried out. A page has
// one folder, in which the examples are, and one local system, which is started when a
// block starts it, or its story does.
var stories = map[string]story{
	"README.md":                              {},
	"docs/deployment.md":                     {begin: (*runner).deployed},
	"docs/getting-started.md":                {begin: (*runner).firstHour},
	"docs/local.md":                          {begin: (*runner).begins},
	"docs/operating.md":                      {begin: (*runner).operates, before: operating},
	"docs/operations.md":                     {begin: (*runner).operates, before: operations},
	"docs/own-workers.md":                    {begin: (*runner).ownWorker},
	"docs/packaging.md":                      {},
	"docs/settings.md":                       {},
	"docs/simulate.md":                       {},
	"docs/worker.md":                         {begin: (*runner).localSystem},
	"examples/scheduled-migration/README.md": {}, // by TestWalkthrough, which waits between the lines
}

// story is what has to be there for the names and numbers that a page uses.
type story struct {
	begin  func(*runner)
	before map[string]func(*runner) // before a block, by the block's first command
}

// TestRunBlocks gives the run blocks of the documents to a shell, page by page.
func TestRunBlocks(t *testing.T) {
	t.Parallel()
	for _, page := range documents(t) {
		blocks := slices.DeleteFunc(slices.Clone(page.Blocks), func(b pages.Block) bool { word, _ := b.Marked(); return word != "run" })
		tale, told := stories[page.Name]
		switch {
		case told && len(blocks) == 0:
			t.Errorf("%s has a story, and no block that is to be run", page.Name)
		case !told && len(blocks) > 0:
			t.Errorf("%s: there is no story of %s: add it to stories of e2e/run_test.go", blocks[0].Where(), page.Name)
		case told && path.Dir(page.Name) != "examples/"+scheduled:
			t.Run(page.Name, func(t *testing.T) {
				t.Parallel()
				r := newRunner(t)
				if tale.begin != nil {
					tale.begin(r)
				}
				prepared := 0
				for _, b := range blocks {
					if missing := absent(b); missing != "" {
						t.Logf("%s: not run: %s is not on this machine", b.Where(), missing)
						continue
					}
					commands, err := b.Commands()
					if err != nil {
						t.Fatal(err)
					}
					if prepare := tale.before[commands[0].String()]; prepare != nil {
						prepare(r)
						prepared++
					}
					r.block(b)
				}
				if prepared < len(tale.before) {
					t.Errorf("of the %d blocks that are prepared for only %d are there", len(tale.before), prepared)
				}
			})
		}
	}
}

// absent is a program that a block's mark names and that is not there.
func absent(b pages.Block) string {
	_, programs := b.Marked()
	for program := range strings.FieldsFuncSeq(programs, func(r rune) bool { return strings.ContainsRune(", ", r) }) {
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

// runner carries out the blocks of one page.
type runner struct {
	*saga
	t    *testing.T
	home string // the folder in which commands are given
	env  map[string]string

	terminals // that a page has had opened

	names  []string          // of the page, each with what stands for it here
	settle func(line string) // waits until what a line has set going is over, as a reader does
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	r := &runner{t: t, home: t.TempDir(), env: map[string]string{"NO_COLOR": "1", "PATH": bin + string(filepath.ListSeparator) + os.Getenv("PATH")}}
	r.env["HOME"] = r.home
	err := clone(r.home)
	for _, built := range []string{bin, dist} {
		err = errors.Join(err, os.Symlink(built, filepath.Join(r.home, filepath.Base(built))))
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// begins starts the local system with the tenant of the first example, and signs in.
func (r *runner) begins() {
	r.t.Helper()
	r.system(filepath.Join(example, "tenant.json"), environment{})
	r.env["MATOOLKIT_TOKEN_STORE"] = "file"
	r.script("the page begins", "matoolkit auth login && matoolkit runbook publish examples/user-migration/runbook.yaml")
}

// system starts the local system, and a worker, on ports that are free.
func (r *runner) system(seedFile string, env environment) {
	r.t.Helper()
	seed, err := os.ReadFile(seedFile)
	if err != nil {
		r.t.Fatal(err)
	}
	m := newMachineWith(r.t, seed, env, everything)
	r.saga = &saga{machine: m, admin: signIn(m), t: r.t}
	maps.Copy(r.env, m.endpoints.CLI)
	r.env["MATOOLKIT_TOKEN_STORE"] = "file"
}

// What a line does that the machine of this test stands for: it knows the ports. A system
// of some parts only is started as it is written: terminals_test.go.
var (
	starting = regexp.MustCompile(`^(?:bin/)?matoolkit local up\b(.*)$`)
	entering = regexp.MustCompile(`^eval "\$\((?:bin/)?matoolkit local env(?: --wait)?(?: --data-dir \S+)?\)"$`)
	working  = regexp.MustCompile(`^\(eval "\$\((?:bin/)?matoolkit local env --for worker(?: --data-dir \S+)?\)" && (?:bin/)?worker\)$`)
	building = regexp.MustCompile(`^make (?:build|stage|build stage)$`)
	making   = regexp.MustCompile(`^make `)
	exits    = regexp.MustCompile(`\bexits (\d+)\b`)
)

// block carries out the statements of a block.
func (r *runner) block(b pages.Block) {
	r.t.Helper()
	source := b.Text
	if b.Language == "console" {
		source = pages.Prompted(b.Text)
	}
	file, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(source), b.Page)
	if err != nil {
		r.t.Fatal(err)
	}
	var script strings.Builder
	var printed string
	give := func() {
		if script.Len() > 0 {
			printed += r.script(b.Where(), script.String())
			script.Reset()
		}
	}
	for _, s := range file.Stmts {
		line := strings.TrimSpace(strings.TrimSuffix(source[s.Pos().Offset():s.End().Offset()], "&"))
		switch {
		case building.MatchString(line): // as TestMain has done
		case r.saga == nil && r.opens(line, s.Background):
			give()
			r.terminal(b, line)
		case r.saga == nil && adopted.MatchString(line):
			give()
			r.adopts(b, line)
		case s.Background && starting.MatchString(line):
			give()
			r.starts(b, starting.FindStringSubmatch(line)[1])
		case s.Background && working.MatchString(line), entering.MatchString(line):
			if r.saga == nil {
				r.t.Fatalf("%s: %s: no line has started the system, and neither does the page's story", b.Where(), line)
			}
		case s.Background:
			r.t.Fatalf("%s: %s: only the system and the worker can be left running", b.Where(), line)
		default:
			status := 0
			for _, c := range s.Comments {
				if m := exits.FindStringSubmatch(c.Text); m != nil {
					status, _ = strconv.Atoi(m[1])
				}
			}
			if b.Language == "console" || r.settle != nil {
				give()
			}
			if b.Language == "console" { // the answers follow the commands
				fmt.Fprintf(&script, "echo %s\n", quote("$ "+line))
			}
			fmt.Fprintf(&script, "was=0\n%s || was=$?\n[ $was -eq %d ] || { echo \"line %d: status $was, want %d\" >&2; exit 1; }\n",
				r.here(line), status, b.Line+int(s.Pos().Line()), status)
			if r.settle != nil {
				give()
				r.settle(line)
			}
		}
	}
	give()
	if b.Language == "console" && shape(printed) != shape(b.Text) {
		r.t.Errorf("%s: got\n%s\nwant, but for digits,\n%s", b.Where(), printed, b.Text)
	}
}

// asks are the commands that ask before they do something, which needs a terminal.
var asks = regexp.MustCompile(`\bmatoolkit (?:batch (?:cancel|remove-member|confirm-removals)|runbook (?:delete|publish)|messages discard)\b`)

// here is a line with the names, numbers and ports that there are here, with a yes, and
// with programs that are built.
func (r *runner) here(line string) string {
	line = asks.ReplaceAllString(strings.NewReplacer(r.names...).Replace(line), "$0 --yes")
	line = making.ReplaceAllString(line, "make --no-print-directory -o build ")
	if r.known != "" && !strings.Contains(line, "--endpoints ") {
		line = strings.ReplaceAll(line, "matoolkit local env", "matoolkit local env --endpoints "+r.known)
	}
	return line
}

// starts starts the system with the options that count.
func (r *runner) starts(b pages.Block, options string) {
	r.t.Helper()
	words := strings.Fields(options)
	seedFile, env := filepath.Join(example, "tenant.json"), environment{handler: map[string]string{}}
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "--auto-approve", "--ephemeral":
		case "--data-dir":
			i++
		case "--seed":
			i++
			seedFile = filepath.Join(r.home, filepath.FromSlash(words[i]))
		case "--setting":
			i++
			name, value, _ := strings.Cut(strings.ReplaceAll(words[i], `"`, ""), "=")
			env.handler[name] = strings.ReplaceAll(value, "$PWD", r.home)
		default:
			r.t.Fatalf("%s: what %s does is not known to e2e/run_test.go", b.Where(), words[i])
		}
	}
	r.system(seedFile, env)
}

// script has a shell carry out lines, and is what it prints.
func (r *runner) script(where, script string) string {
	r.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(r.t.Context(), "sh", "-c", r.begun()+script)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.home, &out, &errs
	// What whoever runs the tests has set up is not what the page begins with.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MATOOLKIT_") })
	for name, value := range r.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	err := cmd.Run()
	r.t.Logf("%s\n%s\n%s%s", where, script, out.String(), errs.String())
	if err != nil {
		r.t.Fatalf("%s: %v", where, err)
	}
	return out.String()
}

// quote makes one word of a text, for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

var numbers = regexp.MustCompile(`(?:\d+[hms])+\b|\d+`)

// shape is a text with all numbers and durations alike.
func shape(text string) string { return numbers.ReplaceAllString(strings.TrimSpace(text), "0") }
