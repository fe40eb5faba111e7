// Package sharepoint carries out the functions for OneDrive and SharePoint: moves of content to another tenant. It makes
// requests through the client of package graph.
package sharepoint

import (
	"context"
	"net/url"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// service is SharePoint as Graph has it.
type service struct{ graph *graph.Client }

// Functions are the catalogue's functions that this package carries out.
func Functions(g *graph.Client) []catalog.Function {
	s := service{g}
	return []catalog.Function{
		catalog.TestSharePointMigrationReady.With(s.testReady),
		catalog.NewSharePointMigrationTask.With(s.newTask),
		catalog.TestSharePointMigrationTask.With(s.testTask),
		catalog.StopSharePointMigrationTask.With(s.stopTask),
		catalog.TestSharePointOneDrive.With(s.testOneDrive),
	}
}

// OneDriveResult is the result of Test-SharePointOneDrive.
type OneDriveResult struct {
	Complete bool         `json:"complete"`
	Reason   string       `json:"reason,omitempty"` // why it is not complete
	Data     OneDriveData `json:"data"`
}

// OneDriveData tells of the OneDrive of one user.
type OneDriveData struct {
	UserID         string `json:"UserId"`
	ExpectedExists bool
	Exists         bool
	WebURL         string `json:"WebUrl,omitempty"`
}

func (s service) testOneDrive(ctx context.Context, p catalog.Params) (any, error) {
	data := OneDriveData{UserID: p.String("UserId"), ExpectedExists: p.Bool("ExpectedExists", true)}
	user := "/v1.0/users/" + url.PathEscape(data.UserID)
	_, err := s.graph.Look(ctx, graph.Look{
		Path: user + "/drive?$select=id,webUrl", MayBeMissing: true,
		Shows: func(drive map[string]any) (catalog.Shown, bool, error) {
			data.Exists = drive != nil
			data.WebURL, _ = drive["webUrl"].(string)
			return catalog.Shown{}, false, nil
		},
	}, catalog.Waiting{})
	if err == nil && !data.Exists { // or there is no such user
		_, err = s.graph.Read(ctx, user+"?$select=id")
	}
	if err != nil {
		return nil, err
	}
	result := OneDriveResult{Complete: data.Exists == data.ExpectedExists, Data: data}
	switch {
	case result.Complete:
	case data.Exists:
		result.Reason = "the user has a OneDrive, expected none"
	default:
		result.Reason = "the user has no OneDrive, expected one"
	}
	return result, nil
}
