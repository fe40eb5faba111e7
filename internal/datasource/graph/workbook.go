package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/matoolkit/matoolkit/internal/datasource/xlsx"
)

// maxWorkbook bounds an Excel file, in bytes. It is in memory while its rows are read.
const maxWorkbook = 8_000_000

// queryWorkbook downloads an Excel file and reads it here: the workbook functions of Graph take no application.
func (s *source) queryWorkbook(r *rows) error {
	w := s.people.Workbook
	site, err := s.siteID(r.ctx, w.Site)
	if err != nil {
		return err
	}
	drive, err := s.drive(r.ctx, site)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("the file %q of the site %s", w.Path, w.Site)
	var item struct {
		ID   string           `json:"id"`
		Size int64            `json:"size"`
		File *json.RawMessage `json:"file"`
	}
	err = s.client.get(r.ctx, request{
		what: what, path: drive + "/root:" + escaped(w.Path), needs: needsSite, query: url.Values{"$select": {"id,size,file"}},
	}, &item)
	switch {
	case err != nil:
		return err
	case item.File == nil || item.ID == "":
		return fmt.Errorf("%s is not a file", what)
	case item.Size > maxWorkbook:
		return fmt.Errorf("%s has %d bytes; at most %d are read: remove what the runbook does not use", what, item.Size, maxWorkbook)
	}
	content, err := s.client.download(r.ctx, request{what: what, path: drive + "/items/" + url.PathEscape(item.ID) + "/content", needs: needsSite}, item.Size)
	if err != nil {
		return err
	}
	sheet, err := xlsx.Open(content, w.Sheet)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	r.columns, r.close = sheet.Columns(), sheet.Close
	r.next = func(context.Context) ([]json.RawMessage, error) { return sheet.Next() }
	return nil
}

// drive is the path of the library.
func (s *source) drive(ctx context.Context, site string) (string, error) {
	w := s.people.Workbook
	if w.Library == "" {
		var found object
		what := "the default library of the site " + w.Site
		err := s.client.get(ctx, request{what: what, path: site + "/drive", needs: needsSite, query: url.Values{"$select": {"id"}}}, &found)
		if err == nil && found.text("id") == "" {
			err = errors.New(what + ": the answer of Graph has no id")
		}
		return "/drives/" + url.PathEscape(found.text("id")), err
	}
	p := s.client.pages(request{what: "the libraries of the site " + w.Site, path: site + "/drives", needs: needsSite, query: url.Values{"$select": {"id,name"}}})
	var names []string
	all, err := p.all(ctx)
	if err != nil {
		return "", err
	}
	for _, drive := range all {
		if strings.EqualFold(drive.text("name"), w.Library) && drive.text("id") != "" {
			return "/drives/" + url.PathEscape(drive.text("id")), nil
		}
		names = append(names, drive.text("name"))
	}
	return "", fmt.Errorf("the site %s has no library %q; it has %s", w.Site, w.Library, strings.Join(names, ", "))
}
