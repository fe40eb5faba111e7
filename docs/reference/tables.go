package reference

import (
	"errors"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/internal/engine/enginetest"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// functions are the worker's, and the errors that each of them can have.
type functions struct {
	Groups []catalog.TaskGroup
	Common []catalog.Error
}

func readFunctions(string) (any, error) {
	return functions{catalog.TaskGroups(), catalog.CommonErrors()}, nil
}

// problemCode is a code of a problem document with its HTTP statuses.
type problemCode struct{ Code, Status, Doc string }

var httpStatus = regexp.MustCompile(`\b[45]\d\d\b`)

func readProblemCodes(root string) (any, error) {
	files, err := readSource(root, "internal/api")
	if err != nil {
		return nil, err
	}
	var codes []problemCode
	for _, c := range byValue(files.constants(func(name string) bool { return strings.HasPrefix(name, "Code") })) {
		status, doc, found := strings.Cut(c.Comment, ": ")
		if !found || !httpStatus.MatchString(status) {
			return nil, fmt.Errorf("the comment of %s does not begin with its status, such as 404: …", c.Name)
		}
		codes = append(codes, problemCode{c.Value, status, doc})
	}
	return codes, nil
}

// metric is an instrument that a program makes.
type metric struct{ Name, Program, Doc string }

// readMetrics finds the instruments by their names, which begin with matoolkit. The description
// is another argument of the call.
func readMetrics(root string) (any, error) {
	var all []metric
	for _, from := range []struct{ program, dir string }{{"handler", "handler"}, {"handler", "internal/invocation"}, {"handler", "internal/applier"}, {"handler", "internal/pipeline"}, {"worker", "worker/telemetry"}} {
		files, err := readSource(root, from.dir)
		if err != nil {
			return nil, err
		}
		files.calls(func(_ string, arguments []ast.Expr) {
			if len(arguments) < 2 {
				return
			}
			name, ok := text(arguments[0])
			if !ok || !strings.HasPrefix(name, "matoolkit.") {
				return
			}
			for _, argument := range arguments[1:] {
				if option, ok := argument.(*ast.CallExpr); ok && len(option.Args) == 1 {
					argument = option.Args[0]
				}
				if description, ok := text(argument); ok && strings.Contains(description, " ") {
					all = append(all, metric{name, from.program, description})
				}
			}
		})
	}
	if len(all) == 0 {
		return nil, errors.New("no instrument was found")
	}
	slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// finding is a code of the diagnostics of a runbook.
type finding struct{ Code, Severity, Doc string }

type runbookPage struct {
	Objects  []runbook.Object
	Filters  []template.FilterDoc
	Findings []finding
}

func readRunbook(root string) (any, error) {
	page := runbookPage{Objects: runbook.Format(), Filters: template.Filters()}
	for _, dir := range []string{"internal/runbook", "internal/runbook/lint", "internal/runbooks"} {
		files, err := readSource(root, dir)
		if err != nil {
			return nil, err
		}
		warned := map[string]bool{}
		files.calls(func(method string, arguments []ast.Expr) {
			for _, argument := range arguments {
				if name, ok := argument.(*ast.Ident); ok && strings.HasPrefix(method, "warn") {
					warned[name.Name] = true
				}
			}
		})
		for _, c := range files.constants(func(name string) bool { return strings.HasPrefix(strings.ToLower(name), "code") }) {
			if c.Comment == "" {
				return nil, fmt.Errorf("%s: %s has no comment", dir, c.Name)
			}
			severity := "error"
			if warned[c.Name] {
				severity = "warning"
			}
			page.Findings = append(page.Findings, finding{c.Value, severity, c.Comment})
		}
	}
	slices.SortFunc(page.Findings, func(a, b finding) int { return strings.Compare(a.Code, b.Code) })
	return page, nil
}

// machine is a state machine with what its statuses mean.
type machine struct {
	enginetest.Machine
	Statuses []constant
}

func readMachines(root string) (any, error) {
	files, err := readSource(root, "internal/model")
	if err != nil {
		return nil, err
	}
	var all []machine
	for _, m := range enginetest.Machines() {
		with := machine{Machine: m}
		for _, c := range files.constants(func(string) bool { return true }) {
			if strings.EqualFold(c.Type, m.Name+"Status") {
				if c.Comment == "" {
					return nil, fmt.Errorf("internal/model: %s has no comment", c.Name)
				}
				with.Statuses = append(with.Statuses, c)
			}
		}
		if with.Statuses == nil {
			return nil, fmt.Errorf("internal/model has no statuses of a %s", m.Name)
		}
		all = append(all, with)
	}
	return all, nil
}

// parameter is one parameter of a Bicep template.
type parameter struct{ Name, Type, Default, Doc string }

type stage struct {
	Template   string
	Parameters []parameter
}

func readParameters(root string) (any, error) {
	var stages []stage
	for _, file := range []string{"infra/main.bicep", "infra/shared/deploy.bicep", "infra/automation/functions/deploy.bicep", "infra/automation/worker/deploy.bicep", "infra/automation/scaler/deploy.bicep", "infra/automation/context-bundle/deploy.bicep"} {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		parsed, found := bicep.Parse(file, string(source))
		if len(found) > 0 {
			return nil, fmt.Errorf("%v", found)
		}
		s, lines := stage{Template: file}, strings.Split(string(source), "\n")
		for _, p := range parsed.Parameters {
			doc := p.Description()
			if doc == "" {
				return nil, fmt.Errorf("%s: the parameter %s has no description", file, p.Name.Text)
			}
			s.Parameters = append(s.Parameters, parameter{p.Name.Text, parameterType(p), parameterDefault(p, lines), doc})
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// parameterDefault is the default as it is written; a list is on one line.
func parameterDefault(p *bicep.Parameter, lines []string) string {
	if p.Default == nil {
		return ""
	}
	_, text, _ := strings.Cut(lines[p.Name.Line-1], " = ")
	for i := p.Name.Line; strings.HasSuffix(strings.TrimSpace(lines[i-1]), "[") || i > p.Name.Line && !strings.HasPrefix(lines[i-1], "]"); i++ {
		text += " " + strings.TrimSpace(lines[i])
	}
	return text
}

// parameterType is the type with its limits.
func parameterType(p *bicep.Parameter) string {
	text := p.Type.Text
	if allowed := p.Allowed(); allowed != nil {
		var values []string
		for _, value := range allowed {
			if word, is := value.(string); is {
				value = "'" + word + "'"
			}
			values = append(values, fmt.Sprintf("`%v`", value))
		}
		return text + ": " + strings.Join(values, ", ")
	}
	for _, limit := range []struct{ decorator, text string }{{"minValue", "min"}, {"maxValue", "max"}, {"minLength", "min length"}, {"maxLength", "max length"}} {
		if n, has := p.Limit(limit.decorator); has {
			text += fmt.Sprintf(", %s %d", limit.text, n)
		}
	}
	return text
}
