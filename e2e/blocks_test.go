package e2e_test

// What becomes of the blocks of the documents
//
// Every fenced block of every *.md file is held against the programs, by its language. A
// mark, an HTML comment on the line before the fence, says what is special about it. A
// block that this test can do nothing with is a failure whose message says what to do.
//
// Commands: ```sh, and ```console for commands after "$ " with what they print.
//
//	<!-- run -->            carried out, with all run blocks of the page one after the other in
//	                        one folder and against one local system: run_test.go. Each line
//	                        ends with status 0, or N where its comment says "exits N".
//	                        In console blocks what is printed is as shown, but for digits.
//	<!-- run: curl, jq -->  carried out where these programs are on the machine.
//	<!-- run by: TestDemo in e2e, .github/workflows/ci.yml -->
//	                        carried out elsewhere, for what takes long or needs more than the
//	                        tests have. The comment of such a test quotes the command, a
//	                        workflow has it for a step; values behind "=" may be others.
//	<!-- needs Azure -->    carried out by nobody: where az, azd, func or gh stands, or an address
//	                        in Azure, and nowhere else.
//	```sh path/of/a/file    the block is lines of that file, which has tests of its own.
//	(no mark)               is refused.
//
// A shell reads all of them. But for those that need Azure their programs are known ones. Of
// matoolkit and worker each command and option is there, and takes so many arguments; make has
// the targets.
//
// Files: what stands after the language names the file of the repository that the block
// is, or is lines of: ```yaml azure.yaml. Any language.
//
//	yaml        a whole runbook, or some of its fields, or the fields of a phase or a step: it is
//	            without findings, warnings included. Or a file of answers for "runbook simulate".
//	            <!-- found: code, code --> is an example of what is wrong, with exactly these.
//	json        <!-- is: what --> says what it is, which is one of those in messages below; it
//	            is read strictly: no field more than there are.
//	bicep       the parser of infra/bicep reads it: statements, or the properties of an object.
//	dockerfile  its instructions are instructions.
//	mermaid     the lines are lines of such a diagram: mermaid_test.go.
//	http        header lines, with a request or a status line before them or without.
//	csv         rows of one width, with a header.
//	env         lines NAME=value or # comment; names of settings that a program reads.
//	kusto, sql  <!-- needs Azure -->: only a service can read them.
//	text        <!-- output: of which command --> is what that command prints: the line of
//	            headings, if it has one, is that of a golden file of the command line's tests.
//	            <!-- output --> is an illustration.
//
// Any other language, and none, is refused.
//
// Of the text around the blocks, other tests see to it that commands in `quotes` are ones that
// there are, and so are paths and links; that each command, target of make and environment
// variable is told of somewhere; and that docs/parameters.md and docs/functions.md, which are
// written by tests, are up to date.

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/e2e/pages"
	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/local/rehearsal"
)

// The classes of blocks.
const (
	classRun      = "run"
	classRunBy    = "run by"   // another test, or a workflow
	classRead     = "read"     // by what reads it in earnest
	classCompared = "compared" // with the file that it is
	classAzure    = "needs Azure"
	classOutput   = "output"
)

// TestBlocksOfDocuments judges every block of every document, and tells how many are of
// which class.
func TestBlocksOfDocuments(t *testing.T) {
	t.Parallel()
	counts := map[string]map[string]int{}
	total := map[string]int{}
	all := documents(t)
	for _, page := range all {
		for _, line := range page.Stray {
			t.Errorf("%s:%d: the mark stands before no block; it belongs on the line before the fence", page.Name, line)
		}
		counts[page.Name] = map[string]int{}
		for _, b := range page.Blocks {
			class, err := judge(b)
			if err != nil {
				t.Errorf("%s: %v", b.Where(), err)
				continue
			}
			counts[page.Name][class]++
			total[class]++
		}
	}
	for _, page := range all {
		if len(page.Blocks) > 0 {
			t.Logf("%s: %d blocks: %v", page.Name, len(page.Blocks), counts[page.Name])
		}
	}
	t.Logf("all: %v", total)
}

