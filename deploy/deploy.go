// Package deploy holds the manifests, so that the command can hold a cluster
// against what it ought to have.
package deploy

import "embed"

// Files are the definition of the resource and the controller's permissions, by
// their paths below deploy/.
//
//go:embed crd rbac
var Files embed.FS
