package chaos

import (
	"fmt"
	"syscall"
)

// The decision logs of a process are on a file system of their own. It takes only the memory
// that is used.
const roomy = "size=2g"

func mountDisk(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, roomy) }

func unmountDisk(dir string) { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }

// fillDisk leaves no room beyond what is used.
func fillDisk(dir string) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return err
	}
	used := (s.Blocks - s.Bfree) * uint64(s.Bsize)
	return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", max(used, 4096)))
}

func emptyDisk(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, roomy)
}
