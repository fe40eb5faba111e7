package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Site is a SharePoint site with its lists and files. Nothing changes them but a seed.
type Site struct {
	URL string `json:"url"` // such as https://contoso.sharepoint.com/sites/migration
	// Granted lets applications read the site that have Sites.Selected, as a grant of the role read does.
	Granted bool   `json:"granted,omitempty"`
	Lists   []List `json:"lists,omitempty"`
	Files   []File `json:"files,omitempty"`
}

// List is a list of a site.
type List struct {
	Name    string           `json:"name"` // the title
	Columns []Column         `json:"columns"`
	Items   []map[string]any `json:"items,omitempty"` // values by internal names
}

// Column is a column of a list.
type Column struct {
	Name        string `json:"name"`                  // internal
	DisplayName string `json:"displayName,omitempty"` // default: the name
}

// File is a file of a library.
type File struct {
	Library string `json:"library,omitempty"` // default: Documents, the default library
	Path    string `json:"path"`
	Content []byte `json:"content"` // base64
}

// DefaultLibrary is the default library of every site.
const DefaultLibrary = "Documents"

// check refuses a site that contradicts itself, and completes it.
func (s *Site) check() error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return fmt.Errorf("%q is not the URL of a site", s.URL)
	}
	s.URL = strings.TrimRight(s.URL, "/")
	for i, l := range s.Lists {
		if l.Name == "" || len(l.Columns) == 0 {
			return errors.New("a list needs a name and columns")
		}
		s.Lists[i].Columns = slices.Clone(l.Columns)
		for k, c := range l.Columns {
			if c.DisplayName == "" {
				s.Lists[i].Columns[k].DisplayName = c.Name
			}
		}
		for _, item := range l.Items {
			for name := range item {
				if !slices.ContainsFunc(l.Columns, func(c Column) bool { return c.Name == name || c.Name+"LookupId" == name }) {
					return fmt.Errorf("an item of the list %q has the field %q, which is no column", l.Name, name)
				}
			}
		}
	}
	for i, f := range s.Files {
		if f.Path == "" {
			return errors.New("a file needs a path")
		}
		if f.Library == "" {
			s.Files[i].Library = DefaultLibrary
		}
	}
	return nil
}

// AddSite adds a site, or puts it in the place of the one with its URL.
func (d *Directory) AddSite(s Site) error {
	s.Lists, s.Files = slices.Clone(s.Lists), slices.Clone(s.Files)
	if err := s.check(); err != nil {
		return err
	}
	if d.disk != nil {
		if err := d.disk.saveSite(s); err != nil {
			return err
		}
	}
	d.putSite(s)
	return nil
}

func (d *Directory) putSite(s Site) {
	for i := range d.Sites {
		if Fold(d.Sites[i].URL) == Fold(s.URL) {
			d.Sites[i] = s
			return
		}
	}
	d.Sites = append(d.Sites, s)
}

func (k *disk) saveSite(s Site) error {
	body, err := json.Marshal(s)
	if err == nil {
		_, err = k.to().Exec(`INSERT INTO site (url, body) VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET body = excluded.body`, Fold(s.URL), string(body))
	}
	if err != nil {
		return fmt.Errorf("tenant: save site %s: %w", s.URL, err)
	}
	return nil
}

func (k *disk) loadSites(ctx context.Context, d *Directory) error {
	rows, err := k.db.QueryContext(ctx, `SELECT body FROM site ORDER BY rowid`)
	if err != nil {
		return fmt.Errorf("tenant: load sites: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var body string
		var s Site
		if err := rows.Scan(&body); err != nil {
			return fmt.Errorf("tenant: load sites: %w", err)
		}
		if err := json.Unmarshal([]byte(body), &s); err != nil {
			return fmt.Errorf("tenant: load sites: %w", err)
		}
		d.putSite(s)
	}
	return rows.Err()
}
