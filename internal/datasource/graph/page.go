package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/matoolkit/matoolkit/internal/nextlink"
)

// object is an object of Graph: its properties, as JSON.
type object map[string]json.RawMessage

// pages gives the objects of a collection, page by page.
type pages struct {
	client  *client
	request request
	objects []object
	last    bool
	seen    map[string]bool // links to pages that were followed
}

func (c *client) pages(r request) *pages {
	return &pages{client: c, request: r, seen: map[string]bool{}}
}

// next is the next object, or io.EOF after the last of the last page.
func (p *pages) next(ctx context.Context) (object, error) {
	for len(p.objects) == 0 {
		if p.last {
			return nil, io.EOF
		}
		if err := p.read(ctx); err != nil {
			return nil, err
		}
	}
	first := p.objects[0]
	p.objects[0], p.objects = nil, p.objects[1:]
	return first, nil
}

// all are the objects of all pages.
func (p *pages) all(ctx context.Context) ([]object, error) {
	var objects []object
	for {
		o, err := p.next(ctx)
		switch {
		case err == io.EOF: // itself
			return objects, nil
		case err != nil:
			return nil, err
		}
		objects = append(objects, o)
	}
}

// begin reads the first page, whose error is that of the query.
func (p *pages) begin(ctx context.Context) error { return p.read(ctx) }

// read reads a page.
func (p *pages) read(ctx context.Context) error {
	var page struct {
		Value    *[]object `json:"value"`
		NextLink *string   `json:"@odata.nextLink"`
	}
	if err := p.client.get(ctx, p.request, &page); err != nil {
		return err
	}
	if page.Value == nil {
		return fmt.Errorf("%s: the answer of Graph is not a page of a collection", p.request.what)
	}
	p.objects = *page.Value
	if page.NextLink == nil {
		p.last = true
		return nil
	}
	if err := nextlink.Check(*page.NextLink, p.client.endpoint); err != nil {
		return fmt.Errorf("%s: %w", p.request.what, err)
	}
	if p.seen[*page.NextLink] {
		return fmt.Errorf("%s: the pages of Graph are a circle", p.request.what)
	}
	p.seen[*page.NextLink] = true
	// The link has the query in it, and is opaque. The headers are not in it.
	p.request.path, p.request.further = *page.NextLink, true
	return nil
}