// documents are all pages of the repository.
func documents(t *testing.T) []pages.Page {
	t.Helper()
	all, err := pages.All(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 {
		t.Fatalf("%d documents; are they found?", len(all))
	}
	return all
}

// judge is what becomes of a block.
func judge(b pages.Block) (class string, err error) {
	word, rest := b.Marked()
	allowed := map[string][]string{
		"sh": {classRun, classRunBy, classAzure}, "console": {classRun, classRunBy, classAzure}, "kusto": {classAzure}, "sql": {classAzure},
		"yaml": {"found"}, "json": {"is"}, "text": {"output"},
	}[b.Language]
	if b.Mark != "" && !slices.Contains(allowed, word) {
		return "", fmt.Errorf("the mark <!-- %s --> means nothing before a block of the language %q: %q do; the comment of e2e/blocks_test.go tells of them", b.Mark, b.Language, allowed)
	}
	if b.File != "" {
		return classCompared, isOf(b)
	}
	switch b.Language {
	case "sh", "console":
		return commands(b, word, rest)
	case "yaml":
		return classRead, yamlRead(b, rest)
	case "json":
		return classRead, jsonRead(b, rest)
	case "bicep":
		return classRead, bicepRead(b)
	case "dockerfile":
		return classRead, dockerfileRead(b)
	case "mermaid":
		return classRead, drawn(b.Text)
	case "http":
		return classRead, httpRead(b)
	case "csv":
		return classRead, csvRead(b)
	case "env":
		return classRead, envRead(b)
	case "kusto", "sql":
		if word != classAzure {
			return "", fmt.Errorf("nothing here reads %s: put <!-- %s --> on the line before it", b.Language, classAzure)
		}
		return classAzure, nil
	case "text":
		if word != "output" {
			return "", errors.New("a block of text is what a command prints: put <!-- output: the command --> on the line before it, or <!-- output --> where it is an illustration; commands are ```sh, headers ```http, settings ```env")
		}
		return classOutput, output(b, rest)
	}
	return "", fmt.Errorf("a block of the language %q cannot be checked: give it one of those in the comment of e2e/blocks_test.go, or the name of the file that it is", b.Language)
}

// isOf compares a block with the file that it names.
func isOf(b pages.Block) error {
	file, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.File)))
	if err != nil {
		return fmt.Errorf("the fence names a file: %w", err)
	}
	if b.Text == "" || !strings.Contains("\n"+string(file), "\n"+b.Text) {
		return fmt.Errorf("the block is not lines of %s", b.File)
	}
	return nil
}

// Programs that a document's reader has, or that the page tells of, and those that do
// nothing without Azure or GitHub.
var (
	knownPrograms = strings.Fields(`matoolkit worker handler make go git gofumpt golangci-lint actionlint node
		awk base64 buildah cat cd chmod cosign cp curl docker echo eval export grep head jq kill ls mkdir mv my-worker
		podman printf rm sed sha256sum shasum sort tail tar test tr true unzip wait xargs zip`)
	azurePrograms = strings.Fields(`az azd azcopy func gh sqlcmd`)
	// stage is a function of docs/deployment.md that calls az; a worker in a container is given
	// the settings of one in Azure; these ways of signing in are Azure's.
	azureCommands = regexp.MustCompile(`^stage |^podman run .*--env-file worker\.env|--auth (?:azure-cli|managed-identity)$`)
	azureHosts    = regexp.MustCompile(`\.azure\.(com|net)|\.azurewebsites\.net|\.windows\.net|login\.microsoftonline\.com|graph\.microsoft\.com`)
)

