// Package deploy embeds the manifests, so that the command can compare a cluster with them.
package deploy

import "embed"

// Files are the definition of the resource and the controller's permissions, by
// their paths below deploy/.
//
//go:embed crd rbac
var Files embed.FS
