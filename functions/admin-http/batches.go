package adminhttp

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// createBatch takes a form: runbookName and file, the CSV of members, and the details of the batch.
func (a *server) createBatch(c *gin.Context) {
	options, dry, ok := uploadOptions(c)
	if !ok {
		return
	}
	values, release, ok := a.form(c, part{name: "runbook", limit: maxName, is: "names the runbook"}, part{name: "file", limit: a.MaxBody, is: csvOfMembers},
		part{name: "name", limit: maxDetail, optional: true}, part{name: "note", limit: maxDetail, optional: true}, part{name: "owner", limit: maxDetail, optional: true})
	if !ok {
		return
	}
	defer release()
	text, err := io.ReadAll(values["runbook"])
	if err != nil {
		fail(c, err)
		return
	}
	name := strings.TrimSpace(string(text))
	if name == "" {
		invalid(c, "the part runbookName of the form is empty")
		return
	}
	details, err := detailsOf(values)
	if err != nil {
		fail(c, err)
		return
	}
	options = append(options, api.WithDetails(details))
	if dry {
		view, err := a.Batches.CheckBatch(c.Request.Context(), name, values["file"], options...)
		respond(c, view, err)
		return
	}
	view, err := a.Batches.CreateBatchFrom(c.Request.Context(), callerOf(c), name, values["file"], options...)
	if err != nil {
		fail(c, err)
		return
	}
	c.Header("Location", "/api/batches/"+strconv.Itoa(view.ID))
	replayed(c, view.Replayed)
	write(c, http.StatusCreated, view)
}

// detailsOf reads the details of a batch from the parts of a form.
func detailsOf(values map[string]*io.SectionReader) (d api.BatchDetails, err error) {
	for name, to := range map[string]**string{"name": &d.Name, "note": &d.Note, "owner": &d.Owner} {
		part, there := values[name]
		if !there {
			continue
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return d, err
		}
		if !utf8.Valid(text) {
			return d, problem.New(api.CodeInvalid, "the part %s of the form is not in UTF-8", name)
		}
		given := string(text)
		*to = &given
	}
	return d, nil
}

// updateBatch takes the details to change. With If-Match it changes the batch only if it is still as the
// caller saw it.
func (a *server) updateBatch(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	var request api.UpdateBatchRequest
	data, ok := optionalBody(c, 2*maxReason)
	if !ok || len(data) > 0 && !(withoutNull(c, data) && decodeJSON(c, data, &request)) {
		return
	}
	why, ok := reasonOf(c, request.ReasonRequest, false)
	if !ok {
		return
	}
	tags, ok := ifMatch(c)
	if !ok {
		return
	}
	view, err := a.Batches.UpdateBatch(c.Request.Context(), callerOf(c), id, request.BatchDetails, why, tags...)
	tagged(c, view, view.ETag, err)
}

// uploadOptions reads how a member CSV is read, and whether nothing is written.
func uploadOptions(c *gin.Context) (options []api.UploadOption, dry, ok bool) {
	var shared bool
	if !flag(c, "allowInOtherBatches", &shared) || !flag(c, "dryRun", &dry) {
		return nil, false, false
	}
	if shared {
		options = append(options, api.AllowInOtherBatches)
	}
	name, ok := delimiterOf(c)
	if name != "" {
		options = append(options, api.DelimitedBy(name))
	}
	return options, dry, ok
}

// delimiterOf reads the name of a delimiter; empty for none.
func delimiterOf(c *gin.Context) (name string, ok bool) {
	name = c.MustGet(keyQuery).(url.Values).Get("delimiter")
	if _, known := csvtext.DelimiterOf(name); name != "" && !known {
		invalid(c, "invalid delimiter %q: use one of %s", clip(name), listed(csvtext.DelimiterNames()))
		return "", false
	}
	return name, true
}

func (a *server) listBatches(c *gin.Context) {
	o, ok := options(c, api.BatchStatuses)
	if !ok {
		return
	}
	p, err := a.Batches.Batches(c.Request.Context(), o)
	page(c, p, err)
}

func (a *server) getSummary(c *gin.Context) {
	view, err := a.Batches.Summary(c.Request.Context())
	respond(c, view, err)
}

func (a *server) getBatch(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	include, ok := several(c, "include", api.BatchFields)
	if !ok {
		return
	}
	view, err := a.Batches.Batch(c.Request.Context(), callerOf(c), id)
	forCaller(c, view.Actions)
	if err == nil && slices.Contains(include, "phases") { // after the batch: if it has ended, they have
		var phases api.Page[api.Phase]
		phases, err = a.Batches.Phases(c.Request.Context(), callerOf(c), id)
		view.Phases = phases.Items
		for i := range view.Phases {
			forCaller(c, view.Phases[i].Actions)
		}
	}
	tagged(c, view, view.ETag, err)
}

func (a *server) listMembers(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	o, ok := options(c, api.MemberStatuses)
	if !ok {
		return
	}
	p, err := a.Members.Members(c.Request.Context(), callerOf(c), id, o)
	page(c, p, err)
}

func (a *server) listPhases(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	p, err := a.Batches.Phases(c.Request.Context(), callerOf(c), id)
	for i := range p.Items {
		forCaller(c, p.Items[i].Actions)
	}
	page(c, p, err)
}

func (a *server) listSteps(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	o, ok := options(c, api.StepStatuses)
	if !ok {
		return
	}
	if ref := c.MustGet(keyQuery).(url.Values).Get("member"); ref != "" {
		if o.Member, ok = a.findMember(c, id, ref); !ok {
			return
		}
	}
	include, ok := several(c, "include", api.StepFields)
	if !ok {
		return
	}
	p, err := a.Steps.Steps(c.Request.Context(), callerOf(c), id, o)
	for i := range p.Items {
		shorten(&p.Items[i], include)
	}
	page(c, p, err)
}

// shorten leaves out the fields of a step that can be large, unless they are included.
func shorten(s *api.Step, include []string) {
	if !slices.Contains(include, "params") {
		s.Params = nil
	}
	if !slices.Contains(include, "result") {
		s.Result = nil
		for i := range s.Late {
			s.Late[i].Result = nil
		}
	}
}

func (a *server) getStep(c *gin.Context) {
	id, step, ok := stepID(c)
	if !ok {
		return
	}
	view, err := a.Steps.Step(c.Request.Context(), callerOf(c), id, step)
	forCaller(c, view.Actions)
	respond(c, view, err)
}

func (a *server) getErrors(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	view, err := a.Steps.Errors(c.Request.Context(), callerOf(c), id)
	respond(c, view, err)
}

// advanceBatch takes the body {"phase": "…"}. The phase is named each time: a request
// without it, sent twice, would start two phases. With If-Match it starts the phase only
// if the batch is still as the caller saw it.
func (a *server) advanceBatch(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	var request api.AdvanceRequest
	if !optionalJSON(c, maxSetting, &request) {
		return
	}
	if !phaseNamed(c, request.Phase, `name the phase to start, as in {"phase": "cut-over"}; the init steps are named init`) {
		return
	}
	tags, ok := ifMatch(c)
	if !ok {
		return
	}
	if request.DryRun {
		a.foresee(c, id, api.ProposedAction{Name: api.ActionAdvance, Phase: *request.Phase})
		return
	}
	view, err := a.Batches.Advance(c.Request.Context(), callerOf(c), id, *request.Phase, tags...)
	if err == nil {
		c.Header("ETag", `"`+view.Batch.ETag+`"`)
	}
	accepted(c, view, err, "/api/batches/%d/phases", id)
}
