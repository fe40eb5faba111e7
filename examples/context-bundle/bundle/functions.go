package bundle

import (
	"github.com/matoolkit/matoolkit/examples/context-bundle/github"
	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

var (
	owner = catalog.Param{Name: "Owner", Type: catalog.String, Required: true, Description: "User or organization of GitHub."}
	when  = catalog.Param{Name: "Generation", Type: catalog.String, Required: true, Description: "Time of the request, such as {{_batch_start_time}}. What a later request wrote stays."}
)

// ListRepositories lists the repositories of an owner.
var ListRepositories = catalog.Function{
	Name:        "List-Repositories",
	Description: "Lists the repositories of an owner that all can read, as the items of a batch: each with its name and the time of its last push.",
	Params:      []catalog.Param{owner},
	Result:      []catalog.Field{{Name: "Repositories", Description: "Objects with Repository and PushedAt."}},
	Permissions: []string{"Metadata: read (GitHub)"},
	Repeated:    "It only reads.",
	ReadOnly:    true,
}

// SyncRepoContext reads the context of a repository.
var SyncRepoContext = catalog.Function{
	Name: "Sync-RepoContext",
	Description: "Reads a repository of GitHub, its .repo-context.json, README.md and further files, and stores them as the context of the repository. " +
		"Requests are conditional. A missing file is no failure, a missing repository is one that no retry helps.",
	Params: []catalog.Param{
		owner,
		{Name: "Repository", Type: catalog.String, Required: true, Description: "Name of the repository."},
		when,
		{Name: "Fingerprint", Type: catalog.String, Description: "State of the repository, such as the time of its last push. If the stored context was read in this state, GitHub is not asked."},
		{Name: "Paths", Type: catalog.StringList, Description: "Further files of the default branch, at most 20."},
		{Name: "Force", Type: catalog.Boolean, Description: "Whether GitHub is asked also in the same state. Default: false."},
	},
	Result: []catalog.Field{
		{Name: "Context", Description: "Key of the artifact."},
		{Name: "Fingerprint", Description: "Fingerprint of the content."},
		{Name: "Documented", Description: "Whether there is a .repo-context.json or a README.md."},
	},
	Permissions: []string{"Contents: read (GitHub)", "Storage Blob Data Contributor"},
	Repeated:    "The context of the same or a later request stays, and is the answer.",
}

// MergeBundle merges the contexts of an owner.
var MergeBundle = catalog.Function{
	Name: "Merge-Bundle",
	Description: "Merges the contexts of the items of a batch into the bundle of the owner: for an item that failed the context of an earlier request. " +
		"Neither the order of the items nor that of their results changes the bundle.",
	Params: []catalog.Param{
		owner,
		{Name: "Outputs", Type: catalog.String, Required: true, Description: "Key of the artifact with the outputs of the items: {{_outputs}}."},
		when,
	},
	Result: []catalog.Field{
		{Name: "Bundle", Description: "Key of the artifact."},
		{Name: "Fingerprint", Description: "Fingerprint of the contexts in the bundle."},
		{Name: "Repositories", Description: "Number of repositories."},
		{Name: "Documented", Description: "Number of documented repositories."},
		{Name: "Missing", Description: "Items without any context."},
		{Name: "Stale", Description: "Repositories whose context is that of an earlier request."},
		{Name: "Superseded", Description: "True if the bundle is that of a later request. Nothing was changed, and the other fields describe that bundle."},
	},
	Permissions: []string{"Storage Blob Data Contributor"},
	Repeated:    "The bundle of the same or a later request stays, and is the answer.",
}

// Functions are the functions of the package over a store and GitHub.
func Functions(store artifact.Store, from *github.Client) []catalog.Function {
	return []catalog.Function{
		ListRepositories.With(lister{from}.list),
		SyncRepoContext.With(synchronizer{store, from}.sync),
		MergeBundle.With(merger{store}.merge),
	}
}
