//go:build !linux

package chaos

import "errors"

func mountDisk(string) error { return errors.New("file systems are mounted on Linux only") }
func unmountDisk(string)     {}
func fillDisk(string) error  { return nil }
func emptyDisk(string) error { return nil }
