package custom

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Limits of a manifest, and of a function that gives none itself.
const (
	maxManifest    = 64 << 10 // bytes
	defaultTimeout = time.Minute
	maxTimeout     = 24 * time.Hour
)

// manifest is one file that declares one function.
type manifest struct {
	reader
	declared    catalog.Function
	nameAt      *yaml.Node
	timeout     time.Duration
	environment []string // names
	tokens      []string // names of APIs
	argv        []string // the first is a path that is safe to run
	script      bool     // of PowerShell
}

var (
	functionName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,99}$`)
	parameterName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,99}$`)
	fieldName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
	variableName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// read reads the manifest of that name. Its error joins all that is wrong.
func read(root, file string, config Config) (*manifest, error) {
	m := &manifest{reader: reader{file: file}, timeout: defaultTimeout}
	path, err := safeFile(root, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	src, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	node, err := m.document(src)
	if err != nil {
		return nil, err
	}
	m.decode(node, root, config)
	return m, errors.Join(m.faults...)
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err == nil && len(src) > maxManifest {
		err = fmt.Errorf("the manifest has more than %d bytes", maxManifest)
	}
	return src, err
}

// document gives the one document's root.
func (m *manifest) document(src []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var first, second yaml.Node
	if err := decoder.Decode(&first); err != nil && !errors.Is(err, io.EOF) {
		return nil, m.syntax(err)
	}
	if len(first.Content) != 1 || first.Content[0].ShortTag() == "!!null" {
		return nil, fmt.Errorf("%s:1:1: the manifest is empty", m.file)
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, m.syntax(err)
	default:
		return nil, m.at(&second, "a second document starts here: a manifest declares one function")
	}
	return first.Content[0], nil
}

func (m *manifest) decode(root *yaml.Node, dir string, config Config) {
	f := m.mapping(root, "a manifest",
		"name", "description", "params", "result", "permissions", "read_only", "timeout", "environment", "tokens", "rehearse", "command", "script")
	if f == nil {
		return
	}
	d := &m.declared
	m.nameAt = f["name"]
	d.Name = m.named(root, f, "name", functionName, "letters, digits, '_', '.' and '-', starting with a letter, at most 100")
	d.Description = m.required(root, f, "description")
	d.Params = m.params(f["params"])
	d.Result = m.result(f["result"])
	d.Permissions = m.texts(f["permissions"])
	if n := f["read_only"]; n != nil {
		d.ReadOnly = m.boolean(n)
	}
	if n := f["timeout"]; n != nil {
		m.timeout = m.duration(n)
	}
	if config.MaxTimeout > 0 && m.timeout > config.MaxTimeout {
		if n := f["timeout"]; n != nil {
			m.fault(n, "timeout is %s; a job has at most %s", m.timeout, config.MaxTimeout)
		}
		m.timeout = config.MaxTimeout
	}
	d.TimeoutSeconds = int(math.Ceil(m.timeout.Seconds()))
	m.variables(f["environment"], config)
	m.apis(f["tokens"], config)
	m.rehearsal(f["rehearse"], f["tokens"] != nil)
	m.execute(root, f["command"], f["script"], dir, config)
}

func (m *manifest) params(list *yaml.Node) []catalog.Param {
	var params []catalog.Param
	for _, n := range m.list(list) {
		f := m.mapping(n, "a parameter", "name", "type", "required", "secret", "description")
		if f == nil {
			continue
		}
		p := catalog.Param{
			Name:        m.named(n, f, "name", parameterName, "letters, digits and '_', starting with a letter, at most 100"),
			Type:        catalog.String,
			Description: m.required(n, f, "description"),
		}
		if at := f["type"]; at != nil {
			p.Type = catalog.Type(m.text(at))
			if !slices.Contains(signature.Types, p.Type) {
				m.fault(at, "unknown type %q: use %s", p.Type, typeNames())
			}
		}
		if at := f["required"]; at != nil {
			p.Required = m.boolean(at)
		}
		if at := f["secret"]; at != nil {
			p.Secret = m.boolean(at)
		}
		if slices.ContainsFunc(params, func(o catalog.Param) bool { return strings.EqualFold(o.Name, p.Name) }) && p.Name != "" {
			m.fault(f["name"], "the parameter %s is declared twice", p.Name)
		}
		params = append(params, p)
	}
	return params
}

func typeNames() string {
	var names []string
	for _, t := range signature.Types {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

func (m *manifest) result(list *yaml.Node) []catalog.Field {
	var fields []catalog.Field
	for _, n := range m.list(list) {
		f := m.mapping(n, "a field of the result", "name", "description")
		if f == nil {
			continue
		}
		field := catalog.Field{
			Name:        m.named(n, f, "name", fieldName, "letters, digits and '_', at most 100"),
			Description: m.required(n, f, "description"),
		}
		if slices.ContainsFunc(fields, func(o catalog.Field) bool { return strings.EqualFold(o.Name, field.Name) }) && field.Name != "" {
			m.fault(f["name"], "the field %s is declared twice", field.Name)
		}
		fields = append(fields, field)
	}
	return fields
}

// always are the variables that every function has when the worker has them.
var always = []string{"PATH", "HOME", "TZ", "LANG", tlsroots.EnvCAFile}

// identities begin the names of the variables by which the platform hands out
// tokens of the worker's identity, and by which others sign in at Azure.
var identities = []string{"IDENTITY_", "MSI_", "AZURE_"}

func (m *manifest) variables(list *yaml.Node, config Config) {
	for _, n := range m.list(list) {
		name := m.text(n)
		switch {
		case name == "":
		case !variableName.MatchString(name):
			m.fault(n, "%q is not the name of a variable", name)
		case slices.Contains(always, name):
			m.fault(n, "every function has %s: remove it", name)
		case slices.ContainsFunc(config.Own, func(own string) bool { return strings.EqualFold(own, name) }),
			slices.ContainsFunc(identities, func(prefix string) bool { return strings.HasPrefix(strings.ToUpper(name), prefix) }):
			m.fault(n, "%s is reserved for the worker", name)
		case slices.Contains(m.environment, name):
			m.fault(n, "%s is given twice", name)
		case config.Getenv != nil && config.Getenv(name) == "":
			m.fault(n, "%s is not set in the worker's environment", name)
		default:
			m.environment = append(m.environment, name)
		}
	}
}

// apis reads the APIs that the function gets tokens for.
func (m *manifest) apis(list *yaml.Node, config Config) {
	offered := config.APIs
	if offered == nil {
		offered = []string{Graph, Exchange}
	}
	if config.Getenv == nil { // only declared: by any worker
		offered = []string{Graph, Exchange, Storage}
	}
	for _, n := range m.list(list) {
		name := m.text(n)
		switch {
		case name == "":
		case !slices.Contains(offered, name):
			m.fault(n, "unknown API %q: use %s", name, strings.Join(offered, " or "))
		case slices.Contains(m.tokens, name):
			m.fault(n, "%s is given twice", name)
		case config.Getenv != nil && config.Tokens == nil:
			m.fault(n, "this worker has no tokens")
		default:
			m.tokens = append(m.tokens, name)
		}
	}
}

// rehearsal reads the result of a call in a rehearsal, which has no tokens.
func (m *manifest) rehearsal(n *yaml.Node, tokens bool) {
	if n == nil {
		return
	}
	said := catalog.Rehearsal(m.text(n))
	switch {
	case said == "":
	case !slices.Contains(catalog.Rehearsals, said):
		m.fault(n, "unknown value %q: use succeed, run or fail", said)
	case said == catalog.RehearseRun && tokens:
		m.fault(n, "a function with tokens cannot run in a rehearsal, which has none: use succeed or fail")
	default:
		m.declared.Rehearse = said
	}
}

// execute reads the program to start: a command, or a script for PowerShell.
func (m *manifest) execute(root, command, script *yaml.Node, dir string, config Config) {
	switch {
	case command == nil && script == nil:
		m.fault(root, "give command or script")
	case command != nil && script != nil:
		m.fault(script, "give command or script, not both")
	case command != nil:
		items := m.list(command)
		for _, n := range items {
			m.argv = append(m.argv, m.text(n))
		}
		if len(items) == 0 {
			if command.Kind == yaml.SequenceNode {
				m.fault(command, "the command is empty")
			}
			return
		}
		path, err := safeFile(dir, m.argv[0])
		if err == nil {
			err = executable(path)
		}
		if err != nil {
			m.fault(items[0], "%s: %w", m.argv[0], err)
		}
		m.argv[0] = path
	default:
		name := m.text(script)
		path, err := safeFile(dir, name)
		if err == nil && !strings.EqualFold(filepath.Ext(path), ".ps1") {
			err = errors.New("a script must be a .ps1 file: use command for other programs")
		}
		if err != nil {
			m.fault(script, "%s: %w", name, err)
			return
		}
		m.script = true
		m.argv = []string{powerShell, "-NoProfile", "-NonInteractive", "-File", path}
		if config.Getenv == nil {
			return
		}
		if m.argv[0], err = find(powerShell, config.Getenv("PATH")); err != nil {
			m.fault(script, "%w", err)
		}
	}
}