// commands checks a block of commands. That matoolkit knows them is for the tests of
// cmd/matoolkit, which have the program's own tree of commands.
func commands(b pages.Block, word, rest string) (class string, err error) {
	all, err := b.Commands()
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", errors.New("the block has no commands; what a command prints is ```text, and the commands of ```console have \"$ \" before them")
	}
	nowhereElse := false
	for _, c := range all {
		program := c.Program()
		azure := azureCommands.MatchString(c.String()) || slices.Contains(azurePrograms, program) || program == "curl" && azureHosts.MatchString(c.String()) ||
			program == "docker" && len(c.Words) > 1 && (c.Words[1] == "push" || c.Words[1] == "login")
		nowhereElse = nowhereElse || azure || azureHosts.MatchString(c.String())
		switch {
		case word == classAzure:
		case azure:
			return "", fmt.Errorf("%s: %s needs Azure, or GitHub: put <!-- %s --> on the line before the block", c.Where, program, classAzure)
		case !slices.Contains(knownPrograms, program) && program != "[":
			return "", fmt.Errorf("%s: %s is no program that this test knows: add it to knownPrograms, or put <!-- %s --> on the line before the block", c.Where, program, classAzure)
		}
	}
	switch word {
	case "":
		return "", fmt.Errorf("nothing runs it: put <!-- run --> on the line before it, and a story into e2e/run_test.go; or <!-- run by: a test in its folder -->, or <!-- %s -->", classAzure)
	case classRunBy:
		return word, runElsewhere(all, rest)
	case classAzure:
		if !nowhereElse {
			return "", fmt.Errorf("none of its commands needs Azure: put <!-- %s --> on the line before it, or tell in azureCommands what does", classRun)
		}
	}
	return word, nil
}

// The fields by which a block shows what it is a part of.
var (
	runbookFields = strings.Fields("name description data_source quiet_hours retry secret init phases on_member_removed rollbacks")
	answerFields  = strings.Fields("answers approvals members")
	phaseFields   = strings.Fields("name offset steps approval require_success stop_when on_complete")
	stepFields    = strings.Fields("name worker_id function params output_params timeout poll retry on_failure")
)

// What a block of a runbook may leave out.
var requiredParts = []struct{ field, yaml string }{
	{"name", "name: n\n"},
	{"data_source", "data_source: {type: csv, primary_key: Mail}\n"},
	{"phases", "phases:\n  - {name: p, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}\n"},
}

func yamlRead(b pages.Block, codes string) error {
	var fields map[string]yaml.Node
	whole := b.Text
	err := yaml.Unmarshal([]byte(whole), &fields)
	of := func(known []string) bool {
		for f := range fields {
			if !slices.Contains(known, f) {
				return false
			}
		}
		return len(fields) > 0
	}
	switch {
	case err != nil && codes == "":
		return fmt.Errorf("the block is no mapping: %w", err)
	case err == nil && of(answerFields):
		_, err := rehearsal.ParseAnswers([]byte(whole), time.UTC)
		return err
	case err == nil && !of(runbookFields) && of(phaseFields):
		whole = "phases:\n" + item(whole, fields, map[string]string{"name": "p", "offset": "T-0", "steps": "[{name: s, worker_id: w, function: F}]"}, "  ")
	case err == nil && !of(runbookFields) && of(stepFields):
		whole = "phases:\n  - name: p\n    offset: T-0\n    steps:\n" + item(whole, fields, map[string]string{"name": "s", "worker_id": "w", "function": "F"}, "      ")
	case err == nil && !of(runbookFields) && codes == "":
		return errors.New("the block is no runbook, no part of one and no file of answers: name the file that it is after ```yaml")
	}
	for _, part := range requiredParts {
		if !regexp.MustCompile(`(?m)^` + part.field + `:`).MatchString(whole) {
			whole += part.yaml
		}
	}
	_, found := runbook.Parse([]byte(whole))
	var got []string
	for _, f := range found {
		if !slices.Contains(got, f.Code) {
			got = append(got, f.Code)
		}
	}
	var want []string
	if codes != "" {
		want = strings.Split(strings.ReplaceAll(codes, " ", ""), ",")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("the runbook has the findings %q, want %q:\n%v", got, want, found)
	}
	return nil
}

