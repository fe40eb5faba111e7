package adminhttp

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
)

func (a *server) listVersions(c *gin.Context) {
	name, ok := runbookName(c)
	if !ok {
		return
	}
	o, ok := options[string](c, nil)
	if !ok {
		return
	}
	p, err := a.Runbooks.Versions(c.Request.Context(), name, o)
	page(c, p, err)
}

func (a *server) getVersion(c *gin.Context) {
	name, version, ok := runbookVersion(c)
	if !ok {
		return
	}
	view, err := a.Runbooks.Version(c.Request.Context(), name, version)
	tagged(c, view, view.ETag, err)
}

// deactivateVersion takes its reason from the address, as removeMember does. With
// If-Match only a version that is still as it was is deactivated.
func (a *server) deactivateVersion(c *gin.Context) {
	name, version, ok := runbookVersion(c)
	if !ok {
		return
	}
	values := c.MustGet(keyQuery).(url.Values)
	why := ""
	if values.Has("reason") {
		if why, ok = trimmedReason(c, values.Get("reason")); !ok {
			return
		}
	}
	tags, ok := ifMatch(c)
	if !ok {
		return
	}
	view, err := a.Runbooks.Deactivate(c.Request.Context(), callerOf(c), name, version, why, tags...)
	tagged(c, view, view.ETag, err)
}

// runbookVersion reads the runbook's name and the number of one of its versions from
// the address.
func runbookVersion(c *gin.Context) (name string, version int, ok bool) {
	if name, ok = runbookName(c); !ok {
		return "", 0, false
	}
	if version, ok = number(c.Param("version"), 1<<31-1); !ok {
		refuse(c, http.StatusNotFound, api.CodeNotFound, "there is no version %q; use the version's number", clip(c.Param("version")))
	}
	return name, version, ok
}

// tagged answers as respond does, with the ETag that the view has.
func tagged[V any](c *gin.Context, view V, tag string, err error) {
	if err == nil {
		c.Header("ETag", etagOf(c, tag))
	}
	respond(c, view, err)
}

// ifMatch reads what the header If-Match asks for (RFC 9110, section 13.1.1): the tags
// without their quotes and change marks, none where it is absent or *. A weak tag matches
// nothing, so it stays as it is. It answers and returns false when the header is malformed.
func ifMatch(c *gin.Context) ([]string, bool) {
	header := strings.TrimSpace(strings.Join(c.Request.Header.Values("If-Match"), ","))
	if header == "" || header == "*" {
		return nil, true
	}
	var tags []string
	for one := range strings.SplitSeq(header, ",") { // no tag of ours has a comma
		one = strings.TrimSpace(one)
		strong, quoted := strings.CutPrefix(strings.TrimPrefix(one, "W/"), `"`)
		strong, ended := strings.CutSuffix(strong, `"`)
		if !quoted || !ended || strings.Contains(strong, `"`) {
			invalid(c, `invalid header If-Match %q: use quoted ETags, for example If-Match: "abc"`, clip(header))
			return nil, false
		}
		strong, _, _ = strings.Cut(strong, ".")
		if strings.HasPrefix(one, "W/") {
			strong = one
		}
		tags = append(tags, strong)
	}
	return tags, true
}
