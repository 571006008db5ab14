package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
)

// user that programs in images run as: kubelets refuse root where a container must not be.
const imageUser = "65532"

// writeImage writes an image of one static program, which is its entry point, in the format that Docker
// saves: a layer, a configuration, and a list of both.
func writeImage(to io.Writer, name, program string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	files := tar.NewWriter(&layer)
	for _, dir := range []string{"tmp/", "var/", "var/run/", "etc/"} {
		if err := files.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o777}); err != nil {
			return err
		}
	}
	if err := add(files, "program", 0o755, text); err != nil {
		return err
	}
	if err := files.Close(); err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{"User": imageUser, "Entrypoint": []string{"/program"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer.Bytes()))}},
	})
	if err != nil {
		return err
	}
	list, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	image := tar.NewWriter(to)
	for file, content := range map[string][]byte{"layer.tar": layer.Bytes(), "config.json": config, "manifest.json": list} {
		if err := add(image, file, 0o644, content); err != nil {
			return err
		}
	}
	return image.Close()
}

func add(to *tar.Writer, name string, mode int64, content []byte) error {
	if err := to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := to.Write(content)
	return err
}
