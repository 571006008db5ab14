// Package advice writes what a user applies to a cluster, a policy and sizes as manifests, and reads
// the policy that the objects of a cluster are.
//
// Reading order: advice.go (documents and how they are written), manifests.go (which documents a
// policy becomes), hpa.go, keda.go, vpa.go, loadline.go (the autoscalers), patch.go (requests and
// limits of Deployments); objects.go (objects of a cluster), today.go (the policy that they are),
// hpa_read.go, keda_read.go, vpa_read.go.
package advice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// Document is one manifest. Comments are written above it, one line each.
type Document struct {
	Comments []string
	Object   any
}

// Write writes documents as one YAML stream, which kubectl apply -f accepts; patches are for
// kubectl patch, and their comments have the command.
func Write(w io.Writer, all []Document) error {
	if len(all) == 0 {
		return errors.New("there is nothing to write")
	}
	var b strings.Builder
	for i, d := range all {
		if i > 0 {
			b.WriteString("---\n")
		}
		for _, c := range d.Comments {
			b.WriteString("# " + c + "\n")
		}
		text, err := encode(d.Object)
		if err != nil {
			return fmt.Errorf("write a manifest: %w", err)
		}
		b.Write(text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// encode an object without its status, which only a cluster writes.
func encode(object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	if meta, ok := fields["metadata"].(map[string]any); ok && meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	return yaml.Marshal(fields)
}
