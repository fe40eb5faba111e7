// Package apiview converts stored documents to the shapes of the admin API, without secrets.
//
// It reads nothing from the store: callers pass the documents.
package apiview
