package system

import (
	"context"
	"strings"

	"github.com/matoolkit/matoolkit/local/github"
)

// startGitHub starts GitHub with the configured state. It keeps no changes.
func (s *System) startGitHub(ctx context.Context) (err error) {
	if s.config.GitHub == nil {
		return nil
	}
	if s.GitHub, err = github.Start(ctx, github.Config{Addr: s.config.Addresses.GitHub}); err != nil {
		return err
	}
	s.config.Addresses.GitHub = strings.TrimPrefix(s.GitHub.URL(), "http://")
	s.started("GitHub", s.GitHub.URL(), s.GitHub.Close)
	return s.GitHub.Seed(*s.config.GitHub)
}

// githubEnv are the variables of a worker that reads repositories.
func (s *System) githubEnv() map[string]string {
	if s.config.GitHub == nil {
		return nil
	}
	env := map[string]string{"GITHUB_URL": "http://" + s.config.Addresses.GitHub}
	if len(s.config.GitHub.Tokens) > 0 {
		env["GITHUB_TOKEN"] = s.config.GitHub.Tokens[0].Token
	}
	return env
}
