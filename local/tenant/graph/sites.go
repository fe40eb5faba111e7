package graph

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// addressed joins the segments of a path that address a site by its URL, or a file by its path, to one.
func addressed(path []string) []string {
	switch {
	case len(path) > 2 && path[0] == "sites" && strings.HasSuffix(path[1], ":"):
		return []string{"sites", path[1] + "/" + strings.Join(path[2:], "/")}
	case len(path) > 3 && path[0] == "drives" && path[2] == "root:":
		return []string{"drives", path[1], "root:", strings.Join(path[3:], "/")}
	}
	return path
}

// siteNames is the namespace of the ids of sites, and of what they have.
var siteNames = uuid.MustParse("5f1f1d0e-0a55-4b8e-9d4f-0d9c6a3b7e11")

func contentID(parts ...string) string {
	return uuid.NewSHA1(siteNames, []byte(directory.Fold(strings.Join(parts, "\n")))).String()
}

func siteID(s directory.Site) string {
	u, _ := url.Parse(s.URL) // AddSite has parsed it
	return u.Hostname() + "," + contentID("collection", s.URL) + "," + contentID("site", s.URL)
}

func itemNotFound() *reply {
	return odata.Error(http.StatusNotFound, "itemNotFound", "The resource could not be found.")
}

// site finds a site by its id, or host and path. An application with Sites.Selected alone sees those that are granted.
func (s *Service) site(c *call, key string) (directory.Site, *reply) {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	for _, site := range s.Directory.Sites {
		u, _ := url.Parse(site.URL)
		name := u.Hostname()
		if u.Path != "" {
			name += ":" + u.Path
		}
		if !strings.EqualFold(key, siteID(site)) && !strings.EqualFold(key, name) {
			continue
		}
		if s.Roles != nil && !holds(s.Roles(c.Token), "Sites.Read.All") && !site.Granted {
			return site, odata.Error(http.StatusForbidden, "accessDenied", "Access denied")
		}
		return site, nil
	}
	return directory.Site{}, itemNotFound()
}

func (s *Service) getSite(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("site", siteProperties)
	if refusal != nil {
		return refusal
	}
	site, refusal := s.site(c, c.Arg["site"])
	if refusal != nil {
		return refusal
	}
	answer := project(siteProperties, map[string]any{"id": siteID(site), "webUrl": site.URL}, selected)
	answer["@odata.context"] = c.context("sites/$entity")
	return odata.OK(answer)
}

// The properties simulated here.
var (
	siteProperties      = map[string]property{"id": {standard: true}, "webUrl": {standard: true}}
	columnProperties    = map[string]property{"name": {standard: true}, "displayName": {standard: true}}
	driveItemProperties = map[string]property{"id": {standard: true}, "name": {standard: true}, "size": {standard: true}, "file": {standard: true}, "folder": {standard: true}}
	libraryProperties   = map[string]property{"id": {standard: true}, "name": {standard: true}, "driveType": {standard: true}}
)

// list finds a list of a site by its title or id.
func (s *Service) list(c *call) (directory.List, *reply) {
	site, refusal := s.site(c, c.Arg["site"])
	if refusal != nil {
		return directory.List{}, refusal
	}
	for _, l := range site.Lists {
		if strings.EqualFold(l.Name, c.Arg["list"]) || strings.EqualFold(contentID("list", site.URL, l.Name), c.Arg["list"]) {
			return l, nil
		}
	}
	return directory.List{}, itemNotFound()
}

func (s *Service) listColumns(c *call) *reply {
	page, refusal := c.paging()
	if refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("columnDefinition", columnProperties)
	if refusal != nil {
		return refusal
	}
	list, refusal := s.list(c)
	if refusal != nil {
		return refusal
	}
	var columns []map[string]any
	for _, column := range list.Columns {
		columns = append(columns, project(columnProperties, map[string]any{"name": column.Name, "displayName": column.DisplayName}, selected))
	}
	return c.listing("columns", columns, page)
}

// listItems gives items with the fields that $expand=fields($select=…) names. As in SharePoint, a field without a value is
// left out, and a name that is no column is ignored.
func (s *Service) listItems(c *call) *reply {
	page, refusal := c.paging("filter", "expand")
	if refusal != nil {
		return refusal
	}
	list, refusal := s.list(c)
	if refusal != nil {
		return refusal
	}
	expand, expanded := c.Option("expand")
	names, selects := strings.CutPrefix(expand, "fields($select=")
	if expanded && expand != "fields" && (!selects || !strings.HasSuffix(names, ")")) {
		return odata.Error(http.StatusBadRequest, "invalidRequest", "The expand '%s' is not simulated here.", expand)
	}
	wanted := strings.Split(strings.TrimSuffix(names, ")"), ",")
	filters := filterable{resource: "listItem"}
	for _, column := range list.Columns {
		filters.properties = append(filters.properties, "fields/"+column.Name)
	}
	matches, refusal := c.filter(filters)
	if refusal != nil {
		return refusal
	}
	if _, filtered := c.Option("filter"); filtered && c.Header.Get("Prefer") != "HonorNonIndexedQueriesWarningMayFailRandomly" {
		return odata.Error(http.StatusBadRequest, "invalidRequest", "Field cannot be referenced in filter or orderby as it is not indexed. Provide the 'Prefer: HonorNonIndexedQueriesWarningMayFailRandomly' header to allow this.")
	}
	var items []map[string]any
	for i, values := range list.Items {
		if !matches.holds(map[string]any{"fields": values}) {
			continue
		}
		id := strconv.Itoa(i + 1)
		item := map[string]any{"id": id}
		if expanded {
			fields := map[string]any{"@odata.etag": `"` + contentID("item", list.Name, id) + `,1"`}
			for name, value := range values {
				if value != nil && (!selects || slices.Contains(wanted, name)) {
					fields[name] = value
				}
			}
			if !selects || slices.Contains(wanted, "id") {
				fields["id"] = id
			}
			item["fields"] = fields
		}
		items = append(items, item)
	}
	return c.listing("items", items, page)
}

