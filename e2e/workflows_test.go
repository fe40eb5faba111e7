package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestWorkflows holds the workflows to what is easily forgotten in them: actions pinned to
// commits, the fewest permissions, an end to every job, nothing from outside inside a
// script; Makefile targets, files, parameters of templates and variables that are there.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	w := newWorkflows(t)
	files := repositoryFiles(t, ".github/workflows/*.yml", ".github/actions/*/action.yml")
	for _, file := range files {
		for _, fault := range w.faults(file, readRepositoryFile(t, file)) {
			t.Errorf("%s: %s", file, fault)
		}
	}
	if len(files) < 7 || len(w.pins) < 8 {
		t.Errorf("only %d files with %d actions were looked at", len(files), len(w.pins))
	}
}

// TestBadWorkflowsAreFound breaks a workflow that is without faults, one way after the
// other.
func TestBadWorkflowsAreFound(t *testing.T) {
	t.Parallel()
	const good = `
permissions:
  contents: read
jobs:
  build:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions:
      id-token: write
    steps:
      - uses: ./.github/actions/go
      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
      - run: make test lint FUZZ=10s
      - run: |
          az deployment group create --template-file infra/shared/deploy.bicep --parameters "@infra/shared/deploy.parameters.$ENVIRONMENT.json" --parameters "name=$NAME"
  call:
    uses: ./.github/workflows/ci.yml
`
	const file = "deploy-infra.yml"
	if faults := newWorkflows(t).faults(file, good); len(faults) > 0 {
		t.Fatalf("the good one: %q", faults)
	}
	for _, bad := range []struct{ of, with, says string }{
		{"permissions:\n  contents: read\njobs", "jobs", "its permissions are map[]"},
		{"  contents: read\njobs", "  contents: write\njobs", "its permissions are map[contents:write]"},
		{"id-token: write", "packages: write", "it may not have packages: write"},
		{"    timeout-minutes: 5\n", "", "build: it has no timeout-minutes"},
		{"ubuntu-24.04", "ubuntu-latest", "changes under us"},
		{"actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0", "actions/checkout@v5", "actions/checkout@v5: it is not pinned"},
		{" # v5.0.0", "", "it is not pinned"},
		{"# v5.0.0", "# v5.0.0\n      - uses: actions/checkout@18c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0", "elsewhere"},
		{"./.github/actions/go", "./.github/actions/rust", ".github/actions/rust"},
		{"./.github/workflows/ci.yml", "./.github/workflows/nightly.yml", ".github/workflows/nightly.yml"},
		{"make test lint", "make test lnit", "no target lnit"},
		{"make test lint", "echo ${{ github.event.issue.title }}", "an expression inside a script"},
		{"--template-file infra/shared/deploy.bicep", "--template-file infra/shared/deplay.bicep", "infra/shared/deplay.bicep"},
		{"shared/deploy.parameters.$ENVIRONMENT.json", "shared/deploy.params.$ENVIRONMENT.json", "infra/shared/deploy.params.dev.json"},
		{"name=$NAME", "nome=$NAME", "infra/shared/deploy.bicep: it has no parameter nome"},
		{` --parameters "@infra/shared/deploy.parameters.$ENVIRONMENT.json"`, "", "nothing gives the parameter environmentName in prod"},
		{"ubuntu-24.04", "${{ vars.RUNNERS }}", "no comment tells of the variable RUNNERS"},
	} {
		faults := newWorkflows(t).faults(file, strings.Replace(good, bad.of, bad.with, 1))
		if len(faults) == 0 || !strings.Contains(strings.Join(faults, "\n"), bad.says) {
			t.Errorf("%q instead of %q: %q does not say %q", bad.with, bad.of, faults, bad.says)
		}
	}
}

