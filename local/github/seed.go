package github

import (
	"bytes"
	"crypto/sha1" // the ids of Git
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Seed is state put in from outside. It replaces repositories of the same name.
type Seed struct {
	Tokens []Token `json:"tokens,omitempty"`
	Owners []Owner `json:"owners,omitempty"`
}

// Token is a valid token of a user, who sees the private repositories of the owner of the same name.
type Token struct {
	Token string `json:"token"`
	Login string `json:"login"`
}

// Owner is a user or an organization.
type Owner struct {
	Login        string `json:"login"`
	Organization bool   `json:"organization,omitempty"`
	Repos        []Repo `json:"repos,omitempty"`
}

// Repo is a repository with one branch.
type Repo struct {
	Name          string            `json:"name"`
	Description   string            `json:"description,omitempty"`
	Language      string            `json:"language,omitempty"`
	Topics        []string          `json:"topics,omitempty"`
	DefaultBranch string            `json:"defaultBranch,omitempty"` // empty: main
	Private       bool              `json:"private,omitempty"`
	Fork          bool              `json:"fork,omitempty"`
	Archived      bool              `json:"archived,omitempty"`
	PushedAt      time.Time         `json:"pushedAt,omitzero"` // zero: the time of the seed
	Files         map[string]string `json:"files,omitempty"`   // content by path
}

type owner struct {
	Owner
	id    int
	repos map[string]*repo // by lower-case name
}

type repo struct {
	Repo
	id      int
	created time.Time
}

var (
	loginForm = regexp.MustCompile(`^[A-Za-z0-9](-?[A-Za-z0-9])*$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
)

// ReadSeed reads a seed from a JSON file. Unknown fields are an error.
func ReadSeed(file string) (seed Seed, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return seed, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&seed); err != nil {
		return seed, fmt.Errorf("%s: %w", file, err)
	}
	return seed, seed.check()
}

func (seed Seed) check() error {
	for _, t := range seed.Tokens {
		if t.Token == "" || strings.ContainsAny(t.Token, " \t\r\n") || !loginForm.MatchString(t.Login) {
			return fmt.Errorf("local GitHub: a token of %q is invalid: give a token without spaces, and a login", t.Login)
		}
	}
	for _, o := range seed.Owners {
		if !loginForm.MatchString(o.Login) || len(o.Login) > 39 {
			return fmt.Errorf("local GitHub: invalid login %q: use letters, digits and single hyphens, at most 39", o.Login)
		}
		for _, r := range o.Repos {
			if !nameForm.MatchString(r.Name) || r.Name == "." || r.Name == ".." {
				return fmt.Errorf("local GitHub: invalid repository %q of %s: use letters, digits, '-', '_' and '.', at most 100", r.Name, o.Login)
			}
			for path := range r.Files {
				if err := checkPath(path); err != nil {
					return fmt.Errorf("local GitHub: %s/%s: %w", o.Login, r.Name, err)
				}
				for other := range r.Files {
					if strings.HasPrefix(other, path+"/") {
						return fmt.Errorf("local GitHub: %s/%s: %q is a file and a directory", o.Login, r.Name, path)
					}
				}
			}
		}
	}
	return nil
}

func checkPath(path string) error {
	for _, part := range strings.Split(path, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("invalid path %q", path)
		}
	}
	return nil
}

// Seed puts users, repositories and tokens in.
func (s *Server) Seed(seed Seed) error {
	if err := seed.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range seed.Tokens {
		s.tokens[t.Token] = t.Login
	}
	now := s.config.Now().UTC().Truncate(time.Second)
	for _, given := range seed.Owners {
		o := s.owners[strings.ToLower(given.Login)]
		if o == nil {
			o = &owner{id: len(s.owners) + 1, repos: map[string]*repo{}}
			s.owners[strings.ToLower(given.Login)] = o
		}
		o.Owner = given
		o.Repos = nil
		for _, r := range given.Repos {
			r.Files = maps.Clone(r.Files)
			if r.DefaultBranch == "" {
				r.DefaultBranch = "main"
			}
			if r.PushedAt.IsZero() {
				r.PushedAt = now
			}
			r.PushedAt = r.PushedAt.UTC().Truncate(time.Second)
			o.repos[strings.ToLower(r.Name)] = &repo{Repo: r, id: o.id*1_000_000 + len(o.repos) + 1, created: r.PushedAt}
		}
	}
	return nil
}

// SetFile pushes a change of one file, or removes it with nil.
func (s *Server) SetFile(login, name, path string, content *string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[strings.ToLower(login)]
	if o == nil || o.repos[strings.ToLower(name)] == nil {
		return fmt.Errorf("local GitHub: there is no repository %s/%s", login, name)
	}
	r := o.repos[strings.ToLower(name)]
	if r.Files == nil {
		r.Files = map[string]string{}
	}
	if content == nil {
		delete(r.Files, path)
	} else {
		r.Files[path] = *content
	}
	pushed := s.config.Now().UTC().Truncate(time.Second)
	if !pushed.After(r.PushedAt) { // two pushes differ, also within a second
		pushed = r.PushedAt.Add(time.Second)
	}
	r.PushedAt = pushed
	return nil
}

// entry of a tree.
type entry struct {
	path string // within the repository
	sha  string
	size int // of a file
	dir  bool
}

// gitID is the id of an object of Git.
func gitID(kind string, content []byte) [sha1.Size]byte {
	return sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", kind, len(content), content)) // the ids of Git
}

// tree returns the id of a directory, and its entries with all below, as Git orders them.
func (r *repo) tree(dir string) (id string, all []entry) {
	prefix := ""
	if dir != "" {
		prefix = dir + "/"
	}
	names := map[string]bool{} // whether it is a directory
	for path := range r.Files {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			name, _, isDir := strings.Cut(rest, "/")
			names[name] = isDir
		}
	}
	// Git compares the name of a directory as if it ended with a slash.
	sorted := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		slash := map[bool]string{true: "/"}
		return strings.Compare(a+slash[names[a]], b+slash[names[b]])
	})
	var body []byte
	for _, name := range sorted {
		if names[name] {
			sha, below := r.tree(prefix + name)
			raw, _ := hex.DecodeString(sha) // which tree made
			body = append(fmt.Appendf(body, "40000 %s\x00", name), raw...)
			all = append(append(all, entry{path: prefix + name, sha: sha, dir: true}), below...)
			continue
		}
		content := []byte(r.Files[prefix+name])
		raw := gitID("blob", content)
		body = append(fmt.Appendf(body, "100644 %s\x00", name), raw[:]...)
		all = append(all, entry{path: prefix + name, sha: hex.EncodeToString(raw[:]), size: len(content)})
	}
	sum := gitID("tree", body)
	return hex.EncodeToString(sum[:]), all
}
