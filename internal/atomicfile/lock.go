package atomicfile

import "fmt"

// LockFile is the lock file of a folder. It may stay behind; it locks nothing by itself.
const LockFile = "lock"

// BusyError means that another process has locked the folder.
type BusyError struct {
	Dir     string
	Process string // its id, if known
}

func (e *BusyError) Error() string {
	who := "another process"
	if e.Process != "" {
		who = "process " + e.Process
	}
	return fmt.Sprintf("folder %s is in use by %s: give another, or stop that one", e.Dir, who)
}