// A workflow, or an action of this repository, as far as the tests look at it.
type workflow struct {
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]struct {
		RunsOn      string            `yaml:"runs-on"`
		Timeout     int               `yaml:"timeout-minutes"`
		Uses        string            `yaml:"uses"`
		Permissions map[string]string `yaml:"permissions"`
		Steps       []workflowStep    `yaml:"steps"`
	} `yaml:"jobs"`
	Runs struct {
		Steps []workflowStep `yaml:"steps"`
	} `yaml:"runs"`
}

type workflowStep struct {
	Uses yaml.Node `yaml:"uses"` // with the comment behind it
	Run  string    `yaml:"run"`
}

// What jobs may do besides reading the repository, by workflow.
var mayWrite = map[string][]string{
	"deploy-apps.yml":     {"id-token"},
	"deploy-apps-to.yml":  {"id-token"},
	"deploy-infra.yml":    {"id-token"},
	"deploy-infra-to.yml": {"id-token"},
	"release.yml":         {"attestations", "contents", "id-token"},
}

var (
	pinnedAction   = regexp.MustCompile(`^([\w.-]+/[\w./-]+)@([0-9a-f]{40})$`)
	pinnedVersion  = regexp.MustCompile(`^# v\d+\.\d+\.\d+$`)
	calledTargets  = regexp.MustCompile(`(?m)(?:^|[;&|] *)make ((?:[a-z][\w-]*|[A-Z]+=\S+)(?: +(?:[a-z][\w-]*|[A-Z]+=\S+))*)`)
	repositoryPath = regexp.MustCompile("(?m)(?:^|[\\s\"'`@=\\[])(?:\\./)?((?:\\.github|cmd|docs|e2e|examples|functions|handler|infra|internal|local|worker)/[^\\s\"'`*;,\\])]*)")
	templateFile   = regexp.MustCompile(`--template-file (\S+)`)
	parameterFile  = regexp.MustCompile(`--parameters "?@([^\s"]+)`)
	givenParameter = regexp.MustCompile(`--parameters "?(\w+)=`)
	bicepParameter = regexp.MustCompile(`(?m)^param (\w+) \w+( =)?`)
	usedVariable   = regexp.MustCompile(`\bvars\.(\w+)`)
	workflowNote   = regexp.MustCompile(`(?m)^#.*$`)
)

// workflows is what workflows are held against.
type workflows struct {
	targets []string          // of the Makefile
	pins    map[string]string // of the actions that were seen
	notes   string            // what the comments at the left edge of all workflows say
}

func newWorkflows(t *testing.T) *workflows {
	w := &workflows{targets: makeTargets(t), pins: map[string]string{}}
	for _, file := range repositoryFiles(t, ".github/workflows/*.yml") {
		w.notes += strings.Join(workflowNote.FindAllString(readRepositoryFile(t, file), -1), "\n")
	}
	return w
}

// faults are those of the text of one file.
func (w *workflows) faults(file, text string) []string {
	var found []string
	fault := func(format string, arguments ...any) { found = append(found, fmt.Sprintf(format, arguments...)) }
	var flow workflow
	if err := yaml.Unmarshal([]byte(text), &flow); err != nil {
		return []string{err.Error()}
	}

	if len(flow.Jobs) > 0 && (len(flow.Permissions) != 1 || flow.Permissions["contents"] != "read") {
		fault("its permissions are %v, not contents: read; a job asks for what it needs besides", flow.Permissions)
	}
	steps := flow.Runs.Steps
	for name, job := range flow.Jobs {
		steps = append(steps, job.Steps...)
		for what, access := range job.Permissions {
			if access != "read" && !slices.Contains(mayWrite[path.Base(file)], what) {
				fault("%s: it may not have %s: %s", name, what, access)
			}
		}
		if job.Uses == "" && job.Timeout == 0 {
			fault("%s: it has no timeout-minutes", name)
		}
		if strings.HasSuffix(job.RunsOn, "-latest") {
			fault("%s: %s changes under us", name, job.RunsOn)
		}
	}
	for _, step := range steps {
		if strings.Contains(step.Run, "${{") {
			fault("an expression inside a script is run as a part of it; give it by env:\n%s", step.Run)
		}
		for _, call := range calledTargets.FindAllStringSubmatch(step.Run, -1) {
			for word := range strings.FieldsSeq(call[1]) {
				if !strings.Contains(word, "=") && !slices.Contains(w.targets, word) {
					fault("make %s: the Makefile has no target %s", call[1], word)
				}
			}
		}
		found = append(found, parameterFaults(step.Run)...)
		if err := w.pinned(step.Uses); err != nil {
			fault("%v", err)
		}
	}
	for _, name := range repositoryPath.FindAllStringSubmatch(text, -1) {
		for _, environment := range []string{"dev", "prod"} {
			each := strings.TrimRight(strings.ReplaceAll(name[1], "$ENVIRONMENT", environment), ".:")
			if _, err := os.Stat(filepath.Join(root, each)); err != nil {
				fault("%s: %v", each, err)
			}
		}
	}
	for _, name := range usedVariable.FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`\b` + name[1] + `\b`).MatchString(w.notes) {
			fault("no comment tells of the variable %s", name[1])
		}
	}
	return found
}

