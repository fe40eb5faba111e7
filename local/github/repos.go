package github

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// view has the parameters of a request.
type view struct {
	owner, repo, path string
	media             string
	query             url.Values
	login             string // of the caller
}

// repo finds a repository that the caller may see; one that it may not see is not found.
func (s *Server) repo(v view) (*owner, *repo) {
	o := s.owners[strings.ToLower(v.owner)]
	if o == nil {
		return nil, nil
	}
	r := o.repos[strings.ToLower(v.repo)]
	if r == nil || r.Private && !strings.EqualFold(v.login, o.Login) {
		return nil, nil
	}
	return o, r
}

func (s *Server) repoBody(o *owner, r *repo) map[string]any {
	full := o.Login + "/" + r.Name
	kind := "User"
	if o.Organization {
		kind = "Organization"
	}
	size := 0
	for _, content := range r.Files {
		size += len(content)
	}
	topics := r.Topics
	if topics == nil {
		topics = []string{}
	}
	optional := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	visibility := "public"
	if r.Private {
		visibility = "private"
	}
	address := s.url + "/repos/" + full
	return map[string]any{
		"id": r.id, "node_id": base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "010:Repository%d", r.id)), "name": r.Name, "full_name": full,
		"private": r.Private, "visibility": visibility, "fork": r.Fork, "archived": r.Archived, "disabled": false,
		"owner":       map[string]any{"login": o.Login, "id": o.id, "type": kind, "url": s.url + "/users/" + o.Login},
		"description": optional(r.Description), "language": optional(r.Language), "topics": topics, "default_branch": r.DefaultBranch, "size": size / 1024,
		"html_url": "https://github.com/" + full, "url": address, "contents_url": address + "/contents/{+path}", "trees_url": address + "/git/trees{/sha}",
		"created_at": r.created.Format(time.RFC3339), "updated_at": r.PushedAt.Format(time.RFC3339), "pushed_at": r.PushedAt.Format(time.RFC3339),
	}
}

func (s *Server) getRepo(v view) *answer {
	o, r := s.repo(v)
	if r == nil {
		return notFound()
	}
	return object(s.repoBody(o, r))
}

