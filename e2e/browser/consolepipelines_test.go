//go:build browser

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/local/entra"
)

// TestConsoleMarksShadowsAndCachedSteps: of three batches of the same item, one is a shadow, and one waits for the work of another.
func TestConsoleMarksShadowsAndCachedSteps(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.startWorker("worker-01")
	i.publish(`name: bundle
trigger: request
items: {primary_key: Repository}
phases:
  - name: sync
    steps:
      - {name: sync, worker_id: worker-02, function: Sync, params: {Name: "{{Repository}}"}, cache: {key: "{{Repository}}", ttl: 1h}}
`)
	b := i.signedIn("waves", entra.DefaultAdminUPN)
	call := b.client()
	call("PATCH", "/pipelines/bundle/routing", `{"shadow":true}`)
	for _, owner := range []string{`"octo","shadow":true`, `"octo"`, `"hubot"`} {
		call("POST", "/pipelines/bundle/batches", `{"owner":`+owner+`,"items":[{"Repository":"docs"}]}`)
	}
	b.showsIn("tbody tr:has(a[href$='waves/1'])", "Shadow")
	b.hides("tbody tr:has(a[href$='waves/2'])", "Shadow")
	b.do(chromedp.Navigate(b.base + "waves/1"))
	b.showsIn(".head", "Shadow")
	b.do(chromedp.Navigate(b.base + "waves/2/people/1"))
	b.showsIn(".step", "1 attempt")
	b.hides("main", "cache")
	b.do(chromedp.Navigate(b.base + "waves/3/people/1"))
	b.showsIn("main", "waits for the cache")
	b.press("Open all steps")
	b.showsIn("main", "wave 2 does the work now")
}
