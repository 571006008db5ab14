package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The user that the program runs as: no name, no home, no rights.
const user = 65532

// build makes the program for every platform, and the image of it.
func (s *settings) build(ctx context.Context, log io.Writer) (*Image, error) {
	beside, err := s.contents()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	img := &Image{
		Name: s.name + ":" + s.version, User: fmt.Sprintf("%d:%d", user, user), Program: "/" + s.program(),
		Env: []string{"PATH=/"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    s.program(),
			"org.opencontainers.image.version":  s.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	names := strings.Split(s.platforms, ",")
	for n, name := range names {
		system, architecture, _ := strings.Cut(name, "/")
		p := Platform{OS: system, Architecture: architecture, Files: beside}
		fmt.Fprintf(log, "building %s for %s (%d of %d)\n", s.pkg, p, n+1, len(names))
		file := filepath.Join(dir, system+"-"+architecture)
		if err := s.compile(ctx, p, file, log); err != nil {
			return nil, fmt.Errorf("build %s for %s: %w", s.pkg, p, err)
		}
		program, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files[:len(p.Files):len(p.Files)], File{Path: img.Program, Mode: 0o755, Contents: program})
		img.Platforms = append(img.Platforms, p)
		if img.Created, err = s.mark(file, img.Labels); err != nil {
			return nil, err
		}
	}
	return img, nil
}

// program is the name of the program in the image: the last part of the image's.
func (s *settings) program() string { return path.Base(s.name) }

// compile builds statically, without symbols, gRPC's trace pages and the paths of this
// machine.
func (s *settings) compile(ctx context.Context, p Platform, output string, log io.Writer) error {
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-tags", "grpcnotrace", "-ldflags",
		"-s -w -X main.version="+s.version, "-o", output, s.pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOOS="+p.OS, "GOARCH="+p.Architecture)
	c.Stdout, c.Stderr = log, log
	return c.Run()
}

// mark reads the commit that a program was built from, and returns the timestamp of the image:
// SOURCE_DATE_EPOCH, or that of the commit, or 1970 if there is none. The clock would make
// every image different.
func (s *settings) mark(file string, labels map[string]string) (time.Time, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return time.Time{}, err
	}
	created := time.Unix(0, 0).UTC()
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			labels["org.opencontainers.image.revision"] = setting.Value
		case "vcs.time":
			if created, err = time.Parse(time.RFC3339, setting.Value); err != nil {
				return time.Time{}, fmt.Errorf("time of the commit: %w", err)
			}
		}
	}
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q: must be seconds since 1970", text)
		}
		created = time.Unix(seconds, 0).UTC()
	}
	return created, nil
}
