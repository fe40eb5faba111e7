package reference

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

// setting is an environment variable of a program.
type setting struct {
	Name, Default, Doc string
	Required           bool
}

type settingsPage struct {
	Handler, Worker, Names, RabbitMQ, Scaler, Telemetry, Environment []setting
	Commands                                                         []settings.Definition
}

func readSettings(root string) (any, error) {
	var page settingsPage
	shared, err := readVariables(root, "internal/tlsroots")
	if err != nil {
		return nil, err
	}
	for dir, list := range map[string]*[]setting{"handler": &page.Handler, "worker": &page.Worker, "internal/bus/servicebus": &page.Names, "internal/bus/rabbitmq": &page.RabbitMQ, "internal/scaler": &page.Scaler, "internal/otlp": &page.Telemetry} {
		if *list, err = readVariables(root, dir); err != nil {
			return nil, err
		}
	}
	every, err := readVariables(root, "worker/program")
	if err != nil {
		return nil, err
	}
	page.Handler = append(page.Handler, shared...)
	page.Worker = append(every, page.Worker...)
	page.Worker = append(page.Worker, shared...)
	page.Commands = settings.Definitions
	for _, dir := range []string{"internal/cli/settings", "internal/cli/login", "internal/cli/render"} {
		variables, err := readVariables(root, dir)
		if err != nil {
			return nil, err
		}
		page.Environment = append(page.Environment, variables...)
	}
	return page, nil
}

// environmentConstant is how the programs name their environment variables.
var environmentConstant = regexp.MustCompile(`^[eE]nv[A-Z]`)

// readerMethods read one variable each: methods of env.Reader and of the programs' readers.
var readerMethods = strings.Fields("Text Or Required Number Seconds Switch Level List Server SecureServer Getenv LookupEnv getenv")

// systemVariables belong to the operating system and its shells.
var systemVariables = strings.Fields("HOME PATH TERM LOCALAPPDATA XDG_CACHE_HOME XDG_CONFIG_HOME")

// defaultAfter is a default that a comment states, since the source has an expression for it.
var defaultAfter = regexp.MustCompile(`\.? Default: (\S+)$`)

// readVariables reads the environment variables of one package: constants with a comment. The
// calls of env.Reader say which are required, and have the defaults that are literals.
func readVariables(root, dir string) ([]setting, error) {
	files, err := readSource(root, dir)
	if err != nil {
		return nil, err
	}
	constants := files.constants(environmentConstant.MatchString)
	values := files.literals()
	for _, dir := range []string{"functions/admin-http", "internal/message"} { // with defaults of the others
		source, err := readSource(root, dir)
		if err != nil {
			return nil, err
		}
		maps.Copy(values, source.literals())
	}
	required, defaults := map[string]bool{}, map[string]string{}
	var unnamed []string // variables without a constant
	files.calls(func(method string, arguments []ast.Expr) {
		if len(arguments) == 0 {
			return
		}
		if variable, ok := text(arguments[0]); ok && slices.Contains(readerMethods, method) && !slices.Contains(systemVariables, variable) {
			unnamed = append(unnamed, variable)
		}
		name, ok := arguments[0].(*ast.Ident)
		if !ok {
			return
		}
		switch method {
		case "Required", "address", "guid", "guids", "port", "form":
			required[name.Name] = true
		case "Level":
			defaults[name.Name] = "info"
		case "Switch":
			defaults[name.Name] = "0"
		case "Or", "Number", "Seconds", "Server", "service":
			defaults[name.Name] = literal(arguments[1], values)
		}
	})
	if unnamed != nil {
		return nil, fmt.Errorf("%s: declare a constant with a comment for %s", dir, strings.Join(unnamed, ", "))
	}
	var all []setting
	for _, c := range constants {
		if c.Comment == "" {
			return nil, fmt.Errorf("%s: the constant %s needs a comment that says what %s is", dir, c.Name, c.Value)
		}
		s := setting{Name: c.Value, Doc: c.Comment, Required: required[c.Name], Default: defaults[c.Name]}
		if m := defaultAfter.FindStringSubmatch(s.Doc); m != nil {
			s.Doc, s.Default = strings.TrimSuffix(s.Doc, m[0]), m[1]
		}
		all = append(all, s)
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if !slices.ContainsFunc(constants, func(c constant) bool { return c.Name == name }) && environmentConstant.MatchString(name) {
			return nil, fmt.Errorf("%s: %s is not a constant of the package", dir, name)
		}
	}
	return all, nil
}

// literal is the value of a literal or of one of the constants; empty for other expressions.
func literal(e ast.Expr, constants map[string]string) string {
	if value, ok := text(e); ok {
		return value
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.INT {
			return e.Value
		}
	case *ast.Ident:
		return constants[e.Name]
	case *ast.SelectorExpr:
		return constants[e.Sel.Name]
	}
	return ""
}
