// Package custom offers functions that come with a deployment instead of with the
// worker: executables and PowerShell scripts in a directory, each described by a
// manifest. A function is called by starting its process with a JSON object on
// standard input; it answers with one on standard output. docs/write-a-worker.md is the
// contract for their authors.
//
// The package knows neither the bus nor a tenant. A faulty manifest is an error at
// load time, not at the first job.
package custom

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Config says where functions are and what they may have.
type Config struct {
	// Dir holds the manifests, *.yaml or *.yml, and the files that they name.
	Dir string
	// Getenv reads the worker's environment. Nil means that only declarations are
	// read: then nothing that is loaded can run, and neither variables nor PowerShell
	// are looked for.
	Getenv func(name string) string
	// Own are the worker's own variables, which no function is given.
	Own []string
	// Tokens gives a function tokens. Nil means that the worker has none.
	Tokens func(ctx context.Context, api string) (Token, error)
	// APIs are those that Tokens has tokens for; nil means Graph and Exchange.
	APIs []string
	// TenantID is the target tenant of the tokens; empty for those of the worker's own identity.
	TenantID string
	// MaxTimeout is the longest time limit that a function may have; 0 means any.
	MaxTimeout time.Duration
}

// Token is an access token for an API.
type Token struct {
	Value   string
	Expires time.Time
}

// The APIs that a function may have tokens for.
const (
	Graph    = "graph"
	Exchange = "exchange"
	Storage  = "storage" // Blob Storage, as the worker's own identity
)

// Set is the functions of one directory. It is safe for concurrent use.
type Set struct {
	functions []catalog.Function

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// Load reads a directory. Its error lists everything that is wrong, a line each,
// with file, line and column.
func Load(config Config) (*Set, error) {
	root, err := filepath.EvalSymlinks(config.Dir)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	if err != nil {
		return nil, fmt.Errorf("the directory of custom functions: %w", err)
	}
	files, err := manifests(root)
	if err != nil {
		return nil, err
	}
	set := &Set{}
	taken := map[string]string{}
	for _, f := range append(catalog.Standard(), catalog.NoOp) {
		taken[strings.ToLower(f.Name)] = "is built into the worker"
	}
	var faults []error
	for _, file := range files {
		m, err := read(root, file, config)
		if err == nil {
			key := strings.ToLower(m.declared.Name)
			if where, ok := taken[key]; ok {
				err = m.at(m.nameAt, "the function %s %s", m.declared.Name, where)
			} else {
				taken[key] = "is already declared in " + file
			}
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		run := onlyDeclared
		if config.Getenv != nil {
			run = m.program(root, config, set).run
		}
		set.functions = append(set.functions, m.declared.With(run))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return set, nil
}

func onlyDeclared(context.Context, catalog.Params) (any, error) {
	return nil, errors.New("the function was loaded for its description only")
}

// manifests lists the files of a directory that declare functions. Hidden files
// are none: volumes of orchestrators hold such.
func manifests(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("the directory of custom functions: %w", err)
	}
	var files []string
	for _, e := range entries {
		name := e.Name()
		if ext := filepath.Ext(name); (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(name, ".") {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		// A volume that was not mounted looks like this.
		return nil, fmt.Errorf("the directory of custom functions: no manifest (*.yaml) in %s", root)
	}
	slices.Sort(files)
	return files, nil
}

// Functions returns the declared functions with their implementations.
func (s *Set) Functions() []catalog.Function { return slices.Clone(s.functions) }

// Close keeps processes of functions from being started and waits until none runs
// any more, or until ctx ends. It does not end those that run: the end of their
// calls' contexts does.
func (s *Set) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		s.running.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin registers a process that is about to be started.
func (s *Set) begin() (end func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	s.running.Add(1)
	return s.running.Done, true
}
