package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Types of what is in a layout.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor points at a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type config struct {
	Created string `json:"created"`
	platform
	Config struct {
		User       string            `json:"User"`
		Entrypoint []string          `json:"Entrypoint"`
		Env        []string          `json:"Env,omitempty"`
		WorkingDir string            `json:"WorkingDir"`
		Labels     map[string]string `json:"Labels,omitempty"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []history `json:"history"`
}

type history struct {
	Created   string `json:"created"`
	CreatedBy string `json:"created_by"`
}

// dockerImage is an entry of manifest.json, for Docker versions without support of index.json.
type dockerImage struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

// blobs by their digest.
type blobs map[string][]byte

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// place of a blob in the tar.
func place(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

func (b blobs) add(mediaType string, data []byte) descriptor {
	digest := digestOf(data)
	b[digest] = data
	return descriptor{MediaType: mediaType, Digest: digest, Size: int64(len(data))}
}

func (b blobs) addJSON(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return b.add(mediaType, data), err
}

// Write writes the image as a tar. A reader without support of platforms (Docker without
// containerd's store) takes the first one.
func (i *Image) Write(w io.Writer) error {
	if err := i.Validate(); err != nil {
		return err
	}
	store := blobs{}
	all := index{SchemaVersion: 2, MediaType: typeIndex}
	var docker []dockerImage
	for _, p := range i.Platforms {
		m, d, err := i.addPlatform(store, p)
		if err != nil {
			return fmt.Errorf("platform %s: %w", p, err)
		}
		all.Manifests = append(all.Manifests, m)
		docker = append(docker, d)
	}
	top, err := store.addJSON(typeIndex, all)
	if err != nil {
		return err
	}
	top.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": i.tag(),
		"io.containerd.image.name":          i.Name,
	}
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	if files["index.json"], err = json.Marshal(index{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{top}}); err != nil {
		return err
	}
	if files["manifest.json"], err = json.Marshal(docker[:1]); err != nil {
		return err
	}
	for digest, data := range store {
		files[place(digest)] = data
	}
	return writeTar(w, files, i.Created)
}

func (i *Image) addPlatform(store blobs, p Platform) (descriptor, dockerImage, error) {
	packed, unpacked, err := layer(p.Files, i.Created)
	if err != nil {
		return descriptor{}, dockerImage{}, err
	}
	l := store.add(typeLayer, packed)
	created := i.Created.UTC().Format(time.RFC3339)
	c := config{Created: created, platform: platform{Architecture: p.Architecture, OS: p.OS}}
	c.Config.User, c.Config.Entrypoint, c.Config.Env, c.Config.WorkingDir, c.Config.Labels = i.User, []string{i.Program}, i.Env, "/",
		i.Labels
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{unpacked}
	c.History = []history{{Created: created, CreatedBy: i.Program}}
	settings, err := store.addJSON(typeConfig, c)
	if err != nil {
		return descriptor{}, dockerImage{}, err
	}
	m, err := store.addJSON(typeManifest, manifest{SchemaVersion: 2, MediaType: typeManifest, Config: settings, Layers: []descriptor{l}})
	m.Platform = &c.platform
	return m, dockerImage{Config: place(settings.Digest), RepoTags: []string{i.Name}, Layers: []string{place(l.Digest)}}, err
}

// writeTar writes files in the order of their names, and the folders of blobs.
func writeTar(w io.Writer, files map[string][]byte, created time.Time) error {
	t := tar.NewWriter(w)
	for _, dir := range []string{"blobs/", "blobs/sha256/"} {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: created,
			Format: tar.FormatUSTAR}); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name])), ModTime: created,
			Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(files[name]); err != nil {
			return err
		}
	}
	return t.Close()
}
