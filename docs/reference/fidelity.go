package reference

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/matoolkit/matoolkit/local/clients"
)

// fidelity is a service in local/fidelity.json. Those with a Service have the cases of
// local/clients, the others list what they support and refuse.
type fidelity struct {
	Name      string       `json:"name"`
	Dir       string       `json:"dir"`
	Service   string       `json:"service"`
	Compared  string       `json:"compared"`
	Clients   string       `json:"clients"`
	Modules   []string     `json:"modules"`
	Supported []string     `json:"supported"`
	Refused   []refusal    `json:"refused"`
	Assumed   []assumption `json:"assumed"`

	Runs []clientRun
	Rows []caseRow
}

// refusal is something that a server refuses. The source of the server contains Text.
type refusal struct {
	What string `json:"what"`
	How  string `json:"how"`
	Text string `json:"text"`
}

// assumption is a behaviour of the live service that no run has shown, or about which sources disagree.
type assumption struct {
	What    string `json:"what"`
	Sources string `json:"sources"`
	Choice  string `json:"choice"` // of the functions of the worker, and of the local server
}

// clientRun is the recorded run of a client program for a service.
type clientRun struct {
	Client          string
	Package         string
	Passed, Refused int
}

// caseRow is a case with the outcome for each client program.
type caseRow struct {
	clients.Case
	Outcomes []string
}

// languages are the languages of the client programs.
var languages = []struct{ client, name string }{{"go", "Go"}, {"js", "JavaScript"}, {"python", "Python"}, {"java", "Java"}}

func readFidelity(root string) (any, error) {
	text, err := os.ReadFile(filepath.Join(root, "local", "fidelity.json"))
	if err != nil {
		return nil, err
	}
	var services []fidelity
	if err := json.Unmarshal(text, &services); err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "local", "clients")
	cases, err := clients.ReadCases(dir)
	if err != nil {
		return nil, err
	}
	results, err := clients.ReadResults(dir)
	if err != nil {
		return nil, err
	}
	for i := range services {
		s := &services[i]
		if err := s.readOutcomes(cases, results); err != nil {
			return nil, err
		}
		if err := s.readModules(root); err != nil {
			return nil, err
		}
		if err := s.checkRefusals(root); err != nil {
			return nil, err
		}
	}
	return services, nil
}

// readOutcomes reads the outcomes of the service's cases from the recorded results.
func (s *fidelity) readOutcomes(cases []clients.Case, results clients.Results) error {
	if s.Service == "" {
		return nil
	}
	for _, language := range languages {
		s.Runs = append(s.Runs, clientRun{Client: language.name, Package: packageOf(results.Packages[language.client], s.Service)})
	}
	for _, c := range cases {
		if c.Service != s.Service {
			continue
		}
		row := caseRow{Case: c}
		for i, language := range languages {
			outcome, ok := results.Cases[c.ID()][language.client]
			switch {
			case c.Without[language.client] != "":
				row.Outcomes = append(row.Outcomes, "–")
				continue
			case !ok || outcome == clients.Failed:
				return fmt.Errorf("local/clients/results.json: %s of %s has the outcome %q: run make clients CLIENTS=-record", c.ID(), language.client, outcome)
			case outcome == clients.Refused:
				s.Runs[i].Refused++
			default:
				s.Runs[i].Passed++
			}
			row.Outcomes = append(row.Outcomes, strings.ToLower(string(outcome)))
		}
		s.Rows = append(s.Rows, row)
	}
	return nil
}

// packageOf returns the package with its version whose name contains the service.
func packageOf(versions map[string]string, service string) string {
	for name, version := range versions {
		if strings.Contains(strings.ReplaceAll(name, "-", ""), service) {
			return name + " " + version
		}
	}
	return ""
}

// readModules adds the versions of the Go modules to the clients.
func (s *fidelity) readModules(root string) error {
	if len(s.Modules) == 0 {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	for _, module := range s.Modules {
		_, rest, found := strings.Cut(string(text), "\t"+module+" v")
		if !found {
			return fmt.Errorf("local/fidelity.json: %s: go.mod does not require %s", s.Name, module)
		}
		s.Clients += " " + strings.Fields(rest)[0]
	}
	return nil
}

// checkRefusals checks that the server has the text of each refusal.
func (s *fidelity) checkRefusals(root string) error {
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(s.Dir), "*.go"))
	if err != nil {
		return err
	}
	var source strings.Builder
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		source.Write(text)
	}
	for _, r := range s.Refused {
		if !strings.Contains(source.String(), r.Text) {
			return fmt.Errorf("local/fidelity.json: %s: no source of %s contains %q", s.Name, s.Dir, r.Text)
		}
	}
	return nil
}