// item makes one element of a list of a block's fields, and adds those that are required.
func item(text string, fields map[string]yaml.Node, required map[string]string, indent string) string {
	for name, value := range required {
		if _, there := fields[name]; !there {
			text += name + ": " + value + "\n"
		}
	}
	text = strings.TrimRight(text, "\n")
	return indent + "- " + strings.ReplaceAll(text, "\n", "\n"+indent+"  ") + "\n"
}

// messages are what a block of JSON can be, with what reads each; nil where a test of the
// package that does so reads it.
var messages = map[string]any{
	"a job":                       &message.Job{},
	"a result":                    &message.Result{},
	"an announcement":             &message.Catalog{},
	"a control":                   &message.Control{},
	"a heartbeat":                 &message.Heartbeat{},
	"a call of a custom function": nil, // worker/custom
}

func jsonRead(b pages.Block, what string) error {
	if !json.Valid([]byte(b.Text)) {
		return errors.New("the block is no JSON")
	}
	into, known := messages[what]
	if !known {
		return fmt.Errorf("put <!-- is: what --> on the line before the block, with one of those in messages of e2e/blocks_test.go; or name the file that it is after ```json; %q is none of them", what)
	}
	if into == nil {
		return nil
	}
	read := json.NewDecoder(strings.NewReader(b.Text))
	read.DisallowUnknownFields()
	if err := read.Decode(into); err != nil {
		return fmt.Errorf("it is not %s: %w", what, err)
	}
	return nil
}

var bicepStatement = regexp.MustCompile(`(?m)^(targetScope|param|var|resource|module|output|@\w+)\b`)

// bicepRead has the parser of the infrastructure read a file, or the properties of an object.
func bicepRead(b pages.Block) error {
	source := b.Text
	if !bicepStatement.MatchString(source) {
		source = "var shown = {\n" + source + "}\n"
	}
	if _, found := bicep.Parse(b.Page, source); len(found) > 0 {
		return fmt.Errorf("it is no Bicep: %v", found)
	}
	return nil
}

var dockerInstruction = regexp.MustCompile(`^(FROM|RUN|CMD|LABEL|EXPOSE|ENV|ADD|COPY|ENTRYPOINT|VOLUME|USER|WORKDIR|ARG|STOPSIGNAL|HEALTHCHECK|SHELL) \S`)

func dockerfileRead(b pages.Block) error {
	continues := false
	for i, line := range strings.Split(strings.TrimRight(b.Text, "\n"), "\n") {
		if !continues && line != "" && !strings.HasPrefix(line, "#") && !dockerInstruction.MatchString(line) {
			return fmt.Errorf("line %d, %q, is no instruction", i+1, line)
		}
		continues = strings.HasSuffix(line, "\\")
	}
	if !strings.Contains("\n"+b.Text, "\nFROM ") {
		return errors.New("it has no FROM")
	}
	return nil
}

var firstLine = regexp.MustCompile(`^(?:(?:GET|POST|PUT|DELETE) /\S*(?: HTTP/1\.1)?|HTTP/1\.1 \d{3}.*)$`)

func httpRead(b pages.Block) error {
	head, body, _ := strings.Cut(strings.TrimRight(b.Text, "\n"), "\n\n")
	first, rest, more := strings.Cut(head, "\n")
	if firstLine.MatchString(first) {
		if head = rest; !more {
			return nil
		}
	}
	fields, err := textproto.NewReader(bufio.NewReader(strings.NewReader(head + "\n\n"))).ReadMIMEHeader()
	if err != nil {
		return fmt.Errorf("these are no header lines: %w", err)
	}
	if body != "" && strings.Contains(fields.Get("Content-Type"), "json") && !json.Valid([]byte(body)) {
		return errors.New("the body is no JSON")
	}
	return nil
}

func csvRead(b pages.Block) error {
	rows, err := csv.NewReader(strings.NewReader(b.Text)).ReadAll()
	if err == nil && len(rows) < 2 {
		err = errors.New("there are no rows below the header")
	}
	return err
}

