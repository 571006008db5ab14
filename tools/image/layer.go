package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// layer is the one layer of a platform: a tar of its files in the order of their paths, with
// their parent folders, and its uncompressed digest.
func layer(files []File, created time.Time) (packed []byte, unpacked string, err error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, f := range withFolders(files) {
		h := &tar.Header{
			Name: strings.TrimPrefix(f.Path, "/"), Mode: int64(f.Mode.Perm()), Uid: f.User, Gid: f.User,
			Typeflag: tar.TypeReg, Size: int64(len(f.Contents)), ModTime: created, Format: tar.FormatUSTAR,
		}
		if f.Mode.IsDir() {
			h.Typeflag, h.Name, h.Size = tar.TypeDir, h.Name+"/", 0
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, "", err
		}
		if !f.Mode.IsDir() {
			if _, err := w.Write(f.Contents); err != nil {
				return nil, "", err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, "", err
	}
	if _, err := z.Write(text.Bytes()); err != nil {
		return nil, "", err
	}
	if err := z.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), digestOf(text.Bytes()), nil
}

// withFolders adds the folders above files that are not named, readable by all.
func withFolders(files []File) []File {
	all := slices.Clone(files)
	there := map[string]bool{"/": true}
	for _, f := range files {
		there[f.Path] = true
	}
	for _, f := range files {
		for dir := path.Dir(f.Path); !there[dir]; dir = path.Dir(dir) {
			there[dir] = true
			all = append(all, File{Path: dir, Mode: fs.ModeDir | 0o755})
		}
	}
	slices.SortFunc(all, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return all
}