// listRepos lists the public repositories of an owner, in pages.
func (s *Server) listRepos(v view) *answer {
	o := s.owners[strings.ToLower(v.owner)]
	if o == nil {
		return notFound()
	}
	number := func(name string, normal int) int { // GitHub takes a bad number for the default
		n, err := strconv.Atoi(v.query.Get(name))
		if err != nil || n < 1 {
			return normal
		}
		return n
	}
	page, size := number("page", 1), min(number("per_page", 30), 100)
	for name, values := range map[string][]string{"type": {"", "all", "owner"}, "sort": {"", "full_name", "pushed", "updated", "created"}, "direction": {"", "asc", "desc"}} {
		if !slices.Contains(values, v.query.Get(name)) {
			return refuse(http.StatusUnprocessableEntity, docs, "Validation Failed: %s of %s is not supported here.", v.query.Get(name), name)
		}
	}
	var all []*repo
	for _, r := range o.repos {
		if !r.Private {
			all = append(all, r)
		}
	}
	by := cmp.Or(v.query.Get("sort"), "full_name")
	descending := cmp.Or(v.query.Get("direction"), map[bool]string{true: "asc", false: "desc"}[by == "full_name"]) == "desc"
	slices.SortFunc(all, func(a, b *repo) int {
		order := 0
		switch by {
		case "pushed", "updated":
			order = a.PushedAt.Compare(b.PushedAt)
		case "created":
			order = a.created.Compare(b.created)
		}
		order = cmp.Or(order, strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
		if descending {
			return -order
		}
		return order
	})
	last := max(1, (len(all)+size-1)/size)
	bodies := []map[string]any{}
	for _, r := range all[min(len(all), (page-1)*size):min(len(all), page*size)] {
		bodies = append(bodies, s.repoBody(o, r))
	}
	a := object(bodies)
	a.link = links(s.url+"/users/"+url.PathEscape(v.owner)+"/repos", v.query, page, last)
	return a
}

// links is the Link header of a page.
func links(address string, query url.Values, page, last int) string {
	var all []string
	add := func(rel string, to int) {
		q := url.Values{}
		for name, values := range query {
			q[name] = values
		}
		q.Set("page", strconv.Itoa(to))
		all = append(all, fmt.Sprintf(`<%s?%s>; rel="%s"`, address, q.Encode(), rel))
	}
	if page > 1 {
		add("prev", min(page-1, last))
	}
	if page < last {
		add("next", page+1)
		add("last", last)
	}
	if page > 1 {
		add("first", 1)
	}
	return strings.Join(all, ", ")
}

// Sizes of files, in bytes: up to the first a file is in the JSON, up to the second only in the raw media type.
const (
	maxInline = 1 << 20
	maxRaw    = 100 << 20
)

// mediaTypes are those of contents; "" is JSON.
var mediaTypes = map[string]string{
	"": "", "*/*": "", "application/json": "", "application/vnd.github+json": "", "application/vnd.github.v3+json": "",
	"application/vnd.github.raw+json": "raw", "application/vnd.github.raw": "raw", "application/vnd.github.v3.raw": "raw", "application/vnd.github.v3.raw+json": "raw",
}

func (s *Server) getContents(v view) *answer {
	o, r := s.repo(v)
	if r == nil {
		return notFound()
	}
	accepted, _, err := mime.ParseMediaType(v.media)
	if err != nil {
		accepted = v.media
	}
	media, known := mediaTypes[accepted]
	switch {
	case !known:
		return refuse(http.StatusUnsupportedMediaType, docs, "The media type %s is not supported here.", v.media)
	case len(r.Files) == 0:
		return refuse(http.StatusNotFound, docs, "This repository is empty.")
	case !slices.Contains([]string{"", r.DefaultBranch, "refs/heads/" + r.DefaultBranch, "heads/" + r.DefaultBranch}, v.query.Get("ref")):
		return refuse(http.StatusNotFound, docs, "No commit found for the ref %s", v.query.Get("ref"))
	}
	_, all := r.tree("")
	content, isFile := r.Files[v.path]
	if isFile {
		i := slices.IndexFunc(all, func(e entry) bool { return e.path == v.path })
		return s.file(o, r, all[i], content, media)
	}
	within := []map[string]any{}
	for _, e := range all {
		if dir := path.Dir(e.path); dir == v.path || dir == "." && v.path == "" {
			within = append(within, s.contentBody(o, r, e))
		}
	}
	if len(within) == 0 {
		return notFound()
	}
	return object(within)
}

func (s *Server) file(o *owner, r *repo, e entry, content, media string) *answer {
	switch {
	case len(content) > maxRaw:
		return refuse(http.StatusForbidden, docs, "This API returns blobs up to 100 MB in size. The requested blob is too large to fetch via the API, but you can always clone the repository via Git.")
	case media == "raw":
		return &answer{status: http.StatusOK, body: []byte(content), kind: "application/vnd.github.raw+json; charset=utf-8", etag: e.sha}
	}
	body := s.contentBody(o, r, e)
	body["encoding"], body["content"] = "none", ""
	if len(content) <= maxInline {
		body["encoding"], body["content"] = "base64", wrapped([]byte(content))
	}
	return object(body)
}

// wrapped is base64 in lines of 60 characters, each with its end.
func wrapped(content []byte) string {
	var b strings.Builder
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(content)), 60) {
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func (s *Server) contentBody(o *owner, r *repo, e entry) map[string]any {
	full := o.Login + "/" + r.Name
	escaped := (&url.URL{Path: e.path}).EscapedPath()
	address := s.url + "/repos/" + full + "/contents/" + escaped + "?ref=" + url.QueryEscape(r.DefaultBranch)
	body := map[string]any{
		"type": "file", "size": e.size, "name": path.Base(e.path), "path": e.path, "sha": e.sha, "url": address,
		"git_url": s.url + "/repos/" + full + "/git/blobs/" + e.sha, "html_url": "https://github.com/" + full + "/blob/" + r.DefaultBranch + "/" + escaped,
		"download_url": "https://raw.githubusercontent.com/" + full + "/" + r.DefaultBranch + "/" + escaped,
	}
	if e.dir {
		body["type"], body["size"], body["download_url"] = "dir", 0, nil
		body["git_url"] = s.url + "/repos/" + full + "/git/trees/" + e.sha
	}
	body["_links"] = map[string]any{"self": address, "git": body["git_url"], "html": body["html_url"]}
	return body
}

// maxTree is the number of entries after which a recursive tree is truncated.
const maxTree = 100_000

func (s *Server) getTree(v view) *answer {
	o, r := s.repo(v)
	if r == nil {
		return notFound()
	}
	if len(r.Files) == 0 {
		return refuse(http.StatusConflict, docs, "Git Repository is empty.")
	}
	id, all := r.tree("")
	dir, found := "", v.path == r.DefaultBranch || v.path == id || v.path == "HEAD"
	for _, e := range all {
		if !found && e.dir && e.sha == v.path {
			dir, id, found = e.path+"/", e.sha, true
		}
	}
	if !found {
		return notFound()
	}
	recursive := v.query.Has("recursive") // any value
	address := s.url + "/repos/" + o.Login + "/" + r.Name + "/git/"
	tree := []map[string]any{}
	truncated := false
	for _, e := range all {
		name, within := strings.CutPrefix(e.path, dir)
		if !within || !recursive && strings.Contains(name, "/") {
			continue
		}
		if len(tree) == maxTree {
			truncated = true
			break
		}
		one := map[string]any{"path": name, "mode": "100644", "type": "blob", "sha": e.sha, "size": e.size, "url": address + "blobs/" + e.sha}
		if e.dir {
			one = map[string]any{"path": name, "mode": "040000", "type": "tree", "sha": e.sha, "url": address + "trees/" + e.sha}
		}
		tree = append(tree, one)
	}
	return object(map[string]any{"sha": id, "url": address + "trees/" + id, "tree": tree, "truncated": truncated})
}
