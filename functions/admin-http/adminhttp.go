// Package adminhttp is the admin API over HTTP: the routes under /api, their
// authorization, the validation of requests and problem details (RFC 9457). Each route
// turns a request into one call of a use case and its answer into JSON.
//
// It decides nothing about migrations and knows neither the store nor the bus, nor
// how a token is checked.
package adminhttp

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/signin"
)

// Verifier tells whose an Authorization header is; *signin.Verifier is one.
type Verifier interface {
	Verify(ctx context.Context, header string) (signin.Identity, error)
}

// Config holds the dependencies of the API. UseCases and Verifier are required.
type Config struct {
	UseCases
	Verifier Verifier
	Log      *slog.Logger     // slog.Default when nil
	Now      func() time.Time // time.Now when nil

	// MaxBody is the largest upload of members, in bytes; membercsv.MaxBytes when 0.
	MaxBody int64
	// TempDir is the folder of the uploads that are being read; os.TempDir when empty.
	TempDir string

	// SignIn appears in the configuration of pages and in the document.
	SignIn SignIn

	// Rate is how many requests a second one caller may send, Burst how many at once
	// after a pause; DefaultRate and DefaultBurst when 0. rate.Inf is no limit.
	Rate  rate.Limit
	Burst int
	// Long is how many reports, previews of queries and checks of runbooks are made at once, of each;
	// DefaultLong when 0.
	Long int
	// Simulations is how many simulations are made at once, half of them for one caller; DefaultSimulations
	// when 0.
	Simulations int
}

// The limits of a request, apart from the upload of members.
const (
	maxHealth    = 3 * time.Second // how long the parts of the system have to answer
	keepHealth   = 5 * time.Second // how long their answer is passed on
	maxName      = 100             // bytes of a runbook's name, as the format has it
	maxParameter = 4096            // bytes of a query parameter
	// A runbook in JSON grows by its escapes; none but control characters, which YAML
	// does not allow, take more than two bytes for one.
	maxRunbookJSON = 2*runbook.MaxBytes + 4096
)

type server struct {
	Config
	health   healthCache
	buckets  *buckets
	items    *rooms // for requests to pipelines
	document func() []byte
}

