// Package apiview gives stored documents the shapes of the admin API, without anything secret.
//
// It reads nothing: callers hand it what they loaded.
package apiview
