package main

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/worker/program"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Environment variables, beside those of every worker program.
const (
	envEndpoint  = "BLOB_ENDPOINT"              // endpoint of the storage account of the artifacts, such as https://name.blob.core.windows.net
	envContainer = "BLOB_CONTAINER"             // container of the artifacts
	envGitHubURL = "GITHUB_URL"                 // REST API of GitHub; https://HOST/api/v3 of GitHub Enterprise Server
	envToken     = "GITHUB_TOKEN"               // token for GitHub, a secret; without one GitHub allows 60 requests an hour
	envPerMinute = "GITHUB_REQUESTS_PER_MINUTE" // requests that this replica sends to GitHub in a minute; GitHub allows a token 900 of all replicas
)

// config is everything that the environment says.
type config struct {
	program.Settings
	Endpoint, Container string
	GitHubURL           string
	Token               string
	PerMinute           int
}

// ownVariables are never given to command functions. They may have where the artifacts are.
var ownVariables = slices.Concat(program.Variables, []string{envGitHubURL, envToken, envPerMinute})

// loadConfig reads the environment and reports everything that is wrong with it at once. No error repeats the token.
func loadConfig(getenv func(string) string) (config, error) {
	r := env.New(getenv)
	c := config{
		Settings:  program.ReadSettings(r),
		Endpoint:  r.SecureServer(envEndpoint),
		Container: r.Required(envContainer, "the container of the artifacts"),
		Token:     r.Text(envToken),
		PerMinute: r.Number(envPerMinute, 300, 1, 100_000),
	}
	c.GitHubURL, _ = r.Server(envGitHubURL, "https://api.github.com")
	if getenv(envEndpoint) == "" {
		r.Problem("%s is not set: give the endpoint of Blob Storage, such as https://name.blob.core.windows.net", envEndpoint)
	}
	return c, r.Err()
}

// pace is the policy for requests to GitHub. A job that has to wait beyond its time is answered, and its step retries it.
func pace(gauge *throttle.Gauge) throttle.Policy {
	p := throttle.Default()
	p.Lag, p.Gauge = 0, gauge
	return p
}

// storeDelay is the first delay before the store is asked again.
const storeDelay = 500 * time.Millisecond
