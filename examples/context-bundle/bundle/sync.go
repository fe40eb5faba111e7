package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/examples/context-bundle/github"
	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Files that each context has, if they exist.
const (
	contextPath = ".repo-context.json"
	readmePath  = "README.md"
	maxPaths    = 20
)

type synchronizer struct {
	store artifact.Store
	from  *github.Client
}

// synced is the answer of Sync-RepoContext.
type synced struct {
	Context     string
	Fingerprint string
	Documented  bool
}

func (s synchronizer) sync(ctx context.Context, p catalog.Params) (any, error) {
	owner, name, paths := p.String("Owner"), p.String("Repository"), p.List("Paths")
	at, err := generation(p.String("Generation"))
	if err == nil {
		err = github.CheckNames(owner, name)
	}
	if err == nil {
		err = checkPaths(paths)
	}
	if err != nil {
		return nil, err
	}
	key := ContextKey(owner, name)
	stored, properties, err := Read[Context](ctx, s.store, key)
	exists := err == nil
	if err != nil && !errors.Is(err, artifact.ErrNotFound) {
		return nil, err
	}
	source := p.String("Fingerprint")
	current := source != "" && stored.Source == source && slices.Equal(stored.Paths, paths) && !p.Bool("Force", false)
	if exists && (properties.Generation >= at || current) {
		return answerOf(properties, stored), nil
	}
	next, err := s.read(ctx, owner, name, paths, stored)
	if err != nil {
		return nil, err
	}
	next.Source = source
	written, err := Write(ctx, s.store, artifact.Properties{Key: key, Fingerprint: next.Fingerprint(), Generation: at}, next)
	if err != nil {
		return nil, err
	}
	if written.Fingerprint != next.Fingerprint() { // another delivery, or a later request
		if next, written, err = Read[Context](ctx, s.store, key); err != nil {
			return nil, gone(err, key)
		}
	}
	return answerOf(written, next), nil
}

func answerOf(p artifact.Properties, c Context) synced {
	return synced{Context: p.Key.String(), Fingerprint: p.Fingerprint, Documented: c.Documented}
}

// gone makes a failure of an artifact that was deleted since it was written.
func gone(err error, key artifact.Key) error {
	if errors.Is(err, artifact.ErrNotFound) {
		return &catalog.Failure{Type: catalog.FailureConflict, Message: fmt.Sprintf("the artifact %s was deleted meanwhile", key), Attempts: 1}
	}
	return err
}

func checkPaths(paths []string) error {
	if len(paths) > maxPaths {
		return &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("Paths has %d files; at most %d are allowed", len(paths), maxPaths)}
	}
	seen := map[string]bool{contextPath: true, readmePath: true}
	for _, path := range paths {
		if err := github.CheckPath(path); err != nil {
			return err
		}
		if seen[path] {
			return &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("Paths has %q twice, or each context has it", path)}
		}
		seen[path] = true
	}
	return nil
}

// read reads a repository. What has not changed since the stored context is taken from there.
func (s synchronizer) read(ctx context.Context, owner, name string, paths []string, stored Context) (Context, error) {
	next := Context{Repository: Repository{Repository: name, About: stored.About, Files: map[string]string{}}, Paths: paths, ETags: map[string]string{}}
	about, err := s.from.Repository(ctx, owner, name, stored.ETags[""])
	if err != nil {
		return next, err
	}
	if about.State == github.Present {
		next.About = about.About
	}
	next.keep("", about.ETag)
	for _, path := range slices.Concat([]string{contextPath, readmePath}, paths) {
		file, err := s.from.File(ctx, owner, name, path, stored.ETags[path])
		if err != nil {
			return next, err
		}
		switch file.State {
		case github.Unreadable:
			next.Problems = append(next.Problems, path+" "+file.Problem)
			continue
		case github.Absent:
			continue
		case github.Unchanged:
			file.Content = stored.content(path)
		}
		if path == contextPath && !json.Valid([]byte(file.Content)) {
			next.Problems = append(next.Problems, path+" is not JSON")
			continue
		}
		next.keep(path, file.ETag)
		next.add(path, file.Content)
	}
	next.Documented = next.Context != nil || strings.TrimSpace(next.Readme) != ""
	return next, nil
}

// keep stores an ETag, if there is one.
func (c *Context) keep(path, etag string) {
	if etag != "" {
		c.ETags[path] = etag
	}
}

func (c *Context) add(path, content string) {
	switch path {
	case contextPath:
		c.Repository.Context = json.RawMessage(content)
	case readmePath:
		c.Readme = content
	default:
		c.Files[path] = content
	}
}

// content has the arguments of add.
func (c Context) content(path string) string {
	switch path {
	case contextPath:
		return string(c.Repository.Context)
	case readmePath:
		return c.Readme
	}
	return c.Files[path]
}