// New makes the handler of everything under /api. It is safe for concurrent use.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxBody == 0 {
		c.MaxBody = membercsv.MaxBytes
	}
	c.Rate, c.Burst, c.Long = cmp.Or(c.Rate, DefaultRate), cmp.Or(c.Burst, DefaultBurst), cmp.Or(c.Long, DefaultLong)
	c.Simulations = cmp.Or(c.Simulations, DefaultSimulations)
	a := &server{Config: c, buckets: newBuckets(c.Rate, c.Burst), items: newRooms(itemsMemory), document: sync.OnceValue(func() []byte { return documentOf(c.SignIn) })}
	reports, previews, checks, simulations, uploads := atOnce(c.Long, "reports"), atOnce(c.Long, "previews"), atOnce(c.Long, "checks of runbooks"), atOnce(c.Simulations, "simulations"), a.uploads()

	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.Use(a.record)
	r.NoRoute(a.noRoute)
	r.NoMethod(a.noMethod)

	r.GET("/api/health", query(), a.getHealth)
	r.GET("/api/console/config.json", query(), a.getConsoleConfig)

	caller := r.Group("/api", a.signIn, a.throttle)
	caller.GET("/openapi.json", query(), a.getDocument)
	caller.GET("/me", query(), a.getMe)
	caller.POST("/pipelines/:name/batches", a.needs(signin.Request, "request a batch"), once, query(), a.startPipeline)
	caller.GET("/pipelines/:name/batches/:id", query(), a.getPipelineBatch)
	caller.GET("/pipelines/:name/batches/:id/result", query(), a.getPipelineResult)
	caller.GET("/pipelines/:name/result", query("owner"), a.getLatestResult)
	caller.GET("/pipelines/:name/route", query("owner"), a.getPipelineRoute)
	caller.POST("/pipelines/:name/batches/:id/comparison", a.needs(signin.Request, "report a comparison"), query(), a.reportComparison)

	reader := caller.Group("", a.needs(signin.Read, "read more than batches that they request"))
	reader.GET("/summary", query(), a.getSummary)
	reader.GET("/runbooks", query("search", "sort", "limit", "continuationToken"), a.listRunbooks)
	reader.POST("/lint", query(), checks, a.lintRunbook)
	reader.POST("/simulate", query(), atOnceEach(max(1, c.Simulations/2), "simulations"), simulations, a.simulateRunbook)
	reader.GET("/runbooks/:name", query(), a.getRunbook)
	reader.GET("/runbooks/:name/versions", query("sort", "limit", "continuationToken"), a.listVersions)
	reader.GET("/runbooks/:name/versions/:version", query(), a.getVersion)
	reader.GET("/runbooks/:name/template", query("delimiter"), a.getTemplate)
	reader.GET("/runbooks/:name/automation", query(), a.getAutomation)
	reader.GET("/runbooks/:name/syncs", query(), a.listSyncs)
	reader.GET("/runbooks/:name/additions", query("limit", "continuationToken"), a.getAdditions)
	reader.POST("/runbooks/:name/query/preview", a.needs(signin.Administer, "read the rows of a data source"), query(), previews, a.previewQuery)
	reader.GET("/batches", query("status", "runbook", "name", "owner", "search", "sort", "limit", "continuationToken"), a.listBatches)
	reader.GET("/batches/:id", query("include"), a.following, a.getBatch)
	reader.GET("/batches/:id/members", query("status", "search", "sort", "limit", "continuationToken"), a.following, a.listMembers)
	reader.GET("/batches/:id/members/:member", query(), a.following, a.getMember)
	reader.GET("/batches/:id/phases", query(), a.following, a.listPhases)
	reader.GET("/batches/:id/steps", query("status", "phase", "member", "search", "sort", "limit", "continuationToken", "include"), a.following, a.listSteps)
	reader.GET("/batches/:id/steps/:stepId", query(), a.following, a.getStep)
	reader.GET("/batches/:id/errors", query(), a.following, a.getErrors)
	reader.GET("/batches/:id/tasks/:task", query(), a.following, a.getTask)
	reader.GET("/batches/:id/checks", query("status", "member", "search", "limit", "continuationToken"), a.following, a.listChecks)
	reader.GET("/batches/:id/report", query("format"), reports, a.getReport)
	reader.GET("/batches/:id/removals", query("limit", "continuationToken"), a.following, a.listRemovals)
	reader.GET("/batches/:id/audit", query(auditParameters...), a.following, a.listBatchAudit)
	reader.GET("/runbooks/:name/audit", query(auditParameters...), a.listRunbookAudit)
	reader.GET("/find", query("text", "limit", "continuationToken"), a.findMembers)
	reader.GET("/workers", query("limit", "continuationToken"), a.listWorkers)
	reader.GET("/workers/:id", query(), a.getWorker)
	reader.GET("/messages/audit", query(auditParameters...), a.listMessageAudit)
	reader.GET("/audit", a.needs(signin.Administer, "read all audit records"), query(auditParameters...), a.listAudit)
	reader.GET("/messages/unprocessed", query("status", "topic", "sort", "limit", "continuationToken"), a.listMessages)
	reader.GET("/messages/unprocessed/:id", a.needs(signin.Administer, "read the body of a message"), query(), a.getMessage)

	reader.GET("/notifications", query(), a.listNotifications)
	reader.GET("/notifications/:name", query(), a.getNotification)
	reader.GET("/notifications/:name/deliveries", query("limit", "continuationToken"), a.listDeliveries)

	reader.GET("/pipelines/:name/routing", query(), a.getRouting)
	reader.GET("/pipelines/:name/comparisons", query(), a.getComparisons)

	reader.GET("/scaler", query(), a.getScaler)
	reader.POST("/scaler/plan", a.needs(signin.Administer, "have the container scaler read Azure"), query(), previews, a.planScaling)

	admin := reader.Group("", a.needs(signin.Administer, purposes[signin.Administer]))
	admin.POST("/runbooks", once, query("overdueBehavior", "rerunInit", "strict", "dryRun"), a.publishRunbook)
	admin.DELETE("/runbooks/:name/versions/:version", query("reason"), a.deactivateVersion)
	admin.PUT("/runbooks/:name/automation", query(), a.setAutomation)
	reader.POST("/runbooks/:name/additions/confirm", a.needs(signin.Approve, purposes[signin.Approve]), query(), a.confirmAdditions)
	reader.POST("/runbooks/:name/additions/discard", a.needs(signin.Approve, purposes[signin.Approve]), query(), a.discardAdditions)
	admin.PATCH("/pipelines/:name/routing", query(), a.setRouting)
	admin.POST("/batches", once, query("allowInOtherBatches", "delimiter", "dryRun"), uploads, a.createBatch)
	reader.PATCH("/batches/:id", a.may("update_batch"), query(), a.updateBatch)
	reader.POST("/batches/:id/advance", a.may("advance"), query(), a.advanceBatch)
	reader.POST("/batches/:id/cancel", a.may("cancel"), query(), a.steer(api.ActionCancel, a.cancelBatch))
	reader.POST("/batches/:id/pause", a.may("pause"), query(), a.steer(api.ActionPause, a.pauseBatch))
	reader.POST("/batches/:id/resume", a.may("resume"), query(), a.steer(api.ActionResume, a.resumeBatch))
	reader.POST("/batches/:id/reschedule", a.may("reschedule"), query(), a.rescheduleBatch)
	reader.POST("/batches/:id/approve", a.may("approve"), query(), a.approvePhase)
	reader.POST("/batches/:id/retry", a.may("retry"), once, query(), a.retryFailed)
	reader.POST("/batches/:id/skip", a.may("skip_step"), once, query(), a.skipFailed)
	reader.POST("/batches/:id/mark-done", a.may("mark_done"), once, query(), a.markFailedDone)
	reader.POST("/batches/:id/remove", a.may("remove_member"), once, query(), a.removeMembers)
	reader.POST("/batches/:id/move", a.may("move_member"), once, query(), a.moveSelected)
	reader.POST("/batches/:id/check", a.may("check"), once, query(), a.checkBatch)
	reader.POST("/batches/:id/steps/:stepId/skip", a.may("skip_step"), query(), a.skipStep)
	reader.POST("/batches/:id/steps/:stepId/done", a.may("mark_done"), query(), a.markStepDone)
	reader.POST("/batches/:id/members", a.may("add_members"), once, query("allowInOtherBatches", "delimiter", "dryRun"), uploads, a.addMembers)
	reader.PATCH("/batches/:id/members", a.may("correct_member"), query("delimiter", "dryRun", "reason"), uploads, a.updateMembers)
	reader.PATCH("/batches/:id/members/:member", a.may("correct_member"), query(), a.correctMember)
	reader.DELETE("/batches/:id/members/:member", a.may("remove_member"), query("reason", "dryRun"), a.removeMember)
	reader.POST("/batches/:id/removals/confirm", a.may("confirm_removals"), query(), onceByHost, a.confirmRemovals)
	reader.POST("/batches/:id/removals/move", a.may("move_members"), query(), onceByHost, a.moveMembers)
	reader.POST("/batches/:id/removals/discard", a.may("discard_removals"), query(), onceByHost, a.discardRemovals)
	admin.POST("/messages/unprocessed/:id/replay", query(), onceByHost, a.replayMessage)
	admin.POST("/messages/unprocessed/:id/discard", query(), onceByHost, a.discardMessage)
	admin.POST("/notifications", query(), a.addNotification)
	admin.DELETE("/notifications/:name", query("reason"), onceByHost, a.removeNotification)
	admin.POST("/notifications/:name/test", query(), onceByHost, a.testNotification)
	return routes{Engine: r, compressed: compress(r)}
}

// routes serves the routes. Each answer begins after the request's body, and HEAD is
// served where GET is.
type routes struct {
	*gin.Engine
	compressed http.Handler
}

func (h routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := drain(w, r)
	if r.Method == http.MethodHead {
		get := *r
		get.Method = http.MethodGet // net/http leaves out the body of the answer
		r = &get
	}
	h.compressed.ServeHTTP(answer, r)
	answer.discard() // before net/http writes a header that nobody has written
}

func init() { gin.SetMode(gin.ReleaseMode) }