// libraries are the names of the libraries of a site.
func libraries(site directory.Site) []string {
	names := []string{directory.DefaultLibrary}
	for _, f := range site.Files {
		if !slices.Contains(names, f.Library) {
			names = append(names, f.Library)
		}
	}
	return names
}

func library(site directory.Site, name string) map[string]any {
	return map[string]any{"id": "b!" + contentID("library", site.URL, name), "name": name, "driveType": "documentLibrary"}
}

func (s *Service) listDrives(c *call) *reply {
	page, refusal := c.paging()
	if refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("drive", libraryProperties)
	if refusal != nil {
		return refusal
	}
	site, refusal := s.site(c, c.Arg["site"])
	if refusal != nil {
		return refusal
	}
	var drives []map[string]any
	for _, name := range libraries(site) {
		drives = append(drives, project(libraryProperties, library(site, name), selected))
	}
	return c.listing("drives", drives, page)
}

func (s *Service) getLibrary(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("drive", libraryProperties)
	if refusal != nil {
		return refusal
	}
	site, refusal := s.site(c, c.Arg["site"])
	if refusal != nil {
		return refusal
	}
	return odata.OK(project(libraryProperties, library(site, directory.DefaultLibrary), selected))
}

// files are those of a library.
func (s *Service) files(c *call) ([]directory.File, *reply) {
	s.Directory.Lock()
	sites := slices.Clone(s.Directory.Sites)
	s.Directory.Unlock()
	for _, site := range sites {
		for _, name := range libraries(site) {
			if library(site, name)["id"] != c.Arg["drive"] {
				continue
			}
			if _, refusal := s.site(c, siteID(site)); refusal != nil {
				return nil, refusal
			}
			return slices.DeleteFunc(slices.Clone(site.Files), func(f directory.File) bool { return f.Library != name }), nil
		}
	}
	return nil, itemNotFound()
}

func fileID(c *call, f directory.File) string { return contentID("file", c.Arg["drive"], f.Path) }

// getFile finds a file, or a folder that has one, by its path.
func (s *Service) getFile(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("driveItem", driveItemProperties)
	if refusal != nil {
		return refusal
	}
	files, refusal := s.files(c)
	if refusal != nil {
		return refusal
	}
	path := strings.Trim(c.Arg["path"], "/")
	name := path[strings.LastIndexByte(path, '/')+1:]
	for _, f := range files {
		var item map[string]any
		switch {
		case strings.EqualFold(f.Path, path):
			item = map[string]any{"id": fileID(c, f), "name": name, "size": len(f.Content), "file": map[string]any{"mimeType": "application/octet-stream"}}
		case strings.HasPrefix(directory.Fold(f.Path), directory.Fold(path)+"/"):
			item = map[string]any{"id": contentID("folder", c.Arg["drive"], path), "name": name, "folder": map[string]any{"childCount": 1}}
		default:
			continue
		}
		answer := project(driveItemProperties, item, selected)
		for _, facet := range []string{"file", "folder"} {
			if answer[facet] == nil {
				delete(answer, facet)
			}
		}
		answer["@odata.context"] = c.context("drives/$entity")
		return odata.OK(answer)
	}
	return itemNotFound()
}

// linkLife is how long the address of a download is good.
const linkLife = time.Hour

// ContentPath begins the path of a download; the id of the tenant follows.
const ContentPath = "/_content/"

// content is a download that has been given out.
type content struct {
	body []byte
	ends time.Time
}

// getContent redirects to an address that needs no token.
func (s *Service) getContent(c *call) *reply {
	if refusal := c.onlyOptions(); refusal != nil {
		return refusal
	}
	files, refusal := s.files(c)
	if refusal != nil {
		return refusal
	}
	for _, f := range files {
		if fileID(c, f) != c.Arg["item"] {
			continue
		}
		now, _ := s.Times()
		key := uuid.NewString()
		s.contents.Range(func(k, v any) bool {
			if v.(content).ends.Before(now) {
				s.contents.Delete(k)
			}
			return true
		})
		s.contents.Store(key, content{f.Content, now.Add(linkLife)})
		return &reply{Status: http.StatusFound, Header: map[string]string{"Location": c.Base + ContentPath + s.TenantID + "/" + key}}
	}
	return itemNotFound()
}

// ServeContent answers a download. One with a token is refused: a token for Graph must not leave Graph.
func (s *Service) ServeContent(w http.ResponseWriter, r *http.Request) {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, ContentPath), "/")
	found, ok := s.contents.Load(key)
	now, _ := s.Times()
	switch {
	case r.Method != http.MethodGet:
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
	case r.Header.Get("Authorization") != "":
		http.Error(w, "the address of a download gets no token", http.StatusUnauthorized)
	case !ok || found.(content).ends.Before(now):
		http.Error(w, "the address of the download is unknown or has expired", http.StatusForbidden)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(found.(content).body)))
		_, _ = w.Write(found.(content).body)
	}
}
