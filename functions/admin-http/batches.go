package adminhttp

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/engine"
)

// createBatch takes a form of two parts: runbookName and file, the CSV of members.
func (a *api) createBatch(c *gin.Context) {
	media, params := mediaType(c)
	if media != "multipart/form-data" || params["boundary"] == "" {
		refuse(c, http.StatusUnsupportedMediaType, errUnsupportedMedia,
			"send multipart/form-data with the parts runbookName and file")
		return
	}
	const parts = 4096 // what the parts' headers and the name take
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, a.MaxBody+parts)
	name, csv, ok := a.upload(c, multipart.NewReader(c.Request.Body, params["boundary"]))
	if !ok {
		return
	}
	view, err := a.App.CreateBatch(c.Request.Context(), callerOf(c), name, csv)
	if err != nil {
		fail(c, err)
		return
	}
	c.Header("Location", "/api/batches/"+strconv.Itoa(view.ID))
	c.JSON(http.StatusCreated, view)
}

// upload reads the form part by part, so that a name or a part that is not expected
// is refused before the file has been read.
func (a *api) upload(c *gin.Context, form *multipart.Reader) (name string, csv []byte, ok bool) {
	values := map[string][]byte{}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			unreadable(c, err, a.MaxBody)
			return "", nil, false
		}
		field := part.FormName()
		limit := a.MaxBody
		switch field {
		case "runbookName":
			limit = maxName
		case "file":
		default:
			invalid(c, "the form has a part %q; its parts are runbookName and file", clip(field))
			return "", nil, false
		}
		if _, twice := values[field]; twice {
			invalid(c, "the form has the part %s twice", field)
			return "", nil, false
		}
		data, err := io.ReadAll(io.LimitReader(part, limit+1))
		if err != nil {
			unreadable(c, err, a.MaxBody)
			return "", nil, false
		}
		if int64(len(data)) > limit {
			refuse(c, http.StatusRequestEntityTooLarge, string(app.CodeTooLarge), "the part %s is larger than the %d bytes allowed", field, limit)
			return "", nil, false
		}
		values[field] = data
	}
	csv, ok = values["file"]
	name = strings.TrimSpace(string(values["runbookName"]))
	switch {
	case name == "":
		invalid(c, "the form has no part runbookName, or it is empty")
		return "", nil, false
	case !ok:
		invalid(c, "the form has no part file, which holds the CSV of members")
		return "", nil, false
	}
	return name, csv, true
}

func (a *api) listBatches(c *gin.Context) {
	o, ok := options(c, engine.BatchStatuses)
	if !ok {
		return
	}
	p, err := a.App.Batches(c.Request.Context(), o)
	page(c, p, err)
}

func (a *api) getBatch(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	view, err := a.App.Batch(c.Request.Context(), id)
	respond(c, view, err)
}

func (a *api) listMembers(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	o, ok := options(c, engine.MemberStatuses)
	if !ok {
		return
	}
	p, err := a.App.Members(c.Request.Context(), id, o)
	page(c, p, err)
}

func (a *api) listPhases(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	p, err := a.App.Phases(c.Request.Context(), id)
	page(c, p, err)
}

func (a *api) listSteps(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	o, ok := options(c, engine.StepStatuses)
	if !ok {
		return
	}
	p, err := a.App.Steps(c.Request.Context(), id, o)
	page(c, p, err)
}

func (a *api) listAudit(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	o, ok := options[string](c, nil)
	if !ok {
		return
	}
	p, err := a.App.Audit(c.Request.Context(), id, o)
	page(c, p, err)
}

// advanceBatch takes no body, or an empty JSON object.
func (a *api) advanceBatch(c *gin.Context) {
	id, ok := batchID(c)
	if !ok {
		return
	}
	data, ok := body(c, 1024)
	if !ok {
		return
	}
	if len(data) > 0 {
		if media, _ := mediaType(c); media != "application/json" {
			refuse(c, http.StatusUnsupportedMediaType, errUnsupportedMedia, "an advance has no body")
			return
		}
		if !decodeJSON(c, data, &struct{}{}) {
			return
		}
	}
	view, err := a.App.Advance(c.Request.Context(), callerOf(c), id)
	if err != nil {
		fail(c, err)
		return
	}
	c.JSON(http.StatusAccepted, view)
}