// pinned tells whether an action is pinned to a commit, with its version behind it, and
// everywhere to the same. One of this repository is found by its path.
func (w *workflows) pinned(uses yaml.Node) error {
	if uses.Value == "" || strings.HasPrefix(uses.Value, "./") {
		return nil
	}
	pin := pinnedAction.FindStringSubmatch(uses.Value)
	if pin == nil || !pinnedVersion.MatchString(uses.LineComment) {
		return fmt.Errorf("%s: it is not pinned to a commit with the version behind it: # v1.2.3", uses.Value)
	}
	full := pin[2] + " " + uses.LineComment
	if before := w.pins[pin[1]]; before != "" && before != full {
		return fmt.Errorf("%s is %s here and %s elsewhere", pin[1], full, before)
	}
	w.pins[pin[1]] = full
	return nil
}

// parameterFaults holds what a script gives to a template against the parameters of that:
// each is there, and those without a default get a value, in the parameter files of each
// environment or from the script.
func parameterFaults(script string) []string {
	template := templateFile.FindStringSubmatch(script)
	if template == nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, template[1]))
	if err != nil {
		return []string{err.Error()}
	}
	there := map[string]bool{} // and whether one has a default
	for _, p := range bicepParameter.FindAllStringSubmatch(string(text), -1) {
		there[p[1]] = p[2] != ""
	}
	var found []string
	for _, environment := range []string{"dev", "prod"} {
		given := map[string]bool{}
		for _, p := range givenParameter.FindAllStringSubmatch(script, -1) {
			given[p[1]] = true
		}
		for _, name := range parameterFile.FindAllStringSubmatch(script, -1) {
			var parameters struct {
				Parameters map[string]any `json:"parameters"`
			}
			text, err := os.ReadFile(filepath.Join(root, strings.ReplaceAll(name[1], "$ENVIRONMENT", environment)))
			if err == nil {
				err = json.Unmarshal(text, &parameters)
			}
			if err != nil {
				found = append(found, err.Error())
			}
			for p := range parameters.Parameters {
				given[p] = true
			}
		}
		for _, p := range slices.Sorted(maps.Keys(given)) {
			if _, known := there[p]; !known {
				found = append(found, fmt.Sprintf("%s: it has no parameter %s", template[1], p))
			}
		}
		for _, p := range slices.Sorted(maps.Keys(there)) {
			if !there[p] && !given[p] {
				found = append(found, fmt.Sprintf("%s: nothing gives the parameter %s in %s", template[1], p, environment))
			}
		}
	}
	return found
}

// repositoryFiles are those of the patterns, each of which finds some.
func repositoryFiles(t *testing.T, patterns ...string) []string {
	t.Helper()
	var all []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		for _, file := range found {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, filepath.ToSlash(name))
		}
	}
	return all
}

func readRepositoryFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
