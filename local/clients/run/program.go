package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/matoolkit/matoolkit/local/clients"
)

// program is the client program of one language. The runner copies it to the cache directory, where
// packages are installed.
type program struct {
	name    string
	tools   []string
	inputs  []string   // files that an installation depends on
	install [][]string // commands in the copy
	command []string   // starts the program in the copy; the list of cases follows
	// manifest has the versions of the packages that version matches.
	manifest string
	version  *regexp.Regexp
}

const (
	trustStore = "trust.p12"
	maxLine    = 400 // printed bytes of a line; some errors hold pages of diagnostics
)

var programs = []program{
	{
		name: "go", tools: []string{"go"}, command: []string{"./clients"},
		manifest: "../../../go.mod", version: regexp.MustCompile(`sdk/(?:\w+/)?(azservicebus|azcosmos|azblob) v(\S+)`),
	},
	{
		name: "js", tools: []string{"node", "npm"}, inputs: []string{"package-lock.json"},
		install: [][]string{{"npm", "ci", "--no-audit", "--no-fund"}}, command: []string{"node", "main.mjs"},
		manifest: "package.json", version: regexp.MustCompile(`"(@azure/service-bus|@azure/cosmos|@azure/storage-blob)": "(.+)"`),
	},
	{
		name: "python", tools: []string{"python3"}, inputs: []string{"requirements.txt"},
		install:  [][]string{{"python3", "-m", "venv", "venv"}, {"venv/bin/pip", "install", "--quiet", "--requirement", "requirements.txt"}},
		command:  []string{"venv/bin/python", "main.py"},
		manifest: "requirements.txt", version: regexp.MustCompile(`(azure-servicebus|azure-cosmos|azure-storage-blob)==(\S+)`),
	},
	{
		name: "java", tools: []string{"java", "mvn", "keytool"}, inputs: []string{"pom.xml", "src/main/java/Main.java", "src/main/java/ServiceBusCases.java", "src/main/java/CosmosCases.java", "src/main/java/BlobCases.java"},
		install:  [][]string{{"mvn", "--quiet", "--batch-mode", "compile", "dependency:copy-dependencies"}},
		command:  []string{"java", "-Djavax.net.ssl.trustStore=" + trustStore, "-Djavax.net.ssl.trustStorePassword=password", "-cp", "target/classes:target/dependency/*", "Main"},
		manifest: "pom.xml", version: regexp.MustCompile(`<artifactId>(azure-messaging-servicebus|azure-cosmos|azure-storage-blob)</artifactId>\s*<version>(.+)</version>`),
	},
}

// cacheDir is the directory of the copies. Each working copy of the repository has its own.
func cacheDir(dir string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	return filepath.Join(cache, "matoolkit-clients", fmt.Sprintf("%x", sha256.Sum256([]byte(dir)))[:12]), nil
}

// run installs and runs the program, and returns the outcomes of the cases.
func (p program) run(ctx context.Context, dir, cache string, prefixes []string) (outcomes, error) {
	target := filepath.Join(cache, p.name)
	if err := p.prepare(ctx, filepath.Join(dir, p.name), target); err != nil {
		return nil, err
	}
	s, err := startServers(ctx, dir)
	if err != nil {
		return nil, err
	}
	got, err := p.execute(ctx, dir, target, s, prefixes)
	return got, errors.Join(err, s.close())
}

// prepare copies the program to target and installs its packages, unless they are there.
func (p program) prepare(ctx context.Context, source, target string) error {
	if p.name == "go" {
		if err := os.MkdirAll(target, 0o700); err != nil {
			return err
		}
		return command(ctx, source, "go", "build", "-trimpath", "-o", filepath.Join(target, "clients"), ".")
	}
	digest := sha256.New()
	for _, name := range p.inputs {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return err
		}
		digest.Write(text)
	}
	if err := copyFiles(source, target); err != nil {
		return err
	}
	stamp := filepath.Join(target, ".installed")
	want := fmt.Appendf(nil, "%x", digest.Sum(nil))
	if have, _ := os.ReadFile(stamp); bytes.Equal(have, want) {
		return nil
	}
	for _, c := range p.install {
		if err := command(ctx, target, c[0], c[1:]...); err != nil {
			return err
		}
	}
	return os.WriteFile(stamp, want, 0o600)
}

func copyFiles(source, target string) error {
	return filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == "node_modules" || entry.Name() == "target" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(target, name), 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(target, name), text, 0o600)
	})
}

// command runs a command, whose output it returns with the error.
func command(ctx context.Context, dir, name string, arguments ...string) error {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir = dir
	if output, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, output)
	}
	return nil
}

// execute runs the program in target and prints its lines.
func (p program) execute(ctx context.Context, dir, target string, s *servers, prefixes []string) (outcomes, error) {
	cases, err := filepath.Abs(filepath.Join(dir, "cases.json"))
	if err != nil {
		return nil, err
	}
	if p.name == "java" {
		if err := os.RemoveAll(filepath.Join(target, trustStore)); err != nil {
			return nil, err
		}
		if err := command(ctx, target, "keytool", "-importcert", "-noprompt", "-alias", "local", "-file", s.caFile, "-keystore", trustStore, "-storepass", "password"); err != nil {
			return nil, err
		}
	}
	name := p.command[0]
	if strings.Contains(name, "/") {
		name = filepath.Join(target, name)
	}
	c := exec.CommandContext(ctx, name, append(append(p.command[1:len(p.command):len(p.command)], cases), prefixes...)...)
	c.Dir, c.Env, c.Stderr = target, append(os.Environ(), s.environment...), os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	got := p.read(out)
	return got, c.Wait()
}

// read prints the lines of the program and returns the outcomes.
func (p program) read(out io.Reader) outcomes {
	got := outcomes{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if len(line) > maxLine {
			line = strings.ToValidUTF8(line[:maxLine], "") + "…"
		}
		fmt.Printf("%-7s%s\n", p.name, line)
		first, rest, _ := strings.Cut(line, " ")
		if outcome := clients.Outcome(first); outcome.Valid() {
			id, _, _ := strings.Cut(rest, ":")
			got[id] = outcome
		}
	}
	return got
}

// packages returns the versions of the official packages that the program uses.
func (p program) packages(dir string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, p.name, p.manifest))
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, match := range p.version.FindAllStringSubmatch(string(text), -1) {
		versions[match[1]] = match[2]
	}
	return versions, nil
}
