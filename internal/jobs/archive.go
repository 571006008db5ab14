package jobs

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/bench"
)

// Path is a file or a folder on this machine, and its name in the folder of the Job.
type Path struct{ Here, There string }

// Pack writes files and folders as a compressed tar. The same content gives the same bytes. Locks,
// claims and temporary files are left out.
func Pack(w io.Writer, paths []Path) error {
	packed := gzip.NewWriter(w)
	t := tar.NewWriter(packed)
	for _, p := range paths {
		if err := pack(t, p); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), packed.Close())
}

func pack(t *tar.Writer, p Path) error {
	return filepath.WalkDir(p.Here, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if at != p.Here && (entry.IsDir() && name == bench.ClaimsFolder) {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || at != p.Here && name == atomicfile.LockFile || strings.HasSuffix(name, atomicfile.Suffix) {
			return nil
		}
		relative, err := filepath.Rel(p.Here, at)
		if err != nil {
			return err
		}
		return packFile(t, at, path.Join(filepath.ToSlash(p.There), filepath.ToSlash(relative)))
	})
}

func packFile(t *tar.Writer, at, name string) error {
	file, err := os.Open(at)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
		return err
	}
	if _, err := io.Copy(t, file); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// Unpack writes the files of a compressed tar below a folder, each atomically. It reads up to the end of
// the tar, and reports one that was cut off.
func Unpack(r io.Reader, dir string) error {
	plain, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("unpack into %s: %w", dir, err)
	}
	plain.Multistream(false)
	t := tar.NewReader(plain)
	for {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("unpack into %s: %w", dir, err)
		}
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(header.Name)) {
			return fmt.Errorf("unpack into %s: %q is not a file below it", dir, header.Name)
		}
		at := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := atomicfile.Write(at, func(w io.Writer) error { _, err := io.Copy(w, t); return err }); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, plain) // up to the checksum
	return err
}

// digest of what a Job does.
func digest(t Task) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n%q\n", t.Program, t.Args)
	if err := Pack(sum, t.Inputs); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}
