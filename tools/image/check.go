package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// readImage reads the output of Write, and trusts nothing: every blob must match its digest and be
// referenced, and every reference must resolve.
func readImage(r io.Reader) (*Image, error) {
	files, err := readTar(r)
	if err != nil {
		return nil, fmt.Errorf("read the tar: %w", err)
	}
	l := layout{files: files, used: map[string]bool{"oci-layout": true, "index.json": true, "manifest.json": true}}
	image, err := l.image()
	if err != nil {
		return nil, err
	}
	for name := range files {
		if !l.used[name] {
			return nil, fmt.Errorf("nothing points at %s", name)
		}
	}
	return image, image.Validate()
}

// indexDigest is the digest by which a registry will know the image.
func indexDigest(tar []byte) (string, error) {
	files, err := readTar(bytes.NewReader(tar))
	if err != nil {
		return "", fmt.Errorf("read the tar: %w", err)
	}
	var top index
	if err := json.Unmarshal(files["index.json"], &top); err != nil {
		return "", fmt.Errorf("index.json: %w", err)
	}
	if len(top.Manifests) != 1 {
		return "", fmt.Errorf("index.json names %d images: must be one", len(top.Manifests))
	}
	return top.Manifests[0].Digest, nil
}

type layout struct {
	files map[string][]byte
	used  map[string]bool
}

func (l *layout) image() (*Image, error) {
	var version struct{ ImageLayoutVersion string }
	if err := json.Unmarshal(l.files["oci-layout"], &version); err != nil || version.ImageLayoutVersion != "1.0.0" {
		return nil, fmt.Errorf("oci-layout is %q: must be version 1.0.0", l.files["oci-layout"])
	}
	var top, all index
	if err := json.Unmarshal(l.files["index.json"], &top); err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	if len(top.Manifests) != 1 {
		return nil, fmt.Errorf("index.json names %d images: must be one", len(top.Manifests))
	}
	if err := l.load(top.Manifests[0], typeIndex, &all); err != nil {
		return nil, err
	}
	image := &Image{Name: top.Manifests[0].Annotations["io.containerd.image.name"]}
	var docker []dockerImage
	if err := json.Unmarshal(l.files["manifest.json"], &docker); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	if len(docker) != 1 {
		return nil, fmt.Errorf("manifest.json names %d images: must be one", len(docker))
	}
	for n, d := range all.Manifests {
		p, m, err := l.platform(image, d)
		if err != nil {
			return nil, err
		}
		image.Platforms = append(image.Platforms, p)
		if want := (dockerImage{place(m.Config.Digest), []string{image.Name}, []string{place(m.Layers[0].Digest)}}); n == 0 &&
			fmt.Sprint(docker[0]) != fmt.Sprint(want) {
			return nil, fmt.Errorf("manifest.json says %v, index.json %v", docker[0], want)
		}
	}
	return image, nil
}

func (l *layout) platform(image *Image, d descriptor) (Platform, manifest, error) {
	var m manifest
	if err := l.load(d, typeManifest, &m); err != nil {
		return Platform{}, m, err
	}
	var c config
	if err := l.load(m.Config, typeConfig, &c); err != nil {
		return Platform{}, m, err
	}
	if d.Platform == nil || *d.Platform != c.platform || len(m.Layers) != 1 || len(c.RootFS.DiffIDs) != 1 ||
		len(c.Config.Entrypoint) != 1 {
		return Platform{}, m, fmt.Errorf("manifest %s is for %+v, its configuration for %+v with %d layers", d.Digest, d.Platform,
			c.platform, len(m.Layers))
	}
	created, err := time.Parse(time.RFC3339, c.Created)
	if err != nil {
		return Platform{}, m, fmt.Errorf("configuration %s: %w", m.Config.Digest, err)
	}
	image.Created, image.User, image.Program, image.Env, image.Labels = created, c.Config.User, c.Config.Entrypoint[0], c.Config.Env,
		c.Config.Labels
	packed, err := l.blob(m.Layers[0], typeLayer)
	if err != nil {
		return Platform{}, m, err
	}
	files, err := unpack(packed, c.RootFS.DiffIDs[0])
	if err != nil {
		return Platform{}, m, fmt.Errorf("layer %s: %w", m.Layers[0].Digest, err)
	}
	return Platform{OS: c.OS, Architecture: c.Architecture, Files: files}, m, nil
}

func (l *layout) blob(d descriptor, mediaType string) ([]byte, error) {
	data, there := l.files[place(d.Digest)]
	switch {
	case !there:
		return nil, fmt.Errorf("%s is missing", place(d.Digest))
	case d.MediaType != mediaType:
		return nil, fmt.Errorf("%s is a %s: must be %s", d.Digest, d.MediaType, mediaType)
	case digestOf(data) != d.Digest || int64(len(data)) != d.Size:
		return nil, fmt.Errorf("%s holds %d bytes with the digest %s: must be %d", place(d.Digest), len(data), digestOf(data), d.Size)
	}
	l.used[place(d.Digest)] = true
	return data, nil
}

func (l *layout) load(d descriptor, mediaType string, into any) error {
	data, err := l.blob(d, mediaType)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", place(d.Digest), err)
	}
	return nil
}

func unpack(packed []byte, digest string) ([]File, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	if got := digestOf(text); got != digest {
		return nil, fmt.Errorf("it unpacks to %s: must be %s", got, digest)
	}
	var files []File
	r := tar.NewReader(bytes.NewReader(text))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		f := File{Path: "/" + strings.TrimSuffix(h.Name, "/"), Mode: fs.FileMode(h.Mode).Perm(), User: h.Uid}
		switch h.Typeflag {
		case tar.TypeDir:
			f.Mode |= fs.ModeDir
		case tar.TypeReg:
			if f.Contents, err = io.ReadAll(r); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%s is neither a file nor a folder", h.Name)
		}
		files = append(files, f)
	}
}

func readTar(r io.Reader) (map[string][]byte, error) {
	files := map[string][]byte{}
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if files[h.Name], err = io.ReadAll(t); err != nil {
			return nil, err
		}
	}
}
