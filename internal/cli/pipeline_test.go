package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

const pipelined = `name: bundle
trigger: request
items: {primary_key: Repository}
phases:
  - name: sync
    steps:
      - {name: sync, worker_id: worker-01, function: Sync-Repo, params: {Name: "{{Repository}}"}}
    on_complete:
      - {name: merge, worker_id: worker-01, function: Merge-Bundle, params: {Items: "{{_phase_succeeded}}"}, output_params: {Bundle: guid}}
`

// standing are the lines that say where a batch stands while it runs, as many as a machine is slow.
var standing = regexp.MustCompile(`(?m)^Batch \d+ is (queued|listing|processing)\b.*\n`)

// tookHere is how long shadows took on average, which grows as a machine is slow.
var tookHere = regexp.MustCompile(`Average time: \S+ here`)

func TestPipeline(t *testing.T) {
	t.Parallel()
	s := &transcript{person: newSystem(t, entra.DefaultAdminUPN).signedIn()}
	items, other, wrong := s.file("items.json", `[{"Repository":"docs"},{"Repository":"site"}]`), s.file("other.json", `[{"Repository":"bad"}]`), s.file("wrong.json", `[{"Repository":"docs"},{"Name":"site"}]`)
	s.type_(0, "runbook", "publish", s.file("bundle.yaml", pipelined), "--force")
	s.type_(5, "pipeline", "start", "bundle", "--owner", "octo", "--items", wrong)
	s.type_(0, "pipeline", "start", "bundle", "--owner", "octo", "--items", items, "--wait")
	s.type_(0, "pipeline", "start", "bundle", "--owner", "octo", "--items", items)
	s.type_(0, "pipeline", "status", "bundle", "1")
	s.type_(0, "pipeline", "result", "bundle", "1")
	s.type_(1, "pipeline", "start", "bundle", "--owner", "octo", "--items", other, "--wait")
	s.type_(5, "pipeline", "result", "bundle", "2")
	s.type_(0, "pipeline", "result", "bundle", "--owner", "octo")
	s.type_(4, "pipeline", "result", "bundle", "--owner", "hubot")
	s.type_(4, "pipeline", "status", "bundle", "9")
	s.type_(5, "batch", "create", "bundle", s.file("people.csv", "Repository\ndocs\n"))
	s.type_(2, "pipeline", "start", "bundle", "--items", items)
	s.type_(0, "pipeline", "routing", "bundle")
	s.type_(5, "pipeline", "start", "bundle", "--owner", "octo", "--items", items, "--shadow")
	s.type_(0, "pipeline", "shadow", "bundle", "on", "--output-name", "Bundle")
	s.type_(2, "pipeline", "shadow", "bundle", "yes")
	s.type_(0, "pipeline", "start", "bundle", "--owner", "octo", "--items", items, "--shadow", "--wait")
	s.type_(0, "pipeline", "compare", "bundle", "3", "--fingerprint", "other", "--took", "95s", "--columns", "batch,owner,outcome,reason,old took")
	s.type_(2, "pipeline", "compare", "bundle", "3")
	s.type_(5, "pipeline", "compare", "bundle", "1", "--error", "no")
	s.type_(0, "pipeline", "comparisons", "bundle", "--columns", "batch,old fingerprint,new fingerprint")
	s.type_(0, "pipeline", "limit", "bundle", "--max-errors", "5", "--window", "30m")
	s.type_(2, "pipeline", "limit", "bundle")
	s.type_(0, "pipeline", "share", "bundle", "10", "--reason", "the first ones")
	s.type_(5, "pipeline", "share", "bundle", "101")
	s.type_(0, "pipeline", "route", "bundle", "--owner", "octo")
	s.type_(2, "pipeline", "result", "bundle")
	golden(t, "pipeline", tookHere.ReplaceAllString(standing.ReplaceAllString(s.String(), ""), "Average time: <1s here"))
}

// TestPipelineWhoseItemsAFunctionLists shows requests without items.
func TestPipelineWhoseItemsAFunctionLists(t *testing.T) {
	t.Parallel()
	s := &transcript{person: newSystem(t, entra.DefaultAdminUPN).signedIn()}
	listed := strings.Replace(pipelined, "{primary_key: Repository}", `
  primary_key: Repository
  source: {worker_id: worker-01, function: List-Repos, params: {Owner: "{{_batch_owner}}"}, output: repositories}`, 1)
	s.type_(0, "runbook", "publish", s.file("bundle.yaml", listed), "--force")
	s.type_(5, "pipeline", "start", "bundle", "--owner", "octo", "--items", s.file("items.json", `[{"Repository":"docs"}]`))
	s.type_(5, "pipeline", "start", "bundle", "--owner", "octo", "--items", s.file("none.json", `[]`))
	s.type_(0, "pipeline", "start", "bundle", "--owner", "octo", "--wait")
	s.type_(0, "pipeline", "start", "bundle", "--owner", "octo", "--wait")
	s.type_(0, "pipeline", "result", "bundle", "2")
	s.type_(0, "pipeline", "start", "bundle", "--owner", "octo", "--force", "--wait")
	s.type_(1, "pipeline", "start", "bundle", "--owner", "bad", "--wait")
	s.type_(0, "batch", "phases", "1")
	golden(t, "pipeline-source", tookAndNote.ReplaceAllString(standing.ReplaceAllString(s.String(), ""), "Z  <1s   "))
}