// envRead holds settings to those that the programs read.
func envRead(b pages.Block) error {
	known := settingNames()
	for i, line := range strings.Split(strings.TrimRight(b.Text, "\n"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Errorf("line %d, %q, is not NAME=value", i+1, line)
		}
		if !slices.Contains(known, name) {
			return fmt.Errorf("line %d: no program reads %s", i+1, name)
		}
	}
	return nil
}

var headings = regexp.MustCompile(`^[A-Z][A-Z -]+(  +[A-Z][A-Z -]*)+$`)

// output compares the headings of a table with those that the command prints.
func output(b pages.Block, of string) error {
	if of == "" {
		return nil
	}
	goldens, err := filepath.Glob(filepath.Join(root, "internal", "cli", "testdata", "*"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(b.Text) {
		line = strings.TrimSpace(line)
		if !headings.MatchString(line) {
			continue
		}
		columns := strings.Join(regexp.MustCompile(`  +`).Split(line, -1), "|")
		found := false
		for _, file := range goldens {
			golden, err := os.ReadFile(file)
			if err != nil {
				continue // a folder
			}
			for l := range strings.Lines(string(golden)) {
				found = found || strings.Join(regexp.MustCompile(`  +`).Split(strings.TrimSpace(l), -1), "|") == columns
			}
		}
		if !found {
			return fmt.Errorf("nothing in internal/cli/testdata has the headings %q", line)
		}
		return nil
	}
	return nil
}

// TestBadBlocksAreFound holds the test of the blocks to its point.
func TestBadBlocksAreFound(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		"```sh\nmake demo\n```\n":                                                                                 "nothing runs it",
		"```console\n$ matoolkit local tick\nran\n```\n":                                                          "nothing runs it",
		"<!-- run -->\n```console\n$ matoolkit local tick\nran\n```\n":                                            "",
		"<!-- run by: TestDemo in e2e -->\n```sh\nmake demo\n```\n":                                               "",
		"<!-- run by: TestDemo in e2e, .github/workflows/ci.yml -->\n```sh\nmake demo\nmake fuzz FUZZ=30s\n```\n": "",
		"<!-- run by: TestDemo in e2e -->\n```sh\nmake demo\nmake lint\n```\n":                                    "none of them runs make lint",
		"<!-- run by: .github/workflows/ci.yml -->\n```sh\nmake fuzz\n```\n":                                      "none of them runs make fuzz",
		"<!-- run by: TestNothing in e2e -->\n```sh\nmake demo\n```\n":                                            "no test TestNothing",
		"<!-- run by: Makefile -->\n```sh\nmake demo\n```\n":                                                      "neither a test",
		"<!-- run by -->\n```sh\nmake demo\n```\n":                                                                "neither a test",
		"<!-- needs Azure -->\n```sh\naz login\n```\n":                                                            "",
		"<!-- run -->\n```sh\nmatoolkit runbook lint x.yaml\n```\n":                                               "",
		"<!-- needs Azure -->\n```sh\nmatoolkit batch list\n```\n":                                                "none of its commands needs Azure",
		"<!-- needs Azure -->\n```sh\nmatoolkit batch list --auth azure-cli\n```\n":                               "",
		"```sh\naz login\n```\n":                                                                                  "needs Azure",
		"```sh\ncurl https://x.vault.azure.net\n```\n":                                                            "needs Azure",
		"```sh\necho \"$(az account show)\"\n```\n":                                                               "needs Azure",
		"```sh\nfrobnicate\n```\n":                                                                                "no program",
		"```sh\nif true; then\n```\n":                                                                             "no shell script",
		"<!-- needs Azure -->\n```sh\naz login \"\n```\n":                                                         "no shell script",
		"```sh\n# nothing\n```\n":                                                                                 "no commands",
		"```console\nmatoolkit says\n```\n":                                                                       "no commands",
		"<!-- needs azure -->\n```sh\nmake demo\n```\n":                                                           "means nothing",
		"<!-- run -->\n```yaml\nname: x\n```\n":                                                                   "means nothing",
		"```\nmake demo\n```\n":                                                                                   "cannot be checked",
		"```cobol\nSTOP RUN.\n```\n":                                                                              "cannot be checked",
		"```text\nhello\n```\n":                                                                                   "output",
		"<!-- output -->\n```text\nhello\n```\n":                                                                  "",
		"<!-- output: matoolkit batch list -->\n```text\nNO  SUCH  HEADINGS\n1  2  3\n```\n":                      "has the headings",
		"```yaml\nphases:\n  - name: p\n```\n":                                                                    "missing-field",
		"<!-- found: missing-field -->\n```yaml\nphases:\n  - name: p\n```\n":                                     "",
		"<!-- found: syntax -->\n```yaml\nretry: {max_retries: 0}\n```\n":                                         "want",
		"```yaml\nretry: {max_retries: 2, interval: 1m, patience: 3}\n```\n":                                      "unknown-field",
		"```yaml\noffset: T-4h\napproval: required\n```\n":                                                        "",
		"```yaml\noffset: tomorrow\n```\n":                                                                        "bad-offset",
		"```yaml\npoll:\n  interval: 1m\n  timeout: 1h\n```\n":                                                    "",
		"```yaml\npoll:\n  interval: 1m\n```\n":                                                                   "missing-field",
		"```yaml\nanswers:\n  - {function: F, polls: 2}\n```\n":                                                   "",
		"```yaml\nanswers:\n  - {function: F, pols: 2}\n```\n":                                                    "pols",
		"```yaml\non: [push]\n```\n":                                                                              "name the file",
		"```yaml examples/user-migration/runbook.yaml\nname: another\n```\n":                                      "not lines",
		"```yaml examples/user-migration/runbook.yaml\nname: user-migration\n```\n":                               "",
		"```yaml nowhere.yaml\nname: x\n```\n":                                                                    "names a file",
		"```json\n{}\n```\n":                                                                                      "<!-- is: what -->",
		"<!-- is: a job -->\n```json\n{\"JobId\": \"1\",}\n```\n":                                                 "no JSON",
		"<!-- is: a job -->\n```json\n{\"JobId\": \"1\", \"Urgent\": true}\n```\n":                                "Urgent",
		"<!-- is: a job -->\n```json\n{\"JobId\": \"1\"}\n```\n":                                                  "",
		"```bicep\nprobes: [\n  { type: 'Liveness'\n]\n```\n":                                                     "no Bicep",
		"```dockerfile\nFROM scratch\nCOPPY a b\n```\n":                                                           "no instruction",
		"```mermaid\nflowchart LR\n  a -> b\n```\n":                                                               "no link",
		"```http\nPOST /api/batches\nIdempotency-Key: 7\n```\n":                                                   "",
		"```http\nnot a header\n```\n":                                                                            "no header",
		"```csv\nMail,Alias\na@x.org\n```\n":                                                                      "wrong number of fields",
		"```env\nWORKER_ID=worker-01\n```\n":                                                                      "",
		"```env\nWORKER_NAME=worker-01\n```\n":                                                                    "no program reads",
		"```kusto\nAppTraces | take 1\n```\n":                                                                     "needs Azure",
		"<!-- needs Azure -->\n```kusto\nAppTraces | take 1\n```\n":                                               "",
	} {
		page, err := pages.Parse("page", document)
		if err != nil || len(page.Blocks) != 1 || len(page.Stray) > 0 {
			t.Fatalf("%q: %+v, %v", document, page, err)
		}
		_, err = judge(page.Blocks[0])
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", document, err, want)
		}
	}
	if page, err := pages.Parse("page", "<!-- run -->\n\n```sh\nmake demo\n```\n"); err != nil || !slices.Equal(page.Stray, []int{1}) {
		t.Errorf("a mark that is not before its block: got %+v, %v", page, err)
	}
	if _, err := pages.Parse("page", "```sh\nmake demo\n"); err == nil {
		t.Error("a block without an end is taken")
	}
}
