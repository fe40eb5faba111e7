package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

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
)

// TestWorkflows holds the workflows to what is easily forgotten in them: actions pinned to
// commits, the fewest permissions, an end to every job, nothing from outside inside a
// script, and Makefile targets, files and template parameters that are there.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	targets := makeTargets(t)
	pins := map[string]string{}
	files := repositoryFiles(t, ".github/workflows/*.yml", ".github/actions/*/action.yml")
	for _, file := range files {
		text := readRepositoryFile(t, file)
		var w workflow
		if err := yaml.Unmarshal([]byte(text), &w); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}

		steps := w.Runs.Steps
		if len(w.Jobs) > 0 && (len(w.Permissions) != 1 || w.Permissions["contents"] != "read") {
			t.Errorf("%s: its permissions are %v, not contents: read; a job asks for what it needs besides", file, w.Permissions)
		}
		for name, job := range w.Jobs {
			steps = append(steps, job.Steps...)
			for what, access := range job.Permissions {
				if access != "read" && !slices.Contains(mayWrite[filepath.Base(file)], what) {
					t.Errorf("%s: %s: it may not have %s: %s", file, name, what, access)
				}
			}
			if job.Uses != "" {
				if _, err := os.Stat(filepath.Join(root, job.Uses)); err != nil {
					t.Errorf("%s: %s: %v", file, name, err)
				}
				continue
			}
			if job.Timeout == 0 {
				t.Errorf("%s: %s: it has no timeout-minutes", file, name)
			}
			if strings.HasSuffix(job.RunsOn, "-latest") {
				t.Errorf("%s: %s: %s changes under us", file, name, job.RunsOn)
			}
		}

		for _, step := range steps {
			if strings.Contains(step.Run, "${{") {
				t.Errorf("%s: an expression inside a script is run as a part of it; give it by env:\n%s", file, step.Run)
			}
			for _, call := range calledTargets.FindAllStringSubmatch(step.Run, -1) {
				for _, word := range strings.Fields(call[1]) {
					if !strings.Contains(word, "=") && !slices.Contains(targets, word) {
						t.Errorf("%s: make %s: the Makefile has no target %s", file, call[1], word)
					}
				}
			}
			checkParameters(t, file, step.Run)
			checkPin(t, file, step.Uses, pins)
		}
		for _, path := range repositoryPath.FindAllStringSubmatch(text, -1) {
			checkPath(t, file, path[1])
		}
	}
	if len(files) < 7 || len(pins) < 8 {
		t.Errorf("only %d files with %d actions were looked at", len(files), len(pins))
	}
}

// checkPin tells whether an action is one of this repository or pinned: to a commit, with
// its version behind it, everywhere to the same.
func checkPin(t *testing.T, file string, uses yaml.Node, pins map[string]string) {
	t.Helper()
	if uses.Value == "" {
		return
	}
	if strings.HasPrefix(uses.Value, "./") {
		if _, err := os.Stat(filepath.Join(root, uses.Value, "action.yml")); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		return
	}
	pin := pinnedAction.FindStringSubmatch(uses.Value)
	if pin == nil || !pinnedVersion.MatchString(uses.LineComment) {
		t.Errorf("%s: %s %s: it is not pinned to a commit with the version behind it: # v1.2.3", file, uses.Value, uses.LineComment)
		return
	}
	full := pin[2] + " " + uses.LineComment
	if before := pins[pin[1]]; before != "" && before != full {
		t.Errorf("%s: %s is %s here and %s elsewhere", file, pin[1], full, before)
	}
	pins[pin[1]] = full
}

// checkPath tells whether a path of the repository is there, for each environment.
func checkPath(t *testing.T, file, path string) {
	t.Helper()
	for _, environment := range []string{"dev", "prod"} {
		each := strings.TrimRight(strings.ReplaceAll(path, "$ENVIRONMENT", environment), ".:")
		if _, err := os.Stat(filepath.Join(root, each)); err != nil {
			t.Errorf("%s: %s: %v", file, path, err)
		}
	}
}

// checkParameters holds what a script gives to a template against the parameters of that:
// each is there, and those without a default get a value, in the parameter files of each
// environment or from the script.
func checkParameters(t *testing.T, file, script string) {
	t.Helper()
	template := templateFile.FindStringSubmatch(script)
	if template == nil {
		return
	}
	there := map[string]bool{} // and whether one has a default
	for _, p := range bicepParameter.FindAllStringSubmatch(readRepositoryFile(t, template[1]), -1) {
		there[p[1]] = p[2] != ""
	}
	for _, environment := range []string{"dev", "prod"} {
		given := map[string]bool{}
		for _, p := range givenParameter.FindAllStringSubmatch(script, -1) {
			given[p[1]] = true
		}
		for _, name := range parameterFile.FindAllStringSubmatch(script, -1) {
			var parameters struct {
				Parameters map[string]struct{} `json:"parameters"`
			}
			name := strings.ReplaceAll(name[1], "$ENVIRONMENT", environment)
			if err := json.Unmarshal([]byte(readRepositoryFile(t, name)), &parameters); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for p := range parameters.Parameters {
				given[p] = true
			}
		}
		for p := range given {
			if _, known := there[p]; !known {
				t.Errorf("%s: %s: it has no parameter %s", file, template[1], p)
			}
		}
		for p, optional := range there {
			if !optional && !given[p] {
				t.Errorf("%s: %s: nothing gives the parameter %s in %s", file, template[1], p, environment)
			}
		}
	}
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
		for _, path := range found {
			name, err := filepath.Rel(root, path)
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
